// Command krew makes the archives and the manifest from which Krew installs a kubectl plugin:
//
//	krew --about MANIFEST --version vX.Y.Z --downloads URL -o DIRECTORY OS/ARCH=PROGRAM...
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"packtree.dev/e2e/krew"
	"packtree.dev/shared/render"
)

func main() { os.Exit(render.Execute(command())) }

func command() *cobra.Command {
	var about, output string
	release := krew.Release{}
	command := &cobra.Command{
		Use:   "krew OS/ARCH=PROGRAM...",
		Short: "make the archives and the manifest from which Krew installs a kubectl plugin",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			var err error
			if release.About, err = krew.Read(about); err != nil {
				return err
			}
			if release.Builds, err = builds(args); err != nil {
				return err
			}
			return release.Write(output)
		},
	}
	flags := command.Flags()
	flags.StringVar(&about, "about", "", "the manifest without version and platforms")
	flags.StringVar(&release.Version, "version", "", "the version, as vX.Y.Z")
	flags.StringVar(&release.Downloads, "downloads", "", "where people fetch the archives: the address of a directory")
	flags.StringVar(&release.License, "license", "LICENSE", "a file that goes into each archive")
	flags.StringVarP(&output, "output", "o", ".", "the directory that receives archives and manifest")
	for _, needed := range []string{"about", "version", "downloads"} {
		if err := command.MarkFlagRequired(needed); err != nil {
			panic(err) // It was bound a few lines above.
		}
	}
	return command
}

func builds(args []string) ([]krew.Build, error) {
	var found []krew.Build
	for _, arg := range args {
		platform, file, named := strings.Cut(arg, "=")
		system, architecture, both := strings.Cut(platform, "/")
		if !named || !both {
			return nil, fmt.Errorf("%q is not OS/ARCH=PROGRAM", arg)
		}
		found = append(found, krew.Build{OS: system, Arch: architecture, File: file})
	}
	return found, nil
}
