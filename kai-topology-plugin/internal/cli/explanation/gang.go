package explanation

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/decide/remedies"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/brief"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
)

// State sums up how a gang is doing.
type State string

// The states of a gang.
const (
	// Runs: every pod has a node.
	Runs State = "Runs"
	// RunsPartly: all that the gang needs have a node, and further pods wait.
	RunsPartly State = "RunsPartly"
	// Waits: the gang lacks pods that it needs.
	Waits State = "Waits"
)

// Gang is what can be said about a PodGroup, or about a pod without one.
type Gang struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Pod is set if this is a pod that belongs to no PodGroup.
	Pod   bool  `json:"pod,omitempty"`
	State State `json:"state"`
	// Scheduled, Pending and Gated count pods with a node, without one, and those behind scheduling gates.
	Scheduled int   `json:"scheduled"`
	Pending   int   `json:"pending"`
	Gated     int   `json:"gated"`
	Priority  int32 `json:"priority"`
	// SubGroups has every group of the tree, the root first.
	SubGroups []SubGroup `json:"subGroups"`
	// Placement is how close together the gang was placed, as its PodGroup says; nil if that is not known.
	Placement *scheduling.PlacementStatus `json:"placement,omitempty"`
	// Repair is what the scheduler says that it does about lost pods; empty if it says nothing.
	Repair string `json:"repair,omitempty"`
	// Nodes has the nodes of the scheduled pods.
	Nodes map[string]string `json:"nodes,omitempty"`
	// Decision is the gang decided again, on the cluster as it is and as if no other gang waited; nil if every pod has
	// a node.
	Decision *Decision `json:"decision,omitempty"`
	// Behind are gangs that go first and take the room that this one would get.
	Behind []string `json:"behind,omitempty"`
	// Remedies were tried by deciding again. Nil if the gang fits or cannot be planned at all.
	Remedies []remedies.Remedy `json:"remedies,omitempty"`
}

// SubGroup is one group of the tree and where its scheduled pods stand.
type SubGroup struct {
	// Name is empty for the gang as a whole.
	Name string `json:"name"`
	// Depth is the number of groups above it.
	Depth     int                 `json:"depth"`
	Scheduled int                 `json:"scheduled"`
	Minimum   int                 `json:"minimum"`
	Topology  string              `json:"topology,omitempty"`
	Required  string              `json:"required,omitempty"`
	Preferred string              `json:"preferred,omitempty"`
	Domains   map[string][]string `json:"domains,omitempty"`
}

// PlacementText says in words how close together a gang was placed.
func PlacementText(placement *scheduling.PlacementStatus) string {
	in := "in one domain of each level that it prefers"
	if placement.Domains > 1 {
		in = fmt.Sprintf("in %d domains of the levels that it prefers", placement.Domains)
	}
	if placement.Fewest == scheduling.FewestYes {
		return in + ", the fewest possible when it was placed"
	}
	return in + "; whether fewer were possible when it was placed is not proved"
}

// Decision is an answer of the scheduler's own code.
type Decision struct {
	// Verdict is Placed, Infeasible, Unknown, Incomplete or Invalid.
	Verdict string `json:"verdict"`
	Message string `json:"message,omitempty"`
	// Assignments has the nodes that pods without one would get.
	Assignments map[string]string `json:"assignments,omitempty"`
	Reasons     []Reason          `json:"reasons,omitempty"`
}

// Reason is why some pods of a group have no node.
type Reason struct {
	Group string `json:"group"`
	Level string `json:"level,omitempty"`
	// Domain is the nearest: where most pods fit. Empty for the whole cluster.
	Domain string `json:"domain,omitempty"`
	// Fit of Wanted pods fit there.
	Fit    int `json:"fit"`
	Wanted int `json:"wanted"`
	// Short is what the rest lacks, and Excluded counts nodes there that filters keep the rest off.
	Short    []Shortage  `json:"short,omitempty"`
	Excluded []Exclusion `json:"excluded,omitempty"`
	Sentence string      `json:"sentence"`
}

// Shortage is of one resource, in its base unit; CPU is in thousandths.
type Shortage struct {
	Resource string `json:"resource"`
	Amount   int64  `json:"amount"`
	Needed   int64  `json:"needed"`
	Free     int64  `json:"free"`
}

// Exclusion is what a filter excluded.
type Exclusion struct {
	Reason string `json:"reason"`
	Nodes  int    `json:"nodes"`
}

// judge decides each gang by itself on the cluster as it is.
func judge(ctx context.Context, cluster *inventory.Inventory, asked []turns.Turn) ([]*Gang, error) {
	table, err := turns.Set(ctx, cluster)
	if err != nil {
		return nil, err
	}
	table = table.KeepingRoom()
	var judged []*Gang
	remedied := 0
	for _, turn := range asked {
		g, err := standing(table, turn)
		if err == nil && g.State != Runs {
			err = g.decide(ctx, cluster, table, turn, remedied < maxRemedied)
		}
		if err != nil {
			return nil, err
		}
		if judged = append(judged, g); g.Remedies != nil {
			remedied++
		}
	}
	return judged, nil
}

// decide says why pods of the gang have no node. Remedied says whether to look for what would help it.
func (g *Gang) decide(
	ctx context.Context, cluster *inventory.Inventory, table *turns.Table, turn turns.Turn, remedied bool,
) error {
	answer, err := table.Decide(ctx, turn, 0)
	if err != nil {
		return err
	}
	g.Decision = decisionOf(answer)
	switch {
	case g.State == RunsPartly:
	case turns.Placed(answer):
		if g.Behind = reservedFor(cluster, turn, answer); g.Behind == nil {
			g.Behind, err = behind(ctx, cluster, turn)
		}
	case remedied:
		g.Remedies, err = remedies.Find(ctx, cluster, table, turn, answer)
	}
	return err
}

// Standing reports how each gang of a cluster is doing and where its groups stand, in the order of the scheduler.
// Nothing is decided. The table is that of the cluster.
func Standing(cluster *inventory.Inventory, table *turns.Table) ([]*Gang, error) {
	gangs := []*Gang{}
	for _, turn := range turns.In(cluster) {
		g, err := standing(table, turn)
		if err != nil {
			return nil, err
		}
		gangs = append(gangs, g)
	}
	return gangs, nil
}

// Decide says of those gangs that wait why, and what would help, in their order, until enough says so; it returns how
// many are left. The gangs are some of the cluster's, and are completed.
func Decide(
	ctx context.Context, cluster *inventory.Inventory, gangs []*Gang, enough func() bool,
) (left int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	table, err := turns.Set(ctx, cluster)
	if err != nil {
		return 0, err
	}
	table = table.KeepingRoom()
	asked := map[gang.Key]turns.Turn{}
	for _, turn := range turns.In(cluster) {
		asked[turn.Rank.Gang] = turn
	}
	for _, g := range gangs {
		if g.State == Runs {
			continue
		}
		if enough() {
			left++
			continue
		}
		turn := asked[gang.Key{Namespace: g.Namespace, Name: g.Name}]
		if err := g.decide(ctx, cluster, table, turn, true); err != nil {
			return left, err
		}
	}
	return left, nil
}

// standing reports how a gang is doing and where its groups stand.
func standing(table *turns.Table, turn turns.Turn) (*Gang, error) {
	assembled := turn.Gang
	key := gang.Key{Namespace: assembled.PodGroup.Namespace, Name: assembled.PodGroup.Name}
	g := &Gang{
		Namespace: key.Namespace, Name: key.Name, Pod: isPod(assembled),
		State: Waits, Priority: turn.Rank.Priority,
		Scheduled: len(assembled.Standing), Pending: len(assembled.Pending), Gated: len(assembled.Gated),
		SubGroups: []SubGroup{}, Nodes: map[string]string{}, Placement: assembled.PodGroup.Status.Placement,
	}
	conditions := assembled.PodGroup.Status.Conditions
	if planned := meta.FindStatusCondition(conditions, scheduling.ConditionRepairPlanned); planned != nil {
		g.Repair = brief.Plain(planned.Message)
	}
	for _, pod := range assembled.Standing {
		g.Nodes[pod.Name] = pod.Spec.NodeName
	}
	if assembled.Tree == nil {
		return g, nil
	}
	stand, err := table.Stand(turn)
	if err != nil {
		return nil, err
	}
	g.SubGroups = subGroups(assembled.Tree, stand)
	if assembled.Satisfied(gang.NoPending) && turn.Hold == nil || assembled.Finishing() {
		g.State = RunsPartly
		if g.Pending+g.Gated == 0 {
			g.State = Runs
		}
	}
	return g, nil
}

// isPod reports whether a gang was made up for a pod without one.
func isPod(assembled *gang.Gang) bool {
	return slices.ContainsFunc(slices.Concat(assembled.Pending, assembled.Standing), func(pod *corev1.Pod) bool {
		_, member := gang.KeyOf(pod)
		return !member
	})
}

func subGroups(tree *podgrouptree.Tree, stand *solve.Answer) []SubGroup {
	result := []SubGroup{}
	for _, group := range stand.Groups {
		depth := 0
		for up := tree.Group(group.Name).Parent; up != nil; up = up.Parent {
			depth++
		}
		result = append(result, SubGroup{
			Name: group.Name, Depth: depth, Scheduled: group.Placed, Minimum: group.Needed,
			Topology: group.Constraint.Topology, Required: group.Constraint.Required,
			Preferred: group.Constraint.Preferred,
			Domains:   group.Domains,
		})
	}
	return result
}

func decisionOf(answer *solve.Answer) *Decision {
	d := &Decision{Verdict: answer.Verdict, Message: answer.Message, Assignments: answer.Nodes}
	for i := range answer.Explanations {
		d.Reasons = append(d.Reasons, reasonOf(&answer.Explanations[i]))
	}
	return d
}

func reasonOf(e *packing.Explanation) Reason {
	r := Reason{
		Group: e.Group, Level: e.Level, Domain: e.Domain.String(), Fit: e.Fit, Wanted: e.Wanted, Sentence: e.Sentence,
	}
	for _, short := range e.Short {
		r.Short = append(r.Short, Shortage(short))
	}
	for _, excluded := range e.Excluded {
		r.Excluded = append(r.Excluded, Exclusion(excluded))
	}
	return r
}

// reservedFor names the gangs for which statuses say that nodes are reserved which a gang would get.
func reservedFor(cluster *inventory.Inventory, turn turns.Turn, answer *solve.Answer) (first []string) {
	wanted := sets.New(slices.Collect(maps.Values(answer.Nodes))...)
	for _, other := range turns.In(cluster) {
		if turn.Rank.Begun || other.Rank.Compare(turn.Rank) >= 0 {
			break
		}
		overdue := func(room scheduling.ReservationStatus) bool {
			return room.Reason == scheduling.ReservationOvertaken && wanted.HasAny(room.Nodes...)
		}
		if slices.ContainsFunc(other.Gang.PodGroup.Status.Reservations, overdue) {
			first = append(first, other.Rank.Gang.String())
		}
	}
	return first
}

// behind decides all gangs that go before a gang that would fit alone, and names the ones that get room if it then does
// not fit.
func behind(ctx context.Context, cluster *inventory.Inventory, turn turns.Turn) ([]string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	copied := *cluster
	copied.Pods = make([]*corev1.Pod, len(cluster.Pods))
	for i, pod := range cluster.Pods {
		copied.Pods[i] = pod
		if pod.Spec.NodeName == "" {
			copied.Pods[i] = pod.DeepCopy() // It is given a node.
		}
	}
	table, err := turns.Set(ctx, &copied)
	if err != nil {
		return nil, err
	}
	table = table.KeepingRoom()
	var first []string
	for _, other := range turns.In(&copied) {
		if other.Rank.Compare(turn.Rank) >= 0 {
			break
		}
		if len(other.Gang.Pending) == 0 {
			continue
		}
		answer, err := table.Take(ctx, other, 0)
		if err != nil {
			return nil, err
		}
		if len(answer.Nodes) > 0 {
			first = append(first, other.Rank.Gang.String())
		}
	}
	if len(first) == 0 {
		return nil, nil
	}
	answer, err := table.Try(ctx, turn)
	if err != nil || turns.Placed(answer) {
		return nil, err
	}
	return first, nil
}
