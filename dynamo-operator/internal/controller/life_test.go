package controller_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// itemsOf lists the objects of a kind in a namespace.
func itemsOf(ctx context.Context, list client.ObjectList, namespace string) []client.Object {
	ExpectWithOffset(1, k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	items, err := meta.ExtractList(list)
	ExpectWithOffset(1, err).NotTo(HaveOccurred())
	var objects []client.Object
	for _, item := range items {
		objects = append(objects, item.(client.Object))
	}
	return objects
}

var _ = Describe("What a deployment becomes", func() {
	withClaim := strings.Replace(asComponents, "spec:\n", "spec:\n  pvcs: [{name: models, create: true, size: 1Gi}]\n",
		1)

	It("belongs to it, so that all of it goes with it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(k8s.Create(ctx, written(namespace, withClaim))).To(Succeed())
		eventuallyObserved(ctx, namespace, "components")
		owner := deployment(ctx, namespace, "components")
		for list, names := range map[client.ObjectList][]string{
			&corev1.ServiceList{}:               {"components-frontend", "components-worker"},
			&corev1.PersistentVolumeClaimList{}: {"models"},
			&corev1.ServiceAccountList{}:        {"components-k8s-service-discovery"},
			&rbacv1.RoleList{}:                  {"components-k8s-service-discovery"},
			&rbacv1.RoleBindingList{}:           {"components-k8s-service-discovery"},
			&grovev1alpha1.PodCliqueSetList{}:   {"components"},
			&corev1.ConfigMapList{}:             nil,
			&corev1.SecretList{}:                nil,
		} {
			var found []string
			for _, object := range itemsOf(ctx, list, namespace) {
				found = append(found, object.GetName())
				Expect(object.GetOwnerReferences()).To(ConsistOf(metav1.OwnerReference{
					APIVersion: "nvidia.com/v1beta1", Kind: "DynamoGraphDeployment", Name: owner.Name, UID: owner.UID,
					Controller: new(true), BlockOwnerDeletion: new(true),
				}), "of %T %s", object, object.GetName())
			}
			Expect(found).To(ConsistOf(names), "%T", list)
		}
	})

	It("is not made anew while the deployment goes", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(k8s.Create(ctx, written(namespace, withClaim))).To(Succeed())
		set := eventuallySet(ctx, namespace, "components")
		eventuallyObserved(ctx, namespace, "components")
		Expect(k8s.Delete(ctx, deployment(ctx, namespace, "components"),
			client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		Eventually(func(g Gomega) {
			seen := &v1beta1.DynamoGraphDeployment{}
			g.Expect(cached.Get(ctx, client.ObjectKeyFromObject(set), seen)).To(Succeed())
			g.Expect(seen.DeletionTimestamp).NotTo(BeNil())
		}).Should(Succeed(), "the operator knows that it goes")
		Expect(k8s.Delete(ctx, set)).To(Succeed())
		Consistently(func() error { return k8s.Get(ctx, client.ObjectKeyFromObject(set), set) }, "500ms").
			Should(MatchError(apierrors.IsNotFound, "not found"))
	})

	It("loses a Service that leads nowhere any more, and keeps its data", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(k8s.Create(ctx, written(namespace, withClaim))).To(Succeed())
		eventuallySet(ctx, namespace, "components")
		serving := `[{"op":"add","path":"/spec/components/1/modelRef","value":{"name":"foo"}}]`
		object := &v1beta1.DynamoGraphDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace,
			Name: "components"}}
		Expect(k8s.Patch(ctx, object, client.RawPatch("application/json-patch+json", []byte(serving)))).To(Succeed())
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace,
			Name: "components-model-2c26b46b"}}
		Eventually(func() error { return k8s.Get(ctx, client.ObjectKeyFromObject(service), service) }).Should(Succeed())
		labels := map[string]string{v1beta1.LabelDeploymentName: "components"}
		foreign := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "somebody-s", Labels: labels},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
		}
		Expect(k8s.Create(ctx, foreign)).To(Succeed())

		silent := `[{"op":"remove","path":"/spec/components/1/modelRef"},{"op":"remove","path":"/spec/pvcs"}]`
		Expect(k8s.Patch(ctx, object, client.RawPatch("application/json-patch+json", []byte(silent)))).To(Succeed())
		Eventually(func() error { return k8s.Get(ctx, client.ObjectKeyFromObject(service), service) }).
			Should(MatchError(apierrors.IsNotFound, "not found"))
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "models"},
			&corev1.PersistentVolumeClaim{})).To(
			Succeed())
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "components-frontend"}, service)).To(Succeed())
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(foreign), foreign)).To(Succeed())
	})

	It("is updated in the way that somebody has chosen", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(k8s.Create(ctx, written(namespace, asMap))).To(Succeed())
		set := eventuallySet(ctx, namespace, "map")
		onDelete := client.RawPatch("application/merge-patch+json",
			[]byte(`{"spec":{"updateStrategy":{"type":"OnDelete"}}}`))
		Expect(k8s.Patch(ctx, set, onDelete)).To(Succeed())
		patch(ctx, namespace, `[{"op":"add","path":"/spec/env","value":[{"name":"A","value":"1"}]}]`)
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())
			g.Expect(set.Spec.Template.Cliques[0].Spec.PodSpec.Containers[0].Env).To(
				ContainElement(corev1.EnvVar{Name: "A", Value: "1"}))
		}).Should(Succeed(), "the change arrives")
		Expect(set.Spec.UpdateStrategy.Type).To(Equal(grovev1alpha1.OnDelete))
	})
})
