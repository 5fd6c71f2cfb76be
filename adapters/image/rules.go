package image

import (
	"path"
	"slices"
	"strings"
)

// fate says what happens to a path of a base.
type fate int

const (
	keep   fate = iota
	drop        // the entry and everything below it
	hollow      // a directory is kept, what is below it is dropped
)

// dropped lists what does not reach the image, with the reason. Paths are those
// of the union, without links and without a leading slash.
var dropped = []struct {
	path string
	fate fate
	why  string
}{
	{"dev", drop, "the engine's; a real, empty directory is laid in"},
	{"proc", drop, "as dev"},
	{"sys", drop, "as dev"},
	{"workspace", drop, "the mount point is the product's"},
	{"standard-code", drop, "the product's"},
	{"etc/passwd", drop, "the product's has root and the one user"},
	{"etc/group", drop, "as passwd"},
	{"etc/hostname", drop, "a real, empty file is laid in for the engine's mount"},
	{"etc/hosts", drop, "as hostname"},
	{"etc/resolv.conf", drop, "as hostname"},
	{"etc/passwd-", drop, "accounts have no use"},
	{"etc/group-", drop, "accounts have no use"},
	{"etc/shadow", drop, "accounts have no use"},
	{"etc/shadow-", drop, "accounts have no use"},
	{"etc/gshadow", drop, "accounts have no use"},
	{"etc/gshadow-", drop, "accounts have no use"},
	{"etc/subuid", drop, "accounts have no use"},
	{"etc/subgid", drop, "accounts have no use"},
	{"etc/.pwd.lock", drop, "accounts have no use"},
	{"etc/machine-id", drop, "an identity is not part of an image"},
	{"var/lib/dbus/machine-id", drop, "as machine-id"},
	{"etc/apt", drop, "no package is installed later; may hold credentials"},
	{"etc/ssh", drop, "no service is run; may hold keys"},
	{".dockerenv", drop, "a trace of the engine that made the base"},
	{"run", hollow, "state of a running system"},
	{"tmp", hollow, "temporary"},
	{"var/tmp", hollow, "temporary"},
	{"var/cache", hollow, "can be made again"},
	{"var/log", hollow, "history of making the base"},
	{"var/lib/apt", drop, "no package is installed later"},
	{"var/lib/dpkg", drop, "four databases do not make one"},
	{"var/backups", hollow, "copies of the above"},
	{"var/spool", hollow, "no service is run"},
	{"var/mail", hollow, "no service is run"},
	{"root", hollow, "settings and perhaps credentials of whoever made the base"},
	{"home", hollow, "as root"},
	{"boot", hollow, "nothing boots"},
	{"usr/share/man", hollow, "documents"},
	{"usr/share/info", hollow, "documents"},
	{"usr/share/locale", hollow, "the language is C.UTF-8"},
	{"usr/share/lintian", drop, "a packager's notes"},
	{"usr/share/bug", drop, "a packager's notes"},
	{"usr/lib/locale/locale-archive", drop, "the language is C.UTF-8"},
	{"usr/local/share/man", hollow, "documents"},
}

var fates = func() map[string]fate {
	m := make(map[string]fate, len(dropped))
	for _, d := range dropped {
		m[d.path] = d.fate
	}
	return m
}()

// fateOf decides about one path. Its parents were kept.
func fateOf(p string, k kind) fate {
	if f, ok := fates[p]; ok {
		return f
	}
	base := path.Base(p)
	switch {
	case base == ".ssh":
		return drop
	case k != dir && inDocs(p):
		// Licences must go with the programs.
		if base == "copyright" || strings.HasPrefix(base, "LICENSE") {
			return keep
		}
		return drop
	}
	return keep
}

// buried says whether a path that was reached through a link lies where nothing
// of a base may lie.
func buried(p string) bool {
	for ; p != "." && p != ""; p = path.Dir(p) {
		if fates[p] != keep {
			return true
		}
	}
	return false
}

func inDocs(p string) bool {
	return strings.HasPrefix(p, "usr/share/doc/") || strings.HasPrefix(p, "usr/local/share/doc/")
}

// firstWins are generated or informative files in places that matter. They
// differ between bases for reasons that change no program: any one of them is
// right for the union, or is not used at all.
var firstWins = []struct{ suffix, why string }{
	{".pyc", "byte code carries times; it is taken together with its source"},
	{"usr/lib/os-release", "id and version were compared; the rest is prose"},
	{"/gconv-modules.cache", "made from the modules of one base; C.UTF-8 needs none"},
	{"/giomodule.cache", "as gconv-modules.cache"},
	{"/loaders.cache", "as gconv-modules.cache"},
	{"usr/lib/udev/hwdb.bin", "no device is managed"},
	{"usr/local/bin/docker-entrypoint.sh", "the entry point is the runner"},
	{"usr/local/LICENSE", "informative"},
	{"usr/local/README.md", "informative"},
	{"usr/local/CHANGELOG.md", "informative"},
}

// matters says whether two bases may not differ in a path: programs, libraries
// and headers do; data below usr/share and settings below etc do not, where the
// first base is right for all (all are the same release).
func matters(p string) bool {
	top, rest, _ := strings.Cut(p, "/")
	switch {
	case top == "usr":
		if rest == "share" || strings.HasPrefix(rest, "share/") {
			return false
		}
	case top != "opt" && top != "bin" && top != "sbin" && !strings.HasPrefix(top, "lib"):
		return false
	}
	return !slices.ContainsFunc(firstWins, func(f struct{ suffix, why string }) bool {
		return strings.HasSuffix(p, f.suffix)
	})
}
