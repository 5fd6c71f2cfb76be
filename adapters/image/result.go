package image

import (
	"maps"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"cyberagent/domain/isolation"
	"cyberagent/domain/runnerproto"
)

// createdBy begins the history of every layer.
const createdBy = "standard-code fixture: "

// compose makes the image: the layers, and a config that inherits nothing. What
// is not named here is absent: environment, volumes, ports, triggers, health
// check, command, user and working directory.
func compose(arch string, labels map[string]string, layers []*layer) (v1.Image, error) {
	all := map[string]string{isolation.LabelProtocol: runnerproto.Protocol}
	maps.Copy(all, labels)
	adds := make([]mutate.Addendum, len(layers))
	for i, l := range layers {
		adds[i] = mutate.Addendum{
			Layer:     l,
			MediaType: types.OCIUncompressedLayer,
			History:   v1.History{Created: v1.Time{Time: created}, CreatedBy: createdBy + l.name},
		}
	}
	blank, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		Architecture: arch,
		OS:           "linux",
		Created:      v1.Time{Time: created},
		RootFS:       v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: []string{isolation.RunnerPath},
			Labels:     all,
		},
	})
	if err != nil {
		return nil, err
	}
	blank = mutate.ConfigMediaType(mutate.MediaType(blank, types.OCIManifestSchema1), types.OCIConfigJSON)
	return mutate.Append(blank, adds...)
}
