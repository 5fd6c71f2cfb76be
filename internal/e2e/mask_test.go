package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// The mask is the product's own file, exactly, or nothing runs.
func TestMask_AnythingElseInItsPlaceIsRefused(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	f.MustRunOrdinarily(t) // and so the mask is there
	a := f.MustApprove(t, python("-c", "pass"))
	masks, err := filepath.Glob(filepath.Join(h.state, "mask", "*"))
	if err != nil || len(masks) != 1 {
		t.Fatalf("the masks: %v, %v", masks, err)
	}
	mask, aside := masks[0], filepath.Join(h.dir, "aside")
	instead := func(put func() error) func() error {
		return func() error { return errors.Join(os.Rename(mask, aside), put()) }
	}
	back := func() error { return errors.Join(os.RemoveAll(mask), os.Rename(aside, mask)) }
	for name, c := range map[string]struct{ change, back func() error }{
		"a link":        {instead(func() error { return os.Symlink("/etc/passwd", mask) }), back},
		"a directory":   {instead(func() error { return os.Mkdir(mask, 0o755) }), back},
		"other content": {instead(func() error { return os.WriteFile(mask, []byte("gitdir: /\n"), 0o444) }), back},
		"more content":  {instead(func() error { return os.WriteFile(mask, []byte("gitdir: .standard-code-git-disabled\n\n"), 0o444) }), back},
		"a second name": {func() error { return os.Link(mask, aside) }, func() error { return os.Remove(aside) }},
		"another mode":  {func() error { return os.Chmod(mask, 0o644) }, func() error { return os.Chmod(mask, 0o444) }},
		"an empty file": {instead(func() error { return os.WriteFile(mask, nil, 0o444) }), back},
		"a link to it":  {instead(func() error { return os.Symlink(aside, mask) }), back},
	} {
		t.Run(name, func(t *testing.T) {
			must(t, c.change())
			f.MustRefuse(t, f.request("execute", a), refusal{"mask_invalid", 3, "mask"})
			must(t, c.back())
		})
	}
	f.MustFollow(t, MustAnswer[resultView](t, f.Execute(t, a), 0))
}
