package turns

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
)

// Change is how a cluster might be.
type Change struct {
	// Nodes are added, or stand for those of the same names.
	Nodes []*corev1.Node
	// Zones are what is known of the zones of nodes that are added.
	Zones []*zones.Node
	// Failed are the names of nodes that take no pods.
	Failed []string
	// Gone are standing pods that have left their nodes. Those of failed nodes have to be among them.
	Gone []*corev1.Pod
	// Reserved are pods that will stand on nodes.
	Reserved clusterview.Reserved
	// Stand are pods that stand on the nodes that their specs name, and that count as members of their gangs there.
	Stand []*corev1.Pod
}

// Under runs a function on a table with a change. Gangs are decided there without certificates: answers do not say why
// gangs do not fit. The table is as before afterwards; it has no other user meanwhile.
func (t *Table) Under(change Change, run func(*Table) error) error {
	under := *t
	under.terse = true
	under.reserved = t.reserved.And(change.Reserved).And(onNodes(change.Stand))
	under.members = with(without(t.members, change.Gone), change.Stand)
	under.absent = slices.Concat(t.absent, change.Failed)
	return t.view.Aside(t.nodes, func() error {
		if known := t.view.Zones(); len(change.Zones) > 0 {
			t.view.SeeZones(known.With(change.Zones...))
			defer t.view.SeeZones(known)
		}
		return t.cluster.With(change.Nodes, func() (err error) {
			if under.nodes, err = t.cluster.Nodes(); err != nil {
				return err
			}
			return kubeframework.Without(t.cluster.SnapshotSharedLister().NodeInfos(), change.Gone,
				func() error { return run(&under) })
		})
	})
}

// without has the pods of each gang but for some.
func without(members map[gang.Key][]*corev1.Pod, gone []*corev1.Pod) map[gang.Key][]*corev1.Pod {
	leaving := sets.New(gone...)
	left := maps.Clone(members)
	for pod := range leaving {
		if key, ok := gang.KeyOf(pod); ok && len(left[key]) == len(members[key]) {
			left[key] = slices.DeleteFunc(slices.Clone(members[key]), leaving.Has)
		}
	}
	return left
}

// with has the pods of each gang and some more.
func with(members map[gang.Key][]*corev1.Pod, more []*corev1.Pod) map[gang.Key][]*corev1.Pod {
	if len(more) == 0 {
		return members
	}
	all := maps.Clone(members)
	for _, pod := range more {
		if key, ok := gang.KeyOf(pod); ok {
			all[key] = append(slices.Clip(all[key]), pod)
		}
	}
	return all
}

func onNodes(pods []*corev1.Pod) clusterview.Reserved {
	reserved := clusterview.Reserved{}
	for _, pod := range pods {
		reserved[pod.Spec.NodeName] = append(reserved[pod.Spec.NodeName], pod)
	}
	return reserved
}
