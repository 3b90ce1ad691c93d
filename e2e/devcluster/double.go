package devcluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"packtree.dev/e2e/devcluster/internal/ports"
	"packtree.dev/e2e/devcluster/internal/processes"
	"packtree.dev/e2e/devcluster/internal/statedir"
)

// otherPorts is the distance of a second replica's ports from the first one's: a cluster uses less than half of its
// block of ports.
const otherPorts = 16

// Double starts a second replica of a component, as a Deployment with two replicas has. It uses other ports, which
// nothing calls, and its name is that of another program for Kill, Stop and Start.
func (c *Cluster) Double(ctx context.Context, component, name string) error {
	original, about := c.plane.process(component)
	if original == nil {
		return fmt.Errorf("%s is not in this cluster", component)
	}
	moved := c.movedPorts()
	spec := processes.Spec{Program: original.Spec.Program, Env: original.Spec.Env}
	for _, arg := range original.Spec.Args {
		if file, is := strings.CutPrefix(arg, "--config="); is {
			content, err := os.ReadFile(file)
			if err != nil {
				return fmt.Errorf("reading the configuration of %s: %w", component, err)
			}
			arg += ".2"
			if err := os.WriteFile(file+".2", []byte(moved.Replace(string(content))), 0o600); err != nil {
				return err
			}
		}
		spec.Args = append(spec.Args, moved.Replace(arg))
	}
	return c.launch(ctx, name, func(last *processes.Process, _ statedir.Process) (run, error) {
		if last != nil && c.PID(name) != 0 {
			return run{}, errors.New(name + " runs already")
		}
		return run{spec, statedir.Process{Name: name, Component: true, Health: moved.Replace(about.Health)}}, nil
	})
}

func (c *Cluster) movedPorts() *strings.Replacer {
	var pairs []string
	for _, port := range c.plane.layout.Ports {
		pairs = append(pairs, strconv.Itoa(port), strconv.Itoa(port+otherPorts))
	}
	return strings.NewReplacer(pairs...)
}

// Metrics is the URL of a component's metrics. That of the scheduler asks for credentials.
func (c *Cluster) Metrics(component string) string {
	metrics := url.URL{Scheme: "https", Host: ports.Address(c.plane.layout.Ports[component]), Path: "/metrics"}
	if component != scheduler {
		metrics.Scheme, metrics.Host = "http", ports.Address(c.plane.layout.Ports[component+" metrics"])
	}
	return metrics.String()
}
