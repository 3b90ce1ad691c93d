package controller_test

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

var _ = Describe("An update whose new pods find no room", func() {
	ofSet := client.MatchingLabels{grovev1alpha1.LabelPartOf: "room"}
	images := func(in string) func() []string {
		return func() []string {
			var all []string
			for _, pod := range podsOf(in, ofSet)() {
				if pod.DeletionTimestamp == nil {
					all = append(all, pod.Spec.Containers[0].Image)
				}
			}
			slices.Sort(all)
			return all
		}
	}
	standing := func(in string) []types.UID {
		var all []types.UID
		for _, pod := range podsOf(in, ofSet)() {
			if pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil {
				all = append(all, pod.UID)
			}
		}
		return all
	}
	updating := func(in string) func() metav1.Condition {
		return func() metav1.Condition {
			return condition(get(in, "room", &grovev1alpha1.PodCliqueSet{}), grovev1alpha1.ConditionUpdating)
		}
	}
	// refuse does the work of a scheduler that has no room for pods that have no node.
	refuse := func(in string) {
		GinkgoHelper()
		for _, pod := range podsOf(in, ofSet)() {
			if pod.Spec.NodeName == "" {
				before := pod.DeepCopy()
				pod.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
					Message: "no rack has 3 GPUs",
				}}
				Expect(client.IgnoreNotFound(c.Status().Patch(ctx, &pod, client.MergeFrom(before)))).To(Succeed())
			}
		}
	}

	It("stops after one pod, says which waits for what, and goes on when that is ready", func() {
		in := namespace()
		set := createSet(in, `
metadata: {name: room}
spec:
  replicas: 1
  template:
    cliques:
      - {name: a, spec: {replicas: 3, minAvailable: 1, podSpec: {containers: [{name: main, image: "x:1"}]}}}
`)
		runs(in, "room", "1/1/1 AllReplicasAvailable")
		edit := `[{"op":"replace","path":"/spec/template/cliques/0/spec/podSpec/containers/0/image","value":"x:2"}]`
		patch(set, edit)
		Eventually(func() metav1.Condition {
			end(in, ofSet)
			refuse(in)
			return updating(in)()
		}).Should(And(HaveField("Reason", grovev1alpha1.ReasonUpdateStopped),
			HaveField("Message", MatchRegexp("^1 of 3 pods have the template; replica 0: PodClique room-0-a has 2 of 3 "+
				"ready pods; some of them stand on no node yet: pod room-0-a-.* waits: no rack has 3 GPUs$"))))
		Consistently(images(in)).Should(Equal([]string{"x:1", "x:1", "x:2"}))

		By("costing no more than that pod if the change is taken back")
		stood := standing(in)
		back := `[{"op":"replace","path":"/spec/template/cliques/0/spec/podSpec/containers/0/image","value":"x:1"}]`
		patch(set, back)
		Eventually(func() metav1.ConditionStatus {
			end(in, ofSet)
			run(in, ofSet)
			return updating(in)().Status
		}).Should(Equal(metav1.ConditionFalse))
		Expect(images(in)()).To(Equal([]string{"x:1", "x:1", "x:1"}))
		Expect(standing(in)).To(ContainElements(stood))
		patch(set, edit)
		Eventually(func() metav1.Condition {
			end(in, ofSet)
			refuse(in)
			return updating(in)()
		}).Should(HaveField("Reason", grovev1alpha1.ReasonUpdateStopped))

		Eventually(func() metav1.ConditionStatus {
			end(in, ofSet)
			run(in, ofSet)
			return updating(in)().Status
		}).Should(Equal(metav1.ConditionFalse))
		Expect(images(in)()).To(Equal([]string{"x:2", "x:2", "x:2"}))
	})
})
