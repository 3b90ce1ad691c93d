package controller_test

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

var _ = Describe("ResourceClaims that pods share", func() {
	names := func(in string) func() []string {
		return func() []string {
			var list resourcev1.ResourceClaimList
			Expect(c.List(ctx, &list, client.InNamespace(in))).To(Succeed())
			var all []string
			for i := range list.Items {
				if list.Items[i].DeletionTimestamp == nil {
					all = append(all, list.Items[i].Name)
				}
			}
			slices.Sort(all)
			return all
		}
	}

	It("come and go with what they are made for", func() {
		in := namespace()
		device := resourcev1.DeviceRequest{Name: "gpus",
			Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.example.com", Count: 8}}
		set := createSet(in, `
metadata: {name: s}
spec:
  replicas: 1
  template:
    resourceClaimTemplates:
      - {name: cache, templateSpec: {metadata: {labels: {team: a}}, spec: {devices: {requests: [{name: cache, exactly: {deviceClassName: cache.example.com}}]}}}}
    resourceSharing: [{name: cache, scope: AllReplicas}]
    cliques:
      - {name: alone, resourceSharing: [{name: pool, scope: PerReplica}], spec: {replicas: 2, minAvailable: 1, podSpec: {}}}
      - {name: member, spec: {podSpec: {}}}
    podCliqueScalingGroups: [{name: g, cliqueNames: [member], resourceSharing: [{name: cache, scope: PerReplica}]}]`)
		Eventually(names(in)).Should(Equal([]string{"s-0-g-0-cache", "s-all-cache"}),
			"the template of the others is not there yet")
		template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: "pool"}}
		template.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{device}
		Expect(c.Create(ctx, template)).To(Succeed())
		Eventually(names(in)).Should(Equal([]string{"s-0-alone-0-pool", "s-0-alone-1-pool", "s-0-g-0-cache",
			"s-all-cache"}))

		shared := get(in, "s-all-cache", &resourcev1.ResourceClaim{})
		Expect(shared.Labels).To(And(HaveKeyWithValue("team", "a"), HaveKeyWithValue(grovev1alpha1.LabelPartOf, "s")))
		Expect(metav1.GetControllerOf(shared)).To(HaveField("UID", set.UID))
		Expect(metav1.GetControllerOf(get(in, "s-0-g-0-cache", &resourcev1.ResourceClaim{}))).To(
			HaveField("UID", get(in, "s-0-g", &grovev1alpha1.PodCliqueScalingGroup{}).UID))
		own := get(in, "s-0-alone-1-pool", &resourcev1.ResourceClaim{})
		Expect(metav1.GetControllerOf(own)).To(HaveField("UID", get(in, "s-0-alone", &grovev1alpha1.PodClique{}).UID))
		Expect(own.Spec.Devices.Requests[0].Exactly.Count).To(BeEquivalentTo(8))

		pods := podsOf(in, client.MatchingLabels{grovev1alpha1.LabelPodClique: "s-0-alone"})
		Eventually(func() []corev1.Pod { return pods() }).Should(HaveLen(2))
		for _, pod := range pods() {
			Expect(pod.Spec.ResourceClaims).To(ConsistOf(
				HaveField("ResourceClaimName", HaveValue(Equal("s-all-cache"))),
				HaveField("ResourceClaimName",
					HaveValue(Equal("s-0-alone-"+pod.Labels[grovev1alpha1.LabelPodIndex]+"-pool")))))
			Expect(pod.Spec.Containers[0].Resources.Claims).To(HaveLen(2))
		}

		Expect(c.Delete(ctx, get(in, "s-0-g-0-cache", &resourcev1.ResourceClaim{}))).To(Succeed(),
			"a user deletes one that is not held")
		Eventually(names(in)).Should(ContainElement("s-0-g-0-cache"))

		scale(get(in, "s-0-g", &grovev1alpha1.PodCliqueScalingGroup{}), 3)
		Eventually(names(in)).Should(ContainElements("s-0-g-1-cache", "s-0-g-2-cache"))
		scale(get(in, "s-0-g", &grovev1alpha1.PodCliqueScalingGroup{}), 1)
		Eventually(names(in)).Should(Equal([]string{"s-0-alone-0-pool", "s-0-alone-1-pool", "s-0-g-0-cache",
			"s-all-cache"}))
		scale(get(in, "s-0-alone", &grovev1alpha1.PodClique{}), 1)
		Eventually(func() []corev1.Pod { return pods() }).Should(HaveLen(1))
		left := "s-0-alone-" + pods()[0].Labels[grovev1alpha1.LabelPodIndex] + "-pool"
		Eventually(names(in)).Should(ContainElement(left))
		Eventually(names(in)).Should(
			HaveLen(len([]string{"s-0-alone-0-pool", "s-0-g-0-cache", "s-all-cache"}) +
				map[bool]int{false: 1}[left == "s-0-alone-0-pool"]))
		Expect(get(in, "s-all-cache", &resourcev1.ResourceClaim{}).UID).To(Equal(shared.UID),
			"the same from beginning to end")
	})
})
