// Command tests runs the tests of modules and the e2e suites in parallel, with a line for each slow package, and a
// summary.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"packtree.dev/e2e/testrun"
	"packtree.dev/shared/render"
)

func main() {
	os.Exit(render.Execute(newCommand()))
}

// flags say what runs, and how much of it at once.
type flags struct {
	suites, packages, standalone []string
	clusters, processes          int
	nodes                        string
	logs                         string
}

func newCommand() *cobra.Command {
	var given flags
	command := &cobra.Command{
		Use:   "tests",
		Short: "The tests of modules and the e2e suites, side by side",
		Long: `Runs the given packages and suites side by side.
A suite waits about as much as it computes and has a dev cluster of its own, so several run at once.
Packages that test controllers wait too.
What the tests print is in --logs, a file for each package or suite. Those that failed are named at the end.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return (&testrun.Run{Output: os.Stdout, Logs: given.logs}).Do(ctx, given.commands()...)
		},
	}
	set := command.Flags()
	set.StringSliceVar(&given.suites, "suites", nil, "e2e suites by name, the longest first")
	set.StringSliceVar(&given.packages, "packages", nil, "packages of the workspace, as go list has them")
	set.StringSliceVar(&given.standalone, "standalone", nil, "directories of modules outside the workspace")
	set.StringVar(&given.nodes, "nodes", "",
		"the script that makes real nodes, for the suite kind; the suite does not run unless given")
	set.IntVar(&given.clusters, "clusters", min(runtime.NumCPU()+1, 6), "how many suites run at once")
	set.IntVar(&given.processes, "processes", runtime.NumCPU()+1, "how many packages run at once, beside the suites")
	set.StringVar(&given.logs, "logs", filepath.Join("bin", "tests"),
		"directory for what the tests print; it is emptied first")
	return command
}

// common bounds the time of a package on a busy machine. Vetting is left to make lint, which need not load all of
// Kubernetes for it.
var common = []string{"-timeout=60m", "-vet=off"}

// lazyGC trades memory for time: API servers use most of the CPU time of tests, and garbage collection a tenth of that.
// A process near the limit collects as often as it must.
var lazyGC = []string{"GOGC=800", "GOMEMLIMIT=1500MiB"}

// commands runs suites even if their sources are unchanged: they test programs and charts, which go does not see.
func (f flags) commands() []testrun.Command {
	var commands []testrun.Command
	add := func(directory string, environment []string, arguments ...string) {
		commands = append(commands, testrun.Command{
			Directory: directory, Environment: slices.Concat(environment, lazyGC),
			Arguments: slices.Concat(common, arguments),
		})
	}
	if len(f.suites) > 0 {
		arguments := []string{"-count=1", "-p=" + strconv.Itoa(f.clusters)}
		for _, suite := range f.suites {
			arguments = append(arguments, "./e2e/suites/"+suite)
		}
		add("", nil, arguments...)
	}
	if f.nodes != "" {
		// Most of the time goes into images and nodes, which this machine may never have built.
		commands = append(commands, testrun.Command{Exec: f.nodes, Arguments: []string{"-timeout=80m", "-vet=off",
			"-count=1", "./e2e/suites/kind"}})
	}
	if len(f.packages) > 0 {
		add("", nil, append([]string{"-p=" + strconv.Itoa(f.processes)}, f.packages...)...)
	}
	for _, directory := range f.standalone {
		add(directory, []string{"GOWORK=off"}, "-count=1", "-p=1", "./...")
	}
	return commands
}
