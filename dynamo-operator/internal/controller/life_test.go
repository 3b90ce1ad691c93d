package controller_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

	It("keeps the size of a claim that somebody has expanded", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Provisioner: "example.com/disk",
			AllowVolumeExpansion: new(true)}
		Expect(k8s.Create(ctx, class)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, class)).To(Succeed()) })
		Expect(k8s.Create(ctx, written(namespace,
			strings.Replace(withClaim, "size: 1Gi", "size: 1Gi, storageClass: "+namespace, 1)))).To(Succeed())
		set := eventuallySet(ctx, namespace, "components")
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "models"}}
		Eventually(func() error { return k8s.Get(ctx, client.ObjectKeyFromObject(claim), claim) }).Should(Succeed())
		bound := `{"spec":{"volumeName":"disk"}}`
		Expect(k8s.Patch(ctx, claim, client.RawPatch(types.MergePatchType, []byte(bound)))).To(Succeed())
		held := `{"status":{"phase":"Bound","capacity":{"storage":"5Gi"}}}`
		Expect(k8s.Status().Patch(ctx, claim, client.RawPatch(types.MergePatchType, []byte(held)))).To(Succeed())
		expanded := `{"spec":{"resources":{"requests":{"storage":"5Gi"}}}}`
		Expect(k8s.Patch(ctx, claim, client.RawPatch(types.MergePatchType, []byte(expanded)))).To(Succeed())

		edit := `[{"op":"add","path":"/spec/env","value":[{"name":"A","value":"1"}]}]`
		Expect(k8s.Patch(ctx, deployment(ctx, namespace, "components"),
			client.RawPatch(types.JSONPatchType, []byte(edit)))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())
			g.Expect(set.Spec.Template.Cliques[0].Spec.PodSpec.Containers[0].Env).To(
				ContainElement(corev1.EnvVar{Name: "A", Value: "1"}))
			ready := meta.FindStatusCondition(deployment(ctx, namespace, "components").Status.Conditions,
				v1beta1.ConditionReady)
			g.Expect(ready).To(HaveField("Reason", Not(Equal(v1beta1.ReasonRejected))))
		}).Should(Succeed(), "a pass has looked at the claim and gone on")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		Expect(claim.Spec.Resources.Requests.Storage().String()).To(Equal("5Gi"))
	})

	It("gets a label back by which it is found", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(k8s.Create(ctx, written(namespace, asComponents))).To(Succeed())
		eventuallyObserved(ctx, namespace, "components")
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "components-frontend"}}
		lost := `{"metadata":{"labels":{"` + v1beta1.LabelDeploymentName + `":null}}}`
		Expect(k8s.Patch(ctx, service, client.RawPatch(types.MergePatchType, []byte(lost)))).To(Succeed())
		Eventually(func() map[string]string {
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(service), service)).To(Succeed())
			return service.Labels
		}).Should(HaveKeyWithValue(v1beta1.LabelDeploymentName, "components"))
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
