package project

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"cyberagent/domain/command"
	"cyberagent/domain/deps"
	"cyberagent/domain/limits"
	"cyberagent/domain/toolchain"
	"cyberagent/ports"
)

// openRust takes the crates of a vendor directory.
func openRust(p *project, s ports.ProjectSources, need deps.Need, files map[string][]byte) error {
	if len(need.Packages) == 0 && s.CargoVendor == "" {
		p.record.Locks[command.Rust] = need.SHA256
		return nil
	}
	t, err := p.source("cargo-vendor", s.CargoVendor, "vendor")
	if err != nil {
		return err
	}
	need.InTree = false // here it is what is laid into the image
	if t == nil {
		return p.hold(need, nil, p.fetchRust())
	}
	names, err := t.names(".")
	if err != nil {
		return err
	}
	var held []deps.Package
	for _, n := range names {
		toml, ok, err := t.read(path.Join(n, "Cargo.toml"), limits.LockfileBytes)
		if err != nil {
			return err
		}
		if c, named := deps.CargoPackage(toml); ok && named {
			held = append(held, c)
		}
	}
	if err := p.hold(need, held, p.fetchRust()); err != nil {
		return err
	}
	p.lay(command.Rust, path.Dir(toolchain.CargoVendor), func(ctx context.Context, w io.Writer) error {
		out := newTarball(w)
		if err := out.bytes(path.Base(toolchain.CargoConfig), 0o644, cargoConfig(files[need.File])); err != nil {
			return err
		}
		if err := t.into(ctx, out, path.Base(toolchain.CargoVendor), t.inside); err != nil {
			return err
		}
		return out.Close()
	})
	return nil
}

// cargoConfig makes cargo find every crate in the image: those of the registry, and
// those of each other registry and git repository that the lockfile names, as
// `cargo vendor` advises. A project's own configuration goes before it.
func cargoConfig(lock []byte) []byte {
	var b bytes.Buffer
	sources, encoded := deps.CargoSources(lock)
	var done []string
	for _, s := range sources {
		keys := cargoSource(s, encoded)
		if keys == "" || slices.Contains(done, keys) {
			continue
		}
		done = append(done, keys)
		id, _, _ := strings.Cut(s, "#")
		fmt.Fprintf(&b, "[source.%s]\n%sreplace-with = \"standard-code\"\n\n", tomlString(id), keys)
	}
	fmt.Fprintf(&b, `[source.crates-io]
replace-with = "standard-code"

[source.standard-code]
directory = %s
`, tomlString(toolchain.CargoVendor))
	return b.Bytes()
}

// cargoSource says in cargo's configuration which source a lockfile means. It is
// empty for crates.io and for what cargo would not write.
func cargoSource(source string, encoded bool) string {
	kind, at, _ := strings.Cut(source, "+")
	switch {
	case strings.HasSuffix(source, "github.com/rust-lang/crates.io-index"), strings.HasPrefix(source, "sparse+https://index.crates.io/"):
		return ""
	case kind == "registry":
		return "registry = " + tomlString(at) + "\n"
	case kind == "sparse":
		return "registry = " + tomlString(source) + "\n"
	case kind != "git":
		return ""
	}
	at, _, _ = strings.Cut(at, "#") // the commit, which the lockfile goes on to ask for
	at, query, _ := strings.Cut(at, "?")
	keys := "git = " + tomlString(at) + "\n"
	if query == "" {
		return keys
	}
	key, value, _ := strings.Cut(query, "=")
	if encoded {
		var err error
		if value, err = url.QueryUnescape(value); err != nil {
			return ""
		}
	}
	if key != "branch" && key != "tag" && key != "rev" {
		return ""
	}
	return keys + key + " = " + tomlString(value) + "\n"
}

// tomlString is a basic string of TOML, whose escapes JSON's are among.
func tomlString(s string) string {
	b, _ := json.Marshal(s) // a string always has one
	return string(b)
}
