package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const reference = "team/program:v1.2.3"

// write makes an image of a small program, and returns the archive.
func write(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	file := filepath.Join(directory, "program")
	require.NoError(t, os.WriteFile(file, []byte("what it does"), 0o600))
	require.NoError(t, run([]string{"-o", directory, "-user", "65532:65532", "-links", "bin/sleep",
		reference + "=" + file}))
	return file + ".tar"
}

// entry is a file of an image.
type entry struct {
	Name, Content, Link string
	Mode                int64
}

func entries(t *testing.T, image v1.Image) []entry {
	t.Helper()
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("the image has %d layers, %v; want one", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	require.NoError(t, err)
	defer content.Close()
	var found []entry
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		require.NoError(t, err)
		text, err := io.ReadAll(reader)
		require.NoError(t, err)
		found = append(found, entry{Name: header.Name, Content: string(text), Link: header.Linkname, Mode: header.Mode})
	}
}

func TestAnImageHoldsTheProgramAlone(t *testing.T) {
	tag, err := name.NewTag(reference)
	require.NoError(t, err)
	image, err := tarball.ImageFromPath(write(t), &tag)
	if err != nil {
		t.Fatalf("the archive has no image %s: %v", reference, err)
	}
	want := []entry{
		{Name: "program", Content: "what it does", Mode: 0o755},
		{Name: "bin/sleep", Link: "/program", Mode: 0o777},
	}
	assert.Empty(t, cmp.Diff(want, entries(t, image)), "files of the image (-want +got)")
	file, err := image.ConfigFile()
	require.NoError(t, err)
	config := v1.Config{Entrypoint: []string{"/program"}, Env: []string{"PATH=/"}, User: "65532:65532"}
	assert.Empty(t, cmp.Diff(config, file.Config), "configuration of the image (-want +got)")
	if file.OS != "linux" || file.Architecture != runtime.GOARCH {
		t.Errorf("the image is for %s/%s, want linux/%s", file.OS, file.Architecture, runtime.GOARCH)
	}
}

func TestTheSameProgramGivesTheSameBytes(t *testing.T) {
	var archive [2][]byte
	for i := range archive {
		content, err := os.ReadFile(write(t))
		require.NoError(t, err)
		archive[i] = content
	}
	if !bytes.Equal(archive[0], archive[1]) {
		t.Error("two archives of one program differ")
	}
}

func TestWhatCannotBeAnImageIsSaid(t *testing.T) {
	for claim, test := range map[string]struct{ argument, says string }{
		"a program that is not there is named":   {reference + "=/missing", "/missing: no such file"},
		"a program that needs a loader":          {reference + "=/bin/sh", "build it with CGO_ENABLED=0"},
		"an image needs a tag":                   {"team/program=/bin/sh", "is not NAME:TAG=PROGRAM"},
		"an image needs a program":               {reference, "is not NAME:TAG=PROGRAM"},
		"a name that nobody can pull is no name": {"Team/Program:v1=/bin/sh", "is not NAME:TAG=PROGRAM"},
	} {
		t.Run(claim, func(t *testing.T) {
			err := run([]string{"-o", t.TempDir(), test.argument})
			assert.ErrorContains(t, err, test.says)
		})
	}
}
