package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The tests ask the engine over its socket, without any code of the product.

// ask sends one GET to the engine at a socket and decodes the answer.
func ask(socket, path string, v any) error {
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
	}}
	resp, err := client.Get("http://engine" + path)
	if err != nil {
		return fmt.Errorf("the engine does not answer: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the engine answers %s to %s", resp.Status, path)
	}
	return json.NewDecoder(resp.Body).Decode(v)
}

func engineHas(digest string) error {
	var image struct{ ID string }
	if err := ask(lab.socket, "/images/"+digest+"/json", &image); err != nil {
		return fmt.Errorf("no image %s: %w", digest, err)
	}
	return nil
}

// container is what the engine lists.
type container struct {
	ID     string `json:"Id"`
	Names  []string
	State  string
	Labels map[string]string
	Mounts []struct{ Source, Destination string }
}

func (c container) String() string { return fmt.Sprintf("%s %v %s", c.ID, c.Names, c.State) }

var installationID = regexp.MustCompile(`inst_[0-9A-HJKMNP-TV-Z]{26}`)

// containersBelow lists the containers that belong to a home below dir: by the
// installation that its ledger carries, or by what they mount. Two marks, so
// that a container that lacks one of them is found all the same.
func containersBelow(socket, dir string) ([]container, error) {
	var all, ours []container
	if err := ask(socket, "/containers/json?all=1", &all); err != nil {
		return nil, err
	}
	installations := map[string]bool{}
	for _, depth := range []string{"", "*", "*/*"} {
		files, err := filepath.Glob(filepath.Join(dir, depth, "ledger.db"))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			for _, i := range installationID.FindAll(b, -1) {
				installations[string(i)] = true
			}
		}
	}
	for _, c := range all {
		mine := installations[c.Labels["cyberagent.installation"]]
		for _, m := range c.Mounts {
			mine = mine || strings.HasPrefix(m.Source, dir+"/")
		}
		if mine {
			ours = append(ours, c)
		}
	}
	return ours, nil
}

// MustHaveNoContainer fails when the engine has a container of the home.
func (h *home) MustHaveNoContainer(t testing.TB) {
	t.Helper()
	found, err := containersBelow(h.socket, h.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range found {
		t.Errorf("a container is left: %s", c)
	}
	h.MustHaveNoRundir(t)
}

// MustHaveOneContainer returns the only container of the home.
func (h *home) MustHaveOneContainer(t testing.TB) container {
	t.Helper()
	found, err := containersBelow(h.socket, h.dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 {
		t.Fatalf("%d containers, want one: %v", len(found), found)
	}
	return found[0]
}
