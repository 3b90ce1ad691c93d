// Package overtaking keeps small gangs from starving gangs that wait for more room. It says what a gang waits for,
// which gangs take it, and which nodes are reserved for a gang that was overtaken too often. gangstate counts. The
// plugin and the simulator call it alike.
package overtaking

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/preemption"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

// DefaultReserveFor is how long room is reserved for a gang that was overtaken too often while no pod leaves it.
const DefaultReserveFor = 5 * time.Minute

// Reserver reserves room for gangs that were overtaken too often.
type Reserver struct {
	Gangs *gangstate.State
	// Request reads what the decision about a gang that waits is made of, the nodes included; nil if it cannot be
	// planned.
	Request func(gang.Key) (*solve.Request, error)
	// Snapshot has the nodes of the requests.
	Snapshot func() fwk.NodeInfoLister
	// For is how long room is reserved while no pod leaves it; 0 is never.
	For time.Duration
}

// Before reserves room before a gang takes some, for the first gang that is overdue and would be overtaken by it.
// Reserved is set if the decision about the gang is to be made again.
//
// The room is that of one placement which the overdue gang would have if some of the gangs that overtook it were gone,
// as few as possible: they are not asked to leave, but when they do, no gang of lower rank takes their place.
func (r *Reserver) Before(
	ctx context.Context, taking gangstate.Taking, now time.Time,
) (reserved bool, effects gangstate.Effects, err error) {
	if r.For <= 0 {
		return false, effects, nil
	}
	key, by := r.Gangs.Overdue(taking)
	if by == nil {
		return false, effects, nil
	}
	request, err := r.Request(key)
	if err != nil {
		return false, effects, fmt.Errorf("reading gang %s: %w", key, err)
	}
	var placements []gangstate.Placement
	if request != nil {
		candidates, err := preemption.CandidatesOf(by, request.Nodes)
		if err != nil {
			return false, effects, err
		}
		choice, err := preemption.Find(ctx, preemption.Request{
			Request: request.Keeping(), Snapshot: r.Snapshot(), Candidates: candidates,
			Decide: func() (*solve.Answer, error) { return solve.Solve(ctx, *request) },
		})
		if err != nil {
			return false, effects, fmt.Errorf("looking for room to reserve for gang %s: %w", key, err)
		}
		if choice != nil {
			placements = placementsOf(request.Gang.Pending, choice.Nodes)
		}
	}
	effects = r.Gangs.ReserveOverdue(key, placements, r.standing, now, r.For)
	return len(placements) > 0, effects, nil
}

func placementsOf(pods []*corev1.Pod, nodes map[string]string) (placements []gangstate.Placement) {
	for _, pod := range pods {
		if node, ok := nodes[pod.Name]; ok {
			placements = append(placements, gangstate.Placement{Pod: pod, Node: node})
		}
	}
	return placements
}

// Extend has the room that is reserved for a gang last longer if pods have left it, now that the gang was tried and
// does not fit yet.
func (r *Reserver) Extend(key gang.Key, now time.Time) gangstate.Effects {
	return r.Gangs.Extend(key, r.standing, now, r.For)
}

// standing counts the pods on some nodes.
func (r *Reserver) standing(names []string) (pods int) {
	snapshot := r.Snapshot()
	for _, name := range names {
		if node, err := snapshot.Get(name); err == nil {
			pods += len(node.GetPods())
		}
	}
	return pods
}

// Note says which room a gang is kept out of because others are overdue, "" if of none.
func Note(reserved gangstate.Reserved) string {
	nodes := reserved.Nodes
	if len(nodes) == 0 {
		return ""
	}
	const named = 3
	where := strings.Join(nodes[:min(named, len(nodes))], ", ")
	if len(nodes) > named {
		where = fmt.Sprintf("%s and %d more nodes", where, len(nodes)-named)
	}
	return fmt.Sprintf("room on %s is reserved for gang %s, which ranks higher and has been overtaken too often",
		where, reserved.First)
}
