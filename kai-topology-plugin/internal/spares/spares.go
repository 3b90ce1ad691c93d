package spares

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/occupancy"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
)

// Cluster is what decides which nodes can be spares.
type Cluster struct {
	Nodes []fwk.NodeInfo
	// Taken reports whether room on a node is kept for pods that it does not show; nil if that is so of none.
	Taken func(node string) bool
	// Vacated reports whether the pods on a node count as gone; nil if those of none do.
	Vacated func(node string) bool
	// PodGroup reads the PodGroup of a gang; an error is taken for one that does not exist.
	PodGroup func(gang.Key) (*scheduling.PodGroup, error)
}

// Domain is a domain that is to have spares.
type Domain struct {
	Wanted
	Path packing.Path
	// Size counts the nodes of the domain, and There are those that are free for repair, in the order in which they are
	// kept.
	Size  int
	There []Node
}

// Node is one on which nobody stands who would be in the way of a repair.
type Node struct {
	fwk.NodeInfo
	// yielding is set if somebody stands there who yields.
	yielding bool
	// below is the next narrower domain.
	below string
}

func (n Node) name() string { return n.Node().Name }

// Kept are the domains that are to have spares, as far as they are closed to somebody.
type Kept []Domain

// All returns the domains of everything that is wanted, by Topology, level and path.
func All(wanted []Wanted, cluster Cluster) Kept {
	var kept Kept
	for _, w := range wanted {
		kept = append(kept, w.domains(cluster)...)
	}
	return kept
}

// From returns what is kept from a gang: domains where it does not yield itself.
func From(assembled *gang.Gang, wanted []Wanted, cluster Cluster) Kept {
	protected := assembled.PodGroup.Spec.Preemptibility == scheduling.NonPreemptible
	return All(slices.DeleteFunc(slices.Clone(wanted), func(w Wanted) bool {
		return !protected && assembled.Priority() < w.YieldBelow
	}), cluster)
}

// FromPod returns what is kept from a pod without a gang.
func FromPod(pod *corev1.Pod, wanted []Wanted, cluster Cluster) Kept {
	if everywhere(pod) {
		return nil
	}
	return All(slices.DeleteFunc(slices.Clone(wanted), func(w Wanted) bool {
		return kubeframework.Priority(pod) < w.YieldBelow
	}), cluster)
}

// Mends reports whether pods of a gang come in place of others that it has lost, and may stand on spares where they
// have no other place: some stand that lack the rest of what the gang needs, or room is held for successors.
func Mends(assembled *gang.Gang) bool {
	return assembled.Rank().Begun || len(assembled.PodGroup.Status.Seats) > 0
}

// everywhere reports whether a pod is one of those that every node has.
func everywhere(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && (owner.Kind == "DaemonSet" || owner.Kind == "Node")
}

func (w Wanted) domains(cluster Cluster) []Domain {
	byPath := map[string]*Domain{}
	var key []byte // One for all nodes, which are many.
	for _, node := range cluster.Nodes {
		var labelled bool
		if key, labelled = w.appendPath(key[:0], node.Node().Labels); !labelled {
			continue
		}
		domain := byPath[string(key)]
		if domain == nil {
			domain = &Domain{Wanted: w, Path: w.pathOf(node.Node().Labels)}
			byPath[string(key)] = domain
		}
		domain.Size++
		if free, yielding := w.free(node, cluster); free {
			domain.There = append(domain.There, Node{
				NodeInfo: node, yielding: yielding, below: node.Node().Labels[w.Below],
			})
		}
	}
	domains := make([]Domain, 0, len(byPath))
	for _, domain := range byPath {
		domain.sort(nil)
		domains = append(domains, *domain)
	}
	slices.SortFunc(domains, func(a, b Domain) int { return slices.Compare(a.Path, b.Path) })
	return domains
}

// pathOf is the domain of the level in which a node with these labels is.
func (w Wanted) pathOf(labels map[string]string) packing.Path {
	path := make(packing.Path, len(w.Levels))
	for i, key := range w.Levels {
		path[i] = labels[key]
	}
	return path
}

// appendPath appends a text that tells the domain of a node apart, and reports whether the node has all labels.
func (w Wanted) appendPath(text []byte, labels map[string]string) ([]byte, bool) {
	for _, key := range w.Levels {
		value, ok := labels[key]
		if !ok {
			return text, false
		}
		text = append(append(text, value...), '/') // No value has a slash.
	}
	return text, true
}

// free reports whether a node is free for repair, and whether somebody stands there who yields.
func (w Wanted) free(node fwk.NodeInfo, cluster Cluster) (free, yielding bool) {
	object := node.Node()
	vacated := cluster.Vacated != nil && cluster.Vacated(object.Name)
	for _, info := range node.GetPods() {
		pod := info.GetPod()
		switch {
		case vacated:
		case everywhere(pod):
		case w.yields(pod, cluster):
			yielding = true
		default:
			return false, false
		}
	}
	if object.Spec.Unschedulable || !occupancy.Ready(object) {
		return false, false
	}
	return cluster.Taken == nil || !cluster.Taken(object.Name), yielding
}

// yields reports whether a pod can be made to leave by everybody for whom spares are kept.
func (w Wanted) yields(pod *corev1.Pod, cluster Cluster) bool {
	if kubeframework.Priority(pod) >= w.YieldBelow {
		return false
	}
	key, member := gang.KeyOf(pod)
	if !member || cluster.PodGroup == nil {
		return !member
	}
	podGroup, err := cluster.PodGroup(key)
	return err != nil || podGroup.Spec.Preemptibility != scheduling.NonPreemptible
}

// sort brings those forward that are kept: not those that are used otherwise; those where somebody yields, who would be
// in the way of others; and those of the narrower domains that have the fewest, so that the others have as many as
// possible.
func (d *Domain) sort(used sets.Set[string]) {
	below := map[string]int{}
	for _, node := range d.There {
		below[node.below]++
	}
	rank := func(is bool) int {
		if is {
			return 0
		}
		return 1
	}
	slices.SortFunc(d.There, func(a, b Node) int {
		return cmp.Or(cmp.Compare(rank(!used.Has(a.name())), rank(!used.Has(b.name()))),
			cmp.Compare(rank(a.yielding), rank(b.yielding)),
			cmp.Compare(below[a.below], below[b.below]), cmp.Compare(a.below, b.below), cmp.Compare(a.name(), b.name()))
	})
}

// Kept are the nodes that are kept, as far as there are as many.
func (d *Domain) Kept() []Node { return d.There[:min(d.Nodes, len(d.There))] }

// Closed names the nodes that are closed if the first ones of each domain are kept.
func (k Kept) Closed() []string { return k.closed(func(*Domain) bool { return true }) }

// Proved names those of them that are closed whichever nodes are kept: all of a domain that has no more, and of nodes
// that nobody tells apart so many. What does not fit into the rest does not fit. All reports whether these are all.
func (k Kept) Proved(reads func(label string) bool) (closed []string, all bool) {
	closed = k.closed(func(d *Domain) bool { return len(d.There) <= d.Nodes || d.alike(reads) })
	return closed, slices.Equal(closed, k.Closed())
}

func (k Kept) closed(which func(*Domain) bool) []string {
	closed := sets.New[string]()
	for i := range slices.Backward(k) { // The narrower levels of a Topology come later, and count for the broader ones.
		d := &k[i]
		if !which(d) {
			continue
		}
		missing := d.Nodes
		for _, node := range d.There {
			if closed.Has(node.name()) {
				missing--
			}
		}
		for _, node := range d.There {
			if missing <= 0 {
				break
			}
			if !closed.Has(node.name()) {
				closed.Insert(node.name())
				missing--
			}
		}
	}
	return sets.List(closed)
}

// alike reports whether nobody tells the free nodes of a domain apart, but by labels that each has with a value of its
// own, and that nobody reads.
func (d *Domain) alike(reads func(label string) bool) bool {
	if len(d.There) == 0 {
		return true
	}
	first := d.There[0]
	values := map[string]sets.Set[string]{}
	for _, node := range d.There {
		if node.yielding || !sameOffer(first, node) || len(node.Node().Labels) != len(first.Node().Labels) {
			return false
		}
		for key, value := range node.Node().Labels {
			if values[key] == nil {
				values[key] = sets.New[string]()
			}
			values[key].Insert(value)
		}
	}
	for key := range values {
		if _, has := first.Node().Labels[key]; !has {
			return false
		}
		if own := len(values[key]); own > 1 && (own < len(d.There) || reads(key)) {
			return false
		}
	}
	return true
}

// sameOffer reports whether two nodes offer the same to the same pods.
func sameOffer(a, b Node) bool {
	return kubeframework.Offers(a, kubeframework.Allocatable(b)) && kubeframework.TakesUp(a, kubeframework.Used(b)) &&
		slices.EqualFunc(a.Node().Spec.Taints, b.Node().Spec.Taints, func(x, y corev1.Taint) bool {
			return x.ToString() == y.ToString()
		}) &&
		slices.EqualFunc(a.GetPods(), b.GetPods(), func(x, y fwk.PodInfo) bool { return owner(x) == owner(y) })
}

func owner(info fwk.PodInfo) string { return string(metav1.GetControllerOf(info.GetPod()).UID) }

// Leave reports whether each domain keeps as many spares as it has to, or had, if pods get these nodes.
func (k Kept) Leave(nodes sets.Set[string]) bool {
	for i := range k {
		left := 0
		for _, node := range k[i].There {
			if !nodes.Has(node.name()) {
				left++
			}
		}
		if left < min(k[i].Nodes, len(k[i].There)) {
			return false
		}
	}
	return true
}

// Beside returns the domains with other nodes kept than those that are used, as far as there are any.
func (k Kept) Beside(used sets.Set[string]) Kept {
	beside := slices.Clone(k)
	for i := range beside {
		beside[i].There = slices.Clone(beside[i].There)
		beside[i].sort(used)
	}
	return beside
}

// Needed has the nodes each of which must stay free, by their names, with what to say of each: their domains have no
// spare more than they are to have.
func (k Kept) Needed() map[string]string {
	needed := map[string]string{}
	for i := range k {
		d := &k[i]
		if len(d.There) > d.Nodes {
			continue
		}
		for _, node := range d.There {
			needed[node.name()] = "kept as spares: " + d.sentence()
		}
	}
	return needed
}

// Note says what is kept, first of all in a domain or around it.
func (k Kept) Note(near packing.Path) string {
	var mentioned []*Domain
	for i := range k {
		if len(k[i].Kept()) > 0 {
			mentioned = append(mentioned, &k[i])
		}
	}
	if len(mentioned) == 0 {
		return ""
	}
	first := max(0, slices.IndexFunc(mentioned, func(d *Domain) bool {
		depth := min(len(near), len(d.Path))
		return depth > 0 && slices.Equal(d.Path[:depth], near[:depth])
	}))
	note := "kept as spares: " + mentioned[first].sentence()
	if len(mentioned) > 1 {
		note += fmt.Sprintf(", and nodes in %d more", len(mentioned)-1)
	}
	return note
}

// sentence says how many nodes of the domain are kept.
func (d *Domain) sentence() string {
	return fmt.Sprintf("%d of %d nodes in %s %s", len(d.Kept()), d.Size, d.Level(), d.Path)
}

// Reads returns which labels of nodes the pods of gangs name with values.
func Reads(pods []*corev1.Pod) func(label string) bool {
	keys, names := sets.New[string](), false
	for _, pod := range pods {
		for key := range pod.Spec.NodeSelector {
			keys.Insert(key)
		}
		if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
			continue
		}
		required := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		if required == nil {
			continue
		}
		for _, term := range required.NodeSelectorTerms {
			names = names || len(term.MatchFields) > 0
			for _, expression := range term.MatchExpressions {
				keys.Insert(expression.Key)
			}
		}
	}
	return func(label string) bool { return names || keys.Has(label) }
}
