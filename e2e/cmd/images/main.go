// The command images writes archives of images, each with one static program for this machine: images -o DIRECTORY
// NAME:TAG=PROGRAM...
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"packtree.dev/e2e/archives"
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
	user := flags.String("user", "", "who runs the programs, root unless given")
	links := flags.String("links", "", "more paths of the program in the image, separated by commas")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return fmt.Errorf("name at least one image, as NAME:TAG=PROGRAM")
	}
	if err := os.MkdirAll(*into, 0o750); err != nil {
		return err
	}
	for _, argument := range flags.Args() {
		reference, file, found := strings.Cut(argument, "=")
		if !found {
			return fmt.Errorf("%q is not NAME:TAG=PROGRAM", argument)
		}
		program := archives.Program{
			Reference: reference, File: file, User: *user, Architecture: runtime.GOARCH,
			Links: strings.FieldsFunc(*links, func(r rune) bool { return r == ',' }),
		}
		if err := archives.Write(filepath.Join(*into, filepath.Base(file)+".tar"), program); err != nil {
			return err
		}
	}
	return nil
}
