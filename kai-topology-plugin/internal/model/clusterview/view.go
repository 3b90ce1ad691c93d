// Package clusterview keeps the packing engine's picture of the cluster in step with what kube-scheduler knows, so
// that a decision costs what has changed since the last one, and what it looks at.
package clusterview

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/eligibility"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	"packtree.dev/shared/packing"
)

// View is the picture that one profile has of the cluster. One goroutine at a time uses it: for a profile the one that
// schedules.
type View struct {
	memory  *eligibility.Memory
	cluster *packing.Cluster
	// seen has what the cluster knows of the nodes, in the order in which they were last given, and given what
	// they were then. Given is apart, as each decision goes through all of it.
	seen   []*seen
	given  []kubeframework.Version
	byName map[string]*seen
	// byHost has the names of the nodes of each host, by their label.
	byHost map[string]sets.Set[string]
	// versions counts the Node objects looked at.
	versions  int
	moments   moments
	repelling repelling
	// evicting are the nodes with a taint that evicts.
	evicting sets.Set[string]
	// topologies are the names of the Topologies in the cluster.
	topologies sets.Set[string]
	zoned      zoned
	// baseline is how many resources the cluster knew when it was new.
	baseline int
}

// New returns a view through the filters of a profile. Without filters it serves to say where pods stand.
func New(filters kubeframework.Filters) *View {
	view := &View{memory: eligibility.NewMemory(filters)}
	view.renew()
	return view
}

// Resources returns which resources count for the pods of the profile.
func (v *View) Resources() *kubeframework.Resources { return v.memory.Resources() }

// renew forgets all nodes.
func (v *View) renew() {
	v.cluster = packing.NewCluster()
	v.seen, v.given, v.byName = nil, nil, map[string]*seen{}
	v.byHost = map[string]sets.Set[string]{}
	v.repelling, v.evicting, v.topologies = repelling{}, sets.New[string](), sets.New[string]()
	v.zoned.usage = map[string]*zones.Usage{}
	v.zoned.nodes, v.zoned.judged = map[string]*zones.Node{}, map[string]*zones.Node{}
	v.zoned.demands = map[string]*zones.Demand{}
	if v.moments.now == 0 {
		v.moments = newMoments()
	}
	v.baseline = 0
}

// Evicting returns the names, sorted, of the nodes with a taint that evicts.
func (v *View) Evicting() []string { return sets.List(v.evicting) }

// Find implements eligibility.Nodes.
func (v *View) Find(name string) (node eligibility.Node, ok bool) {
	known, ok := v.byName[name]
	if !ok {
		return eligibility.Node{}, false
	}
	return eligibility.Node{Info: known.info, Taints: known.taints}, true
}

// OnHost implements eligibility.Nodes.
func (v *View) OnHost(host string) []string { return v.byHost[host].UnsortedList() }

// Repelling implements eligibility.Nodes.
func (v *View) Repelling() eligibility.Repelling { return v.repelling.all() }

// Reserved are pods, by the name of a node, that will stand on it although the node does not show them yet.
type Reserved map[string][]*corev1.Pod

// And returns both reservations together.
func (r Reserved) And(other Reserved) Reserved {
	if len(other) == 0 {
		return r
	}
	all := Reserved{}
	maps.Copy(all, r)
	for node, pods := range other {
		all[node] = append(slices.Clip(all[node]), pods...)
	}
	return all
}

// On returns the pods that will stand on a node and that the node does not show. The node still shows pods that are
// being deleted, even if their room is already held for others.
func (r Reserved) On(node fwk.NodeInfo) []*corev1.Pod {
	reserved := r[node.Node().Name]
	if len(reserved) == 0 {
		return nil
	}
	shown := make(map[types.UID]bool, len(node.GetPods()))
	for _, info := range node.GetPods() {
		shown[info.GetPod().UID] = true
	}
	return slices.DeleteFunc(slices.Clone(reserved), func(pod *corev1.Pod) bool { return shown[pod.UID] })
}
