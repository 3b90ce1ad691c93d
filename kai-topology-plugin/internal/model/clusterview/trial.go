package clusterview

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/eligibility"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	"packtree.dev/shared/packing"
)

// Trial is a picture of the cluster to try things on. Whatever is changed in it is forgotten at its end.
type Trial struct {
	// Cluster may be changed at will, also between checkpoints of one's own. What pods use of a node is one pod in it:
	// see Detach.
	Cluster *packing.Cluster

	view       *View
	ports      eligibility.HostPorts
	shapes     *eligibility.Shapes
	checkpoint packing.Checkpoint
	// labels are those by which the topologies tell nodes apart; reserved is a fingerprint.
	labels   sets.Set[string]
	reserved uint64
	// usage is what is free in the zones of nodes where that is not what the view knows.
	usage map[string]*zones.Usage
	// limits counts calls of Limit.
	limits int
	// unprovided are resources asked for that a DeviceClass may come to provide.
	unprovided []string
}

// Begin brings the view, which follows the nodes, in step with the topologies, given by name as levels from the
// broadest on. The trial knows the host ports that the pods of asking request, and the given demands of zones. The
// caller has the view for itself until End.
func (v *View) Begin(
	topologies map[string][]string, asking []*corev1.Pod, demands ...*zones.Demand,
) (*Trial, error) {
	v.ask(demands)
	if err := v.know(topologies); err != nil {
		return nil, err
	}
	trial := &Trial{
		Cluster: v.cluster, view: v, ports: eligibility.HostPortsOf(asking),
		checkpoint: v.cluster.Checkpoint(), labels: sets.New[string](),
	}
	trial.shapes = v.memory.Decision(v, asking, trial.ports)
	trial.offerPorts()
	provided, unprovided := v.Resources().ByDevices(asking...)
	trial.offerDevices(provided)
	trial.unprovided = unprovided
	for _, levels := range topologies {
		trial.labels.Insert(levels...)
	}
	return trial, nil
}

// End forgets what was tried.
func (t *Trial) End() {
	t.Cluster.Rollback(t.checkpoint)
	for _, key := range t.shapes.Passing() {
		t.Cluster.Forget(key)
	}
}

// Bounds of what the cluster knows beside nodes. Pods may request resources by any name, and the cluster never forgets
// one; each topology costs a few bytes a node, and each change of a node goes into all topologies and demands.
const (
	maxResources  = 64
	maxTopologies = 16
	maxDemands    = 16
)

// shed begins a new cluster, without nodes, if this one has met too much.
func (v *View) shed() {
	if v.cluster.Resources() > v.baseline+maxResources || v.topologies.Len() > maxTopologies ||
		len(v.zoned.demands) > maxDemands {
		v.renew()
	}
}

// Shape returns what a pod asks of a node; it shares one with pods that filters cannot tell apart.
func (t *Trial) Shape(ctx context.Context, pod *corev1.Pod) (packing.Shape, error) {
	return t.shapes.Of(ctx, pod)
}

// Err returns what went wrong when filters looked at nodes. What was decided then means nothing.
func (t *Trial) Err() error { return t.shapes.Err() }

// Node returns a node of the snapshot, nil if there is none of that name.
func (t *Trial) Node(name string) fwk.NodeInfo {
	node, _ := t.view.Find(name)
	return node.Info
}

// Nodes yields the nodes with what they offer and what the pods on them take. Nothing of it may be changed.
func (t *Trial) Nodes(yield func(node *corev1.Node, offered, used packing.Resources)) {
	for _, known := range t.view.seen {
		yield(known.info.Node(), known.offer.allocatable, known.used)
	}
}

// Reserve keeps room for pods on nodes that do not show them yet.
func (t *Trial) Reserve(reserved Reserved) error {
	t.reserved = fingerprint(reserved)
	var last *corev1.Pod
	var requests packing.Resources
	for node, pods := range reserved {
		for _, pod := range pods {
			// Most pods of a gang are alike, and to add up takes ten times as long as to compare.
			if last == nil || len(t.ports) > 0 || !kubeframework.Alike(last, pod) {
				var err error
				if requests, err = t.requests(pod); err != nil {
					return err
				}
				last = pod
			}
			t.Cluster.Assign(packing.Pod{ID: "reserved " + string(pod.UID), Node: node, Requests: requests})
		}
		t.reserveZones(node, pods)
	}
	return nil
}

// requests is what a pod takes of its node, host ports included.
func (t *Trial) requests(pod *corev1.Pod) (packing.Resources, error) {
	requests, err := kubeframework.Requests(pod)
	if err != nil {
		return nil, fmt.Errorf("reading the requests of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	for _, port := range t.ports.Taken(eligibility.UsedBy(pod)) {
		requests[port] = 1
	}
	return requests, nil
}

// Remove has nodes count as gone.
func (t *Trial) Remove(nodes []string) {
	for _, node := range nodes {
		t.Cluster.RemoveNode(node)
	}
}

// StandingID is the pod of the cluster that a pod is once it has been detached.
func StandingID(pod *corev1.Pod) string { return standingPrefix + string(pod.UID) }

const standingPrefix = "pod "

// Detach makes pods that stand on a node pods of the cluster by themselves, under their StandingID, so that a what-if
// can release them one by one. It takes all of a node's in one call, once in a trial.
func (t *Trial) Detach(node string, pods []*corev1.Pod) error {
	info := t.Node(node)
	if info == nil {
		return fmt.Errorf("node %s is not in the snapshot", node)
	}
	rest := kubeframework.Used(info)
	for _, port := range t.ports.Taken(info.GetUsedPorts()) {
		rest[port] = 1
	}
	t.Cluster.Release(portsOn(node))
	for _, pod := range pods {
		requests, err := t.requests(pod)
		if err != nil {
			return err
		}
		for resource, amount := range requests {
			rest[resource] -= amount
		}
		t.Cluster.Assign(packing.Pod{ID: StandingID(pod), Node: node, Requests: requests})
	}
	t.Cluster.Assign(packing.Pod{ID: usedOn(node), Node: node, Requests: rest})
	return nil
}

// offerPorts lets each node offer every requested host port once, except the ports in use by its pods.
func (t *Trial) offerPorts() {
	if len(t.ports) == 0 {
		return
	}
	for _, port := range t.ports.Resources() {
		t.Cluster.OfferEverywhere(port, 1)
	}
	for _, known := range t.view.seen {
		taken := packing.Resources{}
		for _, port := range t.ports.Taken(known.info.GetUsedPorts()) {
			taken[port] = 1
		}
		if len(taken) > 0 {
			t.Cluster.Assign(packing.Pod{ID: portsOn(known.name), Node: known.name, Requests: taken})
		}
	}
}

// plenty is more of a resource than pods ask for.
const plenty = int64(1) << 40

// offerDevices lets nodes that do not advertise a resource have plenty of it, where it comes from devices: how many
// of these there are is for the filters to say.
func (t *Trial) offerDevices(resources []string) {
	for _, resource := range resources {
		t.Cluster.OfferEverywhere(resource, plenty)
		for _, known := range t.view.seen {
			if known.offer.allocatable[resource] > 0 {
				t.Cluster.Assign(packing.Pod{
					ID: resource + " of " + known.name, Node: known.name, Requests: packing.Resources{resource: plenty},
				})
			}
		}
	}
}

// portsOn is the pod that stands for the host ports that pods on a node have.
func portsOn(node string) string { return "ports on " + node }

// know has the cluster know these topologies, by name, as these levels.
func (v *View) know(levels map[string][]string) error {
	for name, levels := range levels {
		if err := v.cluster.SetTopology(name, levels); err != nil {
			return fmt.Errorf("reading Topology %s: %w", name, err)
		}
		v.topologies.Insert(name)
	}
	return nil
}
