package controller_test

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var (
	ofWeb    = map[string]string{"app": "web"}
	webPods  = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: ofWeb}}
	selected = &metav1.LabelSelector{MatchLabels: ofWeb}
)

func newWebSet() *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.StatefulSetSpec{Selector: selected, Template: webPods}}
	set.Spec.Template.Spec = newPod("", nil).Spec
	return set
}

func newWebDeployment() *appsv1.Deployment {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{Selector: selected, Template: webPods}}
	deployment.Spec.Template.Spec = newPod("", nil).Spec
	return deployment
}

func newReplicaSet(name string, owner client.Object) *appsv1.ReplicaSet {
	set := &appsv1.ReplicaSet{ObjectMeta: newPod(name, owner).ObjectMeta,
		Spec: appsv1.ReplicaSetSpec{Selector: selected, Template: webPods}}
	set.Spec.Template.Spec = newPod("", nil).Spec
	return set
}

// orphaned deletes an owner and not what it owns, as the garbage collector and the API server do it together.
func orphaned(ctx context.Context, owner client.Object, owned ...client.Object) {
	GinkgoHelper()
	Expect(api.Delete(ctx, owner, client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
	for _, object := range owned {
		patch(ctx, object, `{"metadata":{"ownerReferences":null}}`)
	}
	patch(ctx, owner, `{"metadata":{"finalizers":null}}`)
}

// adopted makes an owner the controller of an object, as the owner's controller does.
func adopted(ctx context.Context, owner, object client.Object) {
	GinkgoHelper()
	references, err := json.Marshal(newPod("", owner).OwnerReferences)
	Expect(err).NotTo(HaveOccurred())
	patch(ctx, object, `{"metadata":{"ownerReferences":`+string(references)+`}}`)
}

func groupNamed(owner client.Object) string {
	return "pg-" + owner.GetName() + "-" + string(owner.GetUID())
}

var _ = Describe("Pods that outlive their owner", func() {
	newPods := func(ctx context.Context, owner client.Object) []client.Object {
		pods := []client.Object{newPod("web-0", owner), newPod("web-1", owner)}
		for _, pod := range pods {
			create(ctx, pod)
		}
		return pods
	}
	eventuallyIn := func(ctx context.Context, group string) {
		GinkgoHelper()
		for _, pod := range []string{"web-0", "web-1"} {
			Eventually(podGroupNameOf(ctx, pod)).Should(Equal(group))
		}
		Eventually(podGroups(ctx)).Should(ConsistOf(group))
	}

	It("join the StatefulSet that adopts them, with those that it makes later", func(ctx SpecContext) {
		set := create(ctx, newWebSet())
		pods := newPods(ctx, set)
		eventuallyIn(ctx, groupNamed(set))
		group, err := podGroup(ctx, groupNamed(set))()
		Expect(err).NotTo(HaveOccurred())
		orphaned(ctx, set, group, pods[0], pods[1])
		again := create(ctx, newWebSet())
		Consistently(podGroupNameOf(ctx, "web-0"), "300ms").Should(Equal(groupNamed(set)))
		adopted(ctx, again, pods[0])
		adopted(ctx, again, pods[1])
		eventuallyIn(ctx, groupNamed(again))
		Expect(api.Delete(ctx, pods[1])).To(Succeed())
		create(ctx, newPod("web-1", again))
		eventuallyIn(ctx, groupNamed(again))
	})

	It("follow their ReplicaSet to the Deployment that adopts it", func(ctx SpecContext) {
		deployment := create(ctx, newWebDeployment())
		set := create(ctx, newReplicaSet("web-abc", deployment))
		newPods(ctx, set)
		eventuallyIn(ctx, groupNamed(deployment))
		group, err := podGroup(ctx, groupNamed(deployment))()
		Expect(err).NotTo(HaveOccurred())
		orphaned(ctx, deployment, group, set)
		eventuallyIn(ctx, groupNamed(set))
		again := create(ctx, newWebDeployment())
		adopted(ctx, again, set)
		eventuallyIn(ctx, groupNamed(again))
	})

	It("join the ReplicaSet that its Deployment makes anew", func(ctx SpecContext) {
		set := create(ctx, newReplicaSet("web", nil))
		pods := newPods(ctx, set)
		eventuallyIn(ctx, groupNamed(set))
		orphaned(ctx, set, pods...)
		again := create(ctx, newReplicaSet("web", nil))
		adopted(ctx, again, pods[0])
		adopted(ctx, again, pods[1])
		eventuallyIn(ctx, groupNamed(again))
	})

	It("stay where another client has put them", func(ctx SpecContext) {
		set := create(ctx, newWebSet())
		pods := newPods(ctx, set)
		eventuallyIn(ctx, groupNamed(set))
		patch(ctx, pods[0], `{"metadata":{"annotations":{"pod-group-name":"sample2"}}}`)
		patch(ctx, pods[0], `{"metadata":{"labels":{"touched":"yes"}}}`)
		Consistently(podGroupNameOf(ctx, "web-0"), "300ms").Should(Equal("sample2"))
	})
})
