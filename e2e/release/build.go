package release

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// BuildAndTest vets and tests the module of a release by itself, without go.work. Without a module it does nothing.
func (r Repository) BuildAndTest(ctx context.Context, release Release, output io.Writer) error {
	if release.GoMod == nil {
		return nil
	}
	fmt.Fprintf(output, "%s: vet and tests without go.work\n", release.Tag())
	directory := filepath.Join(r.Root, release.Directory)
	// The timeout is for one package: tests that wait for a real API server take long on a busy machine.
	for _, arguments := range [][]string{{"vet", "./..."}, {"test", "-timeout", "30m", "./..."}} {
		command := exec.CommandContext(ctx, "go", arguments...)
		command.Dir, command.Env = directory, append(os.Environ(), "GOWORK=off", "PWD="+directory)
		command.Stdout, command.Stderr = output, output
		if err := command.Run(); err != nil {
			return fmt.Errorf("GOWORK=off go %s in %s: %w", strings.Join(arguments, " "), release.Directory, err)
		}
	}
	return nil
}
