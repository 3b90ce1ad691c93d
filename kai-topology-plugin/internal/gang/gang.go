package gang

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// Gang is a PodGroup together with its pods.
type Gang struct {
	PodGroup *scheduling.PodGroup
	// Tree is nil if the PodGroup is invalid.
	Tree *podgrouptree.Tree
	// Company is what the gang shares with other gangs; nil if it has none. Assemble leaves it to the caller who is in it.
	Company *Company
	// Pending and Standing are its pods by age, then name.
	Pending, Standing []*corev1.Pod
	// Gated counts the pods that would be pending if no scheduling gate held them.
	Gated int
	// Strays name a leaf that the tree does not have. They are nobody's members until they, or the PodGroup, change.
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
}

// Assemble sorts the pods of a PodGroup, given in any order, into its tree. Hold is nil if the gang can be planned. Levels
// tells which Topologies exist.
func Assemble(podGroup *scheduling.PodGroup, pods []*corev1.Pod, levels podgrouptree.Levels) (*Gang, *Hold) {
	return AssembleFor(anyScheduler, podGroup, pods, levels)
}

func anyScheduler(string) bool { return true }

// AssembleFor is Assemble for a program that places the pods which name certain schedulers, and no others.
func AssembleFor(ours func(scheduler string) bool, podGroup *scheduling.PodGroup, pods []*corev1.Pod, levels podgrouptree.Levels) (*Gang, *Hold) {
	gang := &Gang{PodGroup: podGroup}
	tree, errs := podgrouptree.New(&podGroup.Spec)
	if len(errs) > 0 {
		return gang, Invalid(errs)
	}
	gang.Tree = tree
	gang.Company = companyOf(podGroup)
	gang.sort(pods, ours)
	if errs := append(tree.Blockers(levels), gang.Company.blockers(levels)...); len(errs) > 0 {
		return gang, Invalid(errs)
	}
	if !tree.Root.Satisfied(gang.members) {
		return gang, &Hold{Reason: scheduling.ReasonIncomplete, Message: gang.shortfall()}
	}
	return gang, nil
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
		switch {
		case gone(pod):
		case g.Tree.Leaf(LeafOf(pod)) == nil:
			g.Strays = append(g.Strays, pod)
		case Standing(pod):
			g.Standing = append(g.Standing, pod)
		case !ours(pod.Spec.SchedulerName):
			g.Foreign = append(g.Foreign, pod)
		case Pending(pod):
			g.Pending = append(g.Pending, pod)
		default:
			g.Gated++
		}
	}
	for _, pods := range [][]*corev1.Pod{g.Pending, g.Standing, g.Strays, g.Foreign} {
		slices.SortFunc(pods, byAge)
	}
}

func byAge(a, b *corev1.Pod) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// Rank is the gang's place in the order of decisions. Its priority is the highest of its pods, which is that of all of
// them unless somebody mixed pods of several priorities into one gang.
func (g *Gang) Rank() Rank {
	rank := Rank{
		Begun: g.Tree != nil && len(g.Standing) > 0 && !g.Satisfied(NoPending),
		Since: g.PodGroup.CreationTimestamp.Time,
		Gang:  Key{Namespace: g.PodGroup.Namespace, Name: g.PodGroup.Name},
	}
	for i, pod := range slices.Concat(g.Pending, g.Standing) {
		if priority := priorityOf(pod); i == 0 || priority > rank.Priority {
			rank.Priority = priority
		}
	}
	return rank
}

func priorityOf(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// Satisfied reports whether the minima of the whole tree are met by the standing pods and those pending ones that chosen
// accepts.
func (g *Gang) Satisfied(chosen func(pending *corev1.Pod) bool) bool {
	counts := map[string]int{}
	for _, pod := range g.Standing {
		counts[LeafOf(pod)]++
	}
	for _, pod := range g.Pending {
		if chosen(pod) {
			counts[LeafOf(pod)]++
		}
	}
	return g.Tree.Root.Satisfied(func(leaf *podgrouptree.Group) int { return counts[leaf.Name] })
}

// NoPending accepts no pending pod, so that Satisfied looks at the standing ones alone.
func NoPending(*corev1.Pod) bool { return false }

// members counts the pods of a leaf that have a node or may be given one.
func (g *Gang) members(leaf *podgrouptree.Group) int {
	of := func(pods []*corev1.Pod) (count int) {
		for _, pod := range pods {
			if LeafOf(pod) == leaf.Name {
				count++
			}
		}
		return count
	}
	return of(g.Pending) + of(g.Standing)
}

// shortfall names the leaves that lack pods, and what might be behind it.
func (g *Gang) shortfall() string {
	var lacking []string
	for _, leaf := range g.Tree.Leaves() {
		if have := g.members(leaf); have < int(leaf.MinMember) {
			lacking = append(lacking, fmt.Sprintf("%s has %d of %d", describe(leaf), have, leaf.MinMember))
		}
	}
	message := "waiting for pods to be created: " + firstOf(lacking, ", ")
	if g.Gated > 0 {
		message += fmt.Sprintf("; pods held by scheduling gates: %d", g.Gated)
	}
	if len(g.Strays) > 0 {
		message += "; " + g.StrayMessage()
	}
	if len(g.Foreign) > 0 {
		message += "; " + g.ForeignMessage()
	}
	if len(g.Pending)+len(g.Standing)+len(g.Strays)+len(g.Foreign)+g.Gated == 0 {
		message += "; no pod names the PodGroup in its annotation " + scheduling.AnnotationPodGroupName
	}
	return message
}

// ForeignMessage says which pods wait for another scheduler. There is at least one.
func (g *Gang) ForeignMessage() string {
	first := g.Foreign[0]
	message := fmt.Sprintf("pod %s waits for another scheduler, %s", first.Name, first.Spec.SchedulerName)
	if others := len(g.Foreign) - 1; others > 0 {
		message += fmt.Sprintf(" (and %d more)", others)
	}
	return message + ": all pods of a gang need one spec.schedulerName"
}

// firstOf joins the first few phrases and counts the others.
func firstOf(phrases []string, separator string) string {
	const few = 8
	if len(phrases) <= few {
		return strings.Join(phrases, separator)
	}
	return strings.Join(phrases[:few], separator) + fmt.Sprintf(" and %d more", len(phrases)-few)
}

// Losses names the leaves that have fewer pods on nodes than they need.
func (g *Gang) Losses() string {
	counts := map[string]int{}
	for _, pod := range g.Standing {
		counts[LeafOf(pod)]++
	}
	var lacking []string
	for _, leaf := range g.Tree.Leaves() {
		if have := counts[leaf.Name]; have < int(leaf.MinMember) {
			lacking = append(lacking, fmt.Sprintf("%s has %d of %d pods on nodes", describe(leaf), have, leaf.MinMember))
		}
	}
	return strings.Join(lacking, ", ")
}

// StrayMessage says which pods name a leaf that the tree does not have, and what would be right. There is at least one.
func (g *Gang) StrayMessage() string {
	first := g.Strays[0]
	message := fmt.Sprintf("pod %s names subgroup %q, which is no leaf of the PodGroup", first.Name, LeafOf(first))
	if others := len(g.Strays) - 1; others > 0 {
		message += fmt.Sprintf(" (and %d more)", others)
	}
	return message + ": " + g.leafAdvice()
}

// leafAdvice says what the label by which pods name their leaf may say.
func (g *Gang) leafAdvice() string {
	if g.Tree.Root.Leaf() {
		return "the PodGroup has no subgroups, so its pods have no label " + kai.LabelSubGroupName
	}
	var names []string
	for _, leaf := range g.Tree.Leaves() {
		names = append(names, leaf.Name)
	}
	return fmt.Sprintf("label %s is to be %s", kai.LabelSubGroupName, firstOf(names, " or "))
}

func describe(leaf *podgrouptree.Group) string {
	if leaf.Name == scheduling.RootGroup {
		return "the PodGroup"
	}
	return "subgroup " + leaf.Name
}
