package controller_test

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

const updatable = `
metadata: {name: up}
spec:
  replicas: 2
  updateStrategy: {type: %s}
  template:
    cliques:
      - {name: a, spec: {replicas: 2, minAvailable: 1, podSpec: {containers: [{name: main, image: "x:1"}]}}}
      - {name: w, spec: {replicas: 2, podSpec: {containers: [{name: main, image: "x:1"}]}}}
    podCliqueScalingGroups:
      - {name: g, cliqueNames: [w], replicas: 2}
`

var ofUp = client.MatchingLabels{grovev1alpha1.LabelPartOf: "up"}

var _ = Describe("A changed template", func() {
	// live starts a set with the strategy, until its pods run.
	live := func(strategy grovev1alpha1.UpdateStrategyType) (string, *grovev1alpha1.PodCliqueSet) {
		GinkgoHelper()
		in := namespace()
		set := createSet(in, fmt.Sprintf(updatable, strategy))
		runs(in, "up", "2/2/2 AllReplicasAvailable")
		return in, set
	}
	// pods are one word each: the PodClique, the image, and a + if it is ready.
	podsIn := func(in string) func() []string {
		return func() []string {
			var words []string
			for _, pod := range podsOf(in, ofUp)() {
				word := strings.TrimPrefix(pod.Labels[grovev1alpha1.LabelPodClique], "up-") + " " +
					pod.Spec.Containers[0].Image
				if len(pod.Status.Conditions) > 0 &&
					pod.Status.Conditions[len(pod.Status.Conditions)-1].Status == corev1.ConditionTrue {
					word += "+"
				}
				if pod.DeletionTimestamp != nil {
					word += " leaves"
				}
				words = append(words, word)
			}
			slices.Sort(words)
			return words
		}
	}
	turn := func(in string) []int32 {
		progress := get(in, "up", &grovev1alpha1.PodCliqueSet{}).Status.UpdateProgress
		var turns []int32
		if progress != nil {
			for _, update := range progress.CurrentlyUpdating {
				turns = append(turns, update.ReplicaIndex)
			}
		}
		return turns
	}
	edit := func(set *grovev1alpha1.PodCliqueSet, image string) {
		GinkgoHelper()
		patch(set, fmt.Sprintf(`[{"op":"replace","path":"/spec/template/cliques/0/spec/podSpec/containers/0/image","value":%[1]q},
			{"op":"replace","path":"/spec/template/cliques/1/spec/podSpec/containers/0/image","value":%[1]q}]`, image))
	}

	It("replaces a pod of the old template that comes after the update", func() {
		in, set := live(grovev1alpha1.RollingRecreate)
		edit(set, "x:2")
		Eventually(func() string {
			run(in, ofUp)
			end(in, ofUp)
			return condition(get(in, "up", &grovev1alpha1.PodCliqueSet{}), "Updating").Reason
		}).Should(Equal("UpdateFinished"))
		late := podsOf(in, client.MatchingLabels{"grove.io/podclique": "up-0-g-1-w"})()[0]
		patch(&late, `[{"op":"replace","path":"/metadata/labels/grove.io~1pod-template-hash","value":"old"}]`)
		Eventually(func() bool {
			run(in, ofUp)
			end(in, ofUp)
			found := podsOf(in, ofUp)()
			return len(found) == 12 && !slices.ContainsFunc(found, func(pod corev1.Pod) bool { return pod.UID == late.UID })
		}).Should(BeTrue())
		Eventually(recorded(in)).Should(ContainElement(
			"up UpdateStarted some pods have another template than the set; strategy RollingRecreate"))
	})

	It("replaces one pod or one copy at a time, and holds at one that does not become ready", func() {
		in, set := live(grovev1alpha1.RollingRecreate)
		edit(set, "x:2")
		Eventually(func() []string {
			end(in, ofUp)
			return podsIn(in)()
		}).Should(ContainElement(HavePrefix("0-a x:2")))
		Expect(turn(in)).To(Equal([]int32{0}))

		By("holding")
		Consistently(podsIn(in)).Should(ConsistOf("0-a x:2", "0-a x:1+",
			"0-g-0-w x:1+", "0-g-0-w x:1+", "0-g-1-w x:1+", "0-g-1-w x:1+",
			"1-a x:1+", "1-a x:1+", "1-g-0-w x:1+", "1-g-0-w x:1+", "1-g-1-w x:1+", "1-g-1-w x:1+"))
		Eventually(func() string {
			return condition(get(in, "up", &grovev1alpha1.PodCliqueSet{}), "Ready").Message
		}).Should(ContainSubstring("updating replica 0: PodClique up-0-a has 1 of 2 ready pods"))
		progress := get(in, "up-0-a", &grovev1alpha1.PodClique{}).Status.UpdateProgress
		Expect(progress).NotTo(BeNil())
		Expect(progress.UpdateEndedAt).To(BeNil())

		By("losing a pod of a replica whose turn has not come")
		lost := podsOf(in, client.MatchingLabels{"grove.io/podclique": "up-1-a"})()[0]
		Expect(c.Delete(ctx, &lost, client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(podsIn(in)).Should(ContainElement("1-a x:1"))
		Expect(get(in, "up-1-a", &grovev1alpha1.PodClique{}).Status.UpdatedReplicas).To(BeZero())
		Eventually(
			func() int32 { return get(in, "up-1-g-0-w", &grovev1alpha1.PodClique{}).Status.UpdatedReplicas }).Should(
			BeZero())

		By("going on, after another edit")
		edit(set, "x:3")
		Eventually(func() bool {
			end(in, ofUp)
			run(in, ofUp)
			replaced := map[string]bool{} // At most one copy of each group is below its minimum.
			for _, group := range []string{"up-0-g", "up-1-g"} {
				for copyIndex := range 2 {
					podClique := get(in, fmt.Sprintf("%s-%d-w", group, copyIndex), &grovev1alpha1.PodClique{})
					if podClique.Status.ReadyReplicas < 2 {
						replaced[podClique.Name] = true
					}
				}
			}
			Expect(len(replaced)).To(BeNumerically("<=", 1))
			Expect(len(turn(in))).To(BeNumerically("<=", 1))
			progress := get(in, "up", &grovev1alpha1.PodCliqueSet{}).Status.UpdateProgress
			return progress != nil && progress.UpdateEndedAt != nil
		}).Should(BeTrue())
		for _, pod := range podsIn(in)() {
			Expect(pod).To(HaveSuffix("x:3+"))
		}
		Eventually(func() string {
			status := get(in, "up", &grovev1alpha1.PodCliqueSet{}).Status
			progress := status.UpdateProgress
			return fmt.Sprint(status.UpdatedReplicas, progress.UpdatedPodCliquesCount, progress.TotalPodCliquesCount,
				progress.UpdatedPodCliqueScalingGroupsCount, progress.TotalPodCliqueScalingGroupsCount)
		}).Should(Equal("2 2 2 2 2"))
		Eventually(func() bool {
			group := get(in, "up-1-g", &grovev1alpha1.PodCliqueScalingGroup{}).Status.UpdateProgress
			return group != nil && group.UpdateEndedAt != nil
		}).Should(BeTrue())
	})

	It("waits with OnDelete for the user to delete pods", func() {
		in, set := live(grovev1alpha1.OnDelete)
		edit(set, "x:2")
		Eventually(func() bool {
			return get(in, "up", &grovev1alpha1.PodCliqueSet{}).Status.UpdateProgress != nil
		}).Should(BeTrue())
		Consistently(podsIn(in)).Should(HaveEach(HaveSuffix("x:1+")))
		Expect(turn(in)).To(BeEmpty())

		By("deleting one")
		pods := podsOf(in, client.MatchingLabels{"grove.io/podclique": "up-1-a"})()
		Expect(c.Delete(ctx, &pods[0], client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(podsIn(in)).Should(ContainElement("1-a x:2"))
		Consistently(podsIn(in)).Should(HaveLen(12))

		By("deleting the others")
		for _, pod := range podsOf(in, ofUp)() {
			if pod.Spec.Containers[0].Image == "x:1" {
				Expect(c.Delete(ctx, &pod, client.GracePeriodSeconds(0))).To(Succeed())
			}
		}
		Eventually(func() bool {
			run(in, ofUp)
			progress := get(in, "up", &grovev1alpha1.PodCliqueSet{}).Status.UpdateProgress
			return progress.UpdateEndedAt != nil
		}).Should(BeTrue())
		Expect(podsIn(in)()).To(And(HaveLen(12), HaveEach(ContainSubstring("x:2"))))
	})
})
