package image

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// maxMemory is how many builds a Memory keeps, the newest first.
const maxMemory = 32

// Memory remembers in one small JSON file which image a build's inputs gave. A
// missing or damaged file is an empty memory.
type Memory[T any] struct{ Path string }

type remembered[T any] struct {
	Inputs string `json:"inputs"`
	Made   T      `json:"made"`
}

// Recall returns what was remembered for the inputs.
func (m Memory[T]) Recall(inputs string) (T, bool) {
	for _, r := range m.read() {
		if r.Inputs == inputs {
			return r.Made, true
		}
	}
	var none T
	return none, false
}

// Remember replaces the file as a whole. Of two writers at once one may be
// forgotten, which costs a build.
func (m Memory[T]) Remember(inputs string, made T) error {
	list := []remembered[T]{{inputs, made}}
	for _, r := range m.read() {
		if r.Inputs != inputs && len(list) < maxMemory {
			list = append(list, r)
		}
	}
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(m.Path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(m.Path), ".fixture-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), m.Path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

func (m Memory[T]) read() []remembered[T] {
	f, err := os.Open(m.Path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var list []remembered[T]
	if json.NewDecoder(io.LimitReader(f, maxMeta)).Decode(&list) != nil {
		return nil
	}
	return list
}

// assemblyVersion is the version of everything in this package that decides about an
// image's bytes beside its bases and the runner. A test keeps it honest: when the
// same made-up bases give another image, this number must grow.
const assemblyVersion = "1"

// Recipe identifies how images are made: the assembly's rules and the runner that
// is laid in. Another recipe may make another image of the same bases. It returns
// "" when there is no runner.
func Recipe(runner func(arch string) ([]byte, error)) string {
	b, err := runner(runtime.GOARCH)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return "assembly " + assemblyVersion + " " + runtime.GOARCH + " " + hex.EncodeToString(sum[:])
}
