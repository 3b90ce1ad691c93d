// Command sbom lists the Go modules of programs. Without arguments it is a scanner of BuildKit's (see package sbom);
// with a folder it prints the SPDX document of the programs in it. SOURCE_DATE_EPOCH is the time of the document, if
// set.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"packtree.dev/e2e/sbom"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "sbom: %v\n", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	now := time.Now()
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return fmt.Errorf("reading SOURCE_DATE_EPOCH: %w", err)
		}
		now = time.Unix(seconds, 0)
	}
	switch len(arguments) {
	case 0:
		return sbom.Scan(os.Getenv, now)
	case 1:
		programs, err := sbom.Programs(arguments[0])
		if err != nil {
			return err
		}
		printer := json.NewEncoder(os.Stdout)
		printer.SetIndent("", "  ")
		return printer.Encode(sbom.Describe(filepath.Base(arguments[0]), programs, now))
	}
	return fmt.Errorf("name one folder, or none where BuildKit does")
}
