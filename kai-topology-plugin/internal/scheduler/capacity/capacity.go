// Package capacity counts what is free in the domains of topologies.
package capacity

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	"packtree.dev/shared/packing"
)

// maxResources is how many resources are reported: devices first, by name, then CPU and memory, then the rest.
const maxResources = 8

// Node is what counts of a node.
type Node struct {
	Labels map[string]string
	// Usable is whether it takes new pods; one that does not offers nothing.
	Usable bool
	// Allocatable and Used are in the units of packing.Resources.
	Allocatable, Used packing.Resources
}

// NodesOf returns what counts of the nodes of a trial. It is not to be changed.
func NodesOf(trial *clusterview.Trial) (counted []Node) {
	trial.Nodes(func(node *corev1.Node, offered, used packing.Resources) {
		counted = append(counted, Node{node.Labels, nodes.Schedulable(node), offered, used})
	})
	return counted
}

// Level is the capacity of one level of a topology.
type Level struct {
	// Topology is its name, and Key the node label key of the level.
	Topology, Key string
	// Count is how many domains the level has.
	Count int
	// Largest has, by resource, the most that is free in one domain, and the most that is offered in one.
	Largest []Resource
	// Domains are all of the level, sorted by path; nil if there are too many.
	Domains []Domain
}

// Domain is the capacity of one domain.
type Domain struct {
	// Path is its label values from the broadest level, joined with "/".
	Path      string
	Resources []Resource
}

// Resource is an amount: CPU in cores, else in units or bytes.
type Resource struct {
	Name          string
	Free, Offered float64
}

// Bounds are the most domains that are listed: PerLevel in a level (all of them or none), and InAll in all levels.
type Bounds struct {
	PerLevel, InAll int
}

// Report counts the domains of every level, sorted by topology, the broadest level first. Topologies have the node
// label keys of their levels, the broadest first. A node counts as far down as it has every label from the top; pods
// that take more than their node has take all of it.
func Report(topologies map[string][]string, nodes []Node, bounds Bounds) []Level {
	reported := reportedOf(nodes)
	shares := make([][]Resource, len(nodes))
	for i := range nodes {
		shares[i] = nodes[i].share(reported)
	}
	var report []Level
	listed := 0
	for _, name := range slices.Sorted(maps.Keys(topologies)) {
		levels := topologies[name]
		domains := make([]map[string][]Resource, len(levels))
		for i := range nodes {
			enter(domains, levels, nodes[i].Labels, shares[i])
		}
		for i, key := range levels {
			level := Level{Topology: name, Key: key, Count: len(domains[i]), Largest: largest(domains[i], reported)}
			if len(domains[i]) <= bounds.PerLevel && listed+len(domains[i]) <= bounds.InAll {
				level.Domains = []Domain{}
				for _, path := range slices.Sorted(maps.Keys(domains[i])) {
					level.Domains = append(level.Domains, Domain{Path: path, Resources: domains[i][path]})
				}
				listed += len(domains[i])
			}
			report = append(report, level)
		}
	}
	return report
}

// share is what the node adds to each of its domains.
func (n Node) share(reported []string) []Resource {
	resources := make([]Resource, len(reported))
	for i, name := range reported {
		resources[i].Name = name
		if !n.Usable {
			continue
		}
		resources[i].Offered = nodes.InUnits(name, n.Allocatable[name])
		resources[i].Free = max(0, nodes.InUnits(name, n.Allocatable[name]-n.Used[name]))
	}
	return resources
}

// enter adds the share of a node with labels to its domains, which are by level and path.
func enter(domains []map[string][]Resource, levels []string, labels map[string]string, share []Resource) {
	path := nodes.Path(labels, levels)
	for i := range path {
		name := path[:i+1].String()
		if domains[i] == nil {
			domains[i] = map[string][]Resource{}
		}
		domain := domains[i][name]
		if domain == nil {
			domains[i][name] = slices.Clone(share)
			continue
		}
		for r := range domain {
			domain[r].Free += share[r].Free
			domain[r].Offered += share[r].Offered
		}
	}
}

func largest(domains map[string][]Resource, reported []string) []Resource {
	most := Node{}.share(reported)
	for _, domain := range domains {
		for r := range domain {
			most[r].Free, most[r].Offered = max(most[r].Free, domain[r].Free), max(most[r].Offered, domain[r].Offered)
		}
	}
	return most
}

// reportedOf returns the resources to report.
func reportedOf(nodes []Node) []string {
	names := map[string]bool{}
	for i := range nodes {
		for name := range nodes[i].Allocatable {
			names[name] = true
		}
	}
	// These resources are not bound to a topology.
	delete(names, string(corev1.ResourcePods))
	delete(names, string(corev1.ResourceEphemeralStorage))
	reported := slices.SortedFunc(maps.Keys(names), byImportance)
	return reported[:min(len(reported), maxResources)]
}

func byImportance(a, b string) int {
	return cmp.Or(cmp.Compare(importance(a), importance(b)), cmp.Compare(a, b))
}

func importance(resource string) int {
	switch {
	case nodes.IsDevice(corev1.ResourceName(resource)):
		return 0
	case resource == string(corev1.ResourceCPU), resource == string(corev1.ResourceMemory):
		return 1
	default:
		return 2
	}
}
