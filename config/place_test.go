//go:build unix

package config_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"cyberagent/config"
	"cyberagent/domain/fault"
)

func TestFile_OnlyARegularOneOfBoundedSizeThatOthersCannotWriteIsRead(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a FIFO":               func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"a device":             func(p string) error { return os.Symlink("/dev/zero", p) },
		"a directory":          func(p string) error { return os.Mkdir(p, 0o700) },
		"too large":            func(p string) error { return os.WriteFile(p, bytes.Repeat([]byte("#\n"), 1<<20), 0o600) },
		"writable by everyone": func(p string) error { return errors.Join(os.WriteFile(p, nil, 0o600), os.Chmod(p, 0o666)) },
	} {
		home := t.TempDir()
		if err := make(filepath.Join(home, "config.yaml")); err != nil {
			t.Fatal(err)
		}
		_, err := config.Load(config.Input{Lookup: func(string) (string, bool) { return "", false }, Flags: map[string]string{"home": home}})
		if !errors.Is(err, fault.ConfigInvalid) || fault.From(err).Remedy == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
