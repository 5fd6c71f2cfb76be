package mountinfo

import (
	"fmt"
	"strings"
	"testing"
)

const table = `71 47 0:38 / / ro,relatime master:2 - overlay overlay rw,lowerdir=/a:/b,upperdir=/c
72 71 0:41 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
87 71 254:0 /home/a\040b/ws /workspace rw,relatime - ext4 /dev/vda rw,discard
88 87 254:0 /tmp/mask /workspace/.git ro,relatime shared:3 master:4 - ext4 /dev/vda rw,discard
93 71 0:47 / /standard-code/cache rw,nosuid,nodev,relatime - tmpfs tmpfs rw,size=131072k
`

func TestParseReadsTheKernelsTable(t *testing.T) {
	mounts, err := Parse(table)
	if err != nil || len(mounts) != 5 {
		t.Fatalf("%d mounts, %v", len(mounts), err)
	}
	ws, ok := Only(mounts, "/workspace")
	if !ok || ws.Root != "/home/a b/ws" || ws.FSType != "ext4" || ws.Device != "254:0" || ws.ReadOnly() {
		t.Errorf("workspace: %+v", ws)
	}
	mask, ok := Only(mounts, "/workspace/.git")
	if !ok || !mask.ReadOnly() || !mask.Has("relatime") {
		t.Errorf("mask with two optional fields: %+v", mask)
	}
}

func TestParseRefusesWhatItDoesNotUnderstand(t *testing.T) {
	for _, line := range []string{
		"", "71 47 0:38 / / ro", "71 47 0:38 / / ro master:2 overlay overlay rw x",
		"71 47 0:38 / / ro - overlay overlay", `71 47 0:38 /\04 / ro - overlay overlay rw`,
		`71 47 0:38 /\999 / ro - overlay overlay rw`, `71 47 0:38 /\777 / ro - overlay overlay rw`,
	} {
		if m, err := Parse(line + "\n"); err == nil {
			t.Errorf("%q became %+v", line, m)
		}
	}
}

func TestOnlyWantsExactlyOneMount(t *testing.T) {
	mounts, _ := Parse(table + "99 71 0:99 / /workspace rw - tmpfs tmpfs rw\n")
	if m, ok := Only(mounts, "/workspace"); ok {
		t.Errorf("a covered mount was taken: %+v", m)
	}
	if len(At(mounts, "/workspace")) != 2 {
		t.Error("both mounts should be listed")
	}
	if _, ok := Only(mounts, "/nowhere"); ok {
		t.Error("a mount that is not there")
	}
}

// escape writes a path as the kernel does.
func escape(s string) string {
	return strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`).Replace(s)
}

func FuzzParse(f *testing.F) {
	f.Add(table, "/a b", "/c\n-", `d\e`)
	f.Add("\n", "", "", "")
	f.Fuzz(func(t *testing.T, text, root, target, source string) {
		Parse(text) // must not panic
		if root == "" || target == "" || source == "" {
			return
		}
		line := fmt.Sprintf("1 2 3:4 %s %s rw,nosuid shared:1 - ext4 %s ro\n", escape(root), escape(target), escape(source))
		mounts, err := Parse(line)
		if err != nil || len(mounts) != 1 {
			t.Fatalf("%q: %v, %d mounts", line, err, len(mounts))
		}
		if m := mounts[0]; m.Root != root || m.Target != target || m.Source != source || !m.ReadOnly() {
			t.Errorf("%q became %+v", line, m)
		}
	})
}
