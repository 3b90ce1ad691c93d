package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// report is the result of a measurement.
type report interface{ Print(io.Writer) error }

// common are the options that every measurement has.
type common struct {
	// Dir is the state directory of the dev cluster that is brought up, and taken down at the end.
	Dir string
	// Parts to measure.
	Parts []string
	// Patience bounds each wait.
	Patience time.Duration
	// Progress receives lines that say what happens.
	Progress io.Writer
}

// measurement completes a command that measures: with the common flags, a directory for the cluster, and the report at
// the end.
func measurement(
	command cobra.Command, c *common, measure func(context.Context) (report, error), parts ...string,
) *cobra.Command {
	command.Args = cobra.NoArgs
	command.RunE = func(cmd *cobra.Command, _ []string) error {
		for _, name := range c.Parts {
			if !slices.Contains(parts, name) {
				return fmt.Errorf("%q is not one of %s", name, strings.Join(parts, ", "))
			}
		}
		directory, err := os.MkdirTemp("", "packtree-load-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(directory)
		c.Dir, c.Progress = filepath.Join(directory, "cluster"), cmd.ErrOrStderr()
		measured, err := measure(cmd.Context())
		if err != nil {
			return err
		}
		return measured.Print(cmd.OutOrStdout())
	}
	flags := command.Flags()
	flags.DurationVar(&c.Patience, "patience", 20*time.Minute, "bound of each wait")
	if len(parts) > 0 {
		flags.StringSliceVar(&c.Parts, "parts", parts, "what to measure")
	}
	return &command
}

// part is one of the measurements, with its function.
type part struct {
	name string
	take func(context.Context) error
}

// takeParts runs the wanted parts, in their order.
func (c common) takeParts(ctx context.Context, parts ...part) error {
	for _, part := range parts {
		if !slices.Contains(c.Parts, part.name) {
			continue
		}
		if err := part.take(ctx); err != nil {
			return fmt.Errorf("part %s: %w", part.name, err)
		}
	}
	return nil
}
