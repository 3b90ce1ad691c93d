package schedulerserver_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// givenZoneKind has the API server serve NodeResourceTopologies, as an agent's chart does.
func givenZoneKind() {
	GinkgoHelper()
	definitions := dynamic.NewForConfigOrDie(restConfig).Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	made := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{
			"name":        "noderesourcetopologies.topology.node.k8s.io",
			"annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, a test"},
		},
		"spec": map[string]any{
			"group": "topology.node.k8s.io", "scope": "Cluster",
			"names": map[string]any{"kind": "NodeResourceTopology", "plural": "noderesourcetopologies"},
			"versions": []any{map[string]any{
				"name": "v1alpha2", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}}
	_, err := definitions.Create(ctx, made, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		Expect(definitions.Delete(ctx, made.GetName(), metav1.DeleteOptions{})).To(Succeed())
		Eventually(func() error {
			_, err := definitions.Get(ctx, made.GetName(), metav1.GetOptions{})
			return err
		}).Should(MatchError(apierrors.IsNotFound, "the kind is gone"))
	})
}

// reportZones has an agent write what the zones of a node have.
func reportZones(node, policy string, gpus ...int) {
	GinkgoHelper()
	var zones []any
	for i, count := range gpus {
		amount := fmt.Sprint(count)
		zones = append(zones, map[string]any{"name": fmt.Sprintf("node-%d", i), "type": "Node", "resources": []any{
			map[string]any{"name": string(gpu), "capacity": amount, "allocatable": amount, "available": amount},
		}})
	}
	reported := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology",
		"metadata": map[string]any{"name": node}, "zones": zones,
		"attributes": []any{map[string]any{"name": "topologyManagerPolicy", "value": policy}},
	}}
	objects := dynamic.NewForConfigOrDie(restConfig).Resource(schema.GroupVersionResource{
		Group: "topology.node.k8s.io", Version: "v1alpha2", Resource: "noderesourcetopologies",
	})
	Eventually(func() error {
		_, err := objects.Apply(ctx, node, reported, metav1.ApplyOptions{FieldManager: "agent", Force: true})
		return err
	}).Should(Succeed(), "the kind may not be served yet")
}

func givenZonedTopology() string {
	GinkgoHelper()
	topology := &kai.Topology{ObjectMeta: metav1.ObjectMeta{Name: "zoned"}}
	topology.Spec.Levels = []kai.TopologyLevel{
		{NodeLabel: zoneLevel}, {NodeLabel: corev1.LabelHostname}, {NodeLabel: "example.com/any", Alias: "numa"},
	}
	_, err := packtree.KaiV1alpha1().Topologies().Create(ctx, topology, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		Expect(packtree.KaiV1alpha1().Topologies().Delete(ctx, topology.Name, metav1.DeleteOptions{})).To(Succeed())
	})
	return topology.Name
}

// toldWhy is what a pod's condition says of why it has no node.
func toldWhy(namespace, name string) func() string {
	return func() string {
		found, err := kube.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		for _, condition := range found.Status.Conditions {
			if condition.Type == corev1.PodScheduled {
				return condition.Message
			}
		}
		return ""
	}
}

var _ = Describe("NUMA zones", func() {
	It("decide where pods go, from when an agent reports them on", func() {
		namespace, first, second := givenNamespace(), "z1-numa-0", "z1-numa-1"
		startScheduler()
		givenRack("z1", "numa", 2, 8)
		givenPodGroup(namespace, "aligned", scheduling.PodGroupSpec{
			MinMember:          ptr.To[int32](1),
			TopologyConstraint: &scheduling.TopologyConstraint{Topology: givenZonedTopology(), RequiredTopologyLevel: "numa"},
		})
		create(pod(namespace, "aligned", "", "aligned", 2))
		Eventually(scheduled(namespace, "aligned")).Should(And(withReason(scheduling.ReasonInfeasible),
			HaveField("Message", ContainSubstring("2 nodes excluded by no NodeResourceTopology"))))

		givenPodGroup(namespace, "early", needing(1, nil))
		create(pod(namespace, "early", "", "early", 3))
		eventuallyBound(namespace, gangOf("early"), 1)
		deletePods(namespace, gangOf("early"))

		By("waking what waits for zones")
		givenZoneKind()
		reportZones(second, "best-effort", 4, 4)
		reportZones(first, "single-numa-node", 4, 4)
		eventuallyBound(namespace, gangOf("aligned"), 1)
		Expect(nodeOf(namespace, "aligned")).To(Equal(first))
		Eventually(func() []scheduling.SubGroupStatus { return podGroupOf(namespace, "aligned").Status.SubGroups }).Should(
			ContainElement(HaveField("Domains", HaveKeyWithValue("example.com/any", HaveExactElements("z1/"+first+"/node-0")))))

		By("sending no pod to a node whose kubelet would reject it")
		for i := range 3 {
			create(pod(namespace, "", "", fmt.Sprintf("plain-%d", i), 3))
		}
		eventuallyBound(namespace, "", 4)
		create(pod(namespace, "", "", "late", 3))
		Eventually(toldWhy(namespace, "late")).Should(ContainSubstring("NUMA zones too full"))

		By("planning no gang there, not even one that is like another before zones were known")
		givenPodGroup(namespace, "crowded", needing(1, nil))
		create(pod(namespace, "crowded", "", "crowded", 3))
		Eventually(scheduled(namespace, "crowded")).Should(And(withReason(scheduling.ReasonInfeasible),
			HaveField("Message", ContainSubstring("NUMA zones too full"))))

		By("avoiding a node whose kubelet has rejected a pod, until its zones change")
		givenPodGroup(namespace, "stubborn", needing(1, nil))
		stubborn := func(name string) *corev1.Pod {
			made := pod(namespace, "stubborn", "", name, 1)
			made.Spec.NodeSelector = map[string]string{corev1.LabelHostname: first}
			return made
		}
		create(stubborn("rejected"))
		eventuallyBound(namespace, gangOf("stubborn"), 1)
		found, err := kube.CoreV1().Pods(namespace).Get(ctx, "rejected", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		found.Status.Phase, found.Status.Reason = corev1.PodFailed, "TopologyAffinityError"
		found.Status.Message = "Pod was rejected: Resources cannot be allocated with Topology locality"
		_, err = kube.CoreV1().Pods(namespace).UpdateStatus(ctx, found, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		create(stubborn("next"))
		Eventually(scheduled(namespace, "stubborn")).Should(HaveField("Message",
			ContainSubstring("1 node excluded by a kubelet that rejected such a pod for its NUMA zones")))
		Eventually(func() []eventsv1.Event { return eventsOn(namespace, "PodGroup", "stubborn") }).Should(ContainElement(And(
			HaveField("Reason", "ZoneMispredicted"),
			HaveField("Note", And(ContainSubstring("the kubelet of node "+first+" rejected pod rejected"),
				ContainSubstring("for which NUMA zone node-"), ContainSubstring(found.Status.Message))))))
		reportZones(first, "single-numa-node", 4, 3)
		Eventually(func() string { return nodeOf(namespace, "next") }).Should(Equal(first))
	})

	It("are cleared one at a time by preemption, of gangs and of plain pods", func() {
		namespace, node := givenNamespace(), "z1-crowd-0"
		givenPriorities()
		givenZoneKind()
		givenRack("z1", "crowd", 1, 8)
		reportZones(node, "single-numa-node", 4, 4)
		startScheduler()
		for i := range 8 {
			made := pod(namespace, "", "", fmt.Sprintf("low-%d", i), 1)
			made.Labels["crowd"], made.Spec.TerminationGracePeriodSeconds = "low", ptr.To[int64](0)
			create(made)
		}
		eventuallyBound(namespace, "crowd=low", 8)

		By("making room for a gang")
		givenPodGroup(namespace, "vip", needing(1, nil))
		create(important(high, pod(namespace, "vip", "", "vip", 2)))
		eventuallyBound(namespace, gangOf("vip"), 1)
		Expect(podsOf(namespace, "crowd=low")).To(HaveLen(6))

		By("making room for a plain pod")
		plain := pod(namespace, "", "", "plain", 2)
		plain.Labels["crowd"] = "high"
		create(important(high, plain))
		eventuallyBound(namespace, "crowd=high", 1)
		Expect(podsOf(namespace, "crowd=low")).To(HaveLen(4))
	})
})
