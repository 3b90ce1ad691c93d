package placement

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"
)

// DefaultTopology is the ClusterTopology of workloads that name none.
const DefaultTopology = "grove-topology"

// Topology is a hierarchy of node labels.
type Topology struct {
	// Keys are the node label keys, broadest first.
	Keys []string
	// Domains are the names of the levels for users of Grove and Dynamo, in the order of Keys. A KAI Topology has none.
	Domains []string
}

// Topologies are the hierarchies of a cluster by name.
type Topologies map[string]Topology

// AddClusterTopology adds a ClusterTopology, which a KAI Topology of the same name may repeat.
func (t Topologies) AddClusterTopology(topology *grovev1alpha1.ClusterTopology) {
	var added Topology
	for _, level := range topology.Spec.Levels {
		added.Keys = append(added.Keys, level.Key)
		added.Domains = append(added.Domains, string(level.Domain))
	}
	t[topology.Name] = added
}

// AddTopology adds a KAI Topology unless there is a ClusterTopology with its name, which has more.
func (t Topologies) AddTopology(topology *kaiv1alpha1.Topology) {
	if _, known := t[topology.Name]; known {
		return
	}
	var added Topology
	for _, level := range topology.Spec.Levels {
		added.Keys = append(added.Keys, level.NodeLabel)
	}
	t[topology.Name] = added
}

// level finds the level of a topology by its domain or by its node label key.
func (t Topologies) level(topology, called string) (Level, error) {
	found, known := t[topology]
	if !known {
		return Level{}, fmt.Errorf("topology %q does not exist", topology)
	}
	at := slices.Index(found.Domains, called)
	if at < 0 {
		at = slices.Index(found.Keys, called)
	}
	if at < 0 {
		return Level{}, fmt.Errorf("topology %q has no level %q", topology, called)
	}
	return Level{Called: called, Path: found.Keys[:at+1]}, nil
}

// Level is one level of a topology.
type Level struct {
	// Called is the level's name in the user's words.
	Called string
	// Path has the node label keys from the broadest level down to this one.
	Path []string
}

// Domain is a node's domain at the level: the path of its label values from the broadest level, because two racks with
// one name in two zones are two racks. It is false for a node that lacks one of the labels.
func (l Level) Domain(node *corev1.Node) (string, bool) {
	values := make([]string, 0, len(l.Path))
	for _, key := range l.Path {
		value, labelled := node.Labels[key]
		if !labelled {
			return "", false
		}
		values = append(values, value)
	}
	return strings.Join(values, "/"), true
}
