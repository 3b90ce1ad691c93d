package controller_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/controller"
)

type runtimeObject = runtime.Object

// applyStatus writes a PodGang's status as another program would.
func applyStatus(gang *schedulerv1alpha1.PodGang, owner string) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(gang)
	if err != nil {
		return err
	}
	delete(fields, "spec")
	return c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(unstructuredOf(fields)),
		client.FieldOwner(owner), client.ForceOwnership)
}

var _ = Describe("Scaling", func() {
	replicasOf := func(in, name string) func() int32 {
		return func() int32 { return get(in, name, &grovev1alpha1.PodClique{}).Spec.Replicas }
	}

	It("of a live object is not undone, until the template asks for something else", func() {
		in, set := running()
		router := get(in, "inf-0-router", &grovev1alpha1.PodClique{})
		scale(router, 4)
		Eventually(podsOf(in, client.MatchingLabels{"grove.io/podclique": "inf-0-router"})).Should(HaveLen(4))

		By("reconciling for another reason")
		patch(set, `[{"op":"add","path":"/spec/template/cliques/0/annotations","value":{"example.com/a":"b"}}]`)
		Eventually(func() map[string]string {
			return get(in, "inf-0-router", &grovev1alpha1.PodClique{}).Annotations
		}).Should(HaveKeyWithValue("example.com/a", "b"))
		Consistently(replicasOf(in, "inf-0-router")).Should(BeEquivalentTo(4))

		By("editing the template")
		patch(set, `[{"op":"replace","path":"/spec/template/cliques/0/spec/replicas","value":3}]`)
		Eventually(replicasOf(in, "inf-0-router")).Should(BeEquivalentTo(3))
		Eventually(podsOf(in, client.MatchingLabels{"grove.io/podclique": "inf-0-router"})).Should(HaveLen(3))
	})

	It("that comes between the look and the write is a conflict and not undone", func() {
		in, _ := running()
		stale := get(in, "inf-0-router", &grovev1alpha1.PodClique{})
		desired := stale.DeepCopy()
		desired.SetGroupVersionKind(grovev1alpha1.GroupVersion.WithKind("PodClique"))
		desired.ManagedFields, desired.ResourceVersion, desired.UID = nil, "", ""
		desired.Labels["example.com/new"] = "label"
		scale(stale.DeepCopy(), 4)
		children.KeepPodCliqueScale(desired, stale)
		_, err := controller.Writer(c, c).Apply(ctx, desired, stale)
		Expect(err).To(MatchError(apierrors.IsConflict, "a conflict"))
		Expect(replicasOf(in, "inf-0-router")()).To(BeEquivalentTo(4))
	})

	It("of a scaling group makes and removes scaled gangs, and touches nothing else", func() {
		in, _ := running()
		group := get(in, "inf-0-sg", &grovev1alpha1.PodCliqueScalingGroup{})
		basePods := podsOf(in, base)()
		scale(group, 3)
		Eventually(gangPhases(in)).Should(HaveKeyWithValue("inf-0-sg-1", "Pending"))
		Eventually(func() []string {
			return gates(podsOf(in, client.MatchingLabels{"grove.io/podgang": "inf-0-sg-1"})())
		}).Should(ConsistOf("", ""))
		run(in, client.MatchingLabels{"grove.io/podgang": "inf-0-sg-1"})
		Eventually(gangPhases(in)).Should(HaveKeyWithValue("inf-0-sg-1", "Running"))

		scale(group, 1)
		Eventually(gangPhases(in)).Should(HaveLen(1))
		Eventually(func() []string {
			end(in, client.MatchingLabels{grovev1alpha1.LabelPodCliqueScalingGroup: "inf-0-sg"})
			var list grovev1alpha1.PodCliqueList
			Expect(c.List(ctx, &list, client.InNamespace(in))).To(Succeed())
			return names(list.Items)
		}).Should(ConsistOf("inf-0-router", "inf-0-sg-0-worker"))
		Expect(names(podsOf(in, base)())).To(Equal(names(basePods)))
		Eventually(state(in, "inf")).Should(Equal("1/1/1 AllReplicasAvailable"))
	})

	It("to zero and back works for all three kinds", func() {
		in, set := running()
		for _, step := range []struct {
			object client.Object
			labels client.MatchingLabels
			before int32
		}{
			{get(in, "inf-0-router", &grovev1alpha1.PodClique{}),
				client.MatchingLabels{"grove.io/podclique": "inf-0-router"}, 2},
			{get(in, "inf-0-sg", &grovev1alpha1.PodCliqueScalingGroup{}),
				client.MatchingLabels{grovev1alpha1.LabelPodCliqueScalingGroup: "inf-0-sg"}, 2},
			{set, client.MatchingLabels{grovev1alpha1.LabelPartOf: "inf"}, 1},
		} {
			pods := len(podsOf(in, step.labels)())
			scale(step.object, 0)
			Eventually(func() []string {
				end(in, step.labels)
				return names(podsOf(in, step.labels)())
			}).Should(BeEmpty())
			Eventually(state(in, "inf")).Should(HaveSuffix("AllReplicasAvailable"))
			scale(step.object, step.before)
			Eventually(podsOf(in, step.labels)).Should(HaveLen(pods))
			Eventually(func() string {
				openRouterGate(in)
				run(in, client.MatchingLabels{grovev1alpha1.LabelPartOf: "inf"})
				return state(in, "inf")()
			}).Should(Equal("1/1/1 AllReplicasAvailable"))
		}
	})
})

func names[T any, P interface {
	*T
	client.Object
}](items []T) []string {
	var all []string
	for i := range items {
		all = append(all, P(&items[i]).GetName())
	}
	return all
}

// end does the kubelet's work for pods that are being deleted.
func end(in string, labels client.MatchingLabels) {
	GinkgoHelper()
	for _, pod := range podsOf(in, labels)() {
		if pod.DeletionTimestamp != nil {
			Expect(client.IgnoreNotFound(c.Delete(ctx, &pod, client.GracePeriodSeconds(0)))).To(Succeed())
		}
	}
}
