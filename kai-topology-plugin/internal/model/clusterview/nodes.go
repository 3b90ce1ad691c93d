package clusterview

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"weak"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/shared/packing"
)

// seen is what the cluster knows of a node.
type seen struct {
	name string
	// id is the pod of the cluster that stands for all pods on the node.
	id string
	// info is the node in the snapshot that was last given, where it is changed in place.
	info       fwk.NodeInfo
	generation int64
	// node is the object that was last looked at. It is weak, so that old ones do not stay for it.
	node weak.Pointer[corev1.Node]
	// offer and used are what it was like then; version changes with the offer. Before is memory for what is used next.
	offer        offer
	used, before packing.Resources
	version      int
	// taints is a text that is equal for nodes with the same taints and cordon.
	taints string
	// pass is the last one that found the node.
	pass int
}

// offer is what filters that look at nothing but Node objects, and packing, see of one.
type offer struct {
	labels      map[string]string
	taints      []corev1.Taint
	cordoned    bool
	allocatable packing.Resources
}

func offerOf(info fwk.NodeInfo) *offer {
	node := info.Node()
	return &offer{
		labels: node.Labels, taints: node.Spec.Taints, cordoned: node.Spec.Unschedulable,
		allocatable: kubeframework.Allocatable(info),
	}
}

// same reports whether two nodes are the same to them.
func (o *offer) same(other *offer) bool {
	return o.cordoned == other.cordoned && maps.Equal(o.labels, other.labels) &&
		maps.Equal(o.allocatable, other.allocatable) && len(o.taints) == len(other.taints) &&
		(len(o.taints) == 0 || reflect.DeepEqual(o.taints, other.taints))
}

// repels is a text of the taints and the cordon, "" if there are none.
func (o *offer) repels() string {
	if len(o.taints) == 0 && !o.cordoned {
		return ""
	}
	var text strings.Builder
	fmt.Fprint(&text, o.cordoned)
	for _, taint := range o.taints {
		fmt.Fprintf(&text, " %q", taint.ToString())
	}
	return text.String()
}

// Follow brings the view in step with the nodes, in any order. A node with a known generation costs one comparison. No
// trial is under way.
func (v *View) Follow(nodes []fwk.NodeInfo) {
	v.shed()
	v.followNodes(nodes)
	v.followZones()
}

func (v *View) followNodes(nodes []fwk.NodeInfo) {
	same, given := len(nodes) == len(v.seen), v.given
	for i, info := range nodes {
		if i < len(given) && given[i].Is(info) {
			continue
		}
		name := info.Node().Name
		known := v.byName[name]
		if known == nil {
			known = &seen{name: name, id: usedOn(name)}
			v.byName[name] = known
		}
		v.look(known, info)
		if same = same && v.seen[i] == known; same {
			v.given[i] = kubeframework.VersionOf(info)
		}
	}
	if !same {
		v.reorder(nodes)
	}
	if v.baseline == 0 && len(nodes) > 0 {
		v.baseline = v.cluster.Resources()
	}
}

// look has the cluster know what is new about a node.
func (v *View) look(known *seen, info fwk.NodeInfo) {
	known.info = info
	if known.version > 0 && known.generation == info.GetGeneration() {
		return
	}
	known.generation = info.GetGeneration()
	defer v.repelling.set(known.name, info)
	if node := weak.Make(info.Node()); known.version == 0 || known.node != node {
		known.node = node
		if offered := offerOf(info); known.version == 0 || !known.offer.same(offered) {
			v.set(known, offered)
		}
	}
	v.use(known, info)
	v.lookAtZones(known)
}

// set has the cluster know what a node offers now.
func (v *View) set(known *seen, offered *offer) {
	v.moments.note(known, offered)
	v.versions++
	v.house(known, offered.labels)
	known.offer, known.version, known.taints = *offered, v.versions, offered.repels()
	evicts := func(taint corev1.Taint) bool { return taint.Effect == corev1.TaintEffectNoExecute }
	if v.evicting.Delete(known.name); slices.ContainsFunc(offered.taints, evicts) {
		v.evicting.Insert(known.name)
	}
	v.cluster.SetNode(packing.Node{Name: known.name, Labels: offered.labels, Allocatable: offered.allocatable})
}

// use has the cluster know what pods take of a node now. Most changes of nodes are of annotations, or of what the node
// itself says of its health.
func (v *View) use(known *seen, info fwk.NodeInfo) {
	used := kubeframework.UsedIn(known.before, info)
	if maps.Equal(used, known.used) {
		known.before = used
		return
	}
	v.moments.noteUse(known.used, used)
	known.used, known.before = used, known.used
	v.cluster.Assign(packing.Pod{ID: known.id, Node: known.name, Requests: used})
}

// house records on which host a node is by its labels now.
func (v *View) house(known *seen, labels map[string]string) {
	before, was := known.offer.labels[corev1.LabelHostname]
	now, is := labels[corev1.LabelHostname]
	if was {
		v.byHost[before].Delete(known.name)
		if v.byHost[before].Len() == 0 {
			delete(v.byHost, before)
		}
	}
	if is {
		if v.byHost[now] == nil {
			v.byHost[now] = sets.New[string]()
		}
		v.byHost[now].Insert(known.name)
	}
}

// usedOn is the pod that stands for all pods on a node.
func usedOn(node string) string { return "on " + node }

// reorder remembers the order of the nodes, and drops removed nodes.
func (v *View) reorder(nodes []fwk.NodeInfo) {
	pass := v.versions + 1
	v.versions = pass
	v.seen, v.given = make([]*seen, len(nodes)), make([]kubeframework.Version, len(nodes))
	for i, info := range nodes {
		v.seen[i], v.given[i] = v.byName[info.Node().Name], kubeframework.VersionOf(info)
		v.seen[i].pass = pass
	}
	for name, known := range v.byName {
		if known.pass != pass {
			v.cluster.Release(usedOn(name))
			v.dropZones(name)
			v.cluster.RemoveNode(name)
			v.repelling.drop(name)
			v.evicting.Delete(name)
			v.house(known, nil)
			delete(v.byName, name)
		}
	}
}
