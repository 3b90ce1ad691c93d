package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"packtree.dev/e2e/load"
)

// report is the result of a measurement.
type report interface{ Print(io.Writer) error }

// measurement completes a command that measures: with the common flags, a directory for the cluster, and the report at
// the end.
func measurement(
	command cobra.Command, common *load.Common, parts []load.Part, measure func(context.Context) (report, error),
) *cobra.Command {
	asJSON := false
	command.Args = cobra.NoArgs
	command.RunE = func(cmd *cobra.Command, _ []string) error {
		if common.Dir == "" {
			directory, err := os.MkdirTemp("", "packtree-load-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(directory)
			common.Dir = filepath.Join(directory, "cluster")
		}
		measured, err := measure(cmd.Context())
		if err != nil {
			return err
		}
		if !asJSON {
			return measured.Print(cmd.OutOrStdout())
		}
		encoder := json.NewEncoder(cmd.OutOrStdout())
		encoder.SetIndent("", "  ")
		return encoder.Encode(measured)
	}
	common.Progress, common.Parts = os.Stderr, parts
	flags := command.Flags()
	flags.StringVar(&common.Dir, "dir", "", "state directory of the dev cluster (default: a temporary one)")
	flags.StringVar(&common.Program, "program", "", "binary of the component (default: the one in bin)")
	flags.StringVar(&common.Profile, "profile", "", "directory for profiles of the component")
	flags.DurationVar(&common.Patience, "patience", cmp.Or(common.Patience, 10*time.Minute), "bound of each wait")
	flags.BoolVar(&asJSON, "json", false, "print the report as JSON, with all runs")
	if len(parts) > 0 {
		flags.Func("parts", "what to measure (default "+names(parts)+")", func(value string) (err error) {
			common.Parts, err = chosen(parts, strings.Split(value, ","))
			return err
		})
	}
	return &command
}

func names(parts []load.Part) string {
	var names []string
	for _, part := range parts {
		names = append(names, string(part))
	}
	return strings.Join(names, ",")
}

func chosen(parts []load.Part, given []string) ([]load.Part, error) {
	var chosen []load.Part
	for _, name := range given {
		if !slices.Contains(parts, load.Part(name)) {
			return nil, fmt.Errorf("%q is not one of %s", name, names(parts))
		}
		chosen = append(chosen, load.Part(name))
	}
	return chosen, nil
}
