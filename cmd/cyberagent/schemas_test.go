package main

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cyberagent/app/approvals"
	"cyberagent/app/doctor"
	"cyberagent/app/drydocks"
	"cyberagent/app/enginecheck"
	"cyberagent/app/engines"
	"cyberagent/app/jobs"
	"cyberagent/app/pruning"
	"cyberagent/app/runs"
	"cyberagent/app/selftest"
	"cyberagent/app/standardcode"
	"cyberagent/domain/admission"
	"cyberagent/domain/jobproto"
	"cyberagent/internal/schemas"
)

var update = flag.Bool("update", false, "write docs/schemas anew")

const schemaDir = "../../docs/schemas"

// answers are the types of everything that a verb prints, by protocol_version.
var answers = map[string]any{
	"error.v1":                        errorView{},
	"version.v1":                      versionView{},
	"config.v1":                       configView{},
	"config-path.v1":                  configPath{},
	doctor.Protocol:                   doctor.Report{},
	enginecheck.Protocol:              enginecheck.Report{},
	"code-run.v1":                     runs.View{},
	"code-run-list.v1":                runList{},
	"code-run-events.v1":              runHistory{},
	drydocks.SourceProtocol:           drydocks.SourceView{},
	drydocks.Protocol:                 drydocks.View{},
	drydocks.CheckpointProtocol:       drydocks.CheckpointView{},
	drydocks.LogProtocol:              checkpointList{},
	drydocks.DiffProtocol:             drydocks.DiffView{},
	drydocks.PlanProtocol:             drydocks.PlanView{},
	drydocks.RewindProtocol:           drydocks.RewindView{},
	drydocks.DeliveryProtocol:         drydocks.DeliveryView{},
	drydocks.ForkProtocol:             drydocks.ForkView{},
	drydocks.RepairProtocol:           drydocks.RepairView{},
	drydocks.CleanupProtocol:          drydocks.CleanupView{},
	drydocks.GCProtocol:               drydocks.GCView{},
	pruning.Protocol:                  pruning.View{},
	drydocks.ReconcileProtocol:        drydocks.ReconcileView{},
	admission.ReadinessProtocol:       admission.Readiness{},
	standardcode.PreparationProtocol:  standardcode.Preparation{},
	"standard-code-command-result.v1": standardcode.Result{},
	standardcode.StatusProtocol:       standardcode.Execution{},
	"standard-code-status.v1":         executionList{},
	standardcode.RecoverProtocol:      standardcode.Recovery{},
	jobproto.Protocol:                 jobs.Answer{},
	approvals.Protocol:                approvals.View{},
	"standard-code-approval-list.v1":  approvalList{},
	"fixture.v1":                      fixtureView{},
	"fixture-project.v1":              projectView{},
	"fixture-inspection.v1":           inspectionView{},
	"fixture-list.v1":                 fixtureListView{},
	"fixture-removal.v1":              removalView{},
	engines.ListProtocol:              engines.List{},
	selftest.Protocol:                 selftest.Report{},
	selftest.SoakProtocol:             selftest.SoakReport{},
	"selftest-edges.v1":               edgeList{},
}

func TestSchemas_SayWhatTheAnswersAre(t *testing.T) {
	for _, protocol := range slices.Sorted(maps.Keys(answers)) {
		want, err := schemas.Infer(protocol, answers[protocol])
		if err != nil {
			t.Errorf("%s: %v", protocol, err)
			continue
		}
		path := schemas.File(schemaDir, protocol)
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is stale (%v)\nremedy: make generate", path, err)
		}
	}
	files, err := filepath.Glob(schemas.File(schemaDir, "*"))
	if err != nil || len(files) != len(answers) {
		t.Errorf("%d schemas for %d answers (%v): a protocol that is gone keeps no file", len(files), len(answers), err)
	}
}

// protocolWord is how a protocol_version looks.
var protocolWord = regexp.MustCompile(`^[a-z][a-z0-9-]*\.v[0-9]+$`)

// notAnswers are protocols that are spoken elsewhere.
var notAnswers = []string{
	"standard-code-command.v1", "standard-code-isolation.v1", "standard-code-docker-runner.v1", "standard-code-docker-runner.v2",
	"standard-code-manifest.v1", "standard-code-manifest.v2", "standard-code-contract.v1",
}

func TestSchemas_NoAnswerIsWithoutOne(t *testing.T) {
	for _, dir := range []string{".", "../../app", "../../domain/admission", "../../domain/jobproto"} {
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				word, _ := strconv.Unquote(lit.Value)
				if protocolWord.MatchString(word) && answers[word] == nil && !slices.Contains(notAnswers, word) {
					t.Errorf("%s speaks %q, which has no schema: add its type to answers, then make generate", path, word)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
