package offline

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/manifests"

	"packtree.dev/podgrouper/internal/podgroups"
)

// decided is the PodGroup of a workload.
type decided struct {
	*scheduling.PodGroup
	// given reports whether the input has the PodGroup: then it is foreign, or made by an earlier run, and is not
	// printed again.
	given bool
}

// podGroupsOf returns the PodGroup of each workload.
func (in *input) podGroupsOf(workloads []*workload, defaults podgroups.Defaults) []decided {
	made := make([]decided, len(workloads))
	taken := map[objectKey]string{}
	for i, workload := range workloads {
		decision := defaults.Decide(workload.Workload, in.levels())
		in.report(workload, decision)
		key := keyOf(podGroupKind.GroupKind(), decision.PodGroup)
		if document, exists := in.objects[key]; exists && in.podGroups[document] != nil {
			made[i] = decided{PodGroup: in.podGroups[document], given: true}
			continue
		}
		owner := workload.Owner.Kind.String()
		if other, clash := taken[key]; clash {
			in.find([]manifests.Finding{in.documents[workload.document].Finding("metadata.name",
				"its PodGroup would have the name of that of "+other+": give one of them a uid, as in a cluster")})
		}
		taken[key] = owner
		made[i] = decided{PodGroup: decision.PodGroup}
	}
	return made
}

// report attributes errors of a workload to its owner, if the input has it, or else to its first pod.
func (in *input) report(workload *workload, decision podgroups.Decision) {
	document := in.documents[workload.document]
	if i, found := in.objects[keyOf(workload.Owner.Kind.GroupKind(), workload.Owner)]; found {
		document = in.documents[i]
	}
	in.find(document.FieldFindings(decision.Problems))
	for _, err := range decision.Unresolved {
		warning := document.Finding(err.Field, err.ErrorBody())
		warning.Warning = true
		in.find([]manifests.Finding{warning})
	}
	if len(decision.Problems) == 0 {
		in.find(document.FieldFindings(ofPodGroup(decision.Fatal)))
	}
}

// ofPodGroup adds to errors that they are about the PodGroup that would be made.
func ofPodGroup(errs field.ErrorList) field.ErrorList {
	for _, err := range errs {
		err.Detail += " (in the PodGroup that would be made of it)"
	}
	return errs
}

func (in *input) print(workloads []*workload, made []decided) []runtime.Object {
	before := map[int][]runtime.Object{}
	members := map[int]runtime.Object{}
	for i, workload := range workloads {
		if !made[i].given {
			before[workload.document] = append(before[workload.document], made[i].PodGroup)
		}
		for _, pod := range workload.pods {
			members[pod] = in.member(workload, made[i], pod)
		}
	}
	var printed []runtime.Object
	for i, document := range in.documents {
		printed = append(printed, before[i]...)
		switch {
		case in.gangs[i] != nil:
		case members[i] != nil:
			printed = append(printed, members[i])
		default:
			printed = append(printed, document.Object)
		}
	}
	return printed
}

// member returns a pod with its membership. The rest of it stays as it was written.
func (in *input) member(workload *workload, podGroup decided, i int) runtime.Object {
	document := in.documents[i]
	listed := *in.pods[i]
	listed.Namespace = defaulted(listed.Namespace) // A PodGang lists its pods with their namespace.
	membership, known := podgroups.MembershipOf(workload.Workload, &listed)
	if !known || !membership.Fits(podGroup.PodGroup) {
		in.find(document.Warnings([]string{
			fmt.Sprintf("the pod is not grouped: %s %s has no group for it", workload.Owner.Kind.Kind,
				workload.Owner.GetName()),
		}))
		return document.Object
	}
	pod := document.Object.DeepCopy()
	pod.SetAnnotations(with(pod.GetAnnotations(), membership.Annotations()))
	pod.SetLabels(with(pod.GetLabels(), membership.Labels()))
	return pod
}

func with(values, more map[string]string) map[string]string {
	if values == nil && len(more) > 0 {
		values = map[string]string{}
	}
	for key, value := range more {
		values[key] = value
	}
	return values
}
