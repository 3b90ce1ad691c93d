package schedulerserver_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// wrong is a PodGroup that is not as it should be, and what has to be said about it.
type wrong struct {
	name string
	spec scheduling.PodGroupSpec
	// pods makes its pods, if it has any.
	pods func(namespace, name string)
	// reason is that of the condition and of an event, which both say all of says.
	reason string
	says   []string
}

func twoPods(leaf string) func(namespace, name string) {
	return func(namespace, name string) { givenPods(namespace, name, leaf, 2, 1) }
}

func constrained(topology, level string) scheduling.PodGroupSpec {
	return scheduling.PodGroupSpec{
		MinMember:          ptr.To[int32](2),
		TopologyConstraint: &scheduling.TopologyConstraint{Topology: topology, RequiredTopologyLevel: level},
	}
}

// allWrong is each way in which a PodGroup may be wrong, by others than our webhooks let through. What may be wrong in
// its tree has rows in package podgrouptree.
var allWrong = []wrong{
	{
		name: "unknown-topology", spec: constrained("another", rackLevel), pods: twoPods(""),
		reason: scheduling.ReasonInvalid,
		says: []string{"spec.topologyConstraint.topology", `"another"`,
			"no Topology has this name: create it, or name another"},
	},
	{
		name: "two-minima", reason: scheduling.ReasonInvalid, pods: twoPods("x"),
		spec: scheduling.PodGroupSpec{
			MinMember: ptr.To[int32](2), MinSubGroup: ptr.To[int32](1),
			SubGroups: []scheduling.SubGroup{leaf("x", 2, nil)},
		},
		says: []string{"spec.minSubGroup", "minMember and minSubGroup exclude each other"},
	},
	{
		name: "unknown-leaf", reason: scheduling.ReasonIncomplete, pods: twoPods("y"),
		spec: scheduling.PodGroupSpec{SubGroups: []scheduling.SubGroup{leaf("x", 2, nil)}},
		says: []string{"subgroup x has 0 of 2",
			`pod unknown-leaf-y-0 names subgroup "y", which is no leaf of the PodGroup (and 1 more)`,
			"kai.scheduler/subgroup-name", "x"},
	},
	{
		name: "without-pods", reason: scheduling.ReasonIncomplete,
		spec: needing(2, nil),
		says: []string{"the PodGroup has 0 of 2", "pod-group-name"},
	},
	{
		name: "mixed-schedulers", reason: scheduling.ReasonIncomplete,
		spec: needing(2, nil),
		pods: func(namespace, name string) {
			givenPods(namespace, name, "", 1, 1)
			foreign := pod(namespace, name, "", name+"-foreign", 1)
			foreign.Spec.SchedulerName = "somebody-else"
			create(foreign)
		},
		says: []string{"the PodGroup has 1 of 2", "mixed-schedulers-foreign", "somebody-else"},
	},
}

var _ = Describe("a PodGroup that is wrong", func() {
	It("is told where and what to do, in a condition and an event, and holds up nobody", func() {
		namespace := givenNamespace()
		givenTopology()
		givenNoRulesInTheDefinition()
		givenRack("z1", "r1", 2, 2)
		for _, bad := range allWrong {
			givenPodGroup(namespace, bad.name, bad.spec)
			if bad.pods != nil {
				bad.pods(namespace, bad.name)
			}
		}
		startScheduler()
		givenPodGroup(namespace, "good",
			scheduling.PodGroupSpec{SubGroups: []scheduling.SubGroup{leaf("x", 2, required(rackLevel))}})
		givenPods(namespace, "good", "x", 2, 1)
		create(pod(namespace, "good", "y", "good-stray", 1))
		eventuallyBound(namespace, gangOf("good"), 2)
		Eventually(scheduled(namespace, "good")).Should(And(withReason(scheduling.ReasonPlaced),
			HaveField("Message", ContainSubstring(`pod good-stray names subgroup "y"`))))

		for _, bad := range allWrong {
			says := []gomegatypes.GomegaMatcher{withReason(bad.reason), HaveField("Status", metav1.ConditionFalse)}
			for _, part := range bad.says {
				says = append(says, HaveField("Message", ContainSubstring(part)))
			}
			Eventually(scheduled(namespace, bad.name)).Should(And(says...), bad.name)
			message := scheduled(namespace, bad.name)().Message
			Eventually(func() []eventsv1.Event { return eventsOn(namespace, "PodGroup", bad.name) }).Should(
				ContainElement(And(HaveField("Type", corev1.EventTypeWarning), HaveField("Reason", bad.reason),
					HaveField("Note", message))), bad.name)
			Expect(eventsOn(namespace, "PodGroup", bad.name)).To(
				HaveEach(HaveField("Reason", Or(Equal(bad.reason), Equal("UnknownSubGroup")))), bad.name)
			Expect(placementOf(namespace, gangOf(bad.name))).To(BeEmpty(), bad.name)
		}
		for _, stray := range []string{"good-stray", "unknown-leaf-y-0", "unknown-leaf-y-1"} {
			Eventually(func() []eventsv1.Event { return eventsOn(namespace, "Pod", stray) }).Should(
				HaveExactElements(HaveField("Reason", "UnknownSubGroup")), stray)
		}
	})
})

func eventsOn(namespace, kind, name string) []eventsv1.Event {
	GinkgoHelper()
	var found []eventsv1.Event
	for _, event := range eventsAbout(namespace, kind) {
		if event.Regarding.Name == name {
			found = append(found, event)
		}
	}
	return found
}

// givenNoRulesInTheDefinition removes the validation rules from the CRD of PodGroups, as in a cluster with another CRD.
func givenNoRulesInTheDefinition() {
	GinkgoHelper()
	definitions := dynamic.NewForConfigOrDie(restConfig).Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	original, err := definitions.Get(ctx, "podgroups.scheduling.run.ai", metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	const spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec"
	var removals []string
	for _, at := range []string{spec, spec + "/properties/subGroups/items"} {
		removals = append(removals, `{"op": "remove", "path": "`+at+`/x-kubernetes-validations"}`)
	}
	_, err = definitions.Patch(ctx, original.GetName(), types.JSONPatchType, []byte("["+strings.Join(removals, ",")+"]"),
		metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		Eventually(func() error { // Controllers of the API server write its status at any time.
			latest, err := definitions.Get(ctx, original.GetName(), metav1.GetOptions{})
			Expect(err).NotTo(HaveOccurred())
			original.SetResourceVersion(latest.GetResourceVersion())
			_, err = definitions.Update(ctx, original, metav1.UpdateOptions{})
			return err
		}).Should(Succeed())
	})
	Eventually(func() error {
		_, err := packtree.SchedulingV2alpha2().PodGroups("default").Create(ctx, &scheduling.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Name: "probe"},
			Spec:       scheduling.PodGroupSpec{MinMember: ptr.To[int32](1), MinSubGroup: ptr.To[int32](1)},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}).Should(Succeed())
}
