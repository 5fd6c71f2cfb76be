package result

import (
	"bytes"
	"regexp"
)

// efbig is what every C library, Go, Python, Node and Rust say of EFBIG, but for the
// first letter, which is small or not.
const efbig = "ile too large"

// longestName bounds a name that was found in output, in bytes.
const longestName = 200

// TooLarge looks in a command's output for the words of a write beyond the ceiling of
// one file (contract section 3), and for the name of that file in the same line. A
// compiler takes such a file away again, so that nothing else is left to tell. It is
// what the command says, and proves nothing: it explains a result and decides none.
//
// Output is stored nowhere, so only what can be nothing but a file's path becomes a name:
// below the workspace, the cache or the go command's $WORK, of plain characters. All
// else is said without a name.
func TooLarge(output []byte) (name string, said bool) {
	var path *regexp.Regexp // compiled where the words were said, not at each start
	for line := range bytes.Lines(output) {
		before, after, ok := bytes.Cut(line, []byte(efbig))
		if n := len(before) - 1; !ok || n < 0 || before[n] != 'f' && before[n] != 'F' {
			continue
		}
		said = true
		if path == nil {
			path = regexp.MustCompile(aPath)
		}
		if name = fileName(path, before[:len(before)-1], after); name != "" {
			return name, true
		}
	}
	return "", said
}

// aPath is a path below the directories that a command can write to, and what ends it: a
// path that goes on with other characters is none.
const aPath = `((?:/workspace|/standard-code/cache|\$WORK)(?:/[A-Za-z0-9_@+=.-]*[A-Za-z0-9_@+=-])+)(?:['"\x60’:),;]|\.?\s*$)`

// fileName is the path that is nearest to the words: the last before them, or else the
// first behind them.
func fileName(path *regexp.Regexp, before, after []byte) string {
	all := path.FindAllSubmatch(before, -1)
	if len(all) == 0 {
		all = path.FindAllSubmatch(after, 1)
	}
	if len(all) == 0 || len(all[len(all)-1][1]) > longestName {
		return ""
	}
	return string(all[len(all)-1][1])
}
