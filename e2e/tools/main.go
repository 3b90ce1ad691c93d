// Command tools builds the programs that the tests, the dev cluster and code generation run, from the Go modules that
// the `tool` lines of this directory's go.mod pin: etcd, kube-apiserver, kube-controller-manager, kubectl, KWOK, helm
// and the code generators. Nothing is downloaded but Go modules, so what runs is what go.sum says.
//
// A finished binary contains the versions from which it was made. They are compared with go.mod: a tool is built only
// if it is missing or made from others.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// clusterTools are built when no names are given: the programs for a dev cluster and for a real kube-apiserver in
// tests.
var clusterTools = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kubectl", "kwok", "helm"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "tools: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, progress io.Writer) error {
	flags := flag.NewFlagSet("tools", flag.ContinueOnError)
	flags.SetOutput(progress)
	into := flags.String("into", filepath.Join("..", "..", "bin", "tools"), "directory that receives the binaries")
	flags.Usage = func() {
		fmt.Fprintf(progress,
			"usage: build.sh [-into DIR] [NAME ...]\nBuilds the named tools (default: "+
				"%s) when they are absent or out of date.\n",
			strings.Join(clusterTools, ", "))
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	pins, err := readPins("go.mod")
	if err != nil {
		return err
	}
	names := flags.Args()
	if len(names) == 0 {
		names = clusterTools
	}
	tools, err := choose(pins, names)
	if err != nil {
		return err
	}
	return ensure(ctx, tools, pins, *into, progress)
}

// choose finds the names among the pinned tools.
func choose(pins pins, names []string) ([]tool, error) {
	var chosen []tool
	for _, name := range names {
		i := slices.IndexFunc(pins.tools, func(t tool) bool { return t.name == name })
		if i < 0 {
			var known []string
			for _, t := range pins.tools {
				known = append(known, t.name)
			}
			return nil, fmt.Errorf("no tool %q in go.mod, which has %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, pins.tools[i])
	}
	return chosen, nil
}

// ensure leaves every tool in the directory, built from the pinned versions. Concurrent calls take turns.
func ensure(ctx context.Context, tools []tool, pins pins, into string, progress io.Writer) error {
	if len(stale(tools, pins, into)) == 0 {
		return nil
	}
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	unlock, err := lock(ctx, filepath.Join(into, ".lock"), progress)
	if err != nil {
		return err
	}
	defer unlock()
	removeLeftovers(into)
	// The earlier holder of the lock may have built them.
	missing := stale(tools, pins, into)
	if len(missing) == 0 {
		return nil
	}
	var names []string
	for _, t := range missing {
		names = append(names, t.name+" "+pins.version(t.pkg))
	}
	fmt.Fprintf(progress, "Building from source into %s: %s. The first time this compiles Kubernetes and "+
		"takes minutes.\n", into, strings.Join(names, ", "))
	started := time.Now()
	if err := build(ctx, missing, ldflags(pins), into, progress); err != nil {
		return fmt.Errorf("building %s: %w", strings.Join(names, ", "), err)
	}
	fmt.Fprintf(progress, "Tools are ready after %s.\n", time.Since(started).Round(time.Second))
	return nil
}

func stale(tools []tool, pins pins, into string) []tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t tool) bool {
		return current(filepath.Join(into, t.name), pins, ldflags(pins))
	})
}
