// Package replicas groups the pods of Deployments, ReplicaSets and StatefulSets: one group, in which any single pod
// may start, unless the workload's annotation asks for more together. A StatefulSet that makes its pods one after the
// other cannot ask for more than one.
package replicas

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kai "packtree.dev/shared/api/kai/v1alpha1"

	"packtree.dev/podgrouper/internal/grouping"
)

// Grouper groups workloads with a number of replicas.
var Grouper = grouping.Grouper{Group: group, Index: index}

func group(w grouping.Workload) grouping.Group {
	pods := grouping.TemplateAt(w.Owner.Content, nil, "spec", "template")
	constraint, problems := grouping.FromOwners(w, pods)
	limit := grouping.Limit{Pods: w.Owner.Content.Count(1, "spec", "replicas"), Raise: "spec.replicas"}
	minMember, wrong := grouping.OwnMinMember(w.Owner, limit)
	if minMember > 1 && oneByOne(w.Owner) {
		path := field.NewPath("metadata", "annotations").Key(kai.AnnotationBatchMinMember)
		wrong = field.ErrorList{field.Invalid(path, w.Owner.GetAnnotations()[kai.AnnotationBatchMinMember],
			"the StatefulSet makes its pods one after the other: give it spec.podManagementPolicy Parallel; 1 is "+
				"used instead")}
		minMember = 1
	}
	return grouping.Group{
		MinMember:  &minMember,
		Expected:   limit.Expected(w.Owner.Content),
		Constraint: constraint,
		Templates:  []grouping.Template{pods},
		Indexed:    indexed(w.Owner),
		Problems:   append(problems, wrong...),
	}
}

// oneByOne reports whether a pod is made only when the pods before it are ready, so that waiting for more is in vain.
func oneByOne(owner grouping.Owner) bool {
	return owner.Kind.Kind == "StatefulSet" && owner.Content.Text("spec", "podManagementPolicy") != "Parallel"
}

// indexed returns nil for all kinds except StatefulSets: only their pods are numbered.
func indexed(owner grouping.Owner) *grouping.Indexed {
	if owner.Kind.Kind != "StatefulSet" {
		return nil
	}
	return &grouping.Indexed{Pods: owner.Content.Count(1, "spec", "replicas"), InTurn: oneByOne(owner)}
}

// index returns the ordinal of a StatefulSet's pod. Before Kubernetes 1.28 it is only in the pod's name.
func index(w grouping.Workload, pod *corev1.Pod) (int32, bool) {
	written, labelled := pod.Labels[appsv1.PodIndexLabel]
	if !labelled {
		written = pod.Name[strings.LastIndex(pod.Name, "-")+1:]
	}
	ordinal, known := grouping.ParseIndex(written)
	start := w.Owner.Content.Count(0, "spec", "ordinals", "start")
	return ordinal - start, known && ordinal >= start
}
