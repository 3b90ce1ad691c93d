package controller_test

import (
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// recorded lists the operator's events of a namespace as "object reason note", in order. The API server has others.
func recorded(in string) func() []string {
	return func() []string {
		GinkgoHelper()
		var list eventsv1.EventList
		Expect(c.List(ctx, &list, client.InNamespace(in))).To(Succeed())
		lines := []string{}
		for _, event := range list.Items {
			if event.ReportingController == "grove-operator" {
				lines = append(lines, fmt.Sprintf("%s %s %s", event.Regarding.Name, event.Reason, event.Note))
			}
		}
		return slices.Sorted(slices.Values(lines))
	}
}

// scheduledMessage is a PodClique's message about its scheduling.
func scheduledMessage(in, podClique string) func() string {
	return func() string {
		GinkgoHelper()
		found := &grovev1alpha1.PodClique{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: in, Name: podClique}, found); err != nil {
			return err.Error()
		}
		condition := meta.FindStatusCondition(found.Status.Conditions, grovev1alpha1.ConditionPodCliqueScheduled)
		if condition == nil {
			return "nothing yet"
		}
		return condition.Message
	}
}

var _ = Describe("What a workload reports", func() {
	const manifest = `
metadata: {name: s}
spec:
  replicas: 1
  template:
    cliques:
      - {name: a, spec: {replicas: 2, podSpec: {containers: [{name: c, image: i}], schedulingGates: [{name: example.com/hold}]}}}
      - {name: b, spec: {podSpec: {containers: [{name: c, image: i}]}}}
    podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 2, minAvailable: 1}]
`

	It("says why pods are gated, and when they no longer are", func() {
		in := namespace()
		createSet(in, manifest)
		Eventually(scheduledMessage(in, "s-0-a")).Should(
			Equal("0 pods are scheduled, 2 are needed; pods with gates that others put on them (example.com/hold): 2"))
		Eventually(scheduledMessage(in, "s-0-g-1-b")).Should(
			Equal(
				"0 pods are scheduled, 1 are needed; pods waiting until every group of the base gang s-0 has its minimum on " +
					"nodes: 1"))
		Eventually(scheduledMessage(in, "s-0-g-0-b")).Should(Equal("0 pods are scheduled, 1 are needed"))
		for _, pod := range podsOf(in, client.MatchingLabels{grovev1alpha1.LabelPodClique: "s-0-a"})() {
			patch(&pod, `{"spec":{"schedulingGates":null}}`)
		}
		run(in, client.MatchingLabels{grovev1alpha1.LabelPodGang: "s-0"})
		Eventually(scheduledMessage(in, "s-0-a")).Should(Equal("2 pods are scheduled, 2 are needed"))
		Eventually(scheduledMessage(in, "s-0-g-1-b")).Should(Equal("0 pods are scheduled, 1 are needed"))
	})

	It("reports by events what happened, once", func() {
		in := namespace()
		set := createSet(in, manifest)
		born := []string{
			"s ScaledOut created 2 PodCliques and PodCliqueScalingGroups; 1 replicas are wanted",
			"s-0-a PodsCreated created 2 pods; 2 are wanted",
			"s-0-g ScaledOut created 2 PodCliques; 2 copies are wanted",
			"s-0-g-0-b PodsCreated created 1 pods; 1 are wanted",
			"s-0-g-1-b PodsCreated created 1 pods; 1 are wanted",
		}
		Eventually(recorded(in)).Should(Equal(born))

		By("running the base gang, which the scaled one waits for")
		Eventually(scheduledMessage(in, "s-0-a")).Should(
			ContainSubstring("gates that others put on them (example.com/hold): 2"))
		Eventually(scheduledMessage(in, "s-0-g-0-b")).Should(Equal("0 pods are scheduled, 1 are needed"))
		for _, pod := range podsOf(in, client.MatchingLabels{grovev1alpha1.LabelPodClique: "s-0-a"})() {
			patch(&pod, `{"spec":{"schedulingGates":null}}`)
		}
		run(in, client.MatchingLabels{grovev1alpha1.LabelPodGang: "s-0"})
		Eventually(recorded(in)).Should(
			ContainElement("s-0-g-1-b GatesOpened 1 pods may be scheduled: PodGang s-0-g-0 lists them"))

		By("scaling in")
		scale(get(in, "s-0-g", &grovev1alpha1.PodCliqueScalingGroup{}), 1)
		Eventually(recorded(in)).Should(ContainElement("s-0-g ScaledIn deleted 1 PodCliques; 1 copies are wanted"))
		patch(set, `{"metadata":{"labels":{"touched":"true"}}}`)
		Consistently(recorded(in)).Should(HaveLen(len(born) + 2))
	})

	It("reports an error once, keeps it in lastErrors while it lasts, and drops it when it is cured", func() {
		in := namespace()
		taken := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: "s-0"},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		Expect(c.Create(ctx, taken)).To(Succeed())
		set := createSet(in, manifest)
		errorsOf := func() []grovev1alpha1.LastError {
			return get(in, "s",
				&grovev1alpha1.PodCliqueSet{}).Status.LastErrors
		}
		Eventually(errorsOf).Should(ConsistOf(HaveField("Code", "NameTaken")))
		const refusal = "s ReconcileFailed applying Service s-0: Service s-0 exists and belongs to no controller, " +
			"not to PodCliqueSet s; remove or rename it"
		Eventually(recorded(in)).Should(ContainElement(refusal))
		Expect(c.Delete(ctx, taken)).To(Succeed())
		scale(set, 2) // This event ends the wait for the next retry.
		Eventually(errorsOf).Should(BeEmpty())
		Expect(slices.DeleteFunc(recorded(in)(), func(line string) bool { return line != refusal })).To(HaveLen(1))
	})

	It("says that another set has the name of its gang", func() {
		in := namespace()
		createSet(in, manifest)
		Eventually(gangPhases(in)).Should(HaveKey("s-0-g-0"))
		createSet(in, `{metadata: {name: s-0-g}, spec: {replicas: 1, template: {cliques: [{name: a}]}}}`)
		Eventually(func() []grovev1alpha1.LastError {
			return get(in, "s-0-g", &grovev1alpha1.PodCliqueSet{}).Status.LastErrors
		}).Should(ConsistOf(HaveField("Description",
			"PodGang s-0-g-0 exists and belongs to PodCliqueSet s, not to PodCliqueSet s-0-g; remove or rename it")))
	})

	It("says that a level of the topology has gone, and that it is back", func() {
		in := namespace()
		DeferCleanup(func() { start(levels("zone", "rack", "host")) })
		createSet(in, `
metadata: {name: s}
spec:
  replicas: 1
  template:
    topologyConstraint: {packDomain: rack}
    cliques: [{name: a, spec: {podSpec: {containers: [{name: c, image: i}]}}}]
`)
		Eventually(recorded(in)).Should(ContainElement(HavePrefix("s ScaledOut")))
		Eventually(func() []metav1.Condition {
			return get(in, "s", &grovev1alpha1.PodCliqueSet{}).Status.Conditions
		}).Should(ContainElement(HaveField("Reason", grovev1alpha1.ReasonAllClusterTopologyLevelsAvailable)))
		start(levels("zone", "host"))
		Eventually(recorded(in)).Should(ContainElement(HavePrefix("s TopologyUnavailable")))
		start(levels("zone", "rack", "host"))
		Eventually(recorded(in)).Should(ContainElement(HavePrefix("s TopologyAvailable")))
	})
})
