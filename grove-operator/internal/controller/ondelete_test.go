package controller_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// For the user these are two steps: the set is changed, and then a pod is deleted.
var _ = Describe("A pod of a set with OnDelete that a user deletes right after an edit", Ordered, func() {
	way := &lag{}
	var in string
	var set *grovev1alpha1.PodCliqueSet
	alone := client.MatchingLabels{"grove.io/podclique": "late-0-a"}
	ofGroup := client.MatchingLabels{"grove.io/podclique": "late-0-g-0-w"}

	BeforeAll(func() {
		startThrough(way.through(rcfg), levels("zone", "rack", "host"))
		DeferCleanup(func() { start(levels("zone", "rack", "host")) })
	})
	BeforeEach(func() {
		in = namespace()
		set = createSet(in, `
metadata: {name: late}
spec:
  replicas: 1
  updateStrategy: {type: OnDelete}
  template:
    cliques:
      - {name: a, spec: {replicas: 1, podSpec: {containers: [{name: main, image: "x:1"}]}}}
      - {name: w, spec: {replicas: 1, podSpec: {containers: [{name: main, image: "x:1"}]}}}
    podCliqueScalingGroups: [{name: g, cliqueNames: [w]}]
`)
		runs(in, "late", "1/1/1 AllReplicasAvailable")
	})
	edit := func() {
		GinkgoHelper()
		patch(set, `[{"op":"replace","path":"/spec/template/cliques/0/spec/podSpec/containers/0/image","value":"x:2"},
			{"op":"replace","path":"/spec/template/cliques/1/spec/podSpec/containers/0/image","value":"x:2"}]`)
	}
	images := func(of client.MatchingLabels) func() []string {
		return func() []string {
			var images []string
			for _, pod := range podsOf(in, of)() {
				images = append(images, pod.Spec.Containers[0].Image)
			}
			return images
		}
	}
	lose := func() {
		GinkgoHelper()
		for _, of := range []client.MatchingLabels{alone, ofGroup} {
			for _, pod := range podsOf(in, of)() {
				Expect(c.Delete(ctx, &pod, client.GracePeriodSeconds(0))).To(Succeed())
			}
		}
	}
	comesBackNewOnly := func(release func()) {
		GinkgoHelper()
		defer release()
		for _, of := range []client.MatchingLabels{alone, ofGroup} {
			Eventually(func() int32 {
				return get(in, of["grove.io/podclique"], &grovev1alpha1.PodClique{}).Status.Replicas
			}).Should(BeZero(), "the operator has seen that the pod is gone")
			Consistently(images(of)).Should(BeEmpty())
		}
		release()
		for _, of := range []client.MatchingLabels{alone, ofGroup} {
			Eventually(images(of)).Should(Equal([]string{"x:2"}))
		}
	}

	It("has the new template while the operator's view of the set is behind", func() {
		release := way.hold(watched("podcliquesets"))
		edit()
		lose()
		comesBackNewOnly(release)
	})

	It("has the new template while the operator's view of the PodClique is behind", func() {
		names := []string{"late-0-a", "late-0-g-0-w"}
		goOn := way.hold(changed("podcliques"))
		defer goOn()
		edit()
		for _, name := range names { // A change of what the cache shows as it was before would be a conflict.
			Eventually(func(g Gomega) {
				seen := &grovev1alpha1.PodClique{}
				g.Expect(cached.Get(ctx, client.ObjectKey{Namespace: in, Name: name}, seen)).To(Succeed())
				g.Expect(seen.Status.UpdatedReplicas).To(BeZero())
				g.Expect(seen.ResourceVersion).To(Equal(get(in, name, &grovev1alpha1.PodClique{}).ResourceVersion))
			}).Should(Succeed())
		}
		release := way.hold(watched("podcliques"))
		goOn()
		for _, name := range names {
			Eventually(func() string {
				return get(in, name, &grovev1alpha1.PodClique{}).Spec.PodSpec.Containers[0].Image
			}).Should(Equal("x:2"), "the operator has changed what it does not see yet")
		}
		lose()
		comesBackNewOnly(release)
	})

	It("has the new template while the operator has yet to change the PodClique", func() {
		release := way.hold(changed("podcliques"))
		edit()
		lose()
		comesBackNewOnly(release)
	})

	It("has the new template where the operator ends before it has seen any of it", func() {
		stopOperator()
		stopOperator = nil
		edit()
		lose()
		release := way.hold(changed("podcliques"))
		startThrough(way.through(rcfg), levels("zone", "rack", "host"))
		comesBackNewOnly(release)
	})

	DescribeTable("comes back as it was before its PodClique was changed", func(instead string) {
		release := way.hold(changed("podcliques"))
		defer release()
		edit()
		lose()
		for _, of := range []client.MatchingLabels{alone, ofGroup} {
			Eventually(func() int32 {
				return get(in, of["grove.io/podclique"], &grovev1alpha1.PodClique{}).Status.Replicas
			}).Should(BeZero())
			Consistently(images(of)).Should(BeEmpty())
		}
		patch(set, instead)
		for _, of := range []client.MatchingLabels{alone, ofGroup} {
			Eventually(images(of)).Should(Equal([]string{"x:1"}))
		}
	},
		Entry("if the edit is taken back",
			`[{"op":"replace","path":"/spec/template/cliques/0/spec/podSpec/containers/0/image","value":"x:1"},
			{"op":"replace","path":"/spec/template/cliques/1/spec/podSpec/containers/0/image","value":"x:1"}]`),
		Entry("if its turn is to come by another strategy",
			`[{"op":"replace","path":"/spec/updateStrategy/type","value":"RollingRecreate"}]`),
	)
})
