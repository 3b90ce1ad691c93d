// The command images writes archives of images, each with one static program for this machine and nothing else, in the
// format of `docker save` and without Docker: images -o DIRECTORY NAME:TAG=PROGRAM...
package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "images: %v\n", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	flags := flag.NewFlagSet("images", flag.ContinueOnError)
	into := flags.String("o", ".", "directory that receives an archive <program>.tar for each")
	user := flags.String("user", "", "the user that runs the programs, root unless given")
	links := flags.String("links", "", "more paths of the program in the image, separated by commas")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if err := os.MkdirAll(*into, 0o750); err != nil {
		return err
	}
	for _, argument := range flags.Args() {
		reference, program, _ := strings.Cut(argument, "=")
		tag, err := name.NewTag(reference, name.WithDefaultTag(""))
		if err == nil && (tag.TagStr() == "" || program == "") {
			err = errors.New("the tag or the program is missing")
		}
		if err != nil {
			return fmt.Errorf("%q is not NAME:TAG=PROGRAM: %w", argument, err)
		}
		more := strings.FieldsFunc(*links, func(r rune) bool { return r == ',' })
		image, err := imageOf(program, *user, more)
		if err == nil {
			err = tarball.WriteToFile(filepath.Join(*into, filepath.Base(program)+".tar"), tag, image)
		}
		if err != nil {
			return fmt.Errorf("making the image %s: %w", reference, err)
		}
	}
	return nil
}

// imageOf has the program at the root, which is in PATH there. The same program gives the same image.
func imageOf(program, user string, links []string) (v1.Image, error) {
	layer, err := layerOf(program, links)
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
	configuration.OS, configuration.Architecture = "linux", runtime.GOARCH
	configuration.Config = v1.Config{
		Entrypoint: []string{"/" + filepath.Base(program)}, Env: []string{"PATH=/"}, User: user,
	}
	return mutate.ConfigFile(image, configuration)
}

// layerOf has neither times nor owners of this machine. A program that needs a loader is refused: its container would
// end with "no such file".
func layerOf(program string, links []string) (v1.Layer, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	if binary, err := elf.NewFile(bytes.NewReader(content)); err == nil &&
		slices.ContainsFunc(binary.Progs, func(segment *elf.Prog) bool { return segment.Type == elf.PT_INTERP }) {
		return nil, errors.New("the program is linked dynamically: build it with CGO_ENABLED=0")
	}
	var files bytes.Buffer
	writer := tar.NewWriter(&files)
	target := filepath.Base(program)
	err = writer.WriteHeader(&tar.Header{Name: target, Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg})
	if err == nil {
		_, err = writer.Write(content)
	}
	for _, link := range links {
		err = errors.Join(err, writer.WriteHeader(&tar.Header{
			Name: path.Clean("/" + link)[1:], Mode: 0o777, Linkname: "/" + target, Typeflag: tar.TypeSymlink,
		}))
	}
	if err := errors.Join(err, writer.Close()); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files.Bytes())), nil
	})
}
