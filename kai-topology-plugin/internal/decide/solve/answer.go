package solve

import (
	"context"
	"slices"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/brief"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/certificate"
	"packtree.dev/shared/podgrouptree"
)

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
	// Groups has every group of the tree, the root first, with its running and newly assigned pods.
	Groups []Group
	// Optimal says that no other placement of the gang has more of its pods, or as many and fewer preferred domains,
	// those of outer groups counted first. False means that this is not proved, not that a better one exists.
	Optimal bool
	// Steps is what the search took of its budget.
	Steps int
	// Basis shows later whether the answer to a gang that has no place still holds.
	Basis clusterview.Basis
	// Least is the least of each resource that a pod of a gang without a place asks for; nil if the answer rests on
	// more than what nodes have.
	Least []Amount
}

// Amount is how much of a resource a pod asks for.
type Amount struct {
	Resource string
	Amount   int64
}

// Helps reports whether a gang that has no place may have one now that a pod has left a node, or asks for less, and so
// much is free there.
func (a *Answer) Helps(free packing.Resources) bool {
	return !slices.ContainsFunc(a.Least, func(least Amount) bool { return least.Amount > free[least.Resource] })
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

// Stand reports where the standing pods of a gang are, as an Answer without new assignments. The view needs no filters,
// and of the nodes only those matter that the pods stand on.
func Stand(request Request) (*Answer, error) {
	request.View.Follow(request.Nodes)
	return stand(request)
}

func stand(request Request) (*Answer, error) {
	standing := *request.Gang
	standing.Pending = nil
	request.Gang = &standing
	return engine(context.Background(), request)
}

// Held is the answer for a gang that cannot be planned. The domains in which it stands are left out: its topology may
// not exist.
func Held(g *gang.Gang, hold *gang.Hold) *Answer {
	answer := &Answer{Verdict: hold.Reason, Message: brief.Message(hold.Message)}
	if g.Tree == nil {
		return answer
	}
	standing := g.StandingPods()
	for _, group := range g.Tree.Groups() {
		answer.Groups = append(answer.Groups, Group{
			Name: group.Name, Constraint: constraintOf(group),
			Placed: standing[group.Name],
			Needed: group.MinPods(),
		})
	}
	return answer
}

func constraintOf(group *podgrouptree.Group) packing.Constraint {
	return packing.Constraint{
		Topology: group.Constraint.Topology, Required: group.Constraint.RequiredTopologyLevel,
		Preferred: group.Constraint.PreferredTopologyLevel,
	}
}

func answerOf(decided *packing.Decision) *Answer {
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
	return answer
}

// groupsOf returns the groups of a gang's own tree, without what stands around it.
func groupsOf(decided *packing.Decision, g *gang.Gang) []Group {
	own := decided.Groups[max(0, len(decided.Groups)-len(g.Tree.Groups())):]
	groups := make([]Group, 0, len(own))
	for i := range own {
		groups = append(groups, groupOf(&own[i], g))
	}
	return groups
}

func groupOf(placement *packing.GroupPlacement, g *gang.Gang) Group {
	own := g.Tree.Group(placement.Name)
	group := Group{
		Name:       placement.Name,
		Constraint: constraintOf(own),
		Placed:     placement.Running + placement.Placed,
		Needed:     own.MinPods(),
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

// Placement says how close together an answer puts a gang with that many pending pods; nil if no group with pods
// prefers a level. Where every pod has a node, groups that are each in one domain are in the fewest possible. Where
// some pods have no node, other pods in their place might have needed fewer domains.
func (a *Answer) Placement(pending int) *scheduling.PlacementStatus {
	used, prefer := 0, 0
	for i := range a.Groups {
		if a.Groups[i].Used > 0 {
			used += a.Groups[i].Used
			prefer++
		}
	}
	if prefer == 0 {
		return nil
	}
	placed := &scheduling.PlacementStatus{Domains: int32(used), Fewest: scheduling.FewestNotProved}
	if a.Optimal || used == prefer && len(a.Nodes) == pending {
		placed.Fewest = scheduling.FewestYes
	}
	return placed
}
