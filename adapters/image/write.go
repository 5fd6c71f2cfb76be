package image

import (
	"archive/tar"
	"context"
	"encoding/json"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// writeArchive writes one file that every engine loads: a docker-archive
// (manifest.json) that is an OCI layout at the same time (index.json). Docker's
// classic store reads the first; containerd and Docker's containerd store read
// the second and so keep the manifest's digest. Only the given ones of the image's
// layers are in it.
func writeArchive(ctx context.Context, w io.Writer, img v1.Image, layers []*layer, tag string) error {
	config, err := img.RawConfigFile()
	if err != nil {
		return err
	}
	manifest, err := img.RawManifest()
	if err != nil {
		return err
	}
	configName, manifestName := blobName(sum(config)), blobName(sum(manifest))
	all, err := img.Layers()
	if err != nil {
		return err
	}
	var layerNames []string
	for _, l := range all {
		h, err := l.Digest()
		if err != nil {
			return err
		}
		layerNames = append(layerNames, blobName(h.String()))
	}
	manifestHash, err := v1.NewHash(sum(manifest))
	if err != nil {
		return err
	}
	index, err := json.Marshal(v1.IndexManifest{
		SchemaVersion: 2,
		MediaType:     types.OCIImageIndex,
		Manifests: []v1.Descriptor{{
			MediaType: types.OCIManifestSchema1,
			Digest:    manifestHash,
			Size:      int64(len(manifest)),
			Annotations: map[string]string{
				"io.containerd.image.name":          tag,
				"org.opencontainers.image.ref.name": tag[strings.LastIndexByte(tag, ':')+1:],
			},
		}},
	})
	if err != nil {
		return err
	}
	docker, err := json.Marshal([]map[string]any{{"Config": configName, "RepoTags": []string{tag}, "Layers": layerNames}})
	if err != nil {
		return err
	}
	tw := tar.NewWriter(&ctxWriter{ctx, w})
	for _, d := range []string{"blobs/", "blobs/sha256/"} {
		if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: d, Mode: 0o755, ModTime: created}); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		name string
		data []byte
	}{
		{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)}, {"index.json", index}, {"manifest.json", docker},
		{manifestName, manifest}, {configName, config},
	} {
		if err := tw.WriteHeader(plainFile(f.name, int64(len(f.data)))); err != nil {
			return err
		}
		if _, err := tw.Write(f.data); err != nil {
			return err
		}
	}
	written := map[string]bool{}
	for _, l := range layers {
		name := blobName(l.hash.String())
		if written[name] {
			continue
		}
		written[name] = true
		if err := tw.WriteHeader(plainFile(name, l.size)); err != nil {
			return err
		}
		if err := l.write(ctx, tw); err != nil {
			return err
		}
	}
	return tw.Close()
}

func blobName(digest string) string { return "blobs/sha256/" + strings.TrimPrefix(digest, "sha256:") }

func plainFile(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o444, ModTime: created}
}
