package docker

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"cyberagent/adapters/conformance/enginetest"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

func TestEngine_RemoveFaults(t *testing.T) {
	t.Parallel()
	del, get := "DELETE "+pathOf, "GET "+pathOf+"/json"
	gone, here := refuse(404, "no such container"), answer(inState(exited(0)))
	t.Run("in progress elsewhere", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(get, turns(here, here, here, here, gone))
		f.on(del, refuse(409, "removal is already in progress"))
		must(t, f.Remove(t.Context(), fakeID, fakeOwner))
	})
	t.Run("absence is proven, not believed", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(get, turns(here, here, here, gone))
		f.on(del, refuse(204, ""))
		must(t, f.Remove(t.Context(), fakeID, fakeOwner))
		if n := f.count(get); n != 4 {
			t.Errorf("%d inspections", n)
		}
	})
	t.Run("gone already", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(get, turns(here, gone))
		f.on(del, gone)
		must(t, f.Remove(t.Context(), fakeID, fakeOwner))
	})
	t.Run("never ends, and is not asked in a hot loop", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(get, here)
		f.on(del, refuse(500, "device or resource busy"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		enginetest.Soon(t, "Remove", func() {
			if code := fault.CodeOf(f.Remove(ctx, fakeID, fakeOwner)); code != fault.EngineFailure && code != fault.EngineTimeout {
				t.Errorf("%s", code)
			}
		})
		if n := f.count(del); n < 1 || n > 10 {
			t.Errorf("%d requests in a second", n)
		}
	})
	t.Run("says done for ever, and is not asked in a hot loop", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(get, here)
		f.on(del, refuse(204, ""))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantCode(t, f.Remove(ctx, fakeID, fakeOwner), fault.EngineTimeout)
		if n := f.count(del); n > 10 {
			t.Errorf("%d requests in a second", n)
		}
	})
	t.Run("another's is left alone", func(t *testing.T) {
		t.Parallel()
		for _, change := range []func(map[string]string){
			func(l map[string]string) { l[isolation.LabelAdmission] = "adm_X" },
			func(l map[string]string) { l[isolation.LabelInstallation] = "inst_X" },
			func(l map[string]string) { delete(l, isolation.LabelContract) },
			func(l map[string]string) { l["com.example"] = "x" },
		} {
			f := newFake(t)
			other := inState(exited(0))
			change(other.Config.Labels)
			f.on(get, answer(other))
			wantCode(t, f.Remove(t.Context(), fakeID, fakeOwner), fault.RecoveryRequired)
			if f.count(del) != 0 {
				t.Error("a foreign container was removed")
			}
		}
	})
	t.Run("a copy under another name is left alone", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		other := inState(exited(0))
		other.Name = "/debug"
		f.on(get, answer(other))
		wantCode(t, f.Remove(t.Context(), fakeID, fakeOwner), fault.RecoveryRequired)
		if f.count(del) != 0 {
			t.Error("a foreign container was removed")
		}
	})
	t.Run("an earlier release's is ours", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		old := inState(exited(0))
		old.Config.Labels[isolation.LabelContract] = "0"
		f.on(get, turns(answer(old), gone))
		f.on(del, refuse(204, ""))
		must(t, f.Remove(t.Context(), fakeID, fakeOwner))
	})
	t.Run("a longer id is another container", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on("GET /containers/c0ffee/json", here)
		must(t, f.Remove(t.Context(), "c0ffee", fakeOwner))
		if f.count("DELETE /containers/c0ffee") != 0 {
			t.Error("the engine was asked to remove by the beginning of an id")
		}
		wantCode(t, f.Remove(t.Context(), "", fakeOwner), fault.NotFound)
	})
}

// A12
func TestRemove(t *testing.T) {
	t.Run("at once, while it runs", func(t *testing.T) {
		j, _ := ready(t)
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				if err := j.Remove(t.Context(), j.ID, j.Owner); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		_, err := j.Inspect(t.Context(), j.ID)
		wantCode(t, err, fault.NotFound)
		must(t, j.Remove(t.Context(), j.ID, j.Owner))
	})
	t.Run("another's", func(t *testing.T) {
		j := newJob(t, "exit 0", isolation.StdinClosed)
		j.Make()
		other := ports.Ownership{Admission: j.Owner.Admission, Installation: "inst_X"}
		wantCode(t, j.Remove(t.Context(), j.ID, other), fault.RecoveryRequired)
		wantCode(t, j.Remove(t.Context(), j.ID[:12], j.Owner), "") // the beginning of an id is no container
		if _, err := j.Inspect(t.Context(), j.ID); err != nil {
			t.Error(err)
		}
	})
}

// foreignContainer makes one with our name, as somebody else would.
func foreignContainer(t *testing.T, j *job) string {
	t.Helper()
	c, err := j.api(t.Context())
	must(t, err)
	made, err := c.ContainerCreate(t.Context(), &container.Config{Image: lab.image, Labels: map[string]string{"theirs": "yes"}}, nil, nil, nil, j.Spec.Name())
	must(t, err)
	t.Cleanup(func() { _ = c.ContainerRemove(context.Background(), made.ID, container.RemoveOptions{Force: true}) })
	return made.ID
}

func TestForeignContainerIsPreserved(t *testing.T) {
	j := newJob(t, "exit 0", isolation.StdinClosed)
	theirs := foreignContainer(t, j)
	_, _, err := j.Create(t.Context(), j.Spec)
	wantCode(t, err, fault.RecoveryRequired)
	found, err := j.Find(t.Context(), j.Owner.Admission)
	must(t, err)
	if len(found) != 1 || string(found[0].ID) != theirs {
		t.Errorf("%+v", found)
	}
	wantCode(t, j.Remove(t.Context(), ports.ContainerID(theirs), j.Owner), fault.RecoveryRequired)
	owned, err := j.FindOwned(t.Context(), lab.inst)
	must(t, err)
	if slices.ContainsFunc(owned, func(c ports.Container) bool { return string(c.ID) == theirs }) {
		t.Error("it passes for ours")
	}
	if _, err := j.Inspect(t.Context(), ports.ContainerID(theirs)); err != nil {
		t.Error(err)
	}
}
