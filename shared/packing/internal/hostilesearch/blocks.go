//go:build unix

package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/coverage"
	"slices"
	"strconv"
	"strings"

	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/internal/hostile"
)

// block is a basic block, such as a loop's body, and how many millions of times it was executed.
type block struct {
	where    string
	millions float64
}

// counter counts with the coverage that this command was built with. It is deterministic, and does not depend on
// what else the machine does.
type counter struct{ folder string }

func newCounter() (*counter, error) {
	folder, err := os.MkdirTemp("", "hostilesearch")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(coverage.WriteMetaDir(folder), coverage.ClearCounters()); err != nil {
		return nil, fmt.Errorf("blocks can be counted in what was built with go build -cover -covermode=atomic only: %w",
			errors.Join(err, os.RemoveAll(folder)))
	}
	return &counter{folder}, nil
}

func (c *counter) close() error { return os.RemoveAll(c.folder) }

// millions is how many millions of blocks are executed to decide a case.
func (c *counter) millions(of hostile.Case) float64 {
	sum := 0.0
	for _, b := range c.blocks(of) {
		sum += b.millions
	}
	return sum
}

// describe says what comes out and which lines are executed most often.
func (c *counter) describe(of hostile.Case) string {
	var lines []string
	for _, b := range c.blocks(of)[:8] {
		lines = append(lines, fmt.Sprintf("%s %.1f", b.where, b.millions))
	}
	return fmt.Sprintf("%.1f million blocks: %s\n  %s", c.millions(of), describe(of), strings.Join(lines, "\n  "))
}

// blocks are those of the engine, most often executed first.
func (c *counter) blocks(of hostile.Case) []block {
	cluster, gang := question(of)
	must(coverage.ClearCounters())
	cluster.Decide(gang, packing.Options{})
	must(coverage.WriteCountersDir(c.folder))
	profile := filepath.Join(c.folder, "profile")
	command := exec.Command("go", "tool", "covdata", "textfmt", "-i", c.folder, "-o", profile)
	if said, err := command.CombinedOutput(); err != nil {
		must(fmt.Errorf("%w: %s", err, said))
	}
	written, err := os.Open(profile)
	must(err)
	var blocks []block
	for lines := bufio.NewScanner(written); lines.Scan(); {
		// NAME:LINE.COLUMN,LINE.COLUMN STATEMENTS COUNT
		where, counts, ok := strings.Cut(lines.Text(), ",")
		if !ok {
			continue // the mode
		}
		count, err := strconv.ParseUint(counts[strings.LastIndexByte(counts, ' ')+1:], 10, 64)
		must(err)
		blocks = append(blocks, block{filepath.Base(where), float64(count) / 1e6})
	}
	counted, err := filepath.Glob(filepath.Join(c.folder, "covcounters.*"))
	must(errors.Join(err, written.Close()))
	for _, file := range counted {
		must(os.Remove(file))
	}
	slices.SortFunc(blocks, func(a, b block) int { return cmp.Compare(b.millions, a.millions) })
	return blocks
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
