package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/live"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

const (
	namespace = "load"
	// runLabel has the name of the workload of a pod or a PodGroup.
	runLabel = "load.packtree.dev/run"
	// ofSubGroup is how many pods of a big gang share a rack. A rack has room for 128.
	ofSubGroup = 100
)

// workload is what has to be placed in a run.
type workload struct {
	// name in the report.
	name string
	// gang is the size of its gangs; 0 for pods without a gang.
	gang, pods int
	// level is the one level of gangs that are each in one domain; empty for gangs with nested constraints.
	level string
}

func plain(pods int) workload { return workload{name: "plain pods", pods: pods} }

func gangs(size, pods int) workload {
	// As many whole gangs as reach the number of pods; the last one is not smaller than the others.
	return workload{name: fmt.Sprintf("gangs of %d", size), gang: size, pods: (pods + size - 1) / size * size}
}

// oneDomain has gangs of one group each, as kube-scheduler's own are: in one rack, or in one block if a rack is too
// small.
func oneDomain(size, pods int) workload {
	w := gangs(size, pods)
	w.level, w.name = rackLabel, w.name+" in one rack"
	if size > nodesPerRack*gpusPerNode {
		w.level, w.name = blockLabel, fmt.Sprintf("gangs of %d in one block", size)
	}
	return w
}

// objects returns the groups and pods for a scheduler. Names of pods begin with the prefix.
func (w workload) objects(prefix string, by scheduler) ([]client.Object, []*corev1.Pod) {
	var groups []client.Object
	created := make([]*corev1.Pod, 0, w.pods)
	for i := range w.pods {
		pod := podOf(prefix, fmt.Sprintf("%s-%05d", prefix, i), by.takes)
		if w.gang > 0 {
			name := fmt.Sprintf("%s-gang-%04d", prefix, i/w.gang)
			if i%w.gang == 0 {
				groups = append(groups, w.group(prefix, name, by))
			}
			w.join(pod, name, i%w.gang, by)
		}
		created = append(created, pod)
	}
	return groups, created
}

// group is one gang for a scheduler.
func (w workload) group(run, name string, by scheduler) client.Object {
	meta := metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{runLabel: run}}
	switch {
	case by.gates != "":
		return &schedulingv1alpha2.PodGroup{ObjectMeta: meta, Spec: schedulingv1alpha2.PodGroupSpec{
			SchedulingPolicy: schedulingv1alpha2.PodGroupSchedulingPolicy{
				Gang: &schedulingv1alpha2.GangSchedulingPolicy{MinCount: int32(w.gang)},
			},
			SchedulingConstraints: &schedulingv1alpha2.PodGroupSchedulingConstraints{
				Topology: []schedulingv1alpha2.TopologyConstraint{{Key: w.level}},
			},
		}}
	case w.level != "":
		return &scheduling.PodGroup{ObjectMeta: meta, Spec: scheduling.PodGroupSpec{
			MinMember: new(int32(w.gang)), TopologyConstraint: required(w.level),
		}}
	}
	return gangOf(meta, w.gang)
}

// join makes a pod the member of its gang with a number.
func (w workload) join(pod *corev1.Pod, gang string, number int, by scheduler) {
	if by.gates != "" {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &gang}
		return
	}
	pod.Annotations = map[string]string{scheduling.AnnotationPodGroupName: gang}
	if w.level == "" {
		pod.Labels[kai.LabelSubGroupName] = subGroup(number / sizeOfSubGroup(w.gang))
	}
}

func podOf(run, name, schedulerName string) *corev1.Pod {
	needs := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
		live.GPU: *resource.NewQuantity(1, resource.DecimalSI),
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{runLabel: run}},
		Spec: corev1.PodSpec{
			SchedulerName: schedulerName,
			Containers: []corev1.Container{{
				Name: "worker", Image: "none", Resources: corev1.ResourceRequirements{Requests: needs, Limits: needs},
			}},
		},
	}
}

// gangOf is a gang in one zone, in groups of up to a hundred pods that share a rack each.
func gangOf(meta metav1.ObjectMeta, size int) *scheduling.PodGroup {
	group := &scheduling.PodGroup{
		ObjectMeta: meta, Spec: scheduling.PodGroupSpec{TopologyConstraint: required(zoneLabel)},
	}
	each := sizeOfSubGroup(size)
	for i := 0; i*each < size; i++ {
		group.Spec.SubGroups = append(group.Spec.SubGroups, scheduling.SubGroup{
			Name: subGroup(i), MinMember: new(int32(min(each, size-i*each))), TopologyConstraint: required(rackLabel),
		})
	}
	return group
}

// sizeOfSubGroup makes at least two groups, so that every gang has nested constraints.
func sizeOfSubGroup(gang int) int {
	return min(ofSubGroup, (gang+1)/2)
}

func subGroup(i int) string { return fmt.Sprintf("workers-%d", i) }

func required(level string) *scheduling.TopologyConstraint {
	return &scheduling.TopologyConstraint{Topology: topologyName, RequiredTopologyLevel: level}
}
