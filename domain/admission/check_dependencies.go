package admission

import (
	"fmt"
	"path"
	"strings"

	"cyberagent/domain/deps"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/phrase"
)

// dependenciesShown is how many missing packages an answer names.
const dependenciesShown = 5

// dependencies refuses a command whose lockfiles name what neither the repository
// nor the image has at that version: it could only fail.
//
// Fields: Dependencies, Image.Labels, Run.Workspace, Drydock.Place. Allowed: nothing is missing.
var dependencies = Check{ID: "dependencies", Evaluate: func(e Evidence) []Verdict {
	f := present(e)
	if f == nil || e.Dependencies == nil {
		return nil
	}
	record := deps.NewRecord()
	if text, ok := f.Labels[isolation.LabelProject]; ok {
		var err error
		if record, err = deps.DecodeRecord(text); err != nil {
			return nil // image_profile refuses it
		}
	}
	missing := record.Missing(*e.Dependencies)
	if len(missing) == 0 {
		return nil
	}
	var names []string
	for _, m := range missing[:min(len(missing), dependenciesShown)] {
		names = append(names, m.String())
	}
	if len(missing) > dependenciesShown {
		names = append(names, "…")
	}
	detail := fmt.Sprintf("%s names %s that the image does not have: %s",
		path.Join(e.Dependencies.Dir, e.Dependencies.File), phrase.Count(len(missing), "package"), strings.Join(names, ", "))
	if e.Run != nil {
		detail += "; fetch them, then: cyberagent fixture build --project " + phrase.Word(path.Join(e.Run.Workspace, e.Dependencies.Dir))
	}
	if e.Drydock != nil && e.Drydock.Drydock.Place.Root != "" {
		// Which of the two is not known here: the source is not looked at.
		detail += fmt.Sprintf(", or, if %s was changed in the Drydock: --project %s",
			e.Dependencies.File, phrase.Word(path.Join(e.Drydock.Drydock.Place.Root, e.Dependencies.Dir)))
	}
	return []Verdict{refuse(fault.DependenciesMiss, "dependencies_missing", RebuildProject, detail)}
}}
