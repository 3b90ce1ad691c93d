package solve

import (
	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
)

// Request is a gang that can be planned, the nodes as they are now, and all else that its decision is made of.
type Request struct {
	// Gang has been assembled without a Hold.
	Gang *gang.Gang
	// Followers are the gangs that have to go where the gang goes, if it decides that now.
	Followers []*gang.Gang
	// Topologies has, by name, every Topology that the gang, or one of its Followers, names.
	Topologies map[string]*kai.Topology
	// View is brought in step with the Nodes, which are all that its filters see.
	View  *clusterview.View
	Nodes []fwk.NodeInfo
	// Absent are the names of Nodes that are to count as gone. No pod of a gang that is asked about stands on them.
	Absent []string
	// Reserved are pods that will stand on nodes which do not show them yet.
	Reserved clusterview.Reserved
	// Overdue is room that is reserved for gangs which the gang would overtake once too often, and Note says so.
	Overdue clusterview.Reserved
	Note    string
	// Mends is set for a gang that stands and is to be mended as far as possible: if it, or a group of it, cannot have
	// all that it needs, the answer says so, and has the Nodes of those pods that can be placed all the same.
	Mends bool
	// Lacks names the pods that are not created yet, for a gang that Mends applies to.
	Lacks *gang.Hold
	// Budget bounds each search in steps; 0 means the engine's own bound.
	Budget int
	// Terse has the answer say only whether the gang fits, not why or by which proof it does not. It is not mended then.
	Terse bool
	// Unproved has the answer say so only where the gang does not fit.
	Unproved bool
	// Placement is the default for PodGroups without a placement annotation.
	Placement packing.Placement

	// Everywhere are resources that each node offers besides its own, for what reshape has pods ask of it.
	Everywhere packing.Resources
	// reshape, if set, has the last word on what a pod asks of a node. What it changes of Excluded it adds to
	// the Key, and to the Filter unless it takes that away.
	reshape func(pod *corev1.Pod, shape packing.Shape) packing.Shape
	// with are gangs related to the gang that are decided together with it. The answer then has all their nodes, and
	// no Groups.
	with []*gang.Gang
}

// Held returns why the gang has no place as a whole, whatever the nodes are like: it lacks pods, or a group of it has
// no anchor. It is nil for every other gang.
func (r Request) Held() *gang.Hold {
	r.View.Follow(r.Nodes)
	return r.held()
}

func (r Request) held() *gang.Hold {
	if r.Lacks != nil || len(r.Gang.Standing) == 0 {
		return r.Lacks // A gang without a pod that stands needs no anchor.
	}
	_, held := r.Gang.Anchored(r.knows)
	return held
}

// knows reports whether there is a node of a name.
func (r Request) knows(node string) bool {
	_, known := r.View.Find(node)
	return known
}

// Keeping returns the request in which room for overdue gangs is reserved like any other.
func (r Request) Keeping() Request {
	r.Reserved, r.Overdue = r.Reserved.And(r.Overdue), nil
	return r
}

// placement returns the preference among domains that do equally well.
func (r Request) placement() packing.Placement {
	switch asked := packing.Placement(r.Gang.PodGroup.Annotations[scheduling.AnnotationPlacement]); asked {
	case packing.Pack, packing.Spread:
		return asked
	default:
		return r.Placement // The pod grouper reports what it may say instead.
	}
}
