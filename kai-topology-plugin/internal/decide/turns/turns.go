// Package turns decides gangs one after the other, in the order of the scheduler, on a copy of a cluster: for questions
// that must not change it.
package turns

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/planner"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
)

// Turn is a gang that waits for its decision.
type Turn struct {
	// Gang has its pods as they are.
	Gang *gang.Gang
	// Hold is nil if the gang can be planned.
	Hold *gang.Hold
	// Rank is its place among the turns.
	Rank gang.Rank
}

// In returns the gangs of an inventory in the order in which the scheduler would decide them.
func In(cluster *inventory.Inventory) []Turn {
	members := cluster.Members()
	all := make([]Turn, 0, len(cluster.PodGroups))
	for _, podGroup := range cluster.PodGroups {
		pods := members[gang.KeyOfPodGroup(podGroup)]
		assembled, hold := gang.Assemble(podGroup, pods, cluster.Levels)
		if refused := refusal(podGroup, cluster.Levels); refused != nil {
			hold = refused
		}
		all = append(all, Turn{Gang: assembled, Hold: hold, Rank: assembled.Rank()})
	}
	slices.SortFunc(all, func(a, b Turn) int { return a.Rank.Compare(b.Rank) })
	return all
}

// refusal holds the gang of a PodGroup that could not be created, for everything that is wrong with it. One that a
// cluster has, and therefore dates, is held to no more than the scheduler does: it tolerates what older writers left.
func refusal(podGroup *scheduling.PodGroup, levels podgrouptree.Levels) *gang.Hold {
	if !podGroup.CreationTimestamp.IsZero() {
		return nil
	}
	refused, blocked := Wrong(podGroup, levels)
	if len(refused) == 0 {
		return nil
	}
	return gang.Invalid(append(refused, blocked...))
}

// Wrong returns for what an API server with podgrouper's webhook would not create a PodGroup, and why the scheduler
// would not decide it.
func Wrong(podGroup *scheduling.PodGroup, levels podgrouptree.Levels) (refused, blocked field.ErrorList) {
	refused = append(podgrouptree.ValidateCreate(&podGroup.Spec),
		podgrouptree.CheckMinRunning(podGroup.Annotations, &podGroup.Spec)...)
	if tree, invalid := podgrouptree.New(&podGroup.Spec); len(invalid) == 0 {
		blocked = tree.Blockers(levels)
	}
	return refused, blocked
}

// Standing returns the gangs of an inventory with only their running pods, each with the nodes of its related gangs.
// Gangs without running pods, or with an invalid PodGroup, are left out.
func Standing(cluster *inventory.Inventory) []*gang.Gang {
	t := &Table{index: planner.NewIndex(cluster.PodGroups...), members: cluster.Members()}
	var gangs []*gang.Gang
	for _, podGroup := range cluster.PodGroups {
		pods := gang.StandingOf(t.members[gang.KeyOfPodGroup(podGroup)])
		assembled, _ := gang.Assemble(podGroup, pods, cluster.Levels)
		if len(pods) == 0 || assembled.Tree == nil {
			continue
		}
		planner.Meet(t, assembled)
		gangs = append(gangs, assembled)
	}
	return gangs
}

// Wakes reports whether a gang that was refused had to be near another that stood nowhere, and stands now.
func (t *Table) Wakes(turn Turn) bool {
	if turn.Hold != nil || !turn.Gang.Awaits() {
		return false
	}
	planner.Meet(t, turn.Gang)
	return !turn.Gang.Awaits()
}

// Table is a copy of a cluster on which gangs are decided.
type Table struct {
	inventory  *inventory.Inventory
	cluster    *kubeframework.Offline
	view       *clusterview.View
	index      planner.Index
	members    map[gang.Key][]*corev1.Pod
	topologies map[string]*kai.Topology
	levels     podgrouptree.Levels
	gangs      *gangstate.State
	placement  packing.Placement
	// nodes are those on the table, by name.
	nodes []fwk.NodeInfo
	// kept is the room that a scheduler keeps from gangs; nil if there is none.
	kept func(asking gang.Key, priority int32) clusterview.Reserved
	// absent, reserved and terse are as in the questions that are asked under a change.
	absent   []string
	reserved clusterview.Reserved
	terse    bool
	// seats are held for successors of pods of gangs.
	seats map[gang.Key][]gangstate.Placement
}

// Set returns the table with everything on it that stands. Its filters run until ctx is done.
func Set(ctx context.Context, cluster *inventory.Inventory) (*Table, error) {
	offline, err := kubeframework.NewOffline(ctx, cluster.Nodes, inventory.Standing(cluster.Pods))
	if err != nil {
		return nil, err
	}
	return tableOf(cluster, offline, clusterview.New(offline))
}

func tableOf(cluster *inventory.Inventory, offline *kubeframework.Offline, view *clusterview.View) (*Table, error) {
	nodes, err := offline.Nodes()
	if err != nil {
		return nil, err
	}
	view.SeeZones(cluster.Zones)
	return &Table{
		inventory: cluster, nodes: nodes, cluster: offline, view: view,
		index: planner.NewIndex(cluster.PodGroups...), members: cluster.Members(), topologies: cluster.Topologies,
		levels: cluster.Levels, gangs: gangstate.New(anyScheduler, nil),
		placement: cluster.Placement,
	}, nil
}

func anyScheduler(string) bool { return true }

// Inventory returns the cluster that is on the table. It is not to be changed.
func (t *Table) Inventory() *inventory.Inventory { return t.inventory }

// Requests returns what a pod asks of a node, as far as it counts.
func (t *Table) Requests(pod *corev1.Pod) (packing.Resources, error) {
	return t.view.Resources().Requests(pod)
}

// Nodes returns the nodes on the table, by name, with the pods on them. They are not to be changed.
func (t *Table) Nodes() []fwk.NodeInfo { return t.nodes }

// Begin begins a trial on the table as it is, with some topologies by name. The table is of no other use until it ends.
func (t *Table) Begin(topologies map[string][]string) (*clusterview.Trial, error) {
	t.view.Follow(t.nodes)
	return t.view.Begin(topologies, nil)
}

// Decide answers for one gang and leaves the table as it is. Budget bounds the search in steps; 0 is the scheduler's
// bound.
func (t *Table) Decide(ctx context.Context, turn Turn, budget int) (*solve.Answer, error) {
	if t.Held(turn) {
		return solve.Held(turn.Gang, turn.Hold), nil
	}
	request, err := t.Request(turn)
	if err != nil {
		return nil, err
	}
	request.Budget = budget
	answer, err := solve.Solve(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("PodGroup %s: %w", turn.Rank.Gang, err)
	}
	return answer, nil
}

// Try is Decide without explanations, for callers that only ask where a gang would stand.
func (t *Table) Try(ctx context.Context, turn Turn) (*solve.Answer, error) {
	terse := *t
	terse.terse = true
	return terse.Decide(ctx, turn, 0)
}

// Held reports whether nothing of a gang can be planned.
func (t *Table) Held(turn Turn) bool { return planner.Hold(t, turn.Gang, turn.Hold) != nil }

// Request returns what is to be decided about a gang that can be planned, on the table as it is.
func (t *Table) Request(turn Turn) (solve.Request, error) {
	request, err := planner.Request(t, turn.Gang, turn.Hold)
	if err != nil {
		return solve.Request{}, fmt.Errorf("PodGroup %s: %w", turn.Rank.Gang, err)
	}
	return request, nil
}

// Respecting returns the table with room that a scheduler keeps from gangs, which kept returns.
func (t *Table) Respecting(kept func(asking gang.Key, priority int32) clusterview.Reserved) *Table {
	respecting := *t
	respecting.kept = kept
	return &respecting
}

// keptFrom returns the room that a scheduler keeps from a gang, but for that of pods which the nodes show.
func (t *Table) keptFrom(rank gang.Rank) clusterview.Reserved {
	if t.kept == nil {
		return nil
	}
	kept, nodes := clusterview.Reserved{}, t.cluster.SnapshotSharedLister().NodeInfos()
	all := t.kept(rank.Gang, rank.Priority)
	for name := range all {
		node, err := nodes.Get(name)
		if err != nil {
			continue // The node is gone, and with it its room.
		}
		if room := all.On(node); len(room) > 0 {
			kept[name] = room
		}
	}
	return kept
}

// Stand reports where the running pods of a gang are. Its PodGroup must have a valid tree.
func (t *Table) Stand(turn Turn) (*solve.Answer, error) {
	if turn.Hold != nil && turn.Hold.Reason == scheduling.ReasonInvalid {
		return solve.Held(turn.Gang, turn.Hold), nil // It may name Topologies that do not exist.
	}
	answer, err := solve.Stand(solve.Request{
		Gang: turn.Gang, Topologies: t.topologies, View: t.view, Nodes: t.nodes,
	})
	if err != nil {
		return nil, fmt.Errorf("PodGroup %s: %w", turn.Rank.Gang, err)
	}
	return answer, nil
}

// Take decides for one gang and puts its pods on their nodes, so that later gangs see what is left. The pods are
// changed.
func (t *Table) Take(ctx context.Context, turn Turn, budget int) (*solve.Answer, error) {
	answer, err := t.Decide(ctx, turn, budget)
	if err != nil {
		return nil, err
	}
	if Placed(answer) {
		t.gangs.Placed(gangstate.Taking{Rank: turn.Rank}, answer.Kept)
	}
	return answer, t.Assume(turn.Gang.Pending, answer.Nodes)
}

// Assume puts those pods on their nodes that have one, by their names. The pods are changed.
func (t *Table) Assume(pods []*corev1.Pod, nodes map[string]string) error {
	var standing []*corev1.Pod
	for _, pod := range pods {
		if node, ok := nodes[pod.Name]; ok {
			pod.Spec.NodeName = node
			t.fill(pod)
			standing = append(standing, pod)
		}
	}
	return t.cluster.Change(kubeframework.Change{Stand: standing})
}

// Placed reports whether an answer gives a gang all that it needs.
func Placed(answer *solve.Answer) bool {
	return answer.Verdict == scheduling.ReasonPlaced
}
