package preemption

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Budgets are the PodDisruptionBudgets of a cluster. The zero value has none.
type Budgets struct {
	// allowed is how many pods each lets go.
	allowed     []int
	names       []string
	byNamespace map[string][]budget
}

type budget struct {
	index    int
	selector labels.Selector
	// gone are pods that it already counts as disrupted.
	gone map[string]metav1.Time
}

// BudgetsOf reads PodDisruptionBudgets, in any order. A budget with an invalid or empty selector counts no pods, as in
// kube-scheduler.
func BudgetsOf(pdbs []*policyv1.PodDisruptionBudget) Budgets {
	read := Budgets{byNamespace: map[string][]budget{}}
	byName := func(a, b *policyv1.PodDisruptionBudget) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}
	for _, pdb := range slices.SortedFunc(slices.Values(pdbs), byName) {
		selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
		if err != nil || selector.Empty() {
			continue
		}
		read.byNamespace[pdb.Namespace] = append(read.byNamespace[pdb.Namespace],
			budget{index: len(read.allowed), selector: selector, gone: pdb.Status.DisruptedPods})
		read.allowed = append(read.allowed, int(pdb.Status.DisruptionsAllowed))
		read.names = append(read.names, pdb.Namespace+"/"+pdb.Name)
	}
	return read
}

// Violations returns by how many pods the budgets are overdrawn if the pods leave.
func (b Budgets) Violations(pods []*corev1.Pod) int {
	drawn := make([]int, len(b.allowed))
	for _, pod := range pods {
		for _, budget := range b.counting(pod) {
			drawn[budget]++
		}
	}
	return violations(drawn, b.allowed)
}

// Forbidding returns the first budget, as namespace/name, that does not let all of the pods be evicted; empty if there
// is none. A pod that several budgets count cannot be evicted at all.
func (b Budgets) Forbidding(pods []*corev1.Pod) string {
	drawn := make([]int, len(b.allowed))
	for _, pod := range pods {
		counting := b.counting(pod)
		for _, budget := range counting {
			if drawn[budget]++; drawn[budget] > b.allowed[budget] || len(counting) > 1 {
				return b.names[budget]
			}
		}
	}
	return ""
}

// violations returns by how many pods budgets are overdrawn, given how many each loses and allows.
func violations(drawn, allowed []int) (count int) {
	for budget, pods := range drawn {
		count += max(0, pods-max(0, allowed[budget]))
	}
	return count
}

// counting returns the indices of the budgets that a pod would be taken from.
func (b Budgets) counting(pod *corev1.Pod) (indices []int) {
	for _, budget := range b.byNamespace[pod.Namespace] {
		if _, gone := budget.gone[pod.Name]; !gone && budget.selector.Matches(labels.Set(pod.Labels)) {
			indices = append(indices, budget.index)
		}
	}
	return indices
}
