package preemption

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	"packtree.dev/shared/packing"
)

// search is one choice under way.
type search struct {
	q *Question
	// asked is the gang without what makes a decision longer but no different.
	asked *packing.Gang
	// workloads are the workloads that give way to the gang.
	workloads []*workload
	// released says which of their pods the cluster is without at the moment.
	released set
	// requested are the resources that pods of the workloads ask for.
	requested map[string]bool
	// used are the nodes of the last decision that placed the gang.
	used map[string]bool
	// trials counts what-ifs, and steps what of the budget is spent; size is what a what-if takes before it searches.
	trials, steps, budget, size int
}

// workload is a Workload that has to give way.
type workload struct {
	Workload
	// index is its place in the question.
	index int
	// devices has how many of them each pod holds.
	devices []int64
	// held is how many devices they hold together, and since is when the first of them was created.
	held  int64
	since time.Time
}

func newSearch(q *Question) *search {
	s := &search{q: q, asked: &packing.Gang{Root: bare(q.Gang.Root), Relations: q.Gang.Relations},
		budget: cmp.Or(q.Budget, DefaultBudget), requested: map[string]bool{}}
	s.size = sizeOf(&s.asked.Root)
	for i := range q.Workloads {
		w := &q.Workloads[i]
		if w.Protected || w.Priority >= q.Priority || len(w.Pods) == 0 {
			continue
		}
		known := &workload{Workload: *w, index: i, since: w.Pods[0].Since}
		for p := range w.Pods {
			devices := devicesIn(w.Pods[p].Requests)
			known.devices, known.held = append(known.devices, devices), known.held+devices
			for name := range w.Pods[p].Requests {
				s.requested[name] = true
			}
			if w.Pods[p].Since.Before(known.since) {
				known.since = w.Pods[p].Since
			}
		}
		s.workloads = append(s.workloads, known)
	}
	s.released = set{}
	return s
}

// devicesIn counts devices, such as GPUs: the loss of one weighs more than that of a pod.
func devicesIn(requests packing.Resources) (count int64) {
	for name, amount := range requests {
		if nodes.IsDevice(corev1.ResourceName(name)) {
			count += amount
		}
	}
	return count
}

// bare is a group without preferences, and without further pods where all pods of the group are alike.
func bare(group packing.Group) packing.Group {
	group.Constraint.Preferred = ""
	if len(group.Children) == 0 && len(group.Pending) == 1 {
		needed := max(0, group.MinMember-len(group.Running))
		pods := group.Pending[0]
		pods.Names = pods.Names[:min(needed, len(pods.Names))]
		group.Pending = []packing.Pods{pods}
	}
	children := make([]packing.Group, len(group.Children))
	for i, child := range group.Children {
		children[i] = bare(child)
	}
	group.Children = children
	return group
}

// sizeOf counts the groups and the pods that wait for a node.
func sizeOf(group *packing.Group) int {
	size := 1
	for _, pods := range group.Pending {
		size += len(pods.Names)
	}
	for i := range group.Children {
		size += sizeOf(&group.Children[i])
	}
	return size
}

// maxShare is the part of the budget that a single what-if may take: one that is hard to answer counts as one that
// does not fit, and leaves enough for others.
const maxShare = 16

// fits reports whether the gang has room once these pods are gone. It answers even if the budget is spent: callers
// that can do without ask spent before.
func (s *search) fits(taken set) bool {
	s.release(taken)
	s.trials++
	decided := s.q.Cluster.Decide(s.asked, packing.Options{Terse: true, Budget: max(1, s.budget/maxShare)})
	s.steps += s.size + decided.Steps
	if decided.Verdict != packing.Placed {
		return false
	}
	s.used = make(map[string]bool, len(decided.Assignments))
	for _, assignment := range decided.Assignments {
		s.used[assignment.Node] = true
	}
	return true
}

// fitsStill is fits for a set that has all of from but some pods of one workload, when fits(from) was the last to be
// true. If those pods stand where the gang does not go, there is nothing to ask.
func (s *search) fitsStill(from, taken set, workload int) bool {
	disturbed := false
	for p := range s.workloads[workload].Pods {
		if from.has(workload, p) && !taken.has(workload, p) && s.used[s.workloads[workload].Pods[p].Node] {
			disturbed = true
		}
	}
	return !disturbed || s.fits(taken)
}

func (s *search) spent() bool { return s.steps >= s.budget }

// release makes the cluster be without these pods, and with all others.
func (s *search) release(taken set) {
	var differ []int
	for i := range s.released {
		if !slices.Equal(s.released[i], taken[i]) {
			differ = append(differ, i)
		}
	}
	for i := range taken {
		if s.released[i] == nil {
			differ = append(differ, i)
		}
	}
	slices.Sort(differ)
	for _, i := range differ {
		s.move(i, taken)
	}
	s.released = taken
}

func (s *search) move(workload int, taken set) {
	w := s.workloads[workload]
	for p := range w.Pods {
		pod := &w.Pods[p]
		switch was, is := s.released.has(workload, p), taken.has(workload, p); {
		case is && !was:
			s.steps++
			s.q.release(pod.ID, pod.Node)
		case was && !is:
			s.steps++
			s.q.restore(packing.Pod{ID: pod.ID, Node: pod.Node, Requests: pod.Requests})
		}
	}
}
