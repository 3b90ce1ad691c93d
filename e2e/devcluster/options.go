package devcluster

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	// Components are those to install and run; nil means all, and an empty list a bare control plane.
	Components []string
	// BasePort is the API server's port, and the ports of all others follow it. 0 means free ones.
	BasePort int
	// Progress is told what happens, a line at a time; may be nil.
	Progress io.Writer
}

// DefaultDir is the state directory where none is given.
const DefaultDir = ".devcluster"

// plan is what a start needs, checked before anything is touched.
type plan struct {
	dir        string
	root       string
	nodes      []*corev1.Node
	components []string
	basePort   int
	progress   io.Writer
}

func (o Options) plan() (plan, error) {
	p := plan{dir: o.Dir, root: o.Root, basePort: o.BasePort, progress: o.Progress}
	if p.dir == "" {
		p.dir = DefaultDir
	}
	if p.progress == nil {
		p.progress = io.Discard
	}
	for _, name := range Components {
		if o.Components == nil || slices.Contains(o.Components, name) {
			p.components = append(p.components, name)
		}
	}
	for _, name := range o.Components {
		if !slices.Contains(Components, name) {
			return plan{}, fmt.Errorf("component %q does not exist: there are %s", name, strings.Join(Components, ", "))
		}
	}
	if p.root == "" {
		root, err := findRoot()
		if err != nil {
			return plan{}, err
		}
		p.root = root
	}
	nodesFile := o.NodesFile
	if nodesFile == "" {
		nodesFile = filepath.Join(p.root, "docs", "examples", "nodes.yaml")
	}
	nodes, findings := fakenodes.Read(nodesFile)
	if len(findings) > 0 {
		return plan{}, fmt.Errorf("reading nodes: %w", all(findings))
	}
	p.nodes = nodes
	return p, p.checkPrograms()
}

func all(findings []manifests.Finding) error {
	var errs []error
	for _, finding := range findings {
		errs = append(errs, errors.New(finding.String()))
	}
	return errors.Join(errs...)
}

// findRoot looks for the folder that holds the workspace and the charts.
func findRoot() (string, error) {
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

// checkPrograms says what is to be built first.
func (p plan) checkPrograms() error {
	tools := []string{programs.Etcd, programs.APIServer, programs.ControllerManager, programs.KWOK}
	if len(p.components) > 0 {
		tools = append(tools, programs.Helm)
	}
	if missing := absent(p.tool, tools); len(missing) > 0 {
		return fmt.Errorf("not built yet: %s; run `make tools`, which takes minutes the first time", strings.Join(missing, ", "))
	}
	if missing := absent(p.component, p.components); len(missing) > 0 {
		return fmt.Errorf("not built yet: %s; run `make build`", strings.Join(missing, ", "))
	}
	if missing := absent(p.chart, p.components); len(missing) > 0 {
		return fmt.Errorf("no chart for %s in %s", strings.Join(missing, ", "), filepath.Join(p.root, "charts"))
	}
	return nil
}

func (p plan) tool(name string) string      { return filepath.Join(p.root, "bin", "tools", name) }
func (p plan) component(name string) string { return filepath.Join(p.root, "bin", name) }
func (p plan) chart(name string) string     { return filepath.Join(p.root, "charts", name) }

func absent(path func(string) string, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return exists(path(name)) })
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
