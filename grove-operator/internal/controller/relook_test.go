package controller_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
)

// A pod becomes unready and ready again before the operator sees the status that it has written in between: the next
// status equals the old one that it still sees.
var _ = Describe("A status of which the operator's view is behind", Ordered, func() {
	way := &lag{}

	BeforeAll(func() {
		startThrough(way.through(rcfg), levels("zone", "rack", "host"))
		DeferCleanup(func() { start(levels("zone", "rack", "host")) })
	})

	DescribeTable("is right in the end", func(resource string, readyIn func(in string) int32) {
		in := namespace()
		createSet(in, `
metadata: {name: s}
spec:
  replicas: 1
  template:
    cliques: [{name: w, spec: {replicas: 1}}]
    podCliqueScalingGroups: [{name: g, cliqueNames: [w]}]
`)
		members := client.MatchingLabels{grovev1alpha1.LabelPartOf: "s"}
		ready := func() int32 { return readyIn(in) }
		gang := func() schedulerv1alpha1.PodGangPhase {
			return get(in, "s-0", &schedulerv1alpha1.PodGang{}).Status.Phase
		}
		runs(in, "s", "1/1/1 AllReplicasAvailable")
		Eventually(ready).Should(BeEquivalentTo(1))
		pod := podsOf(in, members)()[0]

		sees(get(in, "s-0-g-0-w", &grovev1alpha1.PodClique{}), get(in, "s-0-g", &grovev1alpha1.PodCliqueScalingGroup{}))
		release := way.hold(watched(resource))
		defer release()
		setReady(&pod, corev1.ConditionFalse)
		Eventually(ready).Should(BeZero())
		setReady(&pod, corev1.ConditionTrue)
		Eventually(gang).Should(Equal(schedulerv1alpha1.PodGangPhaseRunning),
			"the operator has seen that the pod is ready")
		Consistently(ready).Should(BeZero(), "the operator takes the status for what it was")
		release()
		Eventually(ready).Should(BeEquivalentTo(1))
	},
		Entry("of a PodClique", "podcliques", func(in string) int32 {
			return get(in, "s-0-g-0-w", &grovev1alpha1.PodClique{}).Status.ReadyReplicas
		}),
		Entry("of a PodCliqueScalingGroup", "podcliquescalinggroups", func(in string) int32 {
			return get(in, "s-0-g", &grovev1alpha1.PodCliqueScalingGroup{}).Status.AvailableReplicas
		}),
	)

	It("is right in the end if another client wrote it", func() {
		in := namespace()
		set := createSet(in,
			`{metadata: {name: s}, spec: {replicas: 1, template: {cliques: [{name: w, spec: {replicas: 1}}]}}}`)
		runs(in, "s", "1/1/1 AllReplicasAvailable")
		Expect(c.Status().Patch(ctx, set,
			client.RawPatch(types.MergePatchType, []byte(`{"status":{"availableReplicas":0}}`)))).To(Succeed())
		Expect(set.Status).To(And(HaveField("Replicas", BeEquivalentTo(1)), HaveField("AvailableReplicas", BeZero())),
			"that is what was stored")
		Eventually(state(in, "s")).Should(Equal("1/1/1 AllReplicasAvailable"))
	})
})
