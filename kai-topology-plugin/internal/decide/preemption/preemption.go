// Package preemption decides which pods leave so that a gang can run: whole gangs of lower priority, or pods that these
// can do without, in the domain where the loss is smallest. It decides on the packing engine, in what-ifs that are
// rolled back, and changes nothing.
//
//	workload.go  what can be asked to leave, and what leaves with a pod
//	cost.go      which loss is the smaller one
//	domains.go   where room can be made, and what it probably costs there
//	whatif.go    does the gang fit without these pods?
//	clear.go     all leave a domain, then victims are reprieved
package preemption

import (
	"cmp"
	"slices"

	"packtree.dev/shared/packing"
)

// DefaultBudget is how many steps a choice may take unless the caller says otherwise: as many as one decision of the
// packing engine.
const DefaultBudget = packing.DefaultBudget

// Question is a gang that does not fit, and the running workloads.
type Question struct {
	// Cluster has every standing pod assigned. It is as before when Choose returns.
	Cluster *packing.Cluster
	// Leave is told of a pod that the Cluster is without, or that is back, on a node; may be nil.
	Leave func(node, id string, back bool)
	// Gang has no room; Priority is its own.
	Gang     *packing.Gang
	Priority int32
	// Levels has the levels of every topology that the gang names, broadest first.
	Levels map[string][]string
	// Nodes are the names of the nodes, sorted.
	Nodes []string
	// Leaving are assigned pods, by ID and Node, that are on their way out already. Their room costs nothing.
	Leaving []packing.Pod
	// Workloads are the running workloads, sorted in any stable way.
	Workloads []Workload
	// Budgets has, for each PodDisruptionBudget, how many pods it still lets go.
	Budgets []int
	// Begun are nodes on which room was being made for the gang when the scheduler died. Their domain is finished
	// before any other is looked at.
	Begun []string
	// Budget bounds the whole choice, in steps of the packing engine; 0 means DefaultBudget. A what-if costs the
	// steps of its search, and one for each pod that it is about or that it takes off its node.
	Budget int
}

// Answer has the victims.
type Answer struct {
	// Victims are the pods that leave, by workload, then in the order of its pods. There are none if the pods that are
	// leaving already make room enough.
	Victims []Victim
	Cost    Cost
	// Topology and Domain say where room is made; both are empty if the gang as a whole is not tied to a domain.
	Topology string
	Domain   packing.Path
	// Trials is how many what-ifs it took, and Steps what these took of the budget.
	Trials, Steps int
}

// Victim is a pod that has to leave: Pods[Pod] of Workloads[Workload].
type Victim struct {
	Workload, Pod int
}

// Choose returns nil if the gang does not fit even if all that have to give way to it do, or if the budget was spent
// before a choice was found. As long as the budget lasts, no victim of the choice could stay for itself, nor could a
// workload as a whole.
func Choose(q Question) *Answer {
	mark := q.Cluster.Checkpoint()
	defer q.Cluster.Rollback(mark)
	for _, pod := range q.Leaving {
		q.release(pod.ID, pod.Node)
	}
	s := newSearch(&q)
	if s.fits(set{}) {
		return s.answer(set{}, &domain{})
	}
	everybody := make([]int, len(s.workloads))
	for i := range everybody {
		everybody[i] = i
	}
	if !s.fits(s.leaving(everybody)) {
		return nil
	}
	best := s.cheapest()
	if best == nil {
		return nil
	}
	return s.answer(best.taken, best.domain)
}

// release takes a pod off its node.
func (q *Question) release(id, node string) {
	q.Cluster.Release(id)
	if q.Leave != nil {
		q.Leave(node, id, false)
	}
}

// restore puts a pod back where it stood.
func (q *Question) restore(pod packing.Pod) {
	q.Cluster.Assign(pod)
	if q.Leave != nil {
		q.Leave(pod.Node, pod.ID, true)
	}
}

// candidate is a domain with its victims.
type candidate struct {
	domain *domain
	taken  set
	cost   Cost
}

func (c *candidate) compare(other *candidate) int {
	return cmp.Or(c.cost.Compare(other.cost), slices.Compare(c.domain.path, other.domain.path))
}

// maxCandidates is in how many domains, of those in which the gang fits once they are cleared, victims are chosen.
const maxCandidates = 10

// cheapest clears domains in the order of what that probably costs.
func (s *search) cheapest() *candidate {
	domains := s.domains()
	if begun := s.finish(domains); begun != nil {
		return begun
	}
	slices.SortFunc(domains, func(a, b *domain) int {
		return cmp.Or(a.estimate.Compare(b.estimate), slices.Compare(a.path, b.path))
	})
	var best *candidate
	found := 0
	for _, d := range domains {
		if found == maxCandidates || s.spent() {
			break
		}
		cleared := s.clear(d)
		if cleared == nil {
			continue
		}
		found++
		if best == nil || cleared.compare(best) < 0 {
			best = cleared
		}
	}
	return best
}

// finish clears the domain that was being cleared before, if it still can be.
func (s *search) finish(domains []*domain) *candidate {
	if len(s.q.Begun) == 0 {
		return nil
	}
	for _, d := range domains {
		if d.has(s.q.Begun) {
			return s.clear(d)
		}
	}
	return nil
}

func (s *search) answer(taken set, d *domain) *Answer {
	answer := &Answer{Cost: s.costOf(taken), Topology: d.topology, Domain: d.path, Trials: s.trials, Steps: s.steps}
	for _, i := range taken.workloads() {
		w := s.workloads[i]
		for p := range w.Pods {
			if taken.has(i, p) {
				answer.Victims = append(answer.Victims, Victim{Workload: w.index, Pod: p})
			}
		}
	}
	return answer
}
