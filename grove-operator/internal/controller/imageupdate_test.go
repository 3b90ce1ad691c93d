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

const updatableInPlace = `
metadata: {name: up, annotations: {packtree.dev/image-update: InPlace}}
spec:
  replicas: 1
  template:
    cliques:
      - {name: a, spec: {replicas: 2, minAvailable: 1, podSpec: {containers: [{name: main, image: "x:1"}]}}}
      - {name: w, spec: {replicas: 2, podSpec: {containers: [{name: main, image: "x:1"}]}}}
    podCliqueScalingGroups:
      - {name: g, cliqueNames: [w], replicas: 2}
`

// startContainers does the work of kubelets: it starts the containers of the pods that let accepts, with their present
// images. It takes no notice of a pod that the operator has deleted since it was listed.
func startContainers(in string, let func(*corev1.Pod) bool, ready corev1.ConditionStatus) {
	GinkgoHelper()
	for _, pod := range podsOf(in, ofUp)() {
		if !let(&pod) {
			continue
		}
		before := pod.DeepCopy()
		container := pod.Spec.Containers[0]
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: container.Name, Image: container.Image, ContainerID: "containerd://" + container.Image,
			Ready: ready == corev1.ConditionTrue,
		}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
		Expect(client.IgnoreNotFound(c.Status().Patch(ctx, &pod, client.MergeFrom(before)))).To(Succeed())
	}
}

func everyPod(*corev1.Pod) bool { return true }

var _ = Describe("A changed image, updated in place", func() {
	// live starts the set and returns the UIDs and nodes of its pods.
	live := func() (in string, set *grovev1alpha1.PodCliqueSet, standing []string) {
		GinkgoHelper()
		in = namespace()
		set = createSet(in, updatableInPlace)
		runs(in, "up", "1/1/1 AllReplicasAvailable")
		startContainers(in, everyPod, corev1.ConditionTrue)
		return in, set, places(in)
	}
	// unseen is live with an operator that sees nothing more of pods until release.
	unseen := func() (in string, set *grovev1alpha1.PodCliqueSet, standing []string, release func()) {
		GinkgoHelper()
		way := &lag{}
		startThrough(way.through(rcfg), levels("zone", "rack", "host"))
		DeferCleanup(func() { start(levels("zone", "rack", "host")) })
		in, set, standing = live()
		for _, pod := range podsOf(in, ofUp)() {
			sees(&pod)
		}
		release = way.hold(watched("pods"))
		DeferCleanup(release)
		return in, set, standing, release
	}
	// images are one word for each pod: the PodClique and the image.
	images := func(in string) func() []string {
		return func() []string {
			var words []string
			for _, pod := range podsOf(in, ofUp)() {
				words = append(words,
					strings.TrimPrefix(pod.Labels[grovev1alpha1.LabelPodClique],
						"up-0-")+" "+pod.Spec.Containers[0].Image)
			}
			slices.Sort(words)
			return words
		}
	}
	edit := func(set *grovev1alpha1.PodCliqueSet, changes ...string) {
		GinkgoHelper()
		patch(set, "["+strings.Join(changes, ",")+"]")
	}
	image := func(clique int, image string) string {
		return fmt.Sprintf(
			`{"op":"replace","path":"/spec/template/cliques/%d/spec/podSpec/containers/0/image","value":%q}`,
			clique, image)
	}
	finished := func(in string) func() bool {
		return func() bool {
			progress := get(in, "up", &grovev1alpha1.PodCliqueSet{}).Status.UpdateProgress
			return progress != nil && progress.UpdateEndedAt != nil
		}
	}
	message := func(in string) func() string {
		return func() string {
			return condition(get(in, "up", &grovev1alpha1.PodCliqueSet{}), "Ready").Message
		}
	}

	updating := func(in string) func() string {
		return func() string {
			found := condition(get(in, "up", &grovev1alpha1.PodCliqueSet{}), "Updating")
			return fmt.Sprintf("%s %s: %s", found.Status, found.Reason, found.Message)
		}
	}

	It("leaves pods where they are, one pod or one copy after the other, also if the operator ends half-way", func() {
		in, set, standing := live()
		Expect(updating(in)()).To(Equal(" : "), "absent")
		edit(set, image(0, "x:2"), image(1, "x:2"))

		By("waiting for the kubelet, while the pod still says Ready")
		one := []string{"a x:1", "a x:2", "g-0-w x:1", "g-0-w x:1", "g-1-w x:1", "g-1-w x:1"}
		Eventually(images(in)).Should(Equal(one))
		Eventually(message(in)).Should(ContainSubstring("updating replica 0: PodClique up-0-a has 1 of 2 ready pods"))
		Consistently(images(in)).Should(Equal(one))
		Eventually(updating(in)).Should(Equal(
			"True UpdateInProgress: 1 of 6 pods have the template; replica 0: PodClique up-0-a has 1 of 2 ready pods"))
		Eventually(func(g Gomega) {
			status := get(in, "up-0-a", &grovev1alpha1.PodClique{}).Status
			g.Expect(status.ReadyReplicas).To(BeEquivalentTo(1))
			g.Expect(status.UpdatedReplicas).To(BeEquivalentTo(1))
			g.Expect(status.UpdateProgress).NotTo(BeNil())
			g.Expect(status.UpdateProgress.ReadyPodsSelectedToUpdate).NotTo(BeNil())
		}).Should(Succeed())

		By("starting the operator anew")
		start(levels("zone", "rack", "host"))
		Consistently(images(in)).Should(Equal(one))

		By("starting the containers")
		startContainers(in, everyPod, corev1.ConditionTrue)
		Eventually(images(in)).Should(ContainElements("a x:2", "a x:2", "g-0-w x:1"))
		startContainers(in, everyPod, corev1.ConditionTrue)
		two := []string{"a x:2", "a x:2", "g-0-w x:2", "g-0-w x:2", "g-1-w x:1", "g-1-w x:1"}
		Eventually(images(in)).Should(Equal(two))
		Consistently(images(in)).Should(Equal(two))
		Eventually(func() bool {
			startContainers(in, everyPod, corev1.ConditionTrue)
			return finished(in)()
		}).Should(BeTrue())
		Expect(images(in)()).To(HaveEach(HaveSuffix("x:2")))
		Expect(places(in)).To(Equal(standing))
		hash := get(in, "up-0-a", &grovev1alpha1.PodClique{}).Labels["grove.io/pod-template-hash"]
		Expect(podsOf(in, client.MatchingLabels{"grove.io/podclique": "up-0-a",
			"grove.io/pod-template-hash": hash})()).To(
			HaveLen(2))
		Eventually(func() string {
			status := get(in, "up", &grovev1alpha1.PodCliqueSet{}).Status
			return fmt.Sprint(status.UpdatedReplicas, status.UpdateProgress.UpdatedPodCliquesCount,
				status.UpdateProgress.UpdatedPodCliqueScalingGroupsCount)
		}).Should(Equal("1 1 1"))
	})

	It("goes back also while the operator does not see which pod it has changed", func() {
		in, set, standing, release := unseen()
		edit(set, image(0, "x:2"))
		Eventually(images(in)).Should(ContainElement("a x:2"))
		edit(set, image(0, "x:1"))
		Eventually(images(in)).Should(HaveEach(HaveSuffix("x:1")))
		release()
		Eventually(finished(in)).Should(BeTrue())
		Expect(images(in)()).To(HaveEach(HaveSuffix("x:1")))
		Expect(places(in)).To(Equal(standing))
	})

	It("changes no pod that is another by now than the operator has seen", func() {
		in, set, standing, release := unseen()
		for _, pod := range podsOf(in, ofUp)() { // Each container is restarted meanwhile, for another reason.
			before := pod.DeepCopy()
			pod.Status.ContainerStatuses[0].ContainerID = "containerd://again"
			Expect(c.Status().Patch(ctx, &pod, client.MergeFrom(before))).To(Succeed())
		}
		edit(set, image(0, "x:2"))
		Eventually(func() []grovev1alpha1.PodCliqueSetReplicaUpdate {
			if progress := get(in, "up", &grovev1alpha1.PodCliqueSet{}).Status.UpdateProgress; progress != nil {
				return progress.CurrentlyUpdating
			}
			return nil
		}).Should(HaveLen(1))
		Consistently(images(in)).Should(HaveEach(HaveSuffix("x:1")))
		Expect(get(in, "up", &grovev1alpha1.PodCliqueSet{}).Status.LastErrors).To(BeEmpty())

		By("letting it see")
		release()
		Eventually(images(in)).Should(ContainElement("a x:2"))
		Consistently(images(in)).Should(ContainElement("a x:1"))
		for _, pod := range podsOf(in, ofUp)() {
			if pod.Spec.Containers[0].Image == "x:2" {
				Expect(pod.Annotations).To(
					HaveKeyWithValue("packtree.dev/former-containers", ContainSubstring("containerd://again")))
			}
		}
		Expect(places(in)).To(Equal(standing))
	})
})

// places are the names, UIDs and nodes of all pods of the set.
func places(in string) []string {
	GinkgoHelper()
	var all []string
	for _, pod := range podsOf(in, ofUp)() {
		all = append(all, fmt.Sprintf("%s %s %s", pod.Name, pod.UID, pod.Spec.NodeName))
	}
	slices.Sort(all)
	return all
}
