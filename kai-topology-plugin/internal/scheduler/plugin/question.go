package plugin

import (
	"fmt"
	"iter"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/overtaking"
	"packtree.dev/kai-topology-plugin/internal/decide/planner"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// nodeNames are those of the nodes of a snapshot, in its order. Kube-scheduler gives the same slice again until a node
// comes or goes; to read each node for its name takes most of a millisecond for thousands that are in no cache of the
// processor. They belong to the goroutine that schedules.
type nodeNames struct {
	nodes []fwk.NodeInfo
	names []string
}

func (n *nodeNames) of(nodes []fwk.NodeInfo) []string {
	if len(nodes) != len(n.nodes) || len(nodes) > 0 && &nodes[0] != &n.nodes[0] {
		n.nodes, n.names = nodes, make([]string, len(nodes))
		for i, node := range nodes {
			n.names[i] = node.Node().Name
		}
	}
	return n.names
}

// overdue reads what the decision about a gang that waits is made of; nil if it cannot be planned as a whole.
func (p *Plugin) overdue(key gang.Key) (*solve.Request, error) {
	nodes, err := p.handle.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	asked, held, err := p.read(key, nil, nodes)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil || held != nil || asked.lacks != nil {
		return nil, err
	}
	request, _, err := p.ask(asked.Gang, nil, nodes)
	return &request, err
}

// ask assembles the request to decide a gang on nodes as they are, and returns the pods that were given a node by a
// plan that did not come true.
func (p *Plugin) ask(
	assembled *gang.Gang, held *gang.Hold, nodes []fwk.NodeInfo,
) (solve.Request, []*corev1.Pod, error) {
	cycle := &cycle{Plugin: p, nodes: nodes}
	request, err := planner.Request(cycle, assembled, held)
	return request, cycle.stale, err
}

// cycle is the cluster as a cycle of the scheduler sees it.
type cycle struct {
	*Plugin
	nodes []fwk.NodeInfo
	// stale are pods that were given a node by a plan that did not come true.
	stale []*corev1.Pod
}

func (c *cycle) Common() solve.Request {
	return solve.Request{View: c.view, Nodes: c.nodes, Placement: c.placement}
}

func (c *cycle) Topologies(gangs ...*gang.Gang) (map[string]*kai.Topology, error) {
	return c.lister.TopologiesOf(gangs...)
}

func (c *cycle) Related(key gang.Key) iter.Seq2[*scheduling.PodGroup, []*corev1.Pod] {
	return c.gangs.Related(key)
}

func (c *cycle) PodsOf(key gang.Key) ([]*corev1.Pod, error) { return c.lister.PodsOf(key) }

func (c *cycle) Assemble(podGroup *scheduling.PodGroup, pods []*corev1.Pod) (*gang.Gang, *gang.Hold) {
	return gang.AssembleFor(c.lister.Ours, podGroup, pods, c.lister.Levels)
}

func (c *cycle) Stays(podGroup *scheduling.PodGroup) bool {
	return c.gangs.Mends(gang.KeyOfPodGroup(podGroup), c.clock.Now())
}

// Kept returns the room that a gang must leave alone: that of other gangs' plans and followers, that which lower pods
// have been asked to clear for others of at least the gang's priority, and that of gangs which are overdue.
func (c *cycle) Kept(assembled *gang.Gang) planner.Kept {
	rank := assembled.Rank()
	room, reserved := clusterview.Reserved{}, c.gangs.Reserved(rank, nil)
	c.stale = nil
	for i, name := range c.names.of(c.nodes) {
		if len(reserved.Room[name]) > 0 {
			room[name] = reserved.Room.On(c.nodes[i])
		}
		for _, nominated := range c.handle.NominatedPodsForNode(name) {
			pod := nominated.GetPod()
			key, member := c.lister.KeyOf(pod)
			switch {
			case member && c.gangs.View(key).Preempts:
				// Counted already, or of no concern to the gang.
			case member && c.undecided(key, pod, rank):
				room[name] = append(room[name], c.lister.Latest(pod))
			case member:
				// Left from a plan that did not come true. Gangs have no claim but their plan, and kube-scheduler's
				// filters would honour this one.
				c.stale = append(c.stale, pod)
			case kubeframework.Priority(pod) >= rank.Priority:
				room[name] = append(room[name], pod)
			}
		}
	}
	return planner.Kept{Room: room, Overdue: reserved.Overdue, Note: overtaking.Note(reserved)}
}

// undecided reports whether a pod was given its node by a scheduler that died since, and its gang has not had its turn
// here. Up to then gangs that are not above it leave the room alone.
func (p *Plugin) undecided(key gang.Key, pod *corev1.Pod, asking gang.Rank) bool {
	pod = p.lister.Latest(pod)
	return key != asking.Gang && gang.Pending(pod) && pod.Status.NominatedNodeName != "" &&
		kubeframework.Priority(pod) >= asking.Priority && p.gangs.View(key).Undecided
}
