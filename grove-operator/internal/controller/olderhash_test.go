package controller_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/podtemplate"
)

var _ = Describe("An operator that sums templates up in another way than the one before", func() {
	It("replaces no pod, whichever operator wrote the hashes, and counts pods of both as updated", func() {
		in := namespace()
		createSet(in, `
metadata: {name: up}
spec:
  replicas: 2
  template:
    cliques: [{name: a, spec: {replicas: 2, minAvailable: 1, podSpec: {restartPolicy: Always, containers: [{name: main, image: "x:1"}]}}}]
`)
		runs(in, "up", "2/2/2 AllReplicasAvailable")
		before := uids(podsOf(in, ofUp)())

		By("storing what the one before did")
		stopOperator()
		stopOperator = nil
		set := get(in, "up", &grovev1alpha1.PodCliqueSet{})
		known := podtemplate.KnownHashes(set, &set.Spec.Template.Cliques[0])
		older := known[len(known)-1]
		Expect(older).NotTo(Equal(known[0]), "the written default makes the difference")
		relabel := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil,
			`{"metadata":{"labels":{"grove.io/pod-template-hash":%q},"annotations":{"packtree.dev/pod-template":null}}}`, older))
		for _, pod := range podsOf(in, ofUp)() {
			Expect(c.Patch(ctx, &pod, relabel)).To(Succeed())
		}
		for _, name := range []string{"up-0-a", "up-1-a"} {
			podClique := get(in, name, &grovev1alpha1.PodClique{})
			Expect(c.Patch(ctx, podClique, relabel)).To(Succeed())
			Expect(c.Status().Patch(ctx, podClique, client.RawPatch("application/merge-patch+json",
				fmt.Appendf(nil, `{"status":{"currentPodTemplateHash":%q}}`, older)))).To(Succeed())
		}

		By("starting this one")
		start(levels("zone", "rack", "host"))
		Eventually(
			func() map[string]string { return get(in, "up-0-a", &grovev1alpha1.PodClique{}).Annotations }).Should(
			HaveKey("packtree.dev/pod-template"), "what the one before did not write down")
		Consistently(func() []string { return uids(podsOf(in, ofUp)()) }).Should(ConsistOf(before))
		Expect(get(in, "up-0-a", &grovev1alpha1.PodClique{}).Labels).To(
			HaveKeyWithValue("grove.io/pod-template-hash", older))

		By("losing a pod")
		lost := podsOf(in, client.MatchingLabels{"grove.io/podclique": "up-0-a"})()[0]
		Expect(c.Delete(ctx, &lost, client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(func() string {
			run(in, ofUp)
			podClique := get(in, "up-0-a", &grovev1alpha1.PodClique{}).Status
			set := get(in, "up", &grovev1alpha1.PodCliqueSet{}).Status
			return fmt.Sprint(podClique.ReadyReplicas, podClique.UpdatedReplicas, set.UpdatedReplicas,
				set.UpdateProgress == nil)
		}).Should(Equal("2 2 2 true"))
		for _, pod := range podsOf(in, ofUp)() {
			Expect(pod.Labels).To(HaveKeyWithValue("grove.io/pod-template-hash", older))
		}
	})

	It("takes pods of both for pods of one template", func() {
		in := namespace()
		set := createSet(in, `
metadata: {name: up}
spec:
  replicas: 1
  updateStrategy: {type: OnDelete}
  template:
    cliques: [{name: a, spec: {replicas: 2, minAvailable: 1, podSpec: {restartPolicy: Always, containers: [{name: main, image: "x:1"}]}}}]
`)
		Eventually(podsOf(in, ofUp)).Should(HaveLen(2))
		known := podtemplate.KnownHashes(set, &set.Spec.Template.Cliques[0])
		pod := podsOf(in, ofUp)()[0]
		patch(&pod, fmt.Sprintf(`{"metadata":{"labels":{"grove.io/pod-template-hash":%q}}}`, known[len(known)-1]))
		Eventually(func() string {
			run(in, ofUp)
			podClique := get(in, "up-0-a", &grovev1alpha1.PodClique{}).Status
			set := get(in, "up", &grovev1alpha1.PodCliqueSet{}).Status
			return fmt.Sprint(podClique.ReadyReplicas, podClique.UpdatedReplicas, set.UpdatedReplicas,
				podClique.CurrentPodTemplateHash != nil)
		}).Should(Equal("2 2 1 true"))
		Consistently(
			func() int32 { return get(in, "up-0-a", &grovev1alpha1.PodClique{}).Status.UpdatedReplicas }).Should(
			BeEquivalentTo(2))
	})
})
