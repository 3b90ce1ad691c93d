package archives_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"packtree.dev/e2e/archives"
)

const reference = "team/program:v1.2.3"

func program(t *testing.T) archives.Program {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("what it does"), 0o600); err != nil {
		t.Fatal(err)
	}
	return archives.Program{Reference: reference, File: file, Links: []string{"bin/sleep"}, User: "65532:65532",
		Architecture: "arm64"}
}

func write(t *testing.T, program archives.Program) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := archives.Write(file, program); err != nil {
		t.Fatal(err)
	}
	return file
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
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	var found []entry
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, entry{Name: header.Name, Content: string(text), Link: header.Linkname, Mode: header.Mode})
	}
}

func TestAnImageHoldsTheProgramAlone(t *testing.T) {
	tag, err := name.NewTag(reference)
	if err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(write(t, program(t)), &tag)
	if err != nil {
		t.Fatalf("the archive has no image %s: %v", reference, err)
	}
	want := []entry{
		{Name: "program", Content: "what it does", Mode: 0o755},
		{Name: "bin/sleep", Link: "/program", Mode: 0o777},
	}
	if diff := cmp.Diff(want, entries(t, image)); diff != "" {
		t.Errorf("files of the image (-want +got):\n%s", diff)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config := v1.Config{Entrypoint: []string{"/program"}, Env: []string{"PATH=/"}, User: "65532:65532"}
	if diff := cmp.Diff(config, file.Config); diff != "" {
		t.Errorf("configuration of the image (-want +got):\n%s", diff)
	}
	if file.OS != "linux" || file.Architecture != "arm64" {
		t.Errorf("the image is for %s/%s, want linux/arm64", file.OS, file.Architecture)
	}
}

func TestTheSameProgramGivesTheSameBytes(t *testing.T) {
	var archive [2][]byte
	for i := range archive {
		content, err := os.ReadFile(write(t, program(t)))
		if err != nil {
			t.Fatal(err)
		}
		archive[i] = content
	}
	if !bytes.Equal(archive[0], archive[1]) {
		t.Error("two archives of one program differ")
	}
}

func TestWhatCannotBeAnImageIsSaid(t *testing.T) {
	whole := program(t)
	for claim, test := range map[string]struct {
		change func(*archives.Program)
		says   string
	}{
		"a program that is not there is named": {
			func(p *archives.Program) { p.File = filepath.Join(t.TempDir(), "missing") }, "missing: no such file",
		},
		"a program that needs a loader": {
			func(p *archives.Program) { p.File = "/bin/sh" }, "build it with CGO_ENABLED=0",
		},
		"an image needs a tag": {func(p *archives.Program) { p.Reference = "team/program" },
			"naming the image"},
		"a name that nobody can pull is none": {func(p *archives.Program) { p.Reference = "Team/Program:v1" },
			"naming the image"},
	} {
		t.Run(claim, func(t *testing.T) {
			wrong := whole
			test.change(&wrong)
			err := archives.Write(filepath.Join(t.TempDir(), "image.tar"), wrong)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %v; want it to say %q", err, test.says)
			}
		})
	}
}
