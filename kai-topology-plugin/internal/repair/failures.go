package repair

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/shared/packing"
)

// Failure is nodes that fail together: all of a domain, or one.
type Failure struct {
	// Level is the node label whose value names the domain; corev1.LabelHostname for a single node.
	Level string `json:"level"`
	// Domain is the domain as the status of PodGroups has it; a single node that no Topology has as a domain has its
	// name.
	Domain string `json:"domain"`
	// Nodes are the names of the nodes, sorted.
	Nodes []string `json:"-"`
}

// Failures returns every single failure of a domain of the Topologies and of a node: the broadest domains of the first
// Topology first, nodes last. Topologies that have the same domain at the same level have it once.
func Failures(cluster *inventory.Inventory) []Failure {
	var all []Failure
	known := map[[2]string]int{}
	add := func(level, domain, node string) {
		at, ok := known[[2]string{level, domain}]
		if !ok {
			at = len(all)
			known[[2]string{level, domain}] = at
			all = append(all, Failure{Level: level, Domain: domain})
		}
		if !slices.Contains(all[at].Nodes, node) {
			all[at].Nodes = append(all[at].Nodes, node)
		}
	}
	nodes := slices.SortedFunc(slices.Values(cluster.Nodes), func(a, b *corev1.Node) int {
		return cmp.Compare(a.Name, b.Name)
	})
	alone := map[string]bool{}
	for depth := range deepest(cluster) {
		for _, name := range sortedNames(cluster) {
			keys := cluster.LevelKeys(name)
			for _, node := range nodes {
				path := along(node.Labels, keys)
				if depth >= len(path) {
					continue
				}
				add(keys[depth], path[:depth+1].String(), node.Name)
				alone[node.Name] = alone[node.Name] || keys[depth] == corev1.LabelHostname
			}
		}
	}
	for _, node := range nodes {
		if !alone[node.Name] {
			add(corev1.LabelHostname, node.Name, node.Name)
		}
	}
	return all
}

// along is where a node with some labels stands in a Topology, as far as it has those of the levels.
func along(labels map[string]string, keys []string) packing.Path {
	var path packing.Path
	for _, key := range keys {
		value, ok := labels[key]
		if !ok {
			break
		}
		path = append(path, value)
	}
	return path
}

func sortedNames(cluster *inventory.Inventory) []string {
	var names []string
	for name := range cluster.Topologies {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func deepest(cluster *inventory.Inventory) int {
	levels := 0
	for name := range cluster.Topologies {
		levels = max(levels, len(cluster.LevelKeys(name)))
	}
	return levels
}
