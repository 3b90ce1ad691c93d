package preemption

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
)

// Workload is a gang that stands, or a single pod that belongs to none.
type Workload struct {
	// Gang is set for a gang, and key names it.
	Gang bool
	key  gang.Key
	// Tree has the minima of a gang. A gang with an invalid PodGroup has none, and leaves as a whole or not at all.
	Tree *podgrouptree.Tree
	// Priority is the highest of its pods.
	Priority int32
	// Protected workloads never leave.
	Protected bool
	// created is when the PodGroup of a gang was, and seats are the leaves in which seats are held for successors of its
	// pods.
	created time.Time
	seats   []string
	// Pods are all running pods, in any stable order.
	Pods []Pod

	// byLeaf has the indices of the pods of each leaf, once they were asked for.
	byLeaf map[string][]int
}

// Pod is a pod that stands on a node.
type Pod struct {
	// ID is that under which the cluster has the pod assigned.
	ID       string
	Node     string
	Requests packing.Resources
	// Leaf is the group of the gang that the pod belongs to.
	Leaf string
	// Since is when the pod was created.
	Since time.Time
	// Budgets are the PodDisruptionBudgets that count the pod, as indices.
	Budgets []int

	pod *corev1.Pod
}

// mayLeaveFor reports whether the workload can be asked to leave for one of a priority.
func (w *Workload) mayLeaveFor(priority int32) bool { return !w.Protected && w.Priority < priority }

// Complete adds, to the victims of a workload, the pods that are of no use without them: a group that would be left
// below its minimum leaves as a whole, and so does the gang. While the groups keep their minima, no further pod leaves.
// It reports whether the whole workload leaves.
func (w *Workload) Complete(leaves []bool) (whole bool) {
	if !slices.Contains(leaves, true) {
		return len(leaves) == 0
	}
	if w.Tree == nil {
		takeAll(leaves)
		return true
	}
	w.settle(w.Tree.Root, leaves)
	return !slices.Contains(leaves, false)
}

func takeAll(leaves []bool) {
	for p := range leaves {
		leaves[p] = true
	}
}

// settle completes a group, the groups below it first, and reports whether any pod of it leaves.
func (w *Workload) settle(group *podgrouptree.Group, leaves []bool) (touched bool) {
	for _, child := range group.Children {
		if w.settle(child, leaves) {
			touched = true
		}
	}
	for _, p := range w.podsOf(group) {
		touched = touched || leaves[p]
	}
	if touched && !group.Satisfied(func(leaf *podgrouptree.Group) int { return w.left(leaf, leaves) }) {
		w.take(group, leaves)
	}
	return touched
}

// podsOf returns the indices of a leaf's pods; none for other groups.
func (w *Workload) podsOf(leaf *podgrouptree.Group) []int {
	if w.byLeaf == nil {
		w.index()
	}
	if !leaf.Leaf() {
		return nil
	}
	return w.byLeaf[leaf.Name]
}

// index prepares podsOf. A workload that several ask about at a time has it called before.
func (w *Workload) index() {
	w.byLeaf = map[string][]int{}
	for p := range w.Pods {
		w.byLeaf[w.Pods[p].Leaf] = append(w.byLeaf[w.Pods[p].Leaf], p)
	}
}

// left counts the pods of a leaf that stay.
func (w *Workload) left(leaf *podgrouptree.Group, leaves []bool) (count int) {
	for _, p := range w.podsOf(leaf) {
		if !leaves[p] {
			count++
		}
	}
	return count
}

// take lets all pods of a group and of those below it leave; with the root those leave that belong to no leaf, too.
func (w *Workload) take(group *podgrouptree.Group, leaves []bool) {
	if group.Parent == nil {
		takeAll(leaves)
		return
	}
	for _, p := range w.podsOf(group) {
		leaves[p] = true
	}
	for _, child := range group.Children {
		w.take(child, leaves)
	}
}
