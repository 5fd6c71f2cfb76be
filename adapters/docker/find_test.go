package docker

import (
	"net/http"
	"testing"

	"github.com/docker/docker/api/types/container"

	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

func TestEngine_FindIsNotHeldByOneContainer(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	labels := isolation.Labels(fakeOwner.Admission, fakeOwner.Installation)
	f.on("GET /containers/json", answer([]container.Summary{
		{ID: "dead", Names: []string{"/x"}, Labels: labels}, {ID: "gone", Labels: labels}, {ID: string(fakeID), Labels: labels}, {ID: "other"},
	}))
	f.on("GET /containers/dead/json", func(http.ResponseWriter, *http.Request) { <-release })
	f.on("GET "+pathOf+"/json", answer(inState(exited(0))))
	found, err := f.FindOwned(t.Context(), fakeOwner.Installation)
	must(t, err)
	if len(found) != 2 || found[0].State != ports.StateOther || found[0].Name != "x" || found[1].State != ports.StateExited {
		t.Errorf("%+v", found)
	}
}
