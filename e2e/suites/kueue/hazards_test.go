package kueue_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/live"
	"packtree.dev/e2e/suites/internal/suite"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/kueue"
)

// TestHazards shows what Kueue does to pods of a group with an owner that does not know it: grove-operator must not
// do the same.
func TestHazards(t *testing.T) {
	t.Parallel()
	w := newWorld(4)
	cluster.Test(t, features.New("a group by hand").
		Setup(w.create).
		Assess("a replacement that is made too early is deleted as one too many", suite.AllOf(
			w.has("early-0", "early", 2), w.has("early-1", "early", 2), w.stands("early-0"), w.stands("early-1"),
			w.hangs("early-0"), w.has("early-2", "early", 2),
			w.HasEvent("Pod", "early-2", "ExcessPodDeleted"), w.gone("early-2"))).
		Assess("a pod that ends well is counted until its finalizer is gone", suite.AllOf(
			w.lacks("early-0"), w.has("early-3", "early", 2), w.stands("early-3"))).
		Assess("a pod that never had a node is replaced", suite.AllOf(
			w.has("never-0", "never", 1, nowhere), w.Reads("True", "workload", "never",
				`{.status.conditions[?(@.type=="Admitted")].status}`),
			w.Kubectl("delete", "pod", "never-0", "--wait=false"), w.has("never-1", "never", 1))).
		Teardown(w.removeByHand))
}

func nowhere(pod *corev1.Pod) { pod.Spec.NodeSelector[corev1.LabelHostname] = "nowhere" }

// has makes a pod of a group.
func (w *world) has(name, group string, size int, changes ...func(*corev1.Pod)) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		one := corev1.ResourceList{live.GPU: resource.MustParse("1")}
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: w.Name,
				Labels: map[string]string{kueue.LabelQueue: "red", kueue.LabelGroup: group},
				Annotations: map[string]string{
					kueue.AnnotationGroupSize: fmt.Sprint(size), kueue.AnnotationServing: "true",
					kueue.AnnotationRole: "role", kai.AnnotationSkipPodGrouper: "true",
				},
			},
			Spec: corev1.PodSpec{
				SchedulerName: kai.SchedulerName, NodeSelector: map[string]string{suite.WorldLabel: w.Name},
				Containers: []corev1.Container{
					{Name: "c", Image: "none", Resources: corev1.ResourceRequirements{Requests: one, Limits: one}},
				},
			},
		}
		for _, change := range changes {
			change(pod)
		}
		w.Must(ctx, t, cluster.Create(ctx, pod))
		return ctx
	}
}

func (w *world) pod(ctx context.Context, name string) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	return pod, cluster.Get(ctx, client.ObjectKey{Namespace: w.Name, Name: name}, pod)
}

func (w *world) stands(name string) types.StepFunc {
	return w.Reads("Running", "pod", name, "{.status.phase}")
}

// hangs deletes a pod that Kueue goes on counting, as it does on a dead node.
func (w *world) hangs(name string) types.StepFunc {
	return w.Kubectl("delete", "pod", name, "--wait=false")
}

// lacks removes all finalizers of a pod that is deleted by force.
func (w *world) lacks(name string) types.StepFunc {
	return suite.AllOf(w.Kubectl("delete", "pod", name, "--force", "--grace-period=0", "--wait=false"),
		w.Kubectl("patch", "pod", name, "--type=merge", "--patch", `{"metadata":{"finalizers":null}}`), w.gone(name))
}

func (w *world) gone(name string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, "pod "+name+" is gone", func(ctx context.Context) (bool, string, error) {
			_, err := w.pod(ctx, name)
			return client.IgnoreNotFound(err) == nil && err != nil, "it is there", client.IgnoreNotFound(err)
		})
		return ctx
	}
}

// removeByHand deletes pods without an owner to make them again, and with finalizers that Kueue leaves.
func (w *world) removeByHand(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	pods, err := w.Pods(ctx)
	w.Must(ctx, t, err)
	for i := range pods {
		w.Must(ctx, t, client.IgnoreNotFound(cluster.Delete(ctx, &pods[i], client.GracePeriodSeconds(0))))
		without := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		w.Must(ctx, t, client.IgnoreNotFound(cluster.Patch(ctx, &pods[i], without)))
	}
	return w.remove(ctx, t, config)
}
