package preemption_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/decide/preemption"
	"packtree.dev/shared/podgrouptree"
)

// drawScene draws a cluster that is small enough for the oracle.
func drawScene(t *rapid.T, maxPods int) *scene {
	s := &scene{priority: 3}
	for range rapid.IntRange(1, 3).Draw(t, "racks") {
		s.racks = append(s.racks, rapid.SliceOfN(rapid.Int64Range(1, 4), 1, 3).Draw(t, "nodes"))
	}
	s.budgets = rapid.SliceOfN(rapid.IntRange(0, 2), 0, 2).Draw(t, "budgets")
	room := map[string]int64{}
	for r, rack := range s.racks {
		for n, gpus := range rack {
			room[nodeName(r, n)] = gpus
		}
	}
	pods := 0
	for w := range rapid.IntRange(1, 5).Draw(t, "workloads") {
		made := drawWorkload(t, s, w, room, maxPods-pods)
		pods += len(made.Pods)
		if len(made.Pods) > 0 {
			s.workloads = append(s.workloads, made)
		}
	}
	s.pods = rapid.IntRange(1, 3).Draw(t, "pods")
	s.minimum = rapid.IntRange(1, s.pods).Draw(t, "minimum")
	s.gpus = rapid.Int64Range(1, 4).Draw(t, "gpus")
	s.tied = rapid.Bool().Draw(t, "tied")
	return s
}

func drawWorkload(t *rapid.T, s *scene, index int, room map[string]int64, maxPods int) preemption.Workload {
	w := preemption.Workload{
		Priority:  rapid.Int32Range(0, 4).Draw(t, "priority"),
		Protected: rapid.IntRange(0, 4).Draw(t, "protected") == 0,
		Gang:      rapid.Bool().Draw(t, "gang"),
	}
	count, leaves := 1, []string{""}
	if w.Gang {
		count = rapid.IntRange(1, 4).Draw(t, "standing")
		switch rapid.IntRange(0, 3).Draw(t, "tree") {
		case 0:
		case 1:
			w.Tree = replicas(2, rapid.Int32Range(1, 2).Draw(t, "needed"), rapid.Int32Range(0, 2).Draw(t, "minimum"))
			leaves = []string{"s0", "s1"}
		default:
			w.Tree = flat(rapid.Int32Range(0, 4).Draw(t, "minimum"))
		}
	}
	for p := range min(count, maxPods) {
		node := rapid.SampledFrom(s.nodes()).Draw(t, "node")
		gpus := rapid.Int64Range(1, 2).Draw(t, "gpus")
		if room[node] < gpus {
			continue
		}
		room[node] -= gpus
		pod := standing(fmt.Sprintf("w%d-%d", index, p), rapid.SampledFrom(leaves).Draw(t, "leaf"), node, gpus)
		for b := range s.budgets {
			if rapid.IntRange(0, 3).Draw(t, "counted") == 0 {
				pod.Budgets = append(pod.Budgets, b)
			}
		}
		w.Pods = append(w.Pods, pod)
	}
	return w
}

// oracle tries every set of pods.
type oracle struct {
	s *scene
	// refs are all pods.
	refs []preemption.Victim
}

func newOracle(s *scene) *oracle {
	o := &oracle{s: s}
	for w := range s.workloads {
		for p := range s.workloads[w].Pods {
			o.refs = append(o.refs, preemption.Victim{Workload: w, Pod: p})
		}
	}
	return o
}

// best returns the smallest cost of a lawful set after which the gang fits.
func (o *oracle) best() (least preemption.Cost, exists bool) {
	for mask := range 1 << len(o.refs) {
		taken := map[preemption.Victim]bool{}
		for i, ref := range o.refs {
			if mask&(1<<i) != 0 {
				taken[ref] = true
			}
		}
		if o.unlawful(taken) != "" || !o.fits(taken) {
			continue
		}
		if cost := o.cost(taken); !exists || cost.Compare(least) < 0 {
			least, exists = cost, true
		}
	}
	return least, exists
}

// unlawful says what is wrong with a set of victims, or "".
func (o *oracle) unlawful(taken map[preemption.Victim]bool) string {
	for w, workload := range o.s.workloads {
		left, gone := map[string]int{}, map[string]int{}
		for p, pod := range workload.Pods {
			if taken[preemption.Victim{Workload: w, Pod: p}] {
				gone[pod.Leaf]++
			} else {
				left[pod.Leaf]++
			}
		}
		switch all := len(workload.Pods) - total(left); {
		case all == 0:
		case workload.Protected:
			return "a protected workload loses pods"
		case workload.Priority >= o.s.priority:
			return "a workload of no lower priority loses pods"
		case total(left) == 0:
		case workload.Tree == nil:
			return "a workload without minima is taken apart"
		case !workload.Tree.Root.Satisfied(countOf(left)):
			return "a gang is left below its minimum"
		default:
			for _, leaf := range workload.Tree.Leaves() {
				if gone[leaf.Name] > 0 && left[leaf.Name] > 0 && left[leaf.Name] < int(leaf.MinMember) {
					return "a subgroup is left below its minimum"
				}
			}
		}
	}
	return ""
}

func countOf(left map[string]int) func(*podgrouptree.Group) int {
	return func(leaf *podgrouptree.Group) int { return left[leaf.Name] }
}

func total(counts map[string]int) (sum int) {
	for _, count := range counts {
		sum += count
	}
	return sum
}

func (o *oracle) fits(taken map[preemption.Victim]bool) bool {
	room := map[string]int64{}
	for r, rack := range o.s.racks {
		for n, gpus := range rack {
			room[nodeName(r, n)] = gpus
		}
	}
	for _, ref := range o.refs {
		if pod := o.s.workloads[ref.Workload].Pods[ref.Pod]; !taken[ref] {
			room[pod.Node] -= pod.Requests[gpu]
		}
	}
	slots := map[string]int64{}
	for node, gpus := range room {
		domain := ""
		if o.s.tied {
			domain = rackOf(node)
		}
		slots[domain] += gpus / o.s.gpus
	}
	for _, count := range slots {
		if count >= int64(o.s.minimum) {
			return true
		}
	}
	return false
}

func (o *oracle) cost(taken map[preemption.Victim]bool) (cost preemption.Cost) {
	drawn := make([]int, len(o.s.budgets))
	for w, workload := range o.s.workloads {
		lost := 0
		for p, pod := range workload.Pods {
			if !taken[preemption.Victim{Workload: w, Pod: p}] {
				continue
			}
			lost++
			cost.Devices += pod.Requests[gpu]
			if cost.Pods++; cost.Pods == 1 {
				cost.Priority = workload.Priority
			}
			cost.Priority = max(cost.Priority, workload.Priority)
			for _, b := range pod.Budgets {
				drawn[b]++
			}
		}
		if workload.Gang && lost > 0 && lost == len(workload.Pods) {
			cost.Gangs++
		}
	}
	for b, count := range drawn {
		cost.Violations += max(0, count-o.s.budgets[b])
	}
	return cost
}

func takenBy(answer *preemption.Answer) map[preemption.Victim]bool {
	taken := map[preemption.Victim]bool{}
	for _, victim := range answer.Victims {
		taken[victim] = true
	}
	return taken
}

// checkLawful checks what holds for every answer.
func checkLawful(t *rapid.T, o *oracle, answer *preemption.Answer) {
	taken := takenBy(answer)
	require.Empty(t, o.unlawful(taken), "%v", o.s.names(answer))
	require.True(t, o.fits(taken), "the gang does not fit when %v are gone", o.s.names(answer))
	require.Equal(t, answer.Cost, o.cost(taken), "the cost")
}

func TestVictimsAreFoundIfAnySetHelps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t, 9)
		o := newOracle(s)
		answer := s.choose(t)
		least, exists := o.best()
		require.Equal(t, exists, answer != nil, "answer %v, but a set of victims exists: %v", s.names(answer), exists)
		if answer == nil {
			return
		}
		checkLawful(t, o, answer)
		o.checkNeeded(t, answer)
		require.GreaterOrEqual(t, answer.Cost.Compare(least), 0,
			"%v cost %+v, less than the cheapest: %+v", s.names(answer), answer.Cost, least)
	})
}

// The cheapest choice is found for nearly all gangs, and else one that is not much worse.
func TestChoicesAreNearTheCheapest(t *testing.T) {
	scenes := rapid.Custom(func(t *rapid.T) *scene { return drawScene(t, 9) })
	worse := map[string]int{}
	made, same, pods, least := 0, 0, 0, 0
	for seed := range 4000 {
		s := scenes.Example(seed)
		cheapest, exists := newOracle(s).best()
		if !exists || cheapest.Pods == 0 {
			continue
		}
		cost := s.choose(t).Cost
		made, pods, least = made+1, pods+cost.Pods, least+cheapest.Pods
		switch {
		case cost == cheapest:
			same++
		case cost.Violations > cheapest.Violations:
			worse["budgets"]++
		case cost.Priority > cheapest.Priority:
			worse["priority"]++
		case cost.Gangs > cheapest.Gangs:
			worse["gangs"]++
		default:
			worse["devices or pods"]++
		}
	}
	t.Logf("of %d choices %d are the cheapest; worse are %v; %d pods leave, at least %d have to", made, same, worse, pods, least)
	if made < 500 || same*100 < made*95 || pods*100 > least*102 {
		t.Errorf("of %d choices only %d are the cheapest, and %d pods leave where %d would do", made, same, pods, least)
	}
}

func TestVictimsAreFoundInFullRacks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t, 0)
		s.workloads, s.budgets, s.tied = nil, nil, true
		s.racks = [][]int64{{8, 8}, {8, 8}}
		room := map[string]int64{"r0-n0": 8, "r0-n1": 8, "r1-n0": 8, "r1-n1": 8}
		for w := range rapid.IntRange(8, 14).Draw(t, "workloads") {
			if made := drawWorkload(t, s, w, room, 4); len(made.Pods) > 0 {
				s.workloads = append(s.workloads, made)
			}
		}
		s.gpus = rapid.Int64Range(2, 8).Draw(t, "gpus")
		o := newOracle(s)
		answer := s.choose(t)
		everybody := map[preemption.Victim]bool{}
		for _, ref := range o.refs {
			if w := s.workloads[ref.Workload]; !w.Protected && w.Priority < s.priority {
				everybody[ref] = true
			}
		}
		require.Equal(t, o.fits(everybody), answer != nil,
			"answer %v, but it fits without all who give way: %v", s.names(answer), o.fits(everybody))
		if answer == nil {
			return
		}
		checkLawful(t, o, answer)
		o.checkNeeded(t, answer)
	})
}

// checkNeeded checks that every victim is needed: each whole workload, and each single pod.
func (o *oracle) checkNeeded(t *rapid.T, answer *preemption.Answer) {
	for w := range o.s.workloads {
		without := takenBy(answer)
		for p := range o.s.workloads[w].Pods {
			delete(without, preemption.Victim{Workload: w, Pod: p})
		}
		if len(without) < len(answer.Victims) && o.fits(without) {
			t.Fatalf("workload %d leaves for nothing: %v", w, o.s.names(answer))
		}
	}
	for _, victim := range answer.Victims {
		without := takenBy(answer)
		delete(without, victim)
		if o.unlawful(without) == "" && o.fits(without) {
			t.Fatalf("pod %d of workload %d leaves for nothing: %v", victim.Pod, victim.Workload, o.s.names(answer))
		}
	}
}

func TestTheOrderOfWorkloadsDoesNotChangeTheCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t, 9)
		answer := s.choose(t)
		slices.Reverse(s.workloads)
		reversed := s.choose(t)
		require.Equal(t, reversed == nil, answer == nil, "one order finds victims, the other none")
		if answer != nil && answer.Cost != reversed.Cost {
			t.Fatalf("cost %+v, in the other order %+v", answer.Cost, reversed.Cost)
		}
	})
}
