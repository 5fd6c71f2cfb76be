//go:build unix

package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"cyberagent/domain/fault"
)

func TestALedgerThatOthersCouldHaveWrittenIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(dir, file string) error{
		"a file for everyone":      func(_, file string) error { return os.Chmod(file, 0o666) },
		"a file for the group":     func(_, file string) error { return os.Chmod(file, 0o620) },
		"a directory for everyone": func(dir, _ string) error { return os.Chmod(dir, 0o777) },
		"another user's file":      func(_, file string) error { return os.Chown(file, 1234, 1234) },
	} {
		t.Run(name, func(t *testing.T) {
			if os.Geteuid() != 0 && name == "another user's file" {
				t.Fatal("this test changes owners: run it as root")
			}
			dir := filepath.Join(t.TempDir(), "home")
			file := filepath.Join(dir, "ledger.db")
			open := func() error {
				l, err := Open(t.Context(), Config{Path: file})
				if err != nil {
					return err
				}
				return l.Close()
			}
			if err := open(); err != nil {
				t.Fatal(err)
			}
			if err := spoil(dir, file); err != nil {
				t.Fatal(err)
			}
			err := open()
			if !errors.Is(err, fault.LedgerUnusable) || fault.From(err).Remedy == "" {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("a sticky directory is nobody's", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			l, err := Open(t.Context(), Config{Path: filepath.Join(dir, "ledger.db")})
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
