package offline

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/manifests"

	"packtree.dev/podgrouper/internal/podgroups"
)

// podGroupsOf returns the PodGroup of each workload, nil where the input has one of that name: it is somebody else's, or
// made by an earlier run.
func (in *input) podGroupsOf(workloads []*workload) []*scheduling.PodGroup {
	made := make([]*scheduling.PodGroup, len(workloads))
	taken := map[objectKey]string{}
	for i, workload := range workloads {
		decision := podgroups.Decide(workload.Workload, in.levels())
		in.report(workload, decision)
		key := keyOf(podGroupKind.GroupKind(), decision.PodGroup)
		if _, exists := in.objects[key]; exists {
			continue
		}
		owner := workload.Owner.Kind.String()
		if other, clash := taken[key]; clash {
			in.find([]manifests.Finding{in.documents[workload.document].Finding("metadata.name",
				"its PodGroup would have the name of that of "+other+": give one of them a uid, as in a cluster")})
		}
		taken[key] = owner
		made[i] = decision.PodGroup
	}
	return made
}

// report states what is wrong with a workload at its owner, if the input shows it, else at its first pod.
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

// ofPodGroup says of findings that they are about the PodGroup that would be made.
func ofPodGroup(errs field.ErrorList) field.ErrorList {
	for _, err := range errs {
		err.Detail += " (in the PodGroup that would be made of it)"
	}
	return errs
}

func (in *input) print(workloads []*workload, made []*scheduling.PodGroup) []runtime.Object {
	before := map[int][]runtime.Object{}
	members := map[int]runtime.Object{}
	for i, workload := range workloads {
		if made[i] != nil {
			before[workload.document] = append(before[workload.document], made[i])
		}
		for _, pod := range workload.pods {
			members[pod] = in.member(workload, pod)
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

// member returns a pod with what ties it to its group. The rest of it stays as it was written.
func (in *input) member(workload *workload, i int) runtime.Object {
	document := in.documents[i]
	membership, known := podgroups.MembershipOf(workload.Workload, in.pods[i])
	if !known {
		in.find(document.Warnings([]string{"the pod is not grouped: " + workload.Owner.GetName() + " has no group for it"}))
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
