// Package archives makes images of static programs, in the format of `docker save`, without Docker. `kind load
// image-archive` reads them.
package archives

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Program is the content of an image: one program and nothing else.
type Program struct {
	// Reference is the image's name and tag.
	Reference string
	// File is the program on this machine. The program in the image has the same base name, and is at the root, which
	// is in PATH there.
	File string
	// Links are further names of the program.
	Links []string
	// User that runs it; root if empty.
	User string
	// Architecture of the program, in Go's words.
	Architecture string
}

// Write makes the image of a program and writes it into a file. The same program gives the same bytes.
func Write(file string, program Program) error {
	tag, err := name.NewTag(program.Reference, name.WithDefaultTag(""))
	if err == nil && tag.TagStr() == "" {
		err = fmt.Errorf("%q has no tag", program.Reference)
	}
	if err != nil {
		return fmt.Errorf("naming the image of %s: %w", program.File, err)
	}
	image, err := program.image()
	if err != nil {
		return fmt.Errorf("making the image %s: %w", program.Reference, err)
	}
	if err := tarball.WriteToFile(file, tag, image); err != nil {
		return fmt.Errorf("writing the image %s: %w", program.Reference, err)
	}
	return nil
}

func (p Program) image() (v1.Image, error) {
	if err := checkStatic(p.File); err != nil {
		return nil, err
	}
	files, err := p.files()
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil })
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	configuration, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	configuration = configuration.DeepCopy()
	configuration.OS, configuration.Architecture = "linux", p.Architecture
	configuration.Config = v1.Config{Entrypoint: []string{p.path()}, Env: []string{"PATH=/"}, User: p.User}
	return mutate.ConfigFile(image, configuration)
}

func (p Program) path() string { return "/" + filepath.Base(p.File) }

// checkStatic refuses a program that needs a loader, which these images do not have: its container would end with "no
// such file".
func checkStatic(file string) error {
	program, err := elf.Open(file)
	if err != nil {
		return nil // A script, or a program for another system.
	}
	defer program.Close()
	if slices.ContainsFunc(program.Progs, func(segment *elf.Prog) bool { return segment.Type == elf.PT_INTERP }) {
		return errors.New(
			"the program is linked dynamically, and an image holds nothing but it: build it with CGO_ENABLED=0")
	}
	return nil
}

// files is the layer, without times and owners of this machine.
func (p Program) files() ([]byte, error) {
	content, err := os.ReadFile(p.File)
	if err != nil {
		return nil, err
	}
	var layer bytes.Buffer
	writer := tar.NewWriter(&layer)
	header := &tar.Header{Name: p.path()[1:], Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg}
	if err := writer.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := writer.Write(content); err != nil {
		return nil, err
	}
	for _, link := range p.Links {
		header := &tar.Header{Name: path.Clean("/" + link)[1:], Mode: 0o777, Linkname: p.path(),
			Typeflag: tar.TypeSymlink}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return layer.Bytes(), nil
}
