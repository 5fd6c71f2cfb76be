package isolation

import (
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"cyberagent/domain/canon"
	"cyberagent/domain/fault"
	"cyberagent/domain/phrase"
)

// FileID identifies a file on this host, so that the runner can prove that what
// is mounted is what the host recorded. Its numbers are text in JSON: overlayfs,
// FUSE and network file systems use all 64 bits, canonical JSON carries 53.
type FileID struct {
	Dev   uint64 `json:"dev,string"`
	Inode uint64 `json:"inode,string"`
}

// String is "dev:inode" in decimal.
func (f FileID) String() string {
	return strconv.FormatUint(f.Dev, 10) + ":" + strconv.FormatUint(f.Inode, 10)
}

// FileKind is what an lstat said.
type FileKind string

// The kinds of files that matter here.
const (
	Regular   FileKind = "regular"
	Directory FileKind = "directory"
	Symlink   FileKind = "symlink"
	OtherFile FileKind = "other"
)

// MaskFacts are what the host found when it opened the mask without following
// links.
type MaskFacts struct {
	Path    string
	Kind    FileKind
	Links   uint64
	Mode    uint32 // permission bits
	Content []byte // at most a few bytes more than MaskContent
	ID      FileID
}

// Mount is one projection of a host path into the container.
type Mount struct {
	Source   string
	Target   string
	ReadOnly bool
	// Private says that mount events do not propagate.
	Private bool
}

// CheckMask accepts only the product's own mask: a regular file with one link,
// mode 0444 and exactly MaskContent (mask_invalid, mask_missing).
func CheckMask(m MaskFacts) error {
	bad := func(format string, a ...any) error {
		return fault.New(fault.MaskInvalid, format, a...).At("mask").
			Hint("remove %s; the product makes it anew", m.Path)
	}
	switch {
	case m.Path == "":
		return fault.New(fault.MaskMissing, "no mask for %s", GitTarget).At("mask").
			Hint("this is a fault of the product; report it")
	case m.Kind != Regular:
		return bad("%s is a %s, not a regular file", m.Path, m.Kind)
	case m.Links != 1:
		return bad("%s has %s, want 1", m.Path, phrase.Count(m.Links, "link"))
	case m.Mode != MaskMode:
		return bad("%s has mode %04o, want %04o", m.Path, m.Mode, MaskMode)
	case string(m.Content) != MaskContent:
		return bad("%s has other content than the product's", m.Path)
	}
	return nil
}

// CheckMounts accepts exactly two mounts: the Drydock's root on /workspace,
// writable, and the mask on /workspace/.git, read-only; both private, with
// clean absolute sources, the mask's source outside the Drydock. It returns
// mask_missing or mount_refused.
func CheckMounts(mounts []Mount) error {
	bad := func(format string, a ...any) error {
		return fault.New(fault.MountRefused, format, a...).At("mounts").
			Hint("only %s and the mask on %s may be mounted", Workspace, GitTarget)
	}
	var ws, mask *Mount
	for i := range mounts {
		m := &mounts[i]
		if !path.IsAbs(m.Source) || path.Clean(m.Source) != m.Source || m.Source == "/" || strings.ContainsRune(m.Source, 0) {
			return bad("source %q is not a clean absolute path below /", m.Source)
		}
		if !utf8.ValidString(m.Source) {
			// The engines' APIs are JSON or protobuf, where it would become another path.
			return bad("source %q is not valid UTF-8", m.Source)
		}
		if !m.Private {
			return bad("%s is not private", m.Target)
		}
		switch m.Target {
		case Workspace:
			if ws != nil {
				return bad("two mounts on %s", Workspace)
			}
			ws = m
		case GitTarget:
			if mask != nil {
				return bad("two mounts on %s", GitTarget)
			}
			mask = m
		default:
			return bad("a mount on %q", m.Target)
		}
	}
	switch {
	case ws == nil:
		return bad("no mount on %s", Workspace)
	case mask == nil:
		return fault.New(fault.MaskMissing, "no mount on %s", GitTarget).At("mounts").
			Hint("this is a fault of the product; report it")
	case ws.ReadOnly:
		return bad("%s is read-only", Workspace)
	case !mask.ReadOnly:
		return bad("%s is writable", GitTarget)
	case mask.Source == ws.Source || strings.HasPrefix(mask.Source, ws.Source+"/"):
		return bad("the mask %s lies inside the Drydock", mask.Source)
	}
	return nil
}

// MaskSHA256 is the digest of the mask's only content.
func MaskSHA256() string { return canon.SHA256([]byte(MaskContent)) }
