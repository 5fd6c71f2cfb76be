// Package image assembles the fixture image from four base images, without an
// engine: docker-archives in, one archive out.
//
// The way through the files:
//
//	spool.go    copies an exported base into a temporary file without a name
//	archive.go  finds the base's config and layers in it and proves its identity
//	blob.go     makes each layer readable at any offset, checked by its digest
//	entries.go  reads a layer's headers, refusing hostile names
//	flatten.go  applies layers and whiteouts to one tree in memory
//	union.go    merges the four trees; rules.go says what is dropped and what may differ
//	tools.go    finds the tools; product.go lays in what is the product's own
//	layer.go    writes a tree's part as a reproducible layer
//	result.go   makes the image; write.go the archive
//
// Invariants:
//
//  1. No entry of a base is ever created on the host's file system: trees live in
//     memory, file contents stay in the spooled archives and are streamed.
//  2. The same bases and the same runner give the same digests.
//  3. Nothing in the image can be written by the container's user, no set-user-id
//     bit, file capability, device, inherited configuration or owner survives.
//  4. A base whose bytes are not what its digest says is refused.
//  5. Close removes everything that was spooled, also after an error.
package image
