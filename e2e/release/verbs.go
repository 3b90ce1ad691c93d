package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Check reports on output whether the releases of a checkout's commit, or of one train, can be made. It builds and
// tests each module. The error has everything that is wrong with the files, or else the first build or test that fails.
func (r Repository) Check(ctx context.Context, train string, output io.Writer) error {
	plan, err := r.Plan(ctx, train, "", false)
	if err != nil {
		return err
	}
	if len(plan.Releases) == 0 {
		sayNothing(output)
	}
	for _, release := range plan.Releases {
		if err := r.BuildAndTest(ctx, release, output); err != nil {
			return err
		}
		fmt.Fprintf(output, "%s can be released\n", release.Tag())
	}
	return nil
}

// BuildAndTest vets and tests the module of a release by itself, without go.work. Without a module it does nothing.
func (r Repository) BuildAndTest(ctx context.Context, release Release, output io.Writer) error {
	if release.GoMod == nil {
		return nil
	}
	fmt.Fprintf(output, "%s: vet and tests without go.work\n", release.Tag())
	directory := filepath.Join(r.Root, release.Directory)
	// The timeout is for one package: tests that wait for a real API server take long on a busy machine.
	for _, arguments := range [][]string{{"vet", "./..."}, {"test", "-timeout", "30m", "./..."}} {
		set := []string{"GOWORK=off", "PWD=" + directory}
		if err := run(ctx, output, directory, set, append([]string{"go"}, arguments...)); err != nil {
			return fmt.Errorf("GOWORK=off go %s in %s: %w", strings.Join(arguments, " "), release.Directory, err)
		}
	}
	return nil
}

func run(ctx context.Context, output io.Writer, directory string, set, words []string) error {
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	command.Dir, command.Env = directory, append(os.Environ(), set...)
	command.Stdout, command.Stderr = output, output
	return command.Run()
}

// DryRun packages the releases of the commit, or of one train, and says on output what would be published.
func (r Repository) DryRun(ctx context.Context, train string, destination Destination, output io.Writer) error {
	plan, err := r.Plan(ctx, train, "", true)
	if err != nil {
		return err
	}
	if destination.Registry == "" {
		destination.Registry = "$REGISTRY"
	}
	if err := r.runAll(ctx, plan, destination, false, output); err != nil {
		return err
	}
	fmt.Fprintln(output, "nothing was published: PUSH=1 REGISTRY=… does that")
	return nil
}

// Publish makes the releases of the commit, or of one train, unless the remote has their tags. The commit has to be on
// that branch of the remote. Nothing is tested here: Check comes before.
func (r Repository) Publish(
	ctx context.Context, train, branch string, destination Destination, output io.Writer,
) error {
	if destination.Registry == "" {
		return errors.New(
			"images and charts need somewhere to go: set REGISTRY to the host and path in front of packtree/<program>")
	}
	if destination.Sign {
		if _, err := exec.LookPath("cosign"); err != nil {
			return fmt.Errorf("what is published is to be signed: %w", err)
		}
	}
	if err := r.CheckReviewed(ctx, destination.Remote, branch); err != nil {
		return err
	}
	plan, err := r.Plan(ctx, train, destination.Remote, true)
	if err != nil {
		return err
	}
	return r.runAll(ctx, plan, destination, true, output)
}

func (r Repository) runAll(ctx context.Context, plan Plan, destination Destination, push bool, output io.Writer) error {
	if len(plan.Releases) == 0 {
		sayNothing(output)
	}
	for _, release := range plan.Releases {
		if err := r.Run(ctx, release, destination, push, output); err != nil {
			return err
		}
	}
	return nil
}

func sayNothing(output io.Writer) {
	fmt.Fprintln(output, "nothing to release: every file of a CHANGELOG has its tag")
}
