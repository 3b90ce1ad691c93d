package controller_test

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	"packtree.dev/shared/kueue"
)

var _ = Describe("A set that names a queue of Kueue", func() {
	const queued = `
metadata: {name: q, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  replicas: 1
  template:
    cliques:
      - {name: a, spec: {replicas: 2, minAvailable: 1}}
      - {name: b, spec: {replicas: 1}}
    podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 2, minAvailable: 1}]
`

	groups := func(in string) func() map[string]int {
		return func() map[string]int {
			found := map[string]int{}
			for _, pod := range podsOf(in, client.MatchingLabels{kueue.LabelQueue: "team"})() {
				group, counted := pod.Labels[kueue.LabelGroup], pod.Annotations[kueue.AnnotationGroupSize]
				if group == pod.Name { // It is another each time.
					group = pod.Labels[grovev1alpha1.LabelPodClique] + "." + pod.Labels[grovev1alpha1.LabelPodIndex]
				}
				found[group+" of "+counted]++
			}
			return found
		}
	}

	It("makes pods that follow others when those are on nodes, so that they hold no quota before", func() {
		in := namespace()
		createSet(in, queued)
		Eventually(groups(in)).Should(Equal(map[string]int{"q-0 of 2": 2}))
		Eventually(func() []string { return gates(podsOf(in, client.MatchingLabels{})()) }).Should(ConsistOf("", ""))
		Expect(groups(in)()).To(HaveLen(1), "their gang is complete, and not on nodes")
		Eventually(func() string {
			return condition(get(in, "q-0-g-1-b", &grovev1alpha1.PodClique{}),
				grovev1alpha1.ConditionPodCliqueScheduled).Message
		}).Should(ContainSubstring("q-0"))

		run(in, client.MatchingLabels{})
		Eventually(groups(in)).Should(Equal(map[string]int{"q-0 of 2": 2, "q-0-a.1 of 1": 1, "q-0-g-0 of 1": 1}))
	})

	It("replaces a pod that is over and that Kueue counts", func() {
		in := namespace()
		createSet(in, queued)
		Eventually(groups(in)).Should(HaveLen(1))
		pod := podsOf(in, client.MatchingLabels{grovev1alpha1.LabelPodClique: "q-0-a"})()[0]
		patch(pod.DeepCopy(), `{"metadata":{"finalizers":["`+kueue.Finalizer+`","example.com/other"]}}`)
		Expect(c.Delete(ctx, &pod, client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(func() []string { return get(in, pod.Name, &corev1.Pod{}).Finalizers }).Should(
			ConsistOf("example.com/other"))
		Expect(groups(in)()).To(Equal(map[string]int{"q-0 of 2": 2}), "no replacement as long as it is there")
		patch(pod.DeepCopy(), `{"metadata":{"finalizers":[]}}`)
		Eventually(func() bool {
			pods := podsOf(in, client.MatchingLabels{grovev1alpha1.LabelPodClique: "q-0-a"})()
			return len(pods) == 1 && pods[0].UID != pod.UID && pods[0].Name != pod.Name
		}).Should(BeTrue())
	})

	It("goes with its pods, also where Kueue counts them", func() {
		in := namespace()
		set := createSet(in, queued)
		Eventually(groups(in)).Should(HaveLen(1))
		for _, pod := range podsOf(in, client.MatchingLabels{})() {
			patch(&pod, `{"metadata":{"finalizers":["`+kueue.Finalizer+`"]}}`)
		}
		Expect(c.Delete(ctx, set)).To(Succeed())
		Eventually(podsOf(in, client.MatchingLabels{})).Should(BeEmpty())
	})

	It("keeps the workload of a gang when all its pods go", func() {
		in := namespace()
		createSet(in, queued)
		Eventually(groups(in)).Should(HaveLen(1))
		counts(in, "q-0", map[string]int64{"a": 1, "b": 1})
		first := podsOf(in, client.MatchingLabels{})()
		for _, pod := range first {
			patch(&pod, `{"metadata":{"finalizers":["`+kueue.Finalizer+`"]}}`)
		}
		for _, pod := range first {
			Expect(c.Delete(ctx, &pod, client.GracePeriodSeconds(0))).To(Succeed())
		}
		gang := get(in, "q-0", &schedulerv1alpha1.PodGang{})
		Eventually(func() []metav1.OwnerReference {
			return get(in, "q-0", workloadOf("q-0", nil)).GetOwnerReferences()
		}).Should(ConsistOf(HaveField("UID", gang.UID)))
		Eventually(func() bool {
			pods := podsOf(in, client.MatchingLabels{})()
			return len(pods) == 2 && !slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
				return pod.Name == first[0].Name || pod.Name == first[1].Name
			})
		}).Should(BeTrue())
	})

	It("counts a gang anew that is scaled below its minimum before it starts", func() {
		in := namespace()
		createSet(in, `
metadata: {name: q, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  replicas: 1
  template:
    cliques:
      - name: a
        spec:
          replicas: 2
          minAvailable: 2
          podSpec: {schedulingGates: [{name: kueue.x-k8s.io/admission}], containers: [{name: c, image: i}]}
`)
		Eventually(groups(in)).Should(Equal(map[string]int{"q-0 of 2": 2}))
		counts(in, "q-0", map[string]int64{"a": 2})
		clique := get(in, "q-0-a", &grovev1alpha1.PodClique{})
		scale(clique, 1)
		Eventually(groups(in)).Should(Equal(map[string]int{"q-0 of 1": 1}))
		Expect(kueue.ReadWorkload(get(in, "q-0", workloadOf("q-0", nil))).Pods()).To(Equal(int32(1)))
		for _, pod := range podsOf(in, client.MatchingLabels{})() {
			patch(&pod, `{"spec":{"schedulingGates":null}}`)
		}
		run(in, client.MatchingLabels{})
		scale(clique, 2)
		Eventually(groups(in)).Should(Equal(map[string]int{"q-0 of 1": 1, "q-0-a.1 of 1": 1}),
			"Kueue would delete one that is too many for its workload")
	})
})

// workloadOf is a workload of Kueue with so many pods of each role.
func workloadOf(name string, pods map[string]int64) *unstructured.Unstructured {
	var sets []any
	for role, count := range pods {
		sets = append(sets, map[string]any{"name": role, "count": count})
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"podSets": sets}}}
	object.SetGroupVersionKind(kueue.WorkloadKind)
	object.SetName(name)
	return object
}

// counts has a workload be there, as Kueue makes it, of a kind that takes anything.
func counts(in, name string, pods map[string]int64) {
	GinkgoHelper()
	_, err := envtest.InstallCRDs(rcfg, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{{
		ObjectMeta: metav1.ObjectMeta{Name: "workloads.kueue.x-k8s.io",
			Annotations: map[string]string{"api-approved.kubernetes.io": "unapproved, for a test"}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kueue.WorkloadKind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Workload", Plural: "workloads"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kueue.WorkloadKind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	}}})
	Expect(err).NotTo(HaveOccurred())
	workload := workloadOf(name, pods)
	workload.SetNamespace(in)
	Eventually(func() error { return c.Create(ctx, workload.DeepCopy()) }).Should(Succeed())
}
