package schedulerserver_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/apiservertest"
)

// nativeVersion is what PodGroups are in one version of Kubernetes.
type nativeVersion struct {
	// group is the version of the API that has PodGroups, and composite the one that has CompositePodGroups, if any.
	group, composite string
	// condition is the type of the one condition.
	condition string
	// flags are those of the API server.
	flags map[string]string
}

var (
	nativeVersions = map[uint]nativeVersion{
		36: {group: "v1alpha2", condition: "PodGroupScheduled", flags: map[string]string{
			"feature-gates":  "GenericWorkload=true,TopologyAwareWorkloadScheduling=true",
			"runtime-config": "scheduling.k8s.io/v1alpha2=true",
		}},
		37: {group: "v1beta1", composite: "v1alpha3", condition: "PodGroupInitiallyScheduled", flags: map[string]string{
			"feature-gates":  "GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true",
			"runtime-config": "scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true",
		}},
	}
	// natives is that of the API server.
	natives nativeVersion
)

// nativeGroups returns the client of the PodGroups of Kubernetes in a namespace, or of its CompositePodGroups.
func nativeGroups(namespace, version, resource string) dynamic.ResourceInterface {
	return dynamic.NewForConfigOrDie(restConfig).Resource(schema.GroupVersionResource{
		Group: "scheduling.k8s.io", Version: version, Resource: resource}).Namespace(namespace)
}

// givenNativeGroup creates a PodGroup or CompositePodGroup of Kubernetes.
func givenNativeGroup(namespace, version, kind, name string, spec map[string]any) {
	GinkgoHelper()
	resource := map[string]string{"PodGroup": "podgroups", "CompositePodGroup": "compositepodgroups"}[kind]
	_, err := nativeGroups(namespace, version, resource).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scheduling.k8s.io/" + version, "kind": kind,
		"metadata": map[string]any{"name": name}, "spec": spec,
	}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// inOne is the constraint to one domain of a level.
func inOne(level string) map[string]any {
	return map[string]any{"topology": []any{map[string]any{"key": level}}}
}

// gangs is the policy of a group that needs so many pods, or groups.
func gangs(count string, minimum int64) map[string]any {
	return map[string]any{"gang": map[string]any{count: minimum}}
}

// madeOf is the reference to a template, which each group of a tree has. The Workload need not exist.
func madeOf(template string) map[string]any {
	return map[string]any{"workloadName": "serve", "templateName": template}
}

// givenNativeGang creates a PodGroup of Kubernetes in one rack.
func givenNativeGang(namespace, name string, minCount int64) {
	GinkgoHelper()
	givenNativeGroup(namespace, natives.group, "PodGroup", name, map[string]any{
		"schedulingPolicy": gangs("minCount", minCount), "schedulingConstraints": inOne(rackLevel)})
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
		group, err := nativeGroups(namespace, natives.group, "podgroups").Get(ctx, name, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		conditions, _, err := unstructured.NestedSlice(group.Object, "status", "conditions")
		Expect(err).NotTo(HaveOccurred())
		for _, one := range conditions {
			condition := one.(map[string]any)
			told = append(told, fmt.Sprint(condition["type"], " ", condition["status"], " ", condition["reason"]))
		}
		return told
	}
}

var _ = Describe("PodGroups of Kubernetes", Ordered, func() {
	BeforeAll(func() {
		beforeRest, beforeAccess, beforeConfig := restConfig, kubeconfig, config
		beforeKube, beforePacktree := kube, packtree
		server, err := kube.Discovery().ServerVersion()
		Expect(err).NotTo(HaveOccurred())
		var has bool
		if natives, has = nativeVersions[version.MustParseGeneric(server.GitVersion).Minor()]; !has {
			Skip("Kubernetes " + server.GitVersion + " has no PodGroups that the scheduler reads")
		}
		cluster, err := apiservertest.StartWith(envtest.WebhookInstallOptions{}, natives.flags)
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
		Eventually(told(namespace, "fits")).Should(HaveExactElements(natives.condition + " False Unschedulable"))
		Expect(packtree.KaiV1alpha1().Topologies().Delete(ctx, second.Name, metav1.DeleteOptions{})).To(Succeed())
		Expect(eventuallyBound(namespace, gangOf("fits"), 3).domains(rackLevel)).To(HaveExactElements("/r2"))
		Eventually(told(namespace, "fits")).Should(HaveExactElements(natives.condition + " True Scheduled"))

		By("going on as a gang when the group is deleted, which its pods keep: it has a finalizer")
		Expect(kube.SchedulingV1alpha2().PodGroups(namespace).Delete(ctx, "fits", metav1.DeleteOptions{})).To(Succeed())
		create(nativePod(namespace, "fits", "fits-late"))
		Expect(eventuallyBound(namespace, gangOf("fits"), 4).domains(rackLevel)).To(HaveExactElements("/r2"))
		Expect(told(namespace, "fits")()).To(HaveExactElements("PodGroupScheduled True Scheduled"))

		By("saying why one does not fit, until it does; its pods were there first")
		for i := range 3 {
			create(nativePod(namespace, "large", fmt.Sprintf("large-%d", i)))
		}
		givenNativeGang(namespace, "large", 3)
		Eventually(told(namespace, "large")).Should(HaveExactElements(natives.condition + " False Unschedulable"))
		Eventually(toldWhy(namespace, "large-0")).Should(ContainSubstring("rack"))
		givenRack("z1", "r3", 3, 4)
		Expect(eventuallyBound(namespace, gangOf("large"), 3).domains(rackLevel)).To(HaveExactElements("/r3"))
		Eventually(told(namespace, "large")).Should(HaveExactElements(natives.condition + " True Scheduled"))

		if natives.composite != "" {
			By("placing a tree of two groups in one zone, and each of them in one rack")
			givenRack("z2", "r4", 2, 4)
			givenRack("z3", "r5", 2, 4)
			givenRack("z3", "r6", 2, 4)
			givenNativeGroup(namespace, natives.composite, "CompositePodGroup", "serve", map[string]any{
				"workloadRef":      madeOf("serve"),
				"schedulingPolicy": gangs("minGroupCount", 2), "schedulingConstraints": inOne(zoneLevel)})
			for _, name := range []string{"prefill", "decode"} {
				givenNativeGroup(namespace, natives.group, "PodGroup", name, map[string]any{
					"parentCompositePodGroupName": "serve", "workloadRef": madeOf(name),
					"schedulingPolicy": gangs("minCount", 2), "schedulingConstraints": inOne(rackLevel)})
				for i := range 2 {
					create(nativePod(namespace, name, fmt.Sprintf("%s-%d", name, i)))
				}
			}
			racks := []any{}
			for _, name := range []string{"prefill", "decode"} {
				bound := eventuallyBound(namespace, gangOf(name), 2)
				Expect(bound.domains(zoneLevel)).To(HaveExactElements("/z3"))
				racks = append(racks, bound.domains(rackLevel))
			}
			Expect(racks).To(ConsistOf(HaveLen(1), HaveLen(1)))
		}

		By("saying nothing of one that another scheduler has placed")
		Expect(told(namespace, "elsewhere")()).To(BeEmpty())
	})
})
