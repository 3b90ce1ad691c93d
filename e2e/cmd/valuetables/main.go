// The command valuetables writes the tables of values into the READMEs of the given charts: valuetables charts/*.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"packtree.dev/e2e/valuetables"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "valuetables: name the folders of charts, charts/* for example")
		os.Exit(2)
	}
	for _, chart := range os.Args[1:] {
		if err := renew(chart); err != nil {
			fmt.Fprintf(os.Stderr, "valuetables: %s: %v\n", chart, err)
			os.Exit(1)
		}
	}
}

func renew(chart string) error {
	values, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		return err
	}
	schema, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	if err != nil {
		return err
	}
	rows, err := valuetables.Rows(values, schema)
	if err != nil {
		return err
	}
	readme := filepath.Join(chart, "README.md")
	old, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	renewed, err := valuetables.Replaced(string(old), valuetables.Table(rows))
	if err != nil {
		return fmt.Errorf("README.md: %w", err)
	}
	return os.WriteFile(readme, []byte(renewed), 0o644) //nolint:gosec // a README is for everybody
}
