package devcluster

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/e2e/devcluster/internal/fakenodes"
	"packtree.dev/e2e/devcluster/internal/programs"
	"packtree.dev/shared/manifests"
)

// Components are Packtree's own programs, in the order in which a workload passes through them.
var Components = []string{"dynamo-operator", "grove-operator", "podgrouper", scheduler}

const scheduler = "kai-topology-plugin"

// Options choose what a cluster has. The zero value is a whole cluster in ./.devcluster.
type Options struct {
	// Dir is the state directory, ./.devcluster if empty. It is created, and removed by Down.
	Dir string
	// Root is a clone of the repository with `make build tools` done. If empty, it is looked for from the working
	// directory and from the program's own directory upwards.
	Root string
	// NodesFile has the nodes, "-" is standard input; docs/examples/nodes.yaml if empty.
	NodesFile string
	// Nodes are used instead of NodesFile, unless nil.
	Nodes []*corev1.Node
	// Heartbeat is how long a node counts as alive after its lease was renewed, which happens four times as often; 0
	// means 40s, as for kubelets. Five thousand nodes renew as many leases in 10s, which is too much for a small
	// machine.
	Heartbeat time.Duration
	// Components to install and run; nil means all, and an empty list a bare control plane.
	Components []string
	// Programs are binaries to run for components instead of those in bin, by the component's name.
	Programs map[string]string
	// Values are chart values by component. They override the values that make it run here.
	Values map[string]map[string]any
	// APIServer are further arguments of kube-apiserver, for a cluster that audits or has other admission plugins.
	APIServer []string
	// Progress receives what happens, a line at a time; may be nil.
	Progress io.Writer
}

// DefaultDir is the default state directory.
const DefaultDir = ".devcluster"

// complete checks all inputs of a start before anything is changed, and fills in what is left open.
func (o Options) complete() (Options, error) {
	o.Dir, o.Heartbeat = cmp.Or(o.Dir, DefaultDir), cmp.Or(o.Heartbeat, programs.DefaultHeartbeat)
	o.Progress = cmp.Or(o.Progress, io.Discard)
	for _, name := range o.Components {
		if !slices.Contains(Components, name) {
			return o, fmt.Errorf("component %q does not exist: there are %s", name, strings.Join(Components, ", "))
		}
	}
	chosen := o.Components
	o.Components = slices.DeleteFunc(slices.Clone(Components), func(name string) bool {
		return chosen != nil && !slices.Contains(chosen, name)
	})
	for name := range o.Programs {
		if !slices.Contains(o.Components, name) {
			return o, fmt.Errorf("a program is given for %q, which is none of the components to run: %s", name,
				strings.Join(o.Components, ", "))
		}
	}
	var err error
	if o.Root == "" {
		if o.Root, err = Repository(); err != nil {
			return o, err
		}
	}
	if o.Nodes, err = o.nodes(); err != nil {
		return o, err
	}
	return o, o.checkPrograms()
}

func (o Options) nodes() ([]*corev1.Node, error) {
	if o.Nodes != nil {
		return fakenodes.Complete(o.Nodes), nil
	}
	nodes, findings := fakenodes.Read(cmp.Or(o.NodesFile, filepath.Join(o.Root, "docs", "examples", "nodes.yaml")))
	if len(findings) > 0 {
		return nil, fmt.Errorf("reading nodes: %w", all(findings))
	}
	return nodes, nil
}

func all(findings []manifests.Finding) error {
	var errs []error
	for _, finding := range findings {
		errs = append(errs, errors.New(finding.String()))
	}
	return errors.Join(errs...)
}

// Repository finds the clone of Packtree that contains the working directory, or the program itself.
func Repository() (string, error) {
	var starts []string
	if directory, err := os.Getwd(); err == nil {
		starts = append(starts, directory)
	}
	if executable, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(executable))
	}
	for _, start := range starts {
		for directory := start; ; directory = filepath.Dir(directory) {
			if exists(filepath.Join(directory, "go.work")) && exists(filepath.Join(directory, "charts")) {
				return directory, nil
			}
			if directory == filepath.Dir(directory) {
				break
			}
		}
	}
	return "", errors.New("no clone of Packtree around: call it inside one")
}

// checkPrograms says what has to be built first.
func (o Options) checkPrograms() error {
	tools := []string{programs.Etcd, programs.APIServer, programs.ControllerManager, programs.KWOK}
	if len(o.Components) > 0 {
		tools = append(tools, programs.Helm)
	}
	if missing := absent(o.tool, tools); len(missing) > 0 {
		return fmt.Errorf("not built yet: %s; run `make tools`, which takes minutes the first time",
			strings.Join(missing, ", "))
	}
	if missing := absent(o.component, o.Components); len(missing) > 0 {
		return fmt.Errorf("not built yet: %s; run `make build`", strings.Join(missing, ", "))
	}
	if missing := absent(o.chart, o.Components); len(missing) > 0 {
		return fmt.Errorf("no chart for %s in %s", strings.Join(missing, ", "), filepath.Join(o.Root, "charts"))
	}
	return nil
}

// Tool is the path of a tool in a clone, for the version of Kubernetes that the variable KUBERNETES of the environment
// has: kube-apiserver in bin/tools-1.35.4 if it has 1.35.4, in bin/tools if it has none.
func Tool(root, name string) string {
	directory := "tools"
	if version := os.Getenv("KUBERNETES"); version != "" {
		directory += "-" + version
	}
	return filepath.Join(root, "bin", directory, name)
}

func (o Options) tool(name string) string  { return Tool(o.Root, name) }
func (o Options) chart(name string) string { return filepath.Join(o.Root, "charts", name) }

func (o Options) component(name string) string {
	return cmp.Or(o.Programs[name], filepath.Join(o.Root, "bin", name))
}

func absent(path func(string) string, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return exists(path(name)) })
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
