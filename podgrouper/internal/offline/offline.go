// Package offline is the pod grouper without a cluster: it reads manifests, and returns them with PodGroups and
// memberships, by the decisions of the controllers.
package offline

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/manifests"

	"packtree.dev/podgrouper/internal/catalog"
	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/owners"
	"packtree.dev/podgrouper/internal/podgroups"
)

var (
	podKind      = corev1.SchemeGroupVersion.WithKind("Pod")
	podGroupKind = scheduling.GroupVersion.WithKind("PodGroup")
	topologyKind = kai.GroupVersion.WithKind("Topology")
)

// Render makes a PodGroup of every PodGang and of every other workload that has pods. The PodGroup replaces the
// PodGang, or comes before the workload's first pod. Pods are printed again with their annotation and label. All other
// documents pass through, and so do PodGroups that are in the input already. For an owner that the input lacks, the
// pods' owner reference has to suffice.
func Render(documents []manifests.Document, defaults podgroups.Defaults) ([]runtime.Object, []manifests.Finding) {
	in := read(documents)
	if in.rejected() {
		return nil, in.findings
	}
	found := in.workloads()
	made := in.podGroupsOf(found, defaults)
	if in.rejected() {
		return nil, in.findings
	}
	return in.print(found, made), in.findings
}

// workload is a workload of the input.
type workload struct {
	grouping.Workload
	document int   // the document before which its PodGroup is printed
	pods     []int // the documents of its pods
}

// workloads returns PodGangs and the workloads of pods, in the order in which they first appear.
func (in *input) workloads() []*workload {
	byOwner := map[objectKey]*workload{}
	var found []*workload
	join := func(i int, chosen grouping.Workload) *workload {
		key := keyOf(chosen.Owner.Kind.GroupKind(), chosen.Owner)
		if byOwner[key] == nil {
			byOwner[key] = &workload{Workload: chosen, document: i}
			found = append(found, byOwner[key])
		}
		return byOwner[key]
	}
	for _, i := range slices.Sorted(maps.Keys(in.gangs)) {
		if chosen, ok := in.workloadOfGang(i); ok {
			join(i, chosen)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(in.pods)) {
		chosen, ok := in.workloadOfPod(i)
		if !ok {
			continue
		}
		joined := join(i, chosen)
		joined.pods = append(joined.pods, i)
		joined.Pods = append(joined.Pods, in.pods[i])
	}
	return found
}

// workloadOfGang returns false for a PodGang with pods in the input that ask for another scheduler.
func (in *input) workloadOfGang(i int) (grouping.Workload, bool) {
	gang := in.owner(i)
	chain, err := owners.Above(gang, in.lookup)
	if err != nil {
		in.find([]manifests.Finding{in.documents[i].Finding("metadata.ownerReferences", err.Error())})
		return grouping.Workload{}, false
	}
	if podgroups.SkipStated(gang) || podgroups.Skipped(chain) {
		return grouping.Workload{}, false
	}
	members, concerned := 0, 0
	for _, pod := range in.pods {
		reference := owners.OfPod(pod)
		if reference == nil || reference.Kind != owners.PodGangKind || reference.Name != gang.GetName() ||
			defaulted(pod.Namespace) != defaulted(gang.GetNamespace()) {
			continue
		}
		members++
		if podgroups.Concerned(pod) {
			concerned++
		}
	}
	return grouping.Workload{Owner: gang, Above: chain.Owners}, members == 0 || concerned > 0
}

// workloadOfPod returns false for a pod that the pod grouper leaves alone.
func (in *input) workloadOfPod(i int) (grouping.Workload, bool) {
	pod, document := in.pods[i], in.documents[i]
	if !podgroups.Concerned(pod) {
		return grouping.Workload{}, false
	}
	chain, err := owners.Walk(pod, in.lookup)
	switch {
	case err != nil:
		in.find([]manifests.Finding{document.Finding("metadata.ownerReferences", err.Error())})
		return grouping.Workload{}, false
	case chain.Cycle != nil:
		in.find([]manifests.Finding{
			document.Finding("metadata.ownerReferences",
				fmt.Sprintf("owners make a cycle at %s: remove an owner reference", chain.Cycle)),
		})
		return grouping.Workload{}, false
	case chain.Missing != nil:
		if pod.Annotations[scheduling.AnnotationPodGroupName] == "" {
			in.find(document.Warnings(
				[]string{fmt.Sprintf("the pod is not grouped: its owner %s is not in the input", chain.Missing)}))
		}
		return grouping.Workload{}, false
	case podgroups.Skipped(chain):
		return grouping.Workload{}, false
	}
	chosen := catalog.Choose(pod, chain)
	if chosen.Owner.GetName() == "" {
		in.find([]manifests.Finding{
			document.Finding("metadata.name",
				"Required value: the PodGroup of a pod without an owner is named after the pod"),
		})
		return grouping.Workload{}, false
	}
	membership := podgroups.Membership{PodGroup: podgroups.NameFor(chosen.Owner)}
	return chosen, !membership.TakenElsewhere(pod)
}
