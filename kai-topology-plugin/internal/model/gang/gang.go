package gang

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/kueue"
	"packtree.dev/shared/podgrouptree"
)

// Gang is a PodGroup together with its pods.
type Gang struct {
	PodGroup *scheduling.PodGroup
	// Tree has the minima that the gang needs now, and toStart the minima that it needed to start. Tree is nil if the
	// PodGroup is invalid.
	Tree, toStart *podgrouptree.Tree
	// Shared is what the gang shares with other gangs; nil if it has none. Assemble leaves it to the caller to say
	// where they stand.
	Shared *Shared
	// Relations say how its groups, its pods, or it and other gangs stand to each other.
	Relations []Relation
	// Pending and Standing are its pods by age, then name.
	Pending, Standing []*corev1.Pod
	// Done are its pods that have done their work. They hold no node, and the gang has not lost them.
	Done []*corev1.Pod
	// Gated would be pending if no scheduling gate held them.
	Gated []*corev1.Pod
	// Expected says how many pods leaves will have, where that is not their MinMember.
	Expected podgrouptree.Expected
	// Strays name a leaf that the tree does not have. They are no members until they, or the PodGroup, change.
	Strays []*corev1.Pod
	// Foreign wait for another scheduler. They are members once they have a node.
	Foreign []*corev1.Pod
}

// Hold says why a gang cannot be planned whatever the nodes are like.
type Hold struct {
	// Reason is scheduling.ReasonInvalid or scheduling.ReasonIncomplete.
	Reason string
	// Message is one sentence.
	Message string
	// Lacks is set if pods are yet to be made, and nothing else holds the gang: one that is mended does without them.
	Lacks bool
}

// UnlessMends returns what holds a gang: nothing if it only lacks pods and is mended without them.
func (h *Hold) UnlessMends(mends func() bool) *Hold {
	if h != nil && h.Lacks && mends() {
		return nil
	}
	return h
}

// Assemble sorts the pods of a PodGroup, given in any order, into its tree. Hold is nil if the gang can be planned.
// Levels has the Topologies that exist.
func Assemble(podGroup *scheduling.PodGroup, pods []*corev1.Pod, levels podgrouptree.Levels) (*Gang, *Hold) {
	return AssembleFor(anyScheduler, podGroup, pods, levels)
}

func anyScheduler(string) bool { return true }

// AssembleFor is Assemble for a program that places the pods which name certain schedulers, and no others.
func AssembleFor(
	ours func(scheduler string) bool, podGroup *scheduling.PodGroup, pods []*corev1.Pod, levels podgrouptree.Levels,
) (*Gang, *Hold) {
	tree, related, invalid := read(podGroup, levels)
	gang := &Gang{PodGroup: podGroup, Tree: tree, Relations: related}
	if tree == nil {
		return gang, invalid
	}
	gang.Shared = sharedOf(podGroup).resolve(levels)
	gang.Expected, _ = podgrouptree.ParseExpected(podGroup.Annotations)
	gang.sort(pods, ours)
	tally := Tally{}
	for _, pod := range pods {
		tally.add(pod, stateOf(pod, ours), 1)
	}
	gang.Tree, gang.toStart = tally.needs(gang.goingOn().Tree, slices.Values(gang.Done)), tree
	if invalid != nil {
		return gang, invalid
	}
	if other := firstForOther(podGroup, gang.Pending); other != nil {
		return gang, &Hold{Reason: scheduling.ReasonIncomplete, Message: OtherTopologyMessage(podGroup, other)}
	}
	return gang, tally.Incomplete(gang.Tree, gang.firsts)
}

func (g *Gang) firsts() (first Firsts) {
	if len(g.Strays) > 0 {
		first.Stray = g.Strays[0]
	}
	if len(g.Foreign) > 0 {
		first.Foreign = g.Foreign[0]
	}
	if i := slices.IndexFunc(g.Gated, kueue.Waits); i >= 0 {
		first.InQueue = g.Gated[i]
	}
	return first
}

// Read returns the tree of a PodGroup, nil if that is invalid, and holds a gang that cannot be planned whatever pods
// it has.
func Read(podGroup *scheduling.PodGroup, levels podgrouptree.Levels) (*podgrouptree.Tree, *Hold) {
	tree, _, hold := read(podGroup, levels)
	return started(podGroup, tree), hold
}

func read(podGroup *scheduling.PodGroup, levels podgrouptree.Levels) (*podgrouptree.Tree, []Relation, *Hold) {
	tree, errs := podgrouptree.New(&podGroup.Spec)
	if len(errs) > 0 {
		return nil, nil, Invalid(errs)
	}
	tree.Resolve(levels)
	related, errs := relationsOf(podGroup, tree, levels)
	if errs := slices.Concat(tree.Blockers(levels), sharedOf(podGroup).blockers(levels), errs); len(errs) > 0 {
		return tree, nil, Invalid(errs)
	}
	return tree, related, nil
}

// Invalid holds a gang for everything that is wrong with its PodGroup.
func Invalid(errs field.ErrorList) *Hold {
	sentences := make([]string, len(errs))
	for i, err := range errs {
		sentences[i] = err.Error()
	}
	return &Hold{Reason: scheduling.ReasonInvalid, Message: strings.Join(sentences, "; ")}
}

func (g *Gang) sort(pods []*corev1.Pod, ours func(scheduler string) bool) {
	for _, pod := range pods {
		state := stateOf(pod, ours)
		if state != isGone && g.Tree.Leaf(LeafOf(pod)) == nil {
			g.Strays = append(g.Strays, pod)
			continue
		}
		switch state {
		case isStanding:
			g.Standing = append(g.Standing, pod)
		case isForeign:
			g.Foreign = append(g.Foreign, pod)
		case isPending:
			g.Pending = append(g.Pending, pod)
		case isGated:
			g.Gated = append(g.Gated, pod)
		case isGone:
			if Done(pod) {
				g.Done = append(g.Done, pod)
			}
		case isAssumed:
		}
	}
	for _, pods := range [][]*corev1.Pod{g.Pending, g.Standing, g.Gated, g.Strays, g.Foreign} {
		slices.SortFunc(pods, byAge)
	}
}

func byAge(a, b *corev1.Pod) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// Rank is the gang's place in the order of decisions. Its priority is the highest priority of its pods, usually the
// same for all of them.
func (g *Gang) Rank() Rank {
	return Rank{
		Priority: g.Priority(),
		Begun:    g.Tree != nil && len(g.Standing) > 0 && !g.Satisfied(NoPending),
		Since:    g.PodGroup.CreationTimestamp.Time,
		Gang:     g.Key(),
	}
}

// Priority returns the highest priority of the gang's pods.
func (g *Gang) Priority() (highest int32) {
	for i, pod := range slices.Concat(g.Pending, g.Standing) {
		if priority := corev1helpers.PodPriority(pod); i == 0 || priority > highest {
			highest = priority
		}
	}
	return highest
}

// PreemptsNobody reports whether a gang must not have others leave: because one of its pods must not.
func (g *Gang) PreemptsNobody() bool {
	return slices.ContainsFunc(g.Pending, func(pod *corev1.Pod) bool {
		policy := pod.Spec.PreemptionPolicy
		return policy != nil && *policy == corev1.PreemptNever
	})
}

// Satisfied reports whether the minima of the whole tree are met by the standing pods and those pending ones that
// chosen accepts.
func (g *Gang) Satisfied(chosen func(pending *corev1.Pod) bool) bool {
	chosenPods := slices.DeleteFunc(slices.Clone(g.Pending), func(pod *corev1.Pod) bool { return !chosen(pod) })
	return g.satisfiedBy(g.Standing, chosenPods)
}

// Finishing reports whether the gang lacks only pods that have completed: the pods that it needs run or are done, and
// no pod waits.
func (g *Gang) Finishing() bool {
	return len(g.Done) > 0 && len(g.Pending)+len(g.Gated) == 0 && g.Unfinished().satisfiedBy(g.Standing, g.Done)
}

func (g *Gang) satisfiedBy(some, others []*corev1.Pod) bool {
	return podsIn(g.Tree, slices.Concat(some, others)).satisfy(g.Tree.Root)
}

// NoPending accepts no pending pod, so that Satisfied looks at the standing ones alone.
func NoPending(*corev1.Pod) bool { return false }

// StrayMessage says which pods name a leaf that the tree does not have, and what would be right. There is at least one.
func (g *Gang) StrayMessage() string { return strayMessage(g.Tree, g.Strays[0], len(g.Strays)) }

// ForeignMessage says which pods wait for another scheduler. There is at least one.
func (g *Gang) ForeignMessage() string { return foreignMessage(g.Foreign[0], len(g.Foreign)) }

// StandingPods counts the standing pods of each group and of those below it, by the group's name.
func (g *Gang) StandingPods() map[string]int {
	return podsIn(g.Tree, g.Standing)
}

// DonePods counts the pods of each group and of those below it that have done their work, by the group's name.
func (g *Gang) DonePods() map[string]int { return podsIn(g.Tree, g.Done) }

// Losses names the leaves that have fewer pods on nodes than they need.
func (g *Gang) Losses() string {
	counts := g.StandingPods()
	var lacking []string
	for _, leaf := range g.Tree.Leaves() {
		if have := counts[leaf.Name]; have < int(leaf.MinMember) {
			lacking = append(lacking,
				fmt.Sprintf("%s has %d of %d pods on nodes", describe(leaf), have, leaf.MinMember))
		}
	}
	return strings.Join(lacking, ", ")
}
