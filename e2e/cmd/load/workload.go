package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
}

func plain(pods int) workload { return workload{name: "plain pods", pods: pods} }

func gangs(size, pods int) workload {
	// As many whole gangs as reach the number of pods; the last one is not smaller than the others.
	return workload{name: fmt.Sprintf("gangs of %d", size), gang: size, pods: (pods + size - 1) / size * size}
}

// objects returns the PodGroups and pods for the scheduler with that name. Names of pods begin with the prefix.
func (w workload) objects(prefix, schedulerName string) ([]*scheduling.PodGroup, []*corev1.Pod) {
	var groups []*scheduling.PodGroup
	created := make([]*corev1.Pod, 0, w.pods)
	for i := range w.pods {
		pod := podOf(prefix, fmt.Sprintf("%s-%05d", prefix, i), schedulerName)
		if w.gang > 0 {
			name := fmt.Sprintf("%s-gang-%04d", prefix, i/w.gang)
			if i%w.gang == 0 {
				groups = append(groups, gangOf(prefix, name, w.gang))
			}
			pod.Annotations = map[string]string{scheduling.AnnotationPodGroupName: name}
			pod.Labels[kai.LabelSubGroupName] = subGroup(i % w.gang / sizeOfSubGroup(w.gang))
		}
		created = append(created, pod)
	}
	return groups, created
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
func gangOf(run, name string, size int) *scheduling.PodGroup {
	group := &scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{runLabel: run}},
		Spec:       scheduling.PodGroupSpec{TopologyConstraint: required(zoneLabel)},
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
