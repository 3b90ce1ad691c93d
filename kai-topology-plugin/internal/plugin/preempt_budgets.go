package plugin

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// disruptionBudgets are the PodDisruptionBudgets of the cluster.
type disruptionBudgets struct {
	// allowed is how many pods each lets go.
	allowed     []int
	byNamespace map[string][]disruptionBudget
}

type disruptionBudget struct {
	index    int
	selector labels.Selector
	// gone are pods that it already counts as disrupted.
	gone map[string]metav1.Time
}

// disruptionBudgets reads them. Those whose selector is wrong or selects nothing count no pods, as in kube-scheduler.
func (p *Plugin) disruptionBudgets() (*disruptionBudgets, error) {
	found, err := p.pdbs.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing PodDisruptionBudgets: %w", err)
	}
	slices.SortFunc(found, func(a, b *policyv1.PodDisruptionBudget) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	budgets := &disruptionBudgets{byNamespace: map[string][]disruptionBudget{}}
	for _, pdb := range found {
		selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
		if err != nil || selector.Empty() {
			continue
		}
		budgets.byNamespace[pdb.Namespace] = append(budgets.byNamespace[pdb.Namespace],
			disruptionBudget{index: len(budgets.allowed), selector: selector, gone: pdb.Status.DisruptedPods})
		budgets.allowed = append(budgets.allowed, int(pdb.Status.DisruptionsAllowed))
	}
	return budgets, nil
}

// overdrawnBy returns by how many pods the budgets would be overdrawn.
func (b *disruptionBudgets) overdrawnBy(pods []*corev1.Pod) (violations int) {
	drawn := make([]int, len(b.allowed))
	for _, pod := range pods {
		for _, budget := range b.counting(pod) {
			drawn[budget]++
		}
	}
	for budget, count := range drawn {
		violations += max(0, count-max(0, b.allowed[budget]))
	}
	return violations
}

// counting returns the indices of the budgets that a pod would be taken from.
func (b *disruptionBudgets) counting(pod *corev1.Pod) (indices []int) {
	for _, budget := range b.byNamespace[pod.Namespace] {
		if _, gone := budget.gone[pod.Name]; !gone && budget.selector.Matches(labels.Set(pod.Labels)) {
			indices = append(indices, budget.index)
		}
	}
	return indices
}
