// Command grove-startup is the init container of pods that start after others: it ends when the others are ready.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"packtree.dev/shared/version"

	"packtree.dev/grove-operator/internal/layout"
)

// Exit codes. Zero means that all minima were seen ready at the same time, and nothing else.
const (
	exitMet     = 0
	exitFailed  = 1
	exitUsage   = 2
	exitStopped = 128 + int(syscall.SIGTERM)
)

const usage = `grove-startup waits until PodCliques have enough ready pods, and then exits 0.

grove-operator makes it the first init container of pods that start after others (cliqueStartupType InOrder or Explicit
of a PodCliqueSet). It lists and watches the pods of its namespace by the label grove.io/podclique, with the token of
the pod's service account, which therefore must be allowed to list and watch pods. While the API server is away, it
keeps trying.

Usage:
  grove-startup --after PODCLIQUE:MINIMUM [--after …] [flags]

Example: wait until 2 pods of PodClique inference-0-prefill and 1 of inference-0-router are ready at the same time
  grove-startup --after inference-0-prefill:2 --after inference-0-router:1

Exit codes:
  0    every PodClique has its minimum
  1    the credentials cannot be read
  2    the command line is wrong
  143  stopped by SIGTERM or SIGINT before that

Flags:
`

func main() {
	os.Exit(run(os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// options are the flags of the command line.
type options struct {
	parents             []layout.Parent
	server, credentials string
	version             bool
}

func run(args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	chosen, err := parse(args, getenv, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitMet
	case err != nil:
		fmt.Fprintf(stderr, "grove-startup: %v; see --help\n", err)
		return exitUsage
	case chosen.version:
		fmt.Fprintf(stdout, "grove-startup version %s\n", version.String())
		return exitMet
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return wait(ctx, chosen, slog.New(slog.NewTextHandler(stderr, nil)))
}

func wait(ctx context.Context, chosen options, log *slog.Logger) int {
	from, err := connect(chosen.server, chosen.credentials)
	if err != nil {
		log.Error("no credentials; is the service account's token mounted?", "error", err)
		return exitFailed
	}
	err = await(ctx, from, chosen.parents, log)
	switch {
	case err == nil:
		log.Info("all that this pod starts after is ready")
		return exitMet
	case ctx.Err() != nil:
		log.Info("stopped before all that this pod starts after was ready")
		return exitStopped
	default:
		log.Error("cannot wait", "error", err)
		return exitFailed
	}
}

func parse(args []string, getenv func(string) string, stdout io.Writer) (options, error) {
	var chosen options
	flags := flag.NewFlagSet("grove-startup", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Func("after", "`PODCLIQUE:MINIMUM` to wait for; repeat it for more", func(text string) error {
		parent, err := layout.ParseParent(text)
		chosen.parents = append(chosen.parents, parent)
		return err
	})
	flags.StringVar(&chosen.server, "server", inCluster(getenv),
		"`URL` of the API server; without it, where the kubelet says the API server is")
	flags.StringVar(&chosen.credentials, "credentials", "/var/run/secrets/kubernetes.io/serviceaccount",
		"`DIRECTORY` with token, ca.crt and namespace of the service account")
	flags.BoolVar(&chosen.version, "version", false, "print the version")
	flags.Usage = func() {} // Do not print the usage with every error.
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
	}
	if err != nil || chosen.version {
		return chosen, err
	}
	return chosen, check(chosen, flags.Args())
}

func check(chosen options, rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case len(chosen.parents) == 0:
		return errors.New("nothing to wait for: give at least one --after")
	case chosen.server == "":
		return errors.New("no API server: give --server, or run in a pod")
	}
	return nil
}

// inCluster returns the API server's URL from the environment of a pod.
func inCluster(getenv func(string) string) string {
	host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return ""
	}
	return "https://" + net.JoinHostPort(host, port)
}
