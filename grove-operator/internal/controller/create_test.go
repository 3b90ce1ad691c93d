package controller_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/apply"
)

// asker counts how often a writer asks about an object past the cache.
type asker struct {
	client.Reader

	asked int
}

func (a *asker) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	a.asked++
	return a.Reader.Get(ctx, key, into, options...)
}

var _ = Describe("A Service", func() {
	serviceOf := func(in, owner string) *corev1.Service {
		set := &grovev1alpha1.PodCliqueSet{ObjectMeta: metav1.ObjectMeta{Name: owner, UID: types.UID("uid of " + owner)}}
		service := &corev1.Service{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: in, Name: "made", Labels: map[string]string{"kept": "1", "dropped": "1"},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, grovev1alpha1.GroupVersion.WithKind("PodCliqueSet"))},
			},
		}
		service.Spec.ClusterIP, service.Spec.Selector = corev1.ClusterIPNone, map[string]string{"a": "b", "c": "d"}
		return service
	}

	It("is created without a question before it, and loses later what is no longer wanted", func() {
		in := namespace()
		live := &asker{Reader: c}
		writer := apply.Writer{Client: c, Live: live}
		Expect(writer.Apply(ctx, serviceOf(in, "s"), nil)).To(Succeed())
		Expect(live.asked).To(BeZero())
		Expect(writer.Apply(ctx, serviceOf(in, "s"), nil)).To(Succeed(), "the cache does not show it yet")
		Expect(writer.Apply(ctx, serviceOf(in, "other"), nil)).To(MatchError(ContainSubstring("belongs to PodCliqueSet s")))

		By("somebody else adding something")
		Expect(c.Patch(ctx, serviceOf(in, "s"), client.RawPatch("application/merge-patch+json",
			[]byte(`{"metadata":{"labels":{"others":"1"}}}`)), client.FieldOwner("somebody"))).To(Succeed())

		By("dropping a label and a key of the selector")
		desired := serviceOf(in, "s")
		delete(desired.Labels, "dropped")
		delete(desired.Spec.Selector, "c")
		Expect(writer.Apply(ctx, desired, get(in, "made", &corev1.Service{}))).To(Succeed())
		changed := get(in, "made", &corev1.Service{})
		Expect(changed.Labels).To(Equal(map[string]string{"kept": "1", "others": "1"}))
		Expect(changed.Spec.Selector).To(Equal(map[string]string{"a": "b"}))
		Expect(changed.ManagedFields).To(ConsistOf(
			And(HaveField("Manager", "grove-operator"), HaveField("Operation", metav1.ManagedFieldsOperationApply)),
			HaveField("Manager", "somebody")))

		By("writing the same once more")
		version := changed.ResourceVersion
		Expect(writer.Apply(ctx, desired, changed)).To(Succeed())
		Expect(get(in, "made", &corev1.Service{}).ResourceVersion).To(Equal(version))
	})
})
