package gitdrydock

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestHidden_CountsAFileWithoutANameOnceAndNoFileWithOne(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("this test needs root: run `make test` as root")
	}
	root := t.TempDir()
	d := New(Config{Home: t.TempDir()})
	measure := func() int64 {
		n, known := d.Hidden(context.Background(), root, os.Getpid())
		if !known {
			t.Fatal("root cannot look")
		}
		return n
	}
	before := measure()
	name := filepath.Join(root, "f")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	const size = 3 << 20
	if _, err := f.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if got := measure() - before; got != 0 {
		t.Errorf("a file with a name counts %d bytes", got)
	}
	twice, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = twice.Close() }()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if got := measure() - before; got < size || got > size+64<<10 {
		t.Errorf("%d bytes are hidden, want %d", got, size)
	}
	if _, known := d.Hidden(context.Background(), root, 0); known {
		t.Error("no process is known")
	}
}
