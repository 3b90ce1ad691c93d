package schedulerserver_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	native "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/apiservertest"
)

// givenNativeGang creates a PodGroup of Kubernetes in one rack.
func givenNativeGang(namespace, name string, minCount int32) {
	GinkgoHelper()
	group := &native.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name}}
	group.Spec.SchedulingPolicy.Gang = &native.GangSchedulingPolicy{MinCount: minCount}
	group.Spec.SchedulingConstraints = &native.PodGroupSchedulingConstraints{
		Topology: []native.TopologyConstraint{{Key: rackLevel}},
	}
	_, err := kube.SchedulingV1alpha2().PodGroups(namespace).Create(ctx, group, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// nativePod returns a pod of a PodGroup of Kubernetes.
func nativePod(namespace, group, name string) *corev1.Pod {
	made := pod(namespace, "", "", name, 4)
	made.Labels["gang"], made.Spec.SchedulingGroup = group, &corev1.PodSchedulingGroup{PodGroupName: &group}
	return made
}

// told returns the conditions in the status of a PodGroup of Kubernetes: type, status and reason of each.
func told(namespace, name string) func() []string {
	return func() (told []string) {
		group, err := kube.SchedulingV1alpha2().PodGroups(namespace).Get(ctx, name, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		for _, condition := range group.Status.Conditions {
			told = append(told, fmt.Sprint(condition.Type, " ", condition.Status, " ", condition.Reason))
		}
		return told
	}
}

var _ = Describe("PodGroups of Kubernetes", Ordered, func() {
	BeforeAll(func() {
		beforeRest, beforeAccess, beforeConfig := restConfig, kubeconfig, config
		beforeKube, beforePacktree := kube, packtree
		cluster, err := apiservertest.StartWith(envtest.WebhookInstallOptions{}, map[string]string{
			"feature-gates":  "GenericWorkload=true,TopologyAwareWorkloadScheduling=true",
			"runtime-config": "scheduling.k8s.io/v1alpha2=true",
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() {
			restConfig, kubeconfig, config = beforeRest, beforeAccess, beforeConfig
			kube, packtree = beforeKube, beforePacktree
			Expect(cluster.Stop()).To(Succeed())
		})
		reach(cluster)
	})

	It("are gangs, and their status has the one condition of their version", func() {
		namespace := givenNamespace()
		startScheduler()
		givenTopology()
		givenRack("z1", "r1", 2, 4)
		givenRack("z1", "r2", 2, 8)

		givenNativeGang(namespace, "elsewhere", 1)
		elsewhere := nativePod(namespace, "elsewhere", "elsewhere")
		elsewhere.Spec.SchedulerName = "other"
		create(elsewhere)
		Expect(kube.CoreV1().Pods(namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: elsewhere.Name},
			Target:     corev1.ObjectReference{Kind: "Node", Name: "z1-r1-0"},
		}, metav1.CreateOptions{})).To(Succeed())

		By("binding none before all are there and the Topology of the level is clear, and all in one rack")
		second := &kai.Topology{ObjectMeta: metav1.ObjectMeta{Name: "second"}}
		second.Spec.Levels = []kai.TopologyLevel{{NodeLabel: rackLevel}}
		_, err := packtree.KaiV1alpha1().Topologies().Create(ctx, second, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		givenNativeGang(namespace, "fits", 3)
		for i := range 3 {
			Expect(placementOf(namespace, gangOf("fits"))).To(BeEmpty())
			create(nativePod(namespace, "fits", fmt.Sprintf("fits-%d", i)))
		}
		Eventually(told(namespace, "fits")).Should(HaveExactElements("PodGroupScheduled False Unschedulable"))
		Expect(packtree.KaiV1alpha1().Topologies().Delete(ctx, second.Name, metav1.DeleteOptions{})).To(Succeed())
		Expect(eventuallyBound(namespace, gangOf("fits"), 3).domains(rackLevel)).To(HaveExactElements("/r2"))
		Eventually(told(namespace, "fits")).Should(HaveExactElements("PodGroupScheduled True Scheduled"))

		By("saying why one does not fit, until it does; its pods were there first")
		for i := range 3 {
			create(nativePod(namespace, "large", fmt.Sprintf("large-%d", i)))
		}
		givenNativeGang(namespace, "large", 3)
		Eventually(told(namespace, "large")).Should(HaveExactElements("PodGroupScheduled False Unschedulable"))
		Eventually(toldWhy(namespace, "large-0")).Should(ContainSubstring("rack"))
		givenRack("z1", "r3", 3, 4)
		Expect(eventuallyBound(namespace, gangOf("large"), 3).domains(rackLevel)).To(HaveExactElements("/r3"))
		Eventually(told(namespace, "large")).Should(HaveExactElements("PodGroupScheduled True Scheduled"))

		By("saying nothing of one that another scheduler has placed")
		Expect(told(namespace, "elsewhere")()).To(BeEmpty())
	})
})
