package controller_test

import (
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/manifests"
)

// stored creates the objects that an older operator made of a set, each with its owner.
func stored(file string, set *grovev1alpha1.PodCliqueSet) {
	GinkgoHelper()
	content, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	documents, findings := manifests.Parse(file, content)
	Expect(findings).To(BeEmpty())
	setKind := grovev1alpha1.GroupVersion.WithKind("PodCliqueSet")
	owners := map[string]metav1.OwnerReference{set.Name: *metav1.NewControllerRef(set, setKind)}
	for _, document := range documents {
		object := document.Object
		object.SetNamespace(set.Namespace)
		object.SetOwnerReferences([]metav1.OwnerReference{owners[ownerOf(object)]})
		if object.GetKind() == "PodGang" {
			refer(object, set.Namespace)
		}
		Expect(c.Create(ctx, object, client.FieldOwner("grove-operator"))).To(Succeed())
		if kind := object.GetKind(); kind == "PodClique" || kind == "PodCliqueScalingGroup" {
			owners[object.GetName()] = *metav1.NewControllerRef(object, object.GroupVersionKind())
		}
	}
}

// ownerOf is the name of an object's owner, which comes before it.
func ownerOf(object *unstructured.Unstructured) string {
	labels := object.GetLabels()
	if podClique, isPod := labels[grovev1alpha1.LabelPodClique]; isPod {
		return podClique
	}
	if group, member := labels[grovev1alpha1.LabelPodCliqueScalingGroup]; member && object.GetKind() == "PodClique" {
		return group
	}
	return labels[grovev1alpha1.LabelPartOf]
}

// refer changes a gang's references to the namespace of the test.
func refer(gang *unstructured.Unstructured, namespace string) {
	groups, _, _ := unstructured.NestedSlice(gang.Object, "spec", "podgroups")
	for _, group := range groups {
		references, _, _ := unstructured.NestedSlice(group.(map[string]any), "podReferences")
		for _, reference := range references {
			reference.(map[string]any)["namespace"] = namespace
		}
		group.(map[string]any)["podReferences"] = references
	}
	Expect(unstructured.SetNestedSlice(gang.Object, groups, "spec", "podgroups")).To(Succeed())
}

var _ = Describe("An upgrade of the operator", func() {
	It("takes over what the first release made, and replaces no pod", func() {
		in := namespace()
		stopOperator()
		stopOperator = nil
		set := createSet(in, `
metadata: {name: old, finalizers: [grove.io/podcliqueset.grove.io]}
spec:
  replicas: 1
  template:
    cliques:
      - {name: a, spec: {replicas: 2, podSpec: {containers: [{name: main, image: x}]}}}
      - {name: b, spec: {podSpec: {containers: [{name: main, image: x}]}}}
    podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 2}]
`)
		stored("testdata/stored-by-v0.1.yaml", set)
		all := client.MatchingLabels{grovev1alpha1.LabelPartOf: "old"}
		run(in, all)
		before := uids(podsOf(in, all)())
		Expect(before).To(HaveLen(4))

		start(levels("zone", "rack", "host"))
		Eventually(func() bool {
			return meta.IsStatusConditionTrue(get(in, "old", &grovev1alpha1.PodCliqueSet{}).Status.Conditions,
				grovev1alpha1.ConditionReady)
		}).Should(BeTrue())
		Consistently(func() []string { return uids(podsOf(in, all)()) }).Should(ConsistOf(before))
		Expect(recorded(in)()).To(BeEmpty())
		By("showing autoscalers which pods to count")
		group := get(in, "old-0-g", &grovev1alpha1.PodCliqueScalingGroup{})
		Eventually(selectedBy(in, *group.Status.Selector)).Should(ConsistOf("old-0-g-0-b 0", "old-0-g-1-b 0"))
		Eventually(selectedBy(in, *get(in, "old", &grovev1alpha1.PodCliqueSet{}).Status.HPAPodSelector)).Should(
			ConsistOf("old-0-a 0"))
		scale(set, 2)
		Eventually(podsOf(in, all)).Should(HaveLen(8))
		Expect(uids(podsOf(in, all)())).To(ContainElements(before))
		Expect(get(in, "old", &grovev1alpha1.PodCliqueSet{}).Status.LastErrors).To(BeEmpty())
	})
})

func uids(pods []corev1.Pod) []string {
	all := []string{}
	for i := range pods {
		all = append(all, string(pods[i].UID))
	}
	return all
}
