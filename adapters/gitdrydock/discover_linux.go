package gitdrydock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cyberagent/domain/fault"
)

// repository is where a source's parts lie, links resolved.
type repository struct {
	gitDir    string // of this worktree: its HEAD and index
	commonDir string
	topLevel  string // the worktree; the repository itself when bare
	bare      bool   // found as a bare layout: there is no worktree
}

// discover finds the repository that a path is in, as git does, by looking only:
// git itself would read configuration first and ask who owns the directory.
func discover(path string) (repository, error) {
	abs, err := filepath.Abs(path)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return repository{}, fault.Wrap(fault.NotFound, err, "%s cannot be found", show(path)).At("workspace").
			Hint("name an existing directory of a git repository")
	}
	if info, err := os.Stat(abs); err == nil && !info.IsDir() {
		abs = filepath.Dir(abs)
	}
	for dir := abs; ; dir = filepath.Dir(dir) {
		r, found, err := look(dir)
		if err != nil {
			return r, unusable(err, "no Drydock can be made from the repository at", dir)
		}
		if found {
			return r, nil
		}
		if dir == filepath.Dir(dir) {
			return repository{}, fault.New(fault.NotFound, "%s is not in a git repository", show(path)).At("workspace").
				Hint("name a directory of a git repository with at least one commit")
		}
	}
}

// look says whether a directory is a worktree or a repository.
func look(dir string) (repository, bool, error) {
	dot := filepath.Join(dir, ".git")
	info, err := os.Lstat(dot)
	switch {
	case err == nil && info.Mode().IsRegular():
		dot, err = followGitFile(dir, dot)
		if err != nil {
			return repository{}, false, err
		}
		r, err := repositoryAt(dot, dir)
		return r, err == nil, err
	case err == nil && isGitDir(dot):
		r, err := repositoryAt(dot, dir)
		return r, err == nil, err
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return repository{}, false, err
	}
	if !isGitDir(dir) {
		return repository{}, false, nil
	}
	if _, err := os.Lstat(filepath.Join(dir, "commondir")); err == nil {
		return repository{}, false, errors.New("it is the registration of a worktree; name the worktree itself")
	}
	if filepath.Base(dir) == ".git" {
		r, err := repositoryAt(dir, filepath.Dir(dir))
		return r, err == nil, err
	}
	r, err := repositoryAt(dir, dir)
	r.bare = true
	return r, err == nil, err
}

// followGitFile reads "gitdir: <path>", relative to the directory it lies in.
func followGitFile(dir, file string) (string, error) {
	b, err := readRegular(file, controlMost)
	if err != nil {
		return "", err
	}
	to, ok := strings.CutPrefix(strings.TrimRight(string(b), "\r\n"), "gitdir: ")
	if !ok {
		return "", fmt.Errorf("%s does not name a git directory", show(file))
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	if !isGitDir(to) {
		return "", fmt.Errorf("%s names %s, which is no git directory", show(file), show(to))
	}
	return to, nil
}

// isGitDir is git's own test: a HEAD, and objects and refs or a pointer to the
// directory that has them.
func isGitDir(dir string) bool {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	return has("commondir") || has("objects") && has("refs")
}

// repositoryAt resolves the directories that belong to a git directory.
func repositoryAt(gitDir, topLevel string) (repository, error) {
	var err error
	r := repository{topLevel: topLevel}
	if r.gitDir, err = filepath.EvalSymlinks(gitDir); err != nil {
		return r, err
	}
	r.commonDir = r.gitDir
	b, err := readRegular(filepath.Join(r.gitDir, "commondir"), controlMost)
	if err == nil {
		to := strings.TrimRight(string(b), "\r\n")
		if !filepath.IsAbs(to) {
			to = filepath.Join(r.gitDir, to)
		}
		if r.commonDir, err = filepath.EvalSymlinks(to); err != nil {
			return r, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	for _, p := range []string{r.topLevel, r.gitDir, r.commonDir} {
		if err := checkPlainPath(p); err != nil {
			return r, err
		}
	}
	if _, err := os.Stat(filepath.Join(r.commonDir, "objects")); err != nil {
		return r, err
	}
	return r, nil
}
