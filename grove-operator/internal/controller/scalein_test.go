package controller_test

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

var _ = Describe("Scaling in", func() {
	It("takes the highest indexes, and leaves everything else as it is, whoever else scales", func() {
		in, set := running()
		scale(set, 2)
		settle(in, "2/2/2 AllReplicasAvailable")
		before := identities(in)
		By("scaling a set, a group and a clique at the same time, past stale copies of each other")
		for _, replicas := range []int32{3, 1, 2, 1} {
			scale(set.DeepCopy(), replicas)
			scale(get(in, "inf-0-sg", &grovev1alpha1.PodCliqueScalingGroup{}), replicas)
		}
		settle(in, "1/1/1 AllReplicasAvailable")
		Eventually(func() map[string]types.UID {
			end(in, nil)
			return identities(in)
		}).Should(Equal(without(before, "inf-1", "inf-0-sg-1")))
	})

	It("while an update holds takes first what stands nowhere, then what is not ready, then the old, then the newest",
		func() {
			in := namespace()
			createSet(in, `
metadata: {name: up}
spec:
  replicas: 1
  template:
    cliques: [{name: a, spec: {replicas: 5, minAvailable: 1, podSpec: {containers: [{name: main, image: "x:1"}]}}}]
`)
			Eventually(func() int32 {
				run(in, ofUp)
				found := &grovev1alpha1.PodClique{}
				_ = c.Get(ctx, client.ObjectKey{Namespace: in, Name: "up-0-a"}, found) // It need not be there yet.
				return found.Status.ReadyReplicas
			}).Should(
				BeEquivalentTo(5), "one is enough for the set to be available, but the order of an update needs all")
			Eventually(state(in, "up")).Should(Equal("1/1/1 AllReplicasAvailable"))
			clique := func() *grovev1alpha1.PodClique { return get(in, "up-0-a", &grovev1alpha1.PodClique{}) }
			// images are those of the pods that stay, by index, with a + if they are ready.
			images := func() []string {
				var words []string
				for _, pod := range podsOf(in, ofUp)() {
					word := pod.Labels["grove.io/podclique-pod-index"] + " " +
						strings.TrimPrefix(pod.Spec.Containers[0].Image, "x:")
					if conditions := pod.Status.Conditions; len(conditions) > 0 &&
						conditions[len(conditions)-1].Status == corev1.ConditionTrue {
						word += "+"
					}
					if pod.DeletionTimestamp == nil {
						words = append(words, word)
					}
				}
				slices.Sort(words)
				return words
			}
			settled := func() []string {
				end(in, ofUp)
				return images()
			}

			By("holding at a pod that stands nowhere")
			edit := client.RawPatch("application/json-patch+json",
				[]byte(`[{"op":"replace","path":"/spec/template/cliques/0/spec/podSpec/containers/0/image","value":"x:2"}]`))
			Expect(c.Patch(ctx, get(in, "up", &grovev1alpha1.PodCliqueSet{}), edit)).To(Succeed())
			Eventually(settled).Should(Equal([]string{"0 2", "1 1+", "2 1+", "3 1+", "4 1+"}))
			nowhere := podsOf(in, client.MatchingLabels{"grove.io/podclique-pod-index": "0"})()
			Expect(nowhere).To(HaveLen(1))
			scale(clique(), 4)
			Eventually(func() []string {
				end(in, ofUp)
				return uids(podsOf(in, ofUp)())
			}).ShouldNot(ContainElement(string(nowhere[0].UID)))

			By("being replaced one by one, at the lowest free index, until two have the new template and a third stands nowhere")
			Eventually(settled).Should(Equal([]string{"0 2", "2 1+", "3 1+", "4 1+"}))
			Eventually(func() []string { return gates(podsOf(in, ofUp)()) }).Should(HaveEach(""))
			run(in, ofUp)
			Eventually(settled).Should(Equal([]string{"0 2+", "1 2", "3 1+", "4 1+"}))
			Eventually(func() []string { return gates(podsOf(in, ofUp)()) }).Should(HaveEach(""))
			run(in, ofUp)
			Eventually(settled).Should(Equal([]string{"0 2+", "1 2+", "2 2", "4 1+"}))
			scale(clique(), 2)
			Eventually(settled).Should(Equal([]string{"0 2+", "1 2+"}),
				"the one that stood nowhere, and the old one, although it was ready")
			Eventually(func() bool {
				progress := get(in, "up", &grovev1alpha1.PodCliqueSet{}).Status.UpdateProgress
				return progress != nil && progress.UpdateEndedAt != nil
			}).Should(BeTrue())
			scale(clique(), 1)
			Eventually(settled).Should(Equal([]string{"0 2+"}), "the newest")
			Eventually(func() string {
				status := clique().Status
				return fmt.Sprint(status.Replicas, status.ReadyReplicas, status.UpdatedReplicas)
			}).Should(Equal("1 1 1"))
		})
})
