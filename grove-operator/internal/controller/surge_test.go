package controller_test

import (
	"encoding/json"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/grove-operator/internal/pods"
)

var _ = Describe("An update with copies beyond replicas", func() {
	ofSet := client.MatchingLabels{grovev1alpha1.LabelPartOf: "more"}
	stays := func(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil }
	serves := func(pod *corev1.Pod) bool { return stays(pod) && pods.Ready(pod) }
	// copies are the images of the pods of each copy that a filter accepts.
	copies := func(in string, accepts func(*corev1.Pod) bool) string {
		var words []string
		for _, pod := range podsOf(in, ofSet)() {
			if accepts(&pod) {
				words = append(words,
					pod.Labels[grovev1alpha1.LabelPodCliqueScalingGroupReplicaIndex]+"="+pod.Spec.Containers[0].Image)
			}
		}
		slices.Sort(words)
		return strings.Join(words, " ")
	}
	// judges does the work of the scheduler and the pod grouper: copies beyond replicas have room or not, others have.
	judges := func(in string, room bool) {
		GinkgoHelper()
		var gangs schedulerv1alpha1.PodGangList
		Expect(c.List(ctx, &gangs, client.InNamespace(in))).To(Succeed())
		for i := range gangs.Items {
			gang := &gangs.Items[i]
			said := metav1.Condition{Type: "Scheduled", Status: metav1.ConditionTrue, Reason: scheduling.ReasonPlaced,
				LastTransitionTime: metav1.Now()}
			if gang.Name == "more-0-g-1" && !room {
				said.Status, said.Reason, said.Message = metav1.ConditionFalse, scheduling.ReasonInfeasible,
					"no rack has 3 GPUs"
			}
			written, err := json.Marshal(map[string]any{
				"apiVersion": schedulerv1alpha1.GroupVersion.String(), "kind": "PodGang",
				"metadata": map[string]any{"name": gang.Name, "namespace": in, "uid": gang.UID},
				"status":   map[string]any{"conditions": []metav1.Condition{said}},
			})
			Expect(err).NotTo(HaveOccurred())
			err = c.Status().Patch(ctx, gang, client.RawPatch(types.ApplyPatchType, written),
				client.FieldOwner("podgrouper"), client.ForceOwnership)
			if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // It went meanwhile, or is another by now.
				Expect(err).NotTo(HaveOccurred())
			}
		}
	}
	updating := func(in string) metav1.Condition {
		return condition(get(in, "more", &grovev1alpha1.PodCliqueSet{}), grovev1alpha1.ConditionUpdating)
	}
	// edited is a set with running copies and a template that changes.
	edited := func() (string, *grovev1alpha1.PodCliqueSet) {
		GinkgoHelper()
		in := namespace()
		set := createSet(in, `
metadata: {name: more}
spec:
  replicas: 1
  template:
    cliques:
      - {name: a, spec: {replicas: 1, podSpec: {schedulerName: kai-scheduler, containers: [{name: main, image: "x:1"}]}}}
    podCliqueScalingGroups: [{name: g, cliqueNames: [a], replicas: 2, minAvailable: 1, maxSurge: 1}]
`)
		runs(in, "more", "1/1/1 AllReplicasAvailable")
		judges(in, false)
		edit := `[{"op":"replace","path":"/spec/template/cliques/0/spec/podSpec/containers/0/image","value":"x:2"}]`
		patch(set, edit)
		return in, set
	}
	// lives runs scheduler and kubelet, and returns the condition of the update.
	lives := func(in string, room bool) metav1.Condition {
		end(in, ofSet)
		if room {
			run(in, ofSet)
		} else {
			for _, copyIndex := range []string{"0", "1"} {
				run(in, client.MatchingLabels{grovev1alpha1.LabelPodCliqueScalingGroupReplicaIndex: copyIndex})
			}
		}
		judges(in, room)
		return updating(in)
	}

	It("has a copy more than replicas from before the first goes until the last is back, when that copy has room", func() {
		in, _ := edited()
		Eventually(func() string { return lives(in, false).Message }).Should(Equal("0 of 2 pods have the template; " +
			"replica 0: PodCliqueScalingGroup more-0-g waits for a further copy, as maxSurge wants: " +
			"PodClique more-0-g-2-a has 0 of 1 ready pods; some of them stand on no node yet: " +
			"PodGang more-0-g-1 waits: no rack has 3 GPUs"))
		Consistently(func() string { return lives(in, false).Reason }, "2s").Should(
			Equal(grovev1alpha1.ReasonUpdateStopped))
		Expect(copies(in, stays)).To(Equal("0=x:1 1=x:1 2=x:2"))
		Expect(state(in, "more")()).To(HaveSuffix("AllReplicasAvailable"), "a copy more makes the set no less ready")

		By("room")
		var seen []string
		Eventually(func() metav1.ConditionStatus {
			condition := lives(in, true)
			// Pods that are being deleted stay until the next round, so that no state is missed.
			if now := copies(in, pods.Ready); len(seen) == 0 || seen[len(seen)-1] != now {
				seen = append(seen, now)
			}
			Expect(strings.Fields(copies(in, serves))).NotTo(HaveLen(1), "%v", seen)
			Expect(len(strings.Fields(copies(in, stays)))).To(BeNumerically("<=", 3), "%v", seen)
			Expect(get(in, "more-0-g", &grovev1alpha1.PodCliqueScalingGroup{}).Status.Replicas).To(
				BeNumerically("==", 2))
			return condition.Status
		}).Should(Equal(metav1.ConditionFalse))
		Expect(seen).To(ContainElement("0=x:1 1=x:1 2=x:2"))
		Eventually(func() string { lives(in, true); return copies(in, stays) }).Should(Equal("0=x:2 1=x:2"))
		Eventually(func() int {
			var gangs schedulerv1alpha1.PodGangList
			Expect(c.List(ctx, &gangs, client.InNamespace(in))).To(Succeed())
			return len(gangs.Items)
		}).Should(Equal(2))
	})
})
