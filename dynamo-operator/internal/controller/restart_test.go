package controller_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

var _ = Describe("A restart", func() {
	var (
		namespace string
		set       *grovev1alpha1.PodCliqueSet
	)
	BeforeEach(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		Expect(k8s.Create(ctx, written(namespace, asMap))).To(Succeed())
		set = eventuallySet(ctx, namespace, "map")
		clique, group := playGrove(ctx, set)
		clique.Status = grovev1alpha1.PodCliqueStatus{Replicas: 2, ReadyReplicas: 2, ScheduledReplicas: 2,
			UpdatedReplicas: 2}
		Expect(k8s.Status().Update(ctx, clique)).To(Succeed())
		group.Status = grovev1alpha1.PodCliqueScalingGroupStatus{Replicas: 1, AvailableReplicas: 1,
			ScheduledReplicas: 1,
			UpdatedReplicas:   1}
		Expect(k8s.Status().Update(ctx, group)).To(Succeed())
		judge(ctx, set, metav1.ConditionFalse, "AllClusterTopologyLevelsAvailable", metav1.ConditionTrue, "")
		eventuallyCondition(ctx, namespace, "map", v1beta1.ConditionReady, v1beta1.ReasonAllServicesReady)
	})
	asked := func(ctx SpecContext, operations string) {
		patch(ctx, namespace, operations)
	}
	progress := func(ctx SpecContext) *v1beta1.RestartStatus { return deployment(ctx, namespace, "map").Status.Restart }
	ids := func(ctx SpecContext) []string { return restartIDs(ctx, set) }

	It("takes one service after the other", func(ctx SpecContext) {
		asked(ctx,
			`[{"op":"add","path":"/spec/restart","value":{"id":"monday","strategy":{"type":"Sequential","order":["Worker","Frontend"]}}}]`)
		Eventually(progress).WithContext(ctx).Should(Equal(restarting("monday", "Worker")))
		Eventually(ids).WithContext(ctx).Should(Equal([]string{"", "monday", "monday"}), "leader and workers of Worker")

		By("Grove replacing its pods")
		update(ctx, set, false)
		Consistently(ids, "300ms").WithContext(ctx).Should(Equal([]string{"", "monday", "monday"}))
		Expect(progress(ctx)).To(Equal(restarting("monday", "Worker")))

		By("Grove having replaced them")
		update(ctx, set, true)
		Eventually(progress).WithContext(ctx).Should(Equal(restarting("monday", "Worker", "Frontend")))
		Eventually(ids).WithContext(ctx).Should(Equal([]string{"monday", "monday", "monday"}))
		update(ctx, set, false)
		Consistently(func() v1beta1.RestartPhase { return progress(ctx).Phase }, "300ms").Should(
			Equal(v1beta1.RestartPhaseRestarting))
		update(ctx, set, true)
		Eventually(progress).WithContext(ctx).Should(HaveField("Phase", v1beta1.RestartPhaseCompleted))

		By("the id staying what it is")
		asked(ctx, `[{"op":"remove","path":"/spec/restart/strategy"}]`)
		Consistently(ids, "300ms").WithContext(ctx).Should(Equal([]string{"monday", "monday", "monday"}))
		Expect(progress(ctx).Phase).To(Equal(v1beta1.RestartPhaseCompleted))
	})
})

func restarting(id string, services ...string) *v1beta1.RestartStatus {
	return &v1beta1.RestartStatus{ObservedID: id, Phase: v1beta1.RestartPhaseRestarting, Restarted: services}
}

// update writes that Grove has seen the set, and is replacing pods or has replaced them.
func update(ctx context.Context, set *grovev1alpha1.PodCliqueSet, ended bool) {
	EventuallyWithOffset(1, func() error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
			return err
		}
		now := metav1.Now()
		set.Status.ObservedGeneration = set.Generation
		set.Status.UpdateProgress = &grovev1alpha1.PodCliqueSetUpdateProgress{UpdateStartedAt: now}
		if ended {
			set.Status.UpdateProgress.UpdateEndedAt = &now
		}
		return k8s.Status().Update(ctx, set)
	}).Should(Succeed(), "Grove writes the progress of its update")
}

// restartIDs are the restarts that made the pods of the example's cliques: Frontend's, and those of Worker's leader and
// workers.
func restartIDs(ctx context.Context, set *grovev1alpha1.PodCliqueSet) []string {
	current := &grovev1alpha1.PodCliqueSet{}
	ExpectWithOffset(1, k8s.Get(ctx, client.ObjectKeyFromObject(set), current)).To(Succeed())
	var ids []string
	for _, clique := range current.Spec.Template.Cliques {
		ids = append(ids, clique.Annotations[v1beta1.AnnotationRestart])
	}
	return ids
}
