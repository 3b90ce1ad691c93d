package preemption

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// PodGroups reads the PodGroup of a gang. The error for one that does not exist is known to apierrors.IsNotFound.
type PodGroups func(gang.Key) (*scheduling.PodGroup, error)

// Candidates are the pods that stand around a gang that does not fit.
type Candidates struct {
	// workloads can be asked to leave.
	workloads []Workload
	// leaving are pods, of whatever gang and priority, that are being deleted.
	leaving []*corev1.Pod
	budgets Budgets
	// below is an upper bound of the priority of victims.
	below int32
}

// Empty reports whether there are neither candidates nor pods that terminate.
func (c *Candidates) Empty() bool { return len(c.workloads) == 0 && len(c.leaving) == 0 }

// CandidatesFor returns the possible victims on the nodes for a gang: pods and preemptible gangs of lower priority.
func CandidatesFor(rank gang.Rank, nodes []fwk.NodeInfo, podGroups PodGroups, budgets Budgets) (*Candidates, error) {
	all := func([]*corev1.Pod) bool { return true }
	return CandidatesAmong(rank, nodes, podGroups, budgets, all)
}

// CandidatesAmong is CandidatesFor of only the gangs, and pods without one, that mayLeave accepts.
func CandidatesAmong(
	rank gang.Rank, nodes []fwk.NodeInfo, podGroups PodGroups, budgets Budgets, mayLeave func(pods []*corev1.Pod) bool,
) (*Candidates, error) {
	c := &Candidates{budgets: budgets, below: rank.Priority}
	add := func(workload Workload, pods []*corev1.Pod) {
		if len(pods) > 0 && mayLeave(pods) && workload.mayLeaveFor(rank.Priority) {
			c.add(workload, pods)
		}
	}
	gangs, plain := c.standing(nodes, rank.Gang)
	for _, pod := range plain {
		add(Workload{Priority: kubeframework.Priority(pod)}, []*corev1.Pod{pod})
	}
	for key, pods := range gangs {
		workload, err := podGroups.WorkloadOf(key, pods)
		if err != nil {
			return nil, err
		}
		useful, left := workload.leftovers(pods)
		add(workload, useful)
		for _, pods := range left {
			if workload.Priority <= rank.Priority {
				add(workload.useless(), pods)
			}
		}
	}
	return c, c.sort()
}

// LeftoversBelow returns the possible victims on the nodes for an optional group of a gang: pods that are of no use to
// gangs of lower rank. Of two gangs that wait for each other's leftovers, one gives way.
func LeftoversBelow(rank gang.Rank, nodes []fwk.NodeInfo, podGroups PodGroups, budgets Budgets) (*Candidates, error) {
	c := &Candidates{budgets: budgets, below: rank.Priority}
	gangs, _ := c.standing(nodes, rank.Gang)
	for key, pods := range gangs {
		workload, err := podGroups.WorkloadOf(key, pods)
		if err != nil {
			return nil, err
		}
		_, left := workload.leftovers(pods)
		below := rank.Compare(gang.Rank{Priority: workload.Priority, Since: workload.created, Gang: key}) < 0
		for _, pods := range left {
			if below && !workload.Protected {
				c.add(workload.useless(), pods)
			}
		}
	}
	return c, c.sort()
}

// CandidatesOf returns pods of some gangs, of whatever priority, as if each gang could be asked to leave as a whole.
func CandidatesOf(gangs sets.Set[gang.Key], nodes []fwk.NodeInfo) (*Candidates, error) {
	c := &Candidates{below: math.MaxInt32}
	standing, _ := c.standing(nodes, gang.Key{})
	for key, pods := range standing {
		if gangs.Has(key) {
			c.add(Workload{Gang: true, key: key}, pods)
		}
	}
	return c, c.sort()
}

// standing returns the pods on nodes: those of each gang but the one that asks, and those without a gang. Pods that are
// leaving are set apart.
func (c *Candidates) standing(
	nodes []fwk.NodeInfo, asking gang.Key,
) (gangs map[gang.Key][]*corev1.Pod, plain []*corev1.Pod) {
	gangs = map[gang.Key][]*corev1.Pod{}
	for _, node := range nodes {
		for _, info := range node.GetPods() {
			pod := info.GetPod()
			key, member := gang.KeyOf(pod)
			switch {
			case pod.DeletionTimestamp != nil:
				c.leaving = append(c.leaving, pod)
			case member && key != asking:
				gangs[key] = append(gangs[key], pod)
			case !member:
				plain = append(plain, pod)
			}
		}
	}
	return gangs, plain
}

// leftovers tells apart the pods of a gang that are of no use, by group: those of groups that are given back. A group
// has successors that may take their place within moments, as long as a seat in it is held for one.
func (w *Workload) leftovers(pods []*corev1.Pod) (useful []*corev1.Pod, useless [][]*corev1.Pod) {
	if w.Tree == nil {
		return pods, nil
	}
	useful = slices.Clone(pods)
	for _, group := range gang.Leftovers(w.Tree, pods) {
		within := func(leaf string) bool { return gang.Within(w.Tree, group.Name, leaf) }
		if slices.ContainsFunc(w.seats, within) {
			continue
		}
		in := func(pod *corev1.Pod) bool { return within(gang.LeafOf(pod)) }
		useless = append(useless, slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return !in(pod) }))
		useful = slices.DeleteFunc(useful, in)
	}
	return useful, useless
}

// useless is a group of the gang that is given back: no pod of it costs anything.
func (w *Workload) useless() Workload {
	return Workload{key: w.key, Protected: w.Protected, Priority: math.MinInt32}
}

// WorkloadOf returns a gang that has the given running pods, at least one, without its Pods.
func (read PodGroups) WorkloadOf(key gang.Key, pods []*corev1.Pod) (Workload, error) {
	workload := Workload{Gang: true, key: key, Priority: (&gang.Gang{Standing: pods}).Priority()}
	podGroup, err := read(key)
	if apierrors.IsNotFound(err) {
		return workload, nil
	}
	if err != nil {
		return workload, err
	}
	workload.Protected = podGroup.Spec.Preemptibility == scheduling.NonPreemptible
	workload.Tree, _ = gang.Read(podGroup, nil)
	workload.created = podGroup.CreationTimestamp.Time
	for _, held := range podGroup.Status.Seats {
		workload.seats = append(workload.seats, held.SubGroup)
	}
	return workload, nil
}

func (c *Candidates) add(workload Workload, pods []*corev1.Pod) {
	for _, pod := range pods {
		workload.Pods = append(workload.Pods, Pod{pod: pod})
	}
	c.workloads = append(c.workloads, workload)
}

// sort brings the workloads into an order that depends on their names alone, and reads their pods.
func (c *Candidates) sort() error {
	for i := range c.workloads {
		pods := c.workloads[i].Pods
		slices.SortFunc(pods, func(a, b Pod) int { return cmp.Compare(a.pod.Name, b.pod.Name) })
		for at := range pods {
			if err := c.read(&pods[at]); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(c.workloads, func(a, b Workload) int {
		first, second := a.Pods[0].pod, b.Pods[0].pod
		return cmp.Or(
			cmp.Compare(first.Namespace, second.Namespace),
			cmp.Compare(a.key.Name, b.key.Name),
			cmp.Compare(first.Name, second.Name),
		)
	})
	return nil
}

func (c *Candidates) read(read *Pod) (err error) {
	pod := read.pod
	if read.Requests, err = kubeframework.Requests(pod); err != nil {
		return fmt.Errorf("reading the requests of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	read.ID, read.Node, read.Leaf = clusterview.StandingID(pod), pod.Spec.NodeName, gang.LeafOf(pod)
	read.Since, read.Budgets = pod.CreationTimestamp.Time, c.budgets.counting(pod)
	return nil
}

// byNode returns all pods of the candidates by their node.
func (c *Candidates) byNode() map[string][]*corev1.Pod {
	result := map[string][]*corev1.Pod{}
	for _, pod := range c.leaving {
		result[pod.Spec.NodeName] = append(result[pod.Spec.NodeName], pod)
	}
	for _, workload := range c.workloads {
		for _, pod := range workload.Pods {
			result[pod.Node] = append(result[pod.Node], pod.pod)
		}
	}
	return result
}
