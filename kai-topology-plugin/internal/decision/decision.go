// Package decision answers the one question of this scheduler: can this gang run now, and if so, which pod goes to
// which node. The plugin and the offline command ask it alike.
package decision

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/translation"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/certificate"
)

// Question is a gang that can be planned, and the nodes as they are now.
type Question struct {
	// Gang has been assembled without a Hold.
	Gang *gang.Gang
	// With are further gangs related to the gang that are decided together with it. The answer then has all their
	// nodes, and no Groups.
	With []*gang.Gang
	// Topologies has, by name, every Topology that the gang, or one With it, names.
	Topologies map[string]*kai.Topology
	// View is brought in step with the Nodes, which are all that its filters see.
	View  *clusterview.View
	Nodes []fwk.NodeInfo
	// Absent are the names of Nodes that are to count as gone. No pod of a gang that is asked about stands on them.
	Absent []string
	// Reserved are pods that will stand on nodes which do not show them yet.
	Reserved clusterview.Reserved
	// Everywhere are resources that each node offers besides its own, for what Reshape has pods ask of it.
	Everywhere packing.Resources
	// Reshape, if set, has the last word on what a pod asks of a node. What it changes of Excluded it adds to
	// the Key, and to the Filter unless it takes that away.
	Reshape func(pod *corev1.Pod, shape packing.Shape) packing.Shape
	// Budget bounds the search in steps; 0 means the engine's own bound.
	Budget int
	// Terse has the answer say only whether the gang fits, not why or by which proof it does not.
	Terse bool
	// Unproved has the answer say so only where the gang does not fit.
	Unproved bool
	// Placement is for gangs whose PodGroups do not say which domains they would rather have.
	Placement packing.Placement
}

// placement returns which domains the gang gets among those that do equally well.
func (q Question) placement() packing.Placement {
	switch asked := packing.Placement(q.Gang.PodGroup.Annotations[scheduling.AnnotationPlacement]); asked {
	case packing.Pack, packing.Spread:
		return asked
	default:
		return q.Placement // The pod grouper reports what it may say instead.
	}
}

// Answer is what becomes of a gang.
type Answer struct {
	// Verdict is Placed, Infeasible, Unknown, Incomplete or Invalid.
	Verdict string
	// Overtaking is set for a gang that would be placed, were no room reserved for gangs that it has overtaken.
	Overtaking bool
	// Message is one sentence that says why pods have no node; empty if all have one.
	Message string
	// Explanations say the same by group, domain and resource, the decisive one first. Empty for a gang that is held.
	Explanations []packing.Explanation
	// Certificate proves that the gang does not fit.
	Certificate *certificate.Proof
	// Respected is the room that the certificate takes for reserved.
	Respected clusterview.Reserved
	// Nodes has the node of each pending pod that gets one, by the pod's name. It is empty unless Placed, or the gang is
	// mended.
	Nodes map[string]string
	// Order has the names of the pods in Nodes as they have to be put on them, one after the other; nil if any order
	// will do.
	Order []string
	// Kept is the room that was found for gangs which have to follow this one, by their pods and nodes.
	Kept map[gang.Key]clusterview.Reserved
	// Groups has every group of the tree, the root first, with the pods that stand and those that get a node.
	Groups []Group
	// Optimal says that no other placement of the gang has more of its pods, or as many and fewer preferred domains,
	// those of outer groups counted first. False means that this is not proved, not that a better one exists.
	Optimal bool
	// Steps is what the search took of its budget.
	Steps int
	// Basis shows later whether the answer to a gang that has no place still holds.
	Basis clusterview.Basis
}

// Group is where one group of a gang stands.
type Group struct {
	Name       string
	Constraint packing.Constraint
	// Placed counts the pods of the group and of those below it that have a node or get one; Needed is their minimum.
	Placed, Needed int
	// Used is how many domains of its preferred level they are in, a node that is in none counted as one; 0 if it
	// prefers nothing beyond what it requires.
	Used int
	// Domains has the sorted domains in which they stand, by level of the group's topology. Nil if it names none.
	Domains map[string][]string
}

// Decide answers the question. It changes nothing.
func Decide(ctx context.Context, q Question) (*Answer, error) {
	session, err := Open(ctx, q)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	return session.Decide()
}

// Stand reports where the standing pods of a gang are, as an Answer without new assignments. The view needs no filters,
// and of the nodes only those matter that the pods stand on.
func Stand(q Question) (*Answer, error) {
	standing := *q.Gang
	standing.Pending = nil
	q.Gang = &standing
	return Decide(context.Background(), q)
}

// Held is the answer for a gang that cannot be planned. The domains in which it stands are left out: its topology may
// not exist.
func Held(g *gang.Gang, hold *gang.Hold) *Answer {
	answer := &Answer{Verdict: hold.Reason, Message: hold.Message}
	if g.Tree == nil {
		return answer
	}
	standing := g.StandingPods()
	for _, group := range g.Tree.Groups() {
		constraint := group.Constraint
		answer.Groups = append(answer.Groups, Group{
			Name: group.Name,
			Constraint: packing.Constraint{
				Topology:  constraint.Topology,
				Required:  constraint.RequiredTopologyLevel,
				Preferred: constraint.PreferredTopologyLevel,
			},
			Placed: standing[group.Name],
			Needed: group.MinPods(),
		})
	}
	return answer
}

func answerOf(decided *packing.Decision, g *gang.Gang, together bool) *Answer {
	answer := &Answer{
		Verdict: string(decided.Verdict),
		Message: decided.Message(),
		Nodes:   make(map[string]string, len(decided.Assignments)),
		Steps:   decided.Steps,
		Optimal: decided.Optimal,

		Explanations: decided.Explanations,
		Certificate:  decided.Certificate,
	}
	for _, assignment := range decided.Assignments {
		answer.Nodes[assignment.Pod] = assignment.Node
	}
	if together {
		return answer
	}
	own := translation.Own(decided.Groups, g)
	answer.Groups = slices.Grow(answer.Groups, len(own))
	for i := range own {
		answer.Groups = append(answer.Groups, groupOf(&own[i], g))
	}
	return answer
}

func groupOf(placement *packing.GroupPlacement, g *gang.Gang) Group {
	group := Group{
		Name:       placement.Name,
		Constraint: placement.Constraint,
		Placed:     placement.Running + placement.Placed,
		Needed:     g.Tree.Group(placement.Name).MinPods(),
		Used:       placement.Used,
	}
	for _, level := range placement.Domains {
		if group.Domains == nil {
			group.Domains = map[string][]string{}
		}
		paths := make([]string, len(level.Paths))
		for i, path := range level.Paths {
			paths[i] = path.String()
		}
		group.Domains[level.Level] = paths
	}
	return group
}
