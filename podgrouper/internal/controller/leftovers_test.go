package controller_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// There is no garbage collector here: what goes is removed by the pod grouper.
var _ = Describe("The PodGroup of a Job", func() {
	var job *batchv1.Job
	var pods []*corev1.Pod
	BeforeEach(func(ctx SpecContext) {
		job, pods = create(ctx, newJob("train", nil)), nil
		for i := range 2 {
			pods = append(pods, create(ctx, newPod(fmt.Sprintf("train-%d", i), job)))
			Eventually(podGroupNameOf(ctx, pods[i].Name)).Should(Equal(podGroupOfJob(job)))
		}
	})
	deletePods := func(ctx context.Context) {
		for _, pod := range pods {
			Expect(api.Delete(ctx, pod)).To(Succeed())
		}
	}

	It("goes with the last pod of a Job that is gone", func(ctx SpecContext) {
		Expect(api.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		Consistently(podGroups(ctx), "300ms").ShouldNot(BeEmpty())
		deletePods(ctx)
		Eventually(podGroups(ctx)).Should(BeEmpty())
	})

	It("goes when pods of a Job that goes are still ending", func(ctx SpecContext) {
		for _, pod := range pods {
			patch(ctx, pod, `{"metadata":{"finalizers":["example.com/slow"]}}`)
		}
		Expect(api.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		deletePods(ctx)
		Eventually(podGroups(ctx)).Should(BeEmpty())
		for _, pod := range pods {
			patch(ctx, pod, `{"metadata":{"finalizers":null}}`)
		}
	})

	It("stays with pods that outlive their Job, and goes with the last of them", func(ctx SpecContext) {
		group, err := podGroup(ctx, podGroupOfJob(job))()
		Expect(err).NotTo(HaveOccurred())
		orphaned(ctx, job, group, pods[0], pods[1])
		Consistently(podGroup(ctx, group.Name), "300ms").Should(HaveField("UID", group.UID))
		deletePods(ctx)
		Eventually(podGroups(ctx)).Should(BeEmpty())
	})

	It("stays while its Job has no pods", func(ctx SpecContext) {
		group, err := podGroup(ctx, podGroupOfJob(job))()
		Expect(err).NotTo(HaveOccurred())
		deletePods(ctx)
		patch(ctx, job, `{"spec":{"suspend":true}}`)
		Consistently(podGroup(ctx, group.Name), "300ms").Should(HaveField("UID", group.UID))
	})

	It("goes when the Job asks later that its pods be left alone", func(ctx SpecContext) {
		patch(ctx, job, `{"metadata":{"annotations":{"kai.scheduler/skip-podgrouper":"true"}}}`)
		Eventually(podGroups(ctx)).Should(BeEmpty())
		patch(ctx, job, `{"metadata":{"annotations":{"kai.scheduler/skip-podgrouper":null}}}`)
		Eventually(podGroupNameOf(ctx, "train-0")).Should(Equal(podGroupOfJob(job)))
	})
})

var _ = Describe("A PodGroup", func() {
	It("that another client made stays without owner and pods", func(ctx SpecContext) {
		create(ctx, &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "sample"},
			Spec: scheduling.PodGroupSpec{MinMember: new(int32(1))}})
		pod := newPod("pod", nil)
		pod.Annotations = map[string]string{scheduling.AnnotationPodGroupName: "sample"}
		create(ctx, pod)
		Expect(api.Delete(ctx, pod)).To(Succeed())
		Consistently(podGroups(ctx), "300ms").Should(ConsistOf("sample"))
	})

	It("of an owner that cannot be read stays without pods", func(ctx SpecContext) {
		pod := newPod("pod", nil)
		pod.OwnerReferences = controlledBy(&metav1.PartialObjectMetadata{
			ObjectMeta: metav1.ObjectMeta{Name: "far", UID: "42"}},
			schema.GroupVersionKind{Group: "unknown.example.com", Version: "v1", Kind: "Fleet"})
		create(ctx, pod)
		Eventually(podGroupNameOf(ctx, "pod")).Should(Equal("pg-far-42"))
		Expect(api.Delete(ctx, pod)).To(Succeed())
		Consistently(podGroups(ctx), "300ms").Should(ConsistOf("pg-far-42"))
	})

	It("goes with the last pod once the template asks that pods be left alone", func(ctx SpecContext) {
		deployment := create(ctx, newWebDeployment())
		create(ctx, newPod("web-0", deployment))
		Eventually(podGroups(ctx)).ShouldNot(BeEmpty())
		Eventually(podGroupNameOf(ctx, "web-0")).ShouldNot(BeEmpty())
		patch(ctx, deployment,
			`{"spec":{"template":{"metadata":{"annotations":{"`+kai.AnnotationSkipPodGrouper+`":"true"}}}}}`)
		Consistently(podGroups(ctx), "300ms").ShouldNot(BeEmpty())
		Expect(api.Delete(ctx, newInNamespace(newPod("web-0", nil)))).To(Succeed())
		Eventually(podGroups(ctx)).Should(BeEmpty())
	})
})
