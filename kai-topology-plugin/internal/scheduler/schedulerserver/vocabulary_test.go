package schedulerserver_test

import (
	"fmt"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

const (
	topologyName = "cluster-topology"
	zoneLevel    = "topology/zone"
	rackLevel    = "topology/rack"
	gpu          = corev1.ResourceName("example.com/gpu")
)

// givenTopology creates a Topology of zones and racks.
func givenTopology() {
	GinkgoHelper()
	topology := &kai.Topology{ObjectMeta: metav1.ObjectMeta{Name: topologyName}}
	topology.Spec.Levels = []kai.TopologyLevel{{NodeLabel: zoneLevel}, {NodeLabel: rackLevel}}
	_, err := packtree.KaiV1alpha1().Topologies().Create(ctx, topology, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		err := packtree.KaiV1alpha1().Topologies().Delete(ctx, topologyName, metav1.DeleteOptions{})
		Expect(crclient.IgnoreNotFound(err)).To(Succeed())
	})
}

// givenRack creates the nodes of a rack, each with so many GPUs.
func givenRack(zone, rack string, nodes int, gpus int64) {
	GinkgoHelper()
	for i := range nodes {
		givenNode(zone, rack, i, gpus)
	}
}

// givenNode creates the node of a rack that has the number, which is gone after the spec.
func givenNode(zone, rack string, number int, gpus int64) {
	GinkgoHelper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("%s-%s-%d", zone, rack, number),
		Labels: map[string]string{zoneLevel: zone, rackLevel: rack,
			corev1.LabelHostname: fmt.Sprintf("%s-%s-%d", zone, rack, number)},
	}}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("64"),
		corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
		gpu:                   *resource.NewQuantity(gpus, resource.DecimalSI),
	}
	node.Status.Capacity = node.Status.Allocatable
	created, err := kube.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	// The API server taints new nodes until they are reported ready.
	created.Spec.Taints = nil
	_, err = kube.CoreV1().Nodes().Update(ctx, created, metav1.UpdateOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		Expect(crclient.IgnoreNotFound(kube.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{}))).To(Succeed())
	})
}

// givenNamespace creates a namespace, and deletes its pods and PodGroups after the spec: there is no controller to do
// it.
func givenNamespace() string {
	GinkgoHelper()
	namespace, err := kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "gangs-"},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		deletePods(namespace.Name, "")
		// Metrics count what waits in the whole cluster.
		Expect(packtree.SchedulingV2alpha2().PodGroups(namespace.Name).DeleteCollection(ctx, metav1.DeleteOptions{},
			metav1.ListOptions{})).To(Succeed())
	})
	return namespace.Name
}

func deletePods(namespace, selector string) {
	GinkgoHelper()
	Expect(kube.CoreV1().Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)},
		metav1.ListOptions{LabelSelector: selector})).To(Succeed())
}

func required(level string) *scheduling.TopologyConstraint {
	return &scheduling.TopologyConstraint{Topology: topologyName, RequiredTopologyLevel: level}
}

func preferred(level string) *scheduling.TopologyConstraint {
	return &scheduling.TopologyConstraint{Topology: topologyName, PreferredTopologyLevel: level}
}

func leaf(name string, minMember int32, constraint *scheduling.TopologyConstraint) scheduling.SubGroup {
	return scheduling.SubGroup{Name: name, MinMember: &minMember, TopologyConstraint: constraint}
}

func in(parent string, group scheduling.SubGroup) scheduling.SubGroup {
	group.Parent = &parent
	return group
}

// givenPodGroup creates a PodGroup of one leaf, or of the given groups.
func givenPodGroup(namespace, name string, spec scheduling.PodGroupSpec) {
	GinkgoHelper()
	givenRelatedPodGroup(namespace, name, "", spec)
}

// needing is a PodGroup of one leaf that needs so many pods, in such domains.
func needing(pods int32, constraint *scheduling.TopologyConstraint) scheduling.PodGroupSpec {
	return scheduling.PodGroupSpec{MinMember: &pods, TopologyConstraint: constraint}
}

// givenRelatedPodGroup creates one with relations; empty for none.
func givenRelatedPodGroup(namespace, name, relations string, spec scheduling.PodGroupSpec) {
	GinkgoHelper()
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
	if relations != "" {
		podGroup.Annotations = map[string]string{scheduling.AnnotationRelations: relations}
	}
	_, err := packtree.SchedulingV2alpha2().PodGroups(namespace).Create(ctx, podGroup, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// patchPodGroup changes a PodGroup while the scheduler may write its status.
func patchPodGroup(namespace, name, patch string) {
	GinkgoHelper()
	_, err := packtree.SchedulingV2alpha2().PodGroups(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// pod returns a pod that asks for GPUs. Gang and leaf may be empty.
func pod(namespace, gang, leaf, name string, gpus int64) *corev1.Pod {
	made := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"gang": gang}},
	}
	made.Spec.SchedulerName = kai.SchedulerName
	amount := *resource.NewQuantity(gpus, resource.DecimalSI)
	made.Spec.Containers = []corev1.Container{{
		Name: "worker", Image: "worker",
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{gpu: amount}, Limits: corev1.ResourceList{gpu: amount},
		},
	}}
	if gang != "" {
		made.Annotations = map[string]string{scheduling.AnnotationPodGroupName: gang}
	}
	if leaf != "" {
		made.Labels[kai.LabelSubGroupName] = leaf
	}
	return made
}

func create(made *corev1.Pod) {
	GinkgoHelper()
	_, err := kube.CoreV1().Pods(made.Namespace).Create(ctx, made, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// givenPods creates count pods of a leaf, named after it.
func givenPods(namespace, gang, leaf string, count int, gpus int64) {
	GinkgoHelper()
	prefix := gang
	if leaf != "" {
		prefix += "-" + leaf
	}
	for i := range count {
		create(pod(namespace, gang, leaf, fmt.Sprintf("%s-%d", prefix, i), gpus))
	}
}

// placement is the node of each pod of a gang that has one, and its labels.
type placement map[string]map[string]string

func placementOf(namespace, selector string) placement {
	GinkgoHelper()
	pods, err := kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	Expect(err).NotTo(HaveOccurred())
	found := placement{}
	for _, pod := range pods.Items {
		if pod.Spec.NodeName == "" {
			continue
		}
		node, err := kube.CoreV1().Nodes().Get(ctx, pod.Spec.NodeName, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		found[pod.Name] = node.Labels
	}
	return found
}

// domains are the distinct domains of a level in which the pods stand.
func (p placement) domains(levels ...string) []string {
	distinct := map[string]bool{}
	for _, labels := range p {
		path := ""
		for _, level := range levels {
			path += "/" + labels[level]
		}
		distinct[path] = true
	}
	return slices.Sorted(maps.Keys(distinct))
}

func gangOf(name string) string { return "gang=" + name }

func leafOf(gang, leaf string) string {
	return gangOf(gang) + "," + kai.LabelSubGroupName + "=" + leaf
}

// eventuallyBound waits until exactly count of the selected pods have a node.
func eventuallyBound(namespace, selector string, count int) placement {
	GinkgoHelper()
	var found placement
	Eventually(func() placement {
		found = placementOf(namespace, selector)
		return found
	}).Should(HaveLen(count), "pods with a node of %s", selector)
	return found
}

// scheduled returns the condition Scheduled of a PodGroup, the zero value if there is none.
func scheduled(namespace, name string) func() metav1.Condition {
	return func() metav1.Condition {
		podGroup, err := packtree.SchedulingV2alpha2().PodGroups(namespace).Get(ctx, name, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		if condition := meta.FindStatusCondition(podGroup.Status.Conditions,
			scheduling.ConditionScheduled); condition != nil {
			return *condition
		}
		return metav1.Condition{}
	}
}

func withReason(reason string) gomegatypes.GomegaMatcher { return HaveField("Reason", reason) }
