package gitdrydock

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// hiddenStage runs in a mount namespace of its own, on a file system of its
// own: no other process of this host holds a file on it.
func hiddenStage(ctx context.Context, d *Drydocks, o order) (answer, error) {
	root := filepath.Join(o.Home, "own")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return answer{}, err
	}
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, "size=16m"); err != nil {
		return answer{}, err
	}
	expect := func(when string, want int64) error {
		got, known := d.Hidden(ctx, root, os.Getpid())
		if !known || got != want {
			return fmt.Errorf("%s: %d bytes are hidden (known %v), want %d", when, got, known, want)
		}
		return nil
	}
	const size = 3 << 20
	name := filepath.Join(root, "f")
	f, err := os.Create(name)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Write(make([]byte, size)); err != nil {
		return answer{}, err
	}
	twice, err := os.Open(name)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = twice.Close() }()
	if err := expect("a file with a name", 0); err != nil {
		return answer{}, err
	}
	if err := os.Remove(name); err != nil {
		return answer{}, err
	}
	if err := expect("a file without a name, open twice", size); err != nil {
		return answer{}, err
	}
	if _, known := d.Hidden(ctx, root, 0); known {
		return answer{}, fmt.Errorf("no process is known")
	}
	return answer{}, nil
}

func TestHidden_CountsAFileWithoutANameOnceAndNoFileWithOne(t *testing.T) {
	t.Parallel()
	a := runStage(t, ownMounts(t), order{Stage: "hidden", Home: t.TempDir()})
	if a.Error != "" {
		t.Error(a.Message)
	}
}
