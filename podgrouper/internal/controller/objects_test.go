package controller_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grove "packtree.dev/shared/api/grove/v1alpha1"
	grovescheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func create[T client.Object](ctx context.Context, object T) T {
	GinkgoHelper()
	object.SetNamespace(namespace)
	Expect(api.Create(ctx, object)).To(Succeed())
	return object
}

// newPod asks for our scheduler, and is owned by owner unless that is nil.
func newPod(name string, owner client.Object) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
		Spec: corev1.PodSpec{
			SchedulerName: kai.SchedulerName,
			Containers:    []corev1.Container{{Name: "worker", Image: "worker"}},
		},
	}
	if owner != nil {
		kind, err := api.GroupVersionKindFor(owner)
		Expect(err).NotTo(HaveOccurred())
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)}
	}
	return pod
}

func newJob(name string, annotations map[string]string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec: batchv1.JobSpec{
			Parallelism: new(int32(4)),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				SchedulerName: kai.SchedulerName,
				Containers:    []corev1.Container{{Name: "worker", Image: "worker"}},
			}},
		},
	}
}

func newTopology(name string, levels ...string) *kai.Topology {
	topology := &kai.Topology{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, level := range levels {
		topology.Spec.Levels = append(topology.Spec.Levels, kai.TopologyLevel{NodeLabel: level})
	}
	return topology
}

// newPodGang has one group with that name, a minimum of one pod and, if required is not empty, a required level.
func newPodGang(name, required string, pods ...string) *grovescheduler.PodGang {
	group := grovescheduler.PodGroup{Name: name + "-workers", MinReplicas: 1,
		PodReferences: []grovescheduler.NamespacedName{}}
	for _, pod := range pods {
		group.PodReferences = append(group.PodReferences,
			grovescheduler.NamespacedName{Namespace: namespace, Name: pod})
	}
	gang := &grovescheduler.PodGang{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       grovescheduler.PodGangSpec{PodGroups: []grovescheduler.PodGroup{group}},
	}
	if required != "" {
		gang.Spec.TopologyConstraint = &grovescheduler.TopologyConstraint{
			PackConstraint: &grovescheduler.TopologyPackConstraint{Required: &required},
		}
	}
	return gang
}

func newGangPod(name, gang string) *corev1.Pod {
	pod := newPod(name, nil)
	pod.Labels[grove.LabelPodGang] = gang
	return pod
}

// newCliquePod is a pod of the only group of a PodGang of newPodGang, whether or not the PodGang lists it.
func newCliquePod(name, gang string) *corev1.Pod {
	pod := newGangPod(name, gang)
	pod.Labels[grove.LabelPodClique] = gang + "-workers"
	return pod
}

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// podGroup returns a getter for Eventually and Consistently.
func podGroup(ctx context.Context, name string) func() (*scheduling.PodGroup, error) {
	return func() (*scheduling.PodGroup, error) {
		found := &scheduling.PodGroup{}
		return found, api.Get(ctx, named(name), found)
	}
}

func podGroups(ctx context.Context) func() ([]string, error) {
	return func() ([]string, error) {
		var list scheduling.PodGroupList
		if err := api.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
		names := []string{}
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names, nil
	}
}

func podGroupNameOf(ctx context.Context, pod string) func() (string, error) {
	return func() (string, error) {
		found := &corev1.Pod{}
		err := api.Get(ctx, named(pod), found)
		return found.Annotations[scheduling.AnnotationPodGroupName], err
	}
}

// eventsOn marks an event that was sent more than once.
func eventsOn(ctx context.Context, kind, name string) func() ([]string, error) {
	return func() ([]string, error) {
		var list eventsv1.EventList
		if err := api.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
		var notes []string
		for i := range list.Items {
			if regarding := list.Items[i].Regarding; regarding.Kind == kind && regarding.Name == name {
				note := list.Items[i].Reason + ": " + list.Items[i].Note
				if list.Items[i].Series != nil {
					note += " (again)"
				}
				notes = append(notes, note)
			}
		}
		return notes, nil
	}
}

func podGroupOfJob(job *batchv1.Job) string {
	return "pg-" + job.Name + "-" + string(job.UID)
}

// newInNamespace returns an object in the spec's namespace, without creating it.
func newInNamespace[T client.Object](object T) T {
	object.SetNamespace(namespace)
	return object
}
