package release

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// BuildAndTest proves that the module of a release works by itself, without go.work: it builds from the very files that
// others get, and its tests pass here. Without a module it does nothing.
func (r Repository) BuildAndTest(ctx context.Context, release Release, along []Release, output io.Writer) error {
	if release.GoMod == nil {
		return nil
	}
	fmt.Fprintf(output, "%s: building it as others get it\n", release.Tag())
	if err := r.buildAsServed(ctx, release, along, output); err != nil {
		return fmt.Errorf("building %s as others get it, which is without the files around it: %w", release.Tag(), err)
	}
	fmt.Fprintf(output, "%s: vet and tests without go.work\n", release.Tag())
	// The timeout is for one package: tests that wait for a real API server take long on a busy machine.
	for _, arguments := range [][]string{{"vet", "./..."}, {"test", "-timeout", "30m", "./..."}} {
		if err := goCommand(ctx, filepath.Join(r.Root, release.Directory), output, arguments...); err != nil {
			return fmt.Errorf("GOWORK=off go %s in %s: %w", strings.Join(arguments, " "), release.Directory, err)
		}
	}
	return nil
}

// buildAsServed builds the module from its zip, with the zips of its siblings at the required versions.
func (r Repository) buildAsServed(ctx context.Context, release Release, along []Release, output io.Writer) error {
	directory, err := os.MkdirTemp("", "packtree-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	// A clone is needed: the library that makes the zips does not accept a worktree as a repository.
	clone := Repository{Root: filepath.Join(directory, "clone")}
	if _, err := r.git(ctx, "clone", "--quiet", "--no-checkout", "--shared", ".", clone.Root); err != nil {
		return err
	}
	unpacked := filepath.Join(directory, release.Name)
	if err := clone.unpack(release, "HEAD", unpacked); err != nil {
		return err
	}
	trains, err := Trains(r.Root)
	if err != nil {
		return err
	}
	for _, sibling := range Siblings(release, trains) {
		revision := "refs/tags/" + sibling.Tag()
		if _, here := (Standing{Along: along}).released(sibling.Name, sibling.Version); here {
			revision = "HEAD"
		}
		beside := filepath.Join(directory, sibling.Name)
		if err := clone.unpack(sibling, revision, beside); err != nil {
			return err
		}
		if err := goCommand(ctx, unpacked, output, "mod", "edit", "-replace",
			sibling.GoMod.Module.Mod.Path+"="+beside); err != nil {
			return err
		}
	}
	return goCommand(ctx, unpacked, output, "build", "./...")
}

// unpack writes the content of the module's zip at a revision, as a module proxy makes it from the tag.
func (r Repository) unpack(release Release, revision, into string) error {
	file, err := os.Create(into + ".zip")
	if err != nil {
		return err
	}
	defer file.Close()
	version := module.Version{Path: release.GoMod.Module.Mod.Path, Version: release.Version}
	if err := zip.CreateFromVCS(file, version, r.Root, revision, release.Directory); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return zip.Unzip(into, version, file.Name())
}

func goCommand(ctx context.Context, directory string, output io.Writer, arguments ...string) error {
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = directory
	command.Env = append(os.Environ(), "GOWORK=off", "PWD="+directory)
	command.Stdout, command.Stderr = output, output
	return command.Run()
}
