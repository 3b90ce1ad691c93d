package plugin

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/ganglister"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/overtaking"
	"packtree.dev/kai-topology-plugin/internal/solve"
	"packtree.dev/shared/packing"
)

// reader reads what decisions are made of.
type reader struct {
	handle fwk.Handle
	lister *ganglister.Lister
	gangs  *gangstate.State
	view   *clusterview.View
	// placement is for gangs that do not say which domains they would rather have.
	placement packing.Placement
	reserver  overtaking.Reserver
	names     nodeNames
}

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

func newReader(handle fwk.Handle, lister *ganglister.Lister, gangs *gangstate.State, view *clusterview.View) *reader {
	r := &reader{handle: handle, lister: lister, gangs: gangs, view: view}
	r.reserver = overtaking.Reserver{
		Gangs: gangs, Request: r.waiting, For: overtaking.DefaultReserveFor,
		Snapshot: func() fwk.NodeInfoLister { return handle.SnapshotSharedLister().NodeInfos() },
	}
	return r
}

// waiting reads what the decision about a gang that waits is made of; nil if it cannot be planned.
func (r *reader) waiting(key gang.Key) (*solve.Request, error) {
	podGroup, err := r.lister.PodGroup(key)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading PodGroup %s: %w", key, err)
	}
	assembled, held, err := r.lister.Assemble(podGroup)
	if err != nil || held != nil {
		return nil, err
	}
	nodes, err := r.handle.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	request, _, err := r.ask(assembled, nodes)
	return &request, err
}

// ask reads all that a decision about a gang is made of: on nodes as they are, the gangs that will have to follow it,
// and the room that is kept from it. It changes nothing but of what the gang hears from now on: see Relate of
// gangstate.
func (r *reader) ask(assembled *gang.Gang, nodes []fwk.NodeInfo) (solve.Request, kept, error) {
	r.meetRelated(assembled)
	followers, err := r.followersOf(assembled)
	if err != nil {
		return solve.Request{}, kept{}, err
	}
	topologies, err := r.lister.TopologiesOf(append(slices.Clone(followers), assembled)...)
	if err != nil {
		return solve.Request{}, kept{}, err
	}
	from := r.keptFrom(assembled, nodes)
	return solve.Request{
		Question: decision.Question{
			Gang: assembled, Topologies: topologies, View: r.view, Nodes: nodes, Reserved: from.room,
			Placement: r.placement,
		},
		Followers: followers, Overdue: from.overdue, Note: from.note,
	}, from, nil
}

// meetRelated records for a gang where those stand, or are about to, that it shares a constraint with or that its
// relations count.
func (r *reader) meetRelated(assembled *gang.Gang) {
	r.gangs.Relate(assembled)
	if assembled.Shared == nil {
		return
	}
	assembled.Shared.Others = nil
	for _, other := range r.gangs.Related(assembled.PodGroup) {
		key := gang.KeyOfPodGroup(other)
		assembled.Shared.Add(key, r.gangs.Nodes(key))
	}
}

// followersOf returns the gangs that have to go where a gang goes, if it decides that now.
func (r *reader) followersOf(leader *gang.Gang) ([]*gang.Gang, error) {
	if !leader.Leads() {
		return nil, nil
	}
	var followers []*gang.Gang
	for _, podGroup := range r.gangs.Related(leader.PodGroup) {
		pods, err := r.lister.PodsOf(gang.KeyOfPodGroup(podGroup))
		if err != nil {
			return nil, err
		}
		follower, hold := gang.AssembleFor(r.lister.Ours, podGroup, gang.Released(pods), r.lister.Levels)
		if hold == nil && follower.Follows(leader) {
			followers = append(followers, follower)
		}
	}
	return followers, nil
}

// kept is the room that is kept from a gang.
type kept struct {
	room clusterview.Reserved
	// overdue is that of gangs which the gang must not overtake any more, and note says so.
	overdue clusterview.Reserved
	note    string
	// stale are pods that were given a node by a plan that did not come true.
	stale []*corev1.Pod
}

// keptFrom returns the room that a gang must leave alone: that of other gangs' plans and followers, that which lower
// pods have been asked to clear for others of at least the gang's priority, and that of gangs which are overdue.
func (r *reader) keptFrom(assembled *gang.Gang, nodes []fwk.NodeInfo) kept {
	rank := assembled.Rank()
	result, reserved := kept{room: clusterview.Reserved{}}, r.gangs.Reserved(rank.Gang, rank.Priority)
	for i, name := range r.names.of(nodes) {
		if len(reserved[name]) > 0 {
			result.room[name] = reserved.On(nodes[i])
		}
		for _, nominated := range r.handle.NominatedPodsForNode(name) {
			pod := nominated.GetPod()
			key, member := r.lister.KeyOf(pod)
			switch {
			case member && r.gangs.Preempts(key):
				// Counted already, or of no concern to the gang.
			case member && r.undecided(key, pod, rank):
				result.room[name] = append(result.room[name], r.lister.Latest(pod))
			case member:
				// Left from a plan that did not come true. Gangs have no claim but their plan, and kube-scheduler's
				// filters would honour this one.
				result.stale = append(result.stale, pod)
			case kubeframework.Priority(pod) >= rank.Priority:
				result.room[name] = append(result.room[name], pod)
			}
		}
	}
	var first gang.Key
	result.overdue, first = r.gangs.ReservedForOverdue(rank)
	result.note = r.reserver.Note(first)
	return result
}

// undecided reports whether a pod was given its node by a scheduler that died since, and its gang has not had its turn
// here. Up to then gangs that are not above it leave the room alone.
func (r *reader) undecided(key gang.Key, pod *corev1.Pod, asking gang.Rank) bool {
	pod = r.lister.Latest(pod)
	return key != asking.Gang && gang.Pending(pod) && pod.Status.NominatedNodeName != "" &&
		kubeframework.Priority(pod) >= asking.Priority && r.gangs.Undecided(key)
}
