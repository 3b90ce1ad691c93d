package kubeframework

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	fwk "k8s.io/kube-scheduler/framework"
)

// Spread counts, for the spread constraints of a pod that keep it off nodes, the pods in each domain. The filter's
// own counts are exact when they are made, but once several pods were added one by one it no longer knows the least
// of them.
type Spread struct {
	pod      *corev1.Pod
	affinity nodeaffinity.RequiredNodeAffinity
	rules    []*spreadRule
}

type spreadRule struct {
	*corev1.TopologySpreadConstraint

	selector labels.Selector
	// counts are by domain; domains has how many of these have a count, and least is the smallest one.
	counts  map[string]int
	domains map[int]int
	least   int
}

// NewSpread counts the pods on nodes. It is nil if the pod has no such constraints.
func NewSpread(pod *corev1.Pod, nodes []fwk.NodeInfo) (*Spread, error) {
	s := &Spread{pod: pod, affinity: nodeaffinity.GetRequiredNodeAffinity(pod)}
	for i := range pod.Spec.TopologySpreadConstraints {
		constraint := &pod.Spec.TopologySpreadConstraints[i]
		if constraint.WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		selector, err := spreadSelector(constraint, pod)
		if err != nil {
			return nil, fmt.Errorf("reading the spread of pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		s.rules = append(s.rules, &spreadRule{
			TopologySpreadConstraint: constraint, selector: selector, counts: map[string]int{}, domains: map[int]int{},
		})
	}
	if len(s.rules) == 0 {
		return nil, nil
	}
	for _, node := range nodes {
		s.count(node)
	}
	for _, rule := range s.rules {
		rule.settle()
	}
	return s, nil
}

func spreadSelector(constraint *corev1.TopologySpreadConstraint, pod *corev1.Pod) (labels.Selector, error) {
	selector, err := metav1.LabelSelectorAsSelector(constraint.LabelSelector)
	if err != nil {
		return nil, err
	}
	for _, key := range constraint.MatchLabelKeys {
		value, ok := pod.Labels[key]
		if !ok {
			continue
		}
		own, err := labels.ValidatedSelectorFromSet(labels.Set{key: value})
		if err != nil {
			return nil, err
		}
		requirements, _ := own.Requirements()
		selector = selector.Add(requirements...)
	}
	return selector, nil
}

func (s *Spread) count(node fwk.NodeInfo) {
	for _, rule := range s.rules {
		value, ok := s.domain(rule, node.Node())
		if !ok {
			continue
		}
		found := 0
		for _, info := range node.GetPods() {
			other := info.GetPod()
			if other.DeletionTimestamp == nil && rule.matches(other, s.pod.Namespace) {
				found++
			}
		}
		rule.counts[value] += found
	}
}

// domain returns the domain of a node for a constraint; false if the node does not count.
func (s *Spread) domain(rule *spreadRule, node *corev1.Node) (string, bool) {
	for _, other := range s.rules {
		if _, ok := node.Labels[other.TopologyKey]; !ok {
			return "", false
		}
	}
	if rule.NodeAffinityPolicy == nil || *rule.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor {
		if matches, err := s.affinity.Match(node); !matches || err != nil {
			return "", false
		}
	}
	if rule.NodeTaintsPolicy != nil && *rule.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor {
		if _, found := untolerated(s.pod, node); found {
			return "", false
		}
	}
	return node.Labels[rule.TopologyKey], true
}

func (r *spreadRule) matches(pod *corev1.Pod, namespace string) bool {
	return pod.Namespace == namespace && r.selector.Matches(labels.Set(pod.Labels))
}

// settle counts the domains by their counts.
func (r *spreadRule) settle() {
	first := true
	for _, count := range r.counts {
		r.domains[count]++
		if first || count < r.least {
			first, r.least = false, count
		}
	}
}

// Put counts a pod that was put on a node, and reports whether that may have opened nodes which were closed.
func (s *Spread) Put(pod *corev1.Pod, node *corev1.Node) (opened bool) {
	for _, rule := range s.rules {
		value, ok := s.domain(rule, node)
		if !ok || !rule.matches(pod, s.pod.Namespace) {
			continue
		}
		count := rule.counts[value]
		rule.counts[value]++
		rule.domains[count]--
		rule.domains[count+1]++
		if count == rule.least && rule.domains[count] == 0 {
			rule.least++
			opened = true
		}
	}
	return opened
}

// Allows reports whether the constraints let the pod go to a node.
func (s *Spread) Allows(node *corev1.Node) bool {
	for _, rule := range s.rules {
		value, ok := node.Labels[rule.TopologyKey]
		if !ok {
			return false
		}
		least := rule.least
		if rule.MinDomains != nil && len(rule.counts) < int(*rule.MinDomains) {
			least = 0
		}
		count := rule.counts[value]
		if rule.selector.Matches(labels.Set(s.pod.Labels)) {
			count++
		}
		if count-least > int(rule.MaxSkew) {
			return false
		}
	}
	return true
}
