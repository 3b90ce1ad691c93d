package placement

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Workload is what a user asked for in one object.
type Workload struct {
	// Object is the object, as in "PodCliqueSet default/name".
	Object string
	// Pods is how many pods it has, at least, when all of it runs.
	Pods int
	// Owns reports whether a pod belongs to the workload.
	Owns func(*corev1.Pod) bool
	// Claims are its topology constraints, outer ones first.
	Claims []Claim
}

// Claim is one constraint on one group of pods: they stand in one domain of a level, or so many items in each at most.
type Claim struct {
	// Group is the constrained part of the workload, in the user's words; empty for all of it.
	Group string
	// Level at which the pods are to be together.
	Level Level
	// Preferred claims ask for as few domains as possible, and are never broken.
	Preferred bool
	// Pods is how many pods the group has at least.
	Pods int
	// Selects reports whether a pod belongs to the group.
	Selects func(*corev1.Pod) bool
	// Items, if not nil, are recognized by their pods: each domain has Most of them at most.
	Items []func(*corev1.Pod) bool
	Most  int
}

// Finding is the result for a claim.
type Finding struct {
	Claim
	// Object of the workload.
	Object string
	// Domains of the group's pods, sorted.
	Domains []string
	// Bound is how many of its pods have a node.
	Bound int
	// Outside are bound pods on nodes without a domain at the level.
	Outside []string
	// Crowded are domains with too many items, sorted.
	Crowded []string
}

// Held reports whether every pod of the group is bound, and all of them are in one domain, or no domain has too many
// items, unless that was only preferred.
func (f Finding) Held() bool {
	if f.Bound < f.Pods {
		return false
	}
	together := len(f.Domains) == 1
	if f.Items != nil {
		together = len(f.Crowded) == 0
	}
	return f.Preferred || together && len(f.Outside) == 0
}

// String is the finding in one line.
func (f Finding) String() string {
	name := f.Object
	if f.Group != "" {
		name += ", " + f.Group
	}
	wish := "one " + f.Level.Called
	switch {
	case f.Items != nil:
		wish = fmt.Sprintf("at most %d per %s", f.Most, f.Level.Called)
	case f.Preferred:
		wish = "few of " + f.Level.Called
	}
	line := fmt.Sprintf("%s: %s: %d of %d pods in %s", name, wish, f.Bound, f.Pods, strings.Join(f.Domains, ", "))
	if len(f.Domains) == 0 {
		line = fmt.Sprintf("%s: %s: %d of %d pods bound, none in a domain", name, wish, f.Bound, f.Pods)
	}
	if len(f.Crowded) > 0 {
		line += "; too many in " + strings.Join(f.Crowded, ", ")
	}
	if len(f.Outside) > 0 {
		line += "; outside of every domain: " + strings.Join(f.Outside, ", ")
	}
	return line
}

// Judge compares the workload's claims with the placement of pods.
func (w Workload) Judge(pods []corev1.Pod, nodes []corev1.Node) []Finding {
	byName := map[string]*corev1.Node{}
	for i := range nodes {
		byName[nodes[i].Name] = &nodes[i]
	}
	var findings []Finding
	for _, claim := range w.Claims {
		finding := claim.judge(pods, byName)
		finding.Object = w.Object
		findings = append(findings, finding)
	}
	return findings
}

func (c Claim) judge(pods []corev1.Pod, nodes map[string]*corev1.Node) Finding {
	finding := Finding{Claim: c}
	domains, standing := map[string]bool{}, map[string][]*corev1.Pod{}
	for i := range pods {
		pod := &pods[i]
		if pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil || !c.Selects(pod) {
			continue
		}
		finding.Bound++
		domain, labelled := "", false
		if node, exists := nodes[pod.Spec.NodeName]; exists {
			domain, labelled = c.Level.Domain(node)
		}
		if !labelled {
			finding.Outside = append(finding.Outside, pod.Name+" on "+pod.Spec.NodeName)
			continue
		}
		domains[domain] = true
		standing[domain] = append(standing[domain], pod)
	}
	for domain := range domains {
		finding.Domains = append(finding.Domains, domain)
	}
	slices.Sort(finding.Domains)
	slices.Sort(finding.Outside)
	for _, domain := range finding.Domains {
		if c.Items != nil && count(c.Items, standing[domain]) > c.Most {
			finding.Crowded = append(finding.Crowded, domain)
		}
	}
	return finding
}

// count is how many items have one of these pods.
func count(items []func(*corev1.Pod) bool, pods []*corev1.Pod) int {
	with := 0
	for _, of := range items {
		if slices.ContainsFunc(pods, of) {
			with++
		}
	}
	return with
}

// Running is how many of the workload's pods run.
func (w Workload) Running(pods []corev1.Pod) int {
	running := 0
	for i := range pods {
		if w.Owns(&pods[i]) && pods[i].Status.Phase == corev1.PodRunning && pods[i].DeletionTimestamp == nil {
			running++
		}
	}
	return running
}

// labelled selects pods in a namespace by label values.
func labelled(namespace string, values map[string]string) func(*corev1.Pod) bool {
	selector := labels.SelectorFromSet(values)
	return func(pod *corev1.Pod) bool {
		return pod.Namespace == namespace && selector.Matches(labels.Set(pod.Labels))
	}
}
