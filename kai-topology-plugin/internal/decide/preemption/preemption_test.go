package preemption_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/decide/preemption"
	"packtree.dev/shared/packing"
)

func TestChoose(t *testing.T) {
	two := [][]int64{{2, 2}, {2, 2}}
	for name, test := range map[string]struct {
		scene scene
		// want is nil if no victims help.
		want []string
	}{
		"the rack whose gang has the lowest priority is cleared": {
			scene{racks: two, pods: 2, minimum: 2, gpus: 2, tied: true, priority: 10, workloads: []preemption.Workload{
				gangOn("a", 5, 2, "r0-n0", "r0-n1"), gangOn("b", 4, 2, "r1-n0", "r1-n1"),
			}}, []string{"b-0", "b-1"}},
		"equal and higher priority never leave": {
			scene{racks: two, pods: 2, minimum: 2, gpus: 2, tied: true, priority: 5, workloads: []preemption.Workload{
				gangOn("a", 5, 2, "r0-n0", "r0-n1"), gangOn("b", 6, 2, "r1-n0", "r1-n1"),
			}}, nil},
		"a protected gang never leaves": {
			scene{racks: [][]int64{{2}}, pods: 1, minimum: 1, gpus: 2, priority: 5, workloads: []preemption.Workload{
				{Gang: true, Tree: flat(1), Protected: true, Pods: []preemption.Pod{standing("a", "", "r0-n0", 1)}},
			}}, nil},
		"a pod above the minimum leaves before a gang": {
			scene{racks: two, pods: 1, minimum: 1, gpus: 1, tied: true, priority: 10, workloads: []preemption.Workload{
				gangOn("a", 5, 3, "r0-n0", "r0-n0", "r0-n1", "r0-n1"), gangOn("b", 5, 4, "r1-n0", "r1-n0", "r1-n1", "r1-n1"),
			}}, []string{"a-0"}},
		"a gang leaves as a whole, wherever its pods stand": {
			scene{racks: [][]int64{{2}, {2}, {2}}, pods: 1, minimum: 1, gpus: 2, priority: 10, workloads: []preemption.Workload{
				gangOn("a", 5, 2, "r0-n0", "r1-n0"), gangOn("b", 6, 1, "r2-n0"),
			}}, []string{"a-0", "a-1"}},
		"a subgroup leaves as a whole if the others are enough": {
			scene{racks: two, pods: 1, minimum: 1, gpus: 2, tied: true, priority: 10, workloads: []preemption.Workload{
				{Gang: true, Tree: replicas(2, 1, 2), Priority: 5, Pods: []preemption.Pod{
					standing("a-0", "s0", "r0-n0", 1), standing("a-1", "s0", "r0-n0", 1),
					standing("a-2", "s1", "r1-n0", 1), standing("a-3", "s1", "r1-n0", 1),
				}},
				single("p", 9, "r0-n1", 2), single("q", 9, "r1-n1", 2),
			}}, []string{"a-0", "a-1"}},
		"a gang of unknown minima leaves as a whole": {
			scene{racks: two, pods: 2, minimum: 2, gpus: 2, tied: true, priority: 10, workloads: []preemption.Workload{
				{Gang: true, Priority: 5, Pods: []preemption.Pod{standing("a", "", "r0-n0", 1), standing("b", "", "r1-n0", 1)}},
			}}, []string{"a", "b"}},
		"a budget that allows nothing moves the choice to a higher priority": {
			scene{racks: [][]int64{{1}, {1}}, pods: 1, minimum: 1, gpus: 1, priority: 10, budgets: []int{0},
				workloads: []preemption.Workload{
					{Priority: 1,
						Pods: []preemption.Pod{{ID: "kept", Node: "r0-n0", Requests: packing.Resources{gpu: 1}, Budgets: []int{0}}}},
					single("other", 5, "r1-n0", 1),
				}}, []string{"other"}},
		"a budget is overdrawn where nothing else helps": {
			scene{racks: [][]int64{{1}}, pods: 1, minimum: 1, gpus: 1, priority: 10, budgets: []int{0},
				workloads: []preemption.Workload{
					{Priority: 1,
						Pods: []preemption.Pod{{ID: "kept", Node: "r0-n0", Requests: packing.Resources{gpu: 1}, Budgets: []int{0}}}},
				}}, []string{"kept"}},
		"nobody leaves when those who are leaving make room": {
			scene{racks: [][]int64{{1, 1}}, pods: 1, minimum: 1, gpus: 1, tied: true, priority: 10, leaving: []string{"a"},
				workloads: []preemption.Workload{
					{Priority: 1, Protected: true, Pods: []preemption.Pod{standing("a", "", "r0-n0", 1)}}, single("b", 1, "r0-n1", 1),
				}}, []string{}},
		"a domain that was being cleared is finished although another became cheaper": {
			scene{racks: two, pods: 2, minimum: 2, gpus: 2, tied: true, priority: 10, begun: []string{"r0-n1"},
				workloads: []preemption.Workload{
					gangOn("a", 5, 2, "r0-n0", "r0-n1"), single("b", 1, "r1-n0", 2),
				}}, []string{"a-0", "a-1"}},
		"the gang's own pods say which domain": {
			scene{racks: two, pods: 1, minimum: 2, gpus: 2, tied: true, priority: 10, running: []string{"r0-n1"},
				workloads: []preemption.Workload{
					gangOn("a", 5, 2, "r0-n0", "r0-n0"), single("c", 7, "r0-n1", 2), single("b", 1, "r1-n0", 2),
				}}, []string{"a-0", "a-1"}},
		"a rack of placeholders of negative priority is cleared for a new gang": {
			scene{racks: two, pods: 2, minimum: 2, gpus: 2, tied: true, workloads: []preemption.Workload{
				gangOn("runs", 0, 1, "r0-n0"), gangOn("kept", -10, 2, "r0-n0", "r0-n1"), gangOn("room", -10, 2, "r1-n0", "r1-n1"),
			}}, []string{"room-0", "room-1"}},
		"placeholders leave for the replacement in the rack where a broken gang stands": {
			scene{racks: two, pods: 1, minimum: 2, gpus: 2, tied: true, running: []string{"r1-n0"},
				workloads: []preemption.Workload{
					gangOn("left", -10, 2, "r0-n0", "r0-n1"), single("runs", 0, "r1-n0", 2), gangOn("right", -10, 1, "r1-n1", "r1-n1"),
				}}, []string{"right-0", "right-1"}},
		"one large gang leaves rather than two small ones": {
			scene{racks: [][]int64{{4}}, pods: 1, minimum: 1, gpus: 2, tied: true, priority: 10,
				workloads: []preemption.Workload{
					gangOn("a", 5, 1, "r0-n0"), gangOn("b", 5, 1, "r0-n0"), gangOn("c", 5, 2, "r0-n0", "r0-n0"),
				}}, []string{"c-0", "c-1"}},
		"nobody leaves for pods above the minimum": {
			scene{racks: [][]int64{{2}}, pods: 2, minimum: 1, gpus: 1, tied: true, priority: 10,
				workloads: []preemption.Workload{
					single("a", 5, "r0-n0", 1), single("b", 6, "r0-n0", 1),
				}}, []string{"a"}},
		"of equal domains the first by name is cleared": {
			scene{racks: two, pods: 2, minimum: 2, gpus: 2, tied: true, priority: 10, workloads: []preemption.Workload{
				gangOn("b", 5, 2, "r1-n0", "r1-n1"), gangOn("a", 5, 2, "r0-n0", "r0-n1"),
			}}, []string{"a-0", "a-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, cmp.Diff(test.want, test.scene.names(test.scene.choose(t))), "victims")
		})
	}
}

func TestTheAnswerSaysWhereRoomIsMade(t *testing.T) {
	s := scene{racks: [][]int64{{1, 1}}, pods: 2, minimum: 2, gpus: 1, tied: true, priority: 10,
		workloads: []preemption.Workload{
			single("a", 5, "r0-n0", 1),
		}}
	if answer := s.choose(t); answer.Topology != "t" || answer.Domain.String() != "r0" {
		t.Errorf("room is made in %s %s", answer.Topology, answer.Domain)
	}
}

// A choice takes its budget, and what finishing the domain takes that was looked at when it was spent; whatever the
// gang.
func TestTheBudgetHoldsForTheWholeChoice(t *testing.T) {
	for name, kinds := range map[string]int{"a gang of one kind": 1, "a gang of eight kinds": 8} {
		t.Run(name, func(t *testing.T) {
			all := floor(16, kinds)
			for _, budget := range []int{1, 1_000, 10_000, preemption.DefaultBudget} {
				q := all
				q.Cluster, q.Budget = fill(16, all.Workloads), budget
				answer := preemption.Choose(q)
				if answer == nil {
					continue
				}
				// Two looks at all, and a domain's: its pool, its two beginnings, and a share of the search for each.
				assert.LessOrEqual(t, answer.Steps, budget+8*(budget/16+1)+6*len(all.Workloads)*2,
					"with a budget of %d the choice takes %d steps in %d what-ifs", budget, answer.Steps, answer.Trials)
			}
		})
	}
}

func TestDomainsThatAreTooSmallCostNoWhatIf(t *testing.T) {
	s := scene{pods: 2, minimum: 2, gpus: 2, tied: true, priority: 10}
	for r := range 40 {
		s.racks = append(s.racks, []int64{2})
		s.workloads = append(s.workloads, single(nodeName(r, 0), 1, nodeName(r, 0), 2))
	}
	s.racks = append(s.racks, []int64{2, 2})
	s.workloads = append(s.workloads, single("a", 9, nodeName(40, 0), 2), single("b", 9, nodeName(40, 1), 2))
	answer := s.choose(t)
	require.Empty(t, cmp.Diff([]string{"a", "b"}, s.names(answer)), "victims (-want +got)")
	assert.LessOrEqual(t, answer.Trials, 12, "what-ifs, although one rack alone has two nodes")
}
