package admission

import (
	"fmt"
	"strings"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/topology"
)

// warnOfTopology warns of required constraints that may not hold: those on NUMA zones that a kubelet may not keep, and
// those on a level without nodes, by the status of the ClusterTopology. A warning about several constraints is given
// once.
func warnOfTopology(set *grovev1alpha1.PodCliqueSet, cluster Cluster) []string {
	name := topology.NameFor(set)
	if name == "" || !cluster.TopologyAware {
		return nil
	}
	clusterTopology := cluster.Lookup(name)
	if clusterTopology == nil {
		return nil
	}
	var reasons []string
	paths := map[string][]string{}
	for _, place := range constrained(set) {
		for _, reason := range doubts(place, clusterTopology) {
			if paths[reason] == nil {
				reasons = append(reasons, reason)
			}
			paths[reason] = append(paths[reason], place.path.String())
		}
	}
	warnings := make([]string, 0, len(reasons))
	for _, reason := range reasons {
		where := paths[reason][0]
		if more := len(paths[reason]) - 1; more > 0 {
			where += fmt.Sprintf(" and %d more", more)
		}
		warnings = append(warnings, where+": "+reason)
	}
	return warnings
}

// doubts are the warnings about one constraint.
func doubts(place place, clusterTopology *topology.Topology) []string {
	var reasons []string
	required := place.constraint.RequiredDomain()
	if required == grovev1alpha1.TopologyDomainNuma {
		reasons = zoneDoubts(place)
	}
	if lack := emptyLevel(required, clusterTopology); lack != "" {
		reasons = append(reasons, lack+": the pods wait until one does")
	}
	return reasons
}

// emptyLevel says that a level has no nodes; empty if it has some, or if the nodes were not counted yet.
func emptyLevel(domain grovev1alpha1.TopologyDomain, clusterTopology *topology.Topology) string {
	if clusterTopology.Status.ObservedGeneration != clusterTopology.Generation {
		return ""
	}
	for _, level := range clusterTopology.Status.Levels {
		switch {
		case level.Domain != domain || level.DomainCount > 0:
		case level.Nodes == 0:
			return fmt.Sprintf("no node carries label %s of level %s of %s %q",
				keyOf(domain, clusterTopology), domain, clusterTopology.Kind, clusterTopology.Name)
		default:
			return fmt.Sprintf("no node stands in a %s of %s %q, for none carries all of the labels %s",
				domain, clusterTopology.Kind, clusterTopology.Name,
				strings.Join(keysDownTo(domain, clusterTopology), ", "))
		}
	}
	return ""
}

func keyOf(domain grovev1alpha1.TopologyDomain, clusterTopology *topology.Topology) string {
	for _, level := range clusterTopology.Spec.Levels {
		if level.Domain == domain {
			return level.Key
		}
	}
	return ""
}

func keysDownTo(domain grovev1alpha1.TopologyDomain, clusterTopology *topology.Topology) []string {
	var keys []string
	for _, level := range clusterTopology.Spec.Levels {
		keys = append(keys, level.Key)
		if level.Domain == domain {
			break
		}
	}
	return keys
}
