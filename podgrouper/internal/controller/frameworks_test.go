package controller_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kai "packtree.dev/shared/api/kai/v1alpha1"
)

var setKind = schema.GroupVersionKind{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: "LeaderWorkerSet"}

var jobSetKind = schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}

// definitionOf is the CustomResourceDefinition of a kind, with a schema that accepts anything.
func definitionOf(
	kind schema.GroupVersionKind, scope apiextensionsv1.ResourceScope,
) *apiextensionsv1.CustomResourceDefinition {
	singular := strings.ToLower(kind.Kind)
	return &apiextensionsv1.CustomResourceDefinition{
		// Groups of k8s.io need an approval; this annotation says that there is none.
		ObjectMeta: metav1.ObjectMeta{
			Name:        singular + "s." + kind.Group,
			Annotations: map[string]string{"api-approved.kubernetes.io": "unapproved, for a test"},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group,
			Scope: scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind.Kind, Plural: singular + "s",
				Singular: singular},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	}
}

// install installs the definition of a kind.
func install(ctx context.Context, kind schema.GroupVersionKind, scope apiextensionsv1.ResourceScope) {
	GinkgoHelper()
	Expect(api.Create(ctx, definitionOf(kind, scope))).To(Succeed())
	Eventually(func() error {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		return api.List(ctx, list)
	}).Should(Succeed())
}

// newObject is an object of an installed kind.
func newObject(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(kind)
	object.SetName(name)
	return object
}

func newStatefulSet(name string, owner client.Object, ownerKind schema.GroupVersionKind) *appsv1.StatefulSet {
	labels := map[string]string{"app": name}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, ownerKind)}},
		Spec: appsv1.StatefulSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: newPod("", nil).Spec},
		},
	}
}

var _ = Describe("A LeaderWorkerSet, whose workers belong to their leader", func() {
	It("makes one PodGroup with a group for each leader, also when it is installed late", func(ctx SpecContext) {
		install(ctx, setKind, apiextensionsv1.NamespaceScoped)
		set := newObject(setKind, "vllm")
		set.Object["spec"] = map[string]any{"replicas": int64(2),
			"leaderWorkerTemplate": map[string]any{"size": int64(2)}}
		create(ctx, set)
		group := map[string]string{"leaderworkerset.sigs.k8s.io/group-index": "1"}
		leaders := create(ctx, newStatefulSet("vllm", set, setKind))
		leader := newPod("vllm-1", leaders)
		leader.Labels = group
		create(ctx, leader)
		worker := newPod(
			"vllm-1-1", create(ctx, newStatefulSet("vllm-1", leader, corev1.SchemeGroupVersion.WithKind("Pod"))))
		worker.Labels = group
		create(ctx, worker)

		for _, name := range []string{"vllm-1", "vllm-1-1"} {
			Eventually(podGroupNameOf(ctx, name)).Should(Equal("pg-vllm-" + string(set.GetUID())))
			pod := &corev1.Pod{}
			Expect(api.Get(ctx, named(name), pod)).To(Succeed())
			Expect(pod.Labels).To(HaveKeyWithValue(kai.LabelSubGroupName, "group-1"))
		}
		patch(ctx, set, `{"spec":{"replicas":3}}`)
		Eventually(podGroup(ctx, "pg-vllm-"+string(set.GetUID()))).Should(HaveField("Spec.SubGroups", HaveLen(3)))
	})
})

var _ = Describe("A JobSet, whose workers depend on a server", func() {
	It("needs the workers from when its status says that the server is ready, and no Job that is complete",
		func(ctx SpecContext) {
			install(ctx, jobSetKind, apiextensionsv1.NamespaceScoped)
			set := newObject(jobSetKind, "train")
			set.Object["spec"] = map[string]any{"replicatedJobs": []any{
				map[string]any{"name": "server",
					"template": map[string]any{"spec": map[string]any{"parallelism": int64(1)}}},
				map[string]any{
					"name": "workers", "template": map[string]any{"spec": map[string]any{"parallelism": int64(4)}},
					"dependsOn": []any{map[string]any{"name": "server", "status": "Ready"}},
				},
			}}
			create(ctx, set)
			job := newJob("train-server-0", nil)
			job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, jobSetKind)}
			create(ctx, job)
			pod := newPod("train-server-0-0", job)
			pod.Labels = map[string]string{"jobset.sigs.k8s.io/replicatedjob-name": "server",
				"jobset.sigs.k8s.io/job-index": "0"}
			create(ctx, pod)

			minima := func(server, workers int32) OmegaMatcher {
				return HaveField("Spec.SubGroups", ConsistOf(
					And(HaveField("Name", "server-0"), HaveField("MinMember", HaveValue(Equal(server)))),
					And(HaveField("Name", "workers-0"), HaveField("MinMember", HaveValue(Equal(workers)))),
				))
			}
			podGroupName := "pg-train-" + string(set.GetUID())
			Eventually(podGroup(ctx, podGroupName)).Should(minima(1, 0))
			patch(ctx, set, `{"status":{"replicatedJobsStatus":[{"name":"server","ready":1}]}}`)
			Eventually(podGroup(ctx, podGroupName)).Should(minima(1, 4))
			patch(ctx, set,
				`{"status":{"replicatedJobsStatus":[{"name":"server","succeeded":1},{"name":"workers","active":1}]}}`)
			Eventually(podGroup(ctx, podGroupName)).Should(minima(0, 4))
		})
})
