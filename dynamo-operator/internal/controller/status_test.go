package controller_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
)

var _ = Describe("A deployment", func() {
	It("owns what it becomes, and takes nothing that is not its own", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		foreign := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "map-frontend"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
		}
		Expect(k8s.Create(ctx, foreign)).To(Succeed())
		Expect(k8s.Create(ctx, written(namespace, asMap))).To(Succeed())

		ready := eventuallyCondition(ctx, namespace, "map", v1beta1.ConditionReady, v1beta1.ReasonNameTaken)
		Expect(ready.Message).To(
			Equal(
				`Service "map-frontend" exists and does not belong to this deployment: delete it, or give the deployment another name`))
		Expect(deployment(ctx, namespace, "map").Status.State).To(Equal(v1beta1.StateFailed))

		Expect(k8s.Delete(ctx, foreign)).To(Succeed())
		set := eventuallySet(ctx, namespace, "map")
		Expect(metav1.GetControllerOf(set).Name).To(Equal("map"))
		Expect(set.Labels).To(HaveKeyWithValue("nvidia.com/dynamo-graph-deployment-name", "map"))
	})

	It("waits for what an earlier one of its name has left", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		left := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "map-frontend",
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: v1beta1.GroupVersion.String(), Kind: "DynamoGraphDeployment", Name: "map",
					UID:        "an-earlier-one",
					Controller: new(true),
				}}},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
		}
		Expect(k8s.Create(ctx, left)).To(Succeed())
		Expect(k8s.Create(ctx, written(namespace, asMap))).To(Succeed())
		ready := eventuallyCondition(ctx, namespace, "map", v1beta1.ConditionReady, v1beta1.ReasonNotYetWritten)
		Expect(ready.Message).To(
			Equal("applying Service map-frontend: waiting until that of the earlier deployment is gone"))
		Expect(deployment(ctx, namespace, "map").Status.State).To(Equal(v1beta1.StateInitializing))

		Expect(k8s.Delete(ctx, left)).To(Succeed())
		eventuallySet(ctx, namespace, "map")
	})

	It("says what Grove and the scheduler say, and reports transitions once", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(k8s.Create(ctx, written(namespace, asMap))).To(Succeed())
		set := eventuallySet(ctx, namespace, "map")
		clique, group := playGrove(ctx, set)
		eventuallyCondition(ctx, namespace, "map", v1beta1.ConditionTopologyConstraintsEnforced,
			v1beta1.ReasonTopologyNotYetJudged)

		By("waiting for room")
		judge(ctx, set, metav1.ConditionFalse, "AllClusterTopologyLevelsAvailable", metav1.ConditionFalse,
			"rack z1/r7 is short of 40 nvidia.com/gpu")
		Eventually(func() string {
			return eventuallyCondition(ctx, namespace, "map", v1beta1.ConditionReady,
				v1beta1.ReasonServicesNotReady).Message
		}).Should(
			Equal(
				"Frontend: 2 of 2 pods wait, Worker: 1 of 1 replicas waits: rack z1/r7 is short of 40 nvidia.com/gpu"))
		eventuallyCondition(ctx, namespace, "map", v1beta1.ConditionTopologyConstraintsEnforced,
			v1beta1.ReasonAllTopologyLevelsAvailable)

		By("running")
		clique.Status = grovev1alpha1.PodCliqueStatus{Replicas: 2, ReadyReplicas: 2, ScheduledReplicas: 2,
			UpdatedReplicas: 2}
		Expect(k8s.Status().Update(ctx, clique)).To(Succeed())
		group.Status = grovev1alpha1.PodCliqueScalingGroupStatus{Replicas: 1, AvailableReplicas: 1,
			ScheduledReplicas: 1,
			UpdatedReplicas:   1}
		Expect(k8s.Status().Update(ctx, group)).To(Succeed())
		judge(ctx, set, metav1.ConditionFalse, "AllClusterTopologyLevelsAvailable", metav1.ConditionTrue, "")
		eventuallyCondition(ctx, namespace, "map", v1beta1.ConditionReady, v1beta1.ReasonAllServicesReady)
		old := &v1alpha1.DynamoGraphDeployment{}
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "map"}, old)).To(Succeed())
		Expect(old.Status.State).To(BeEquivalentTo("successful"))
		Expect(old.Status.Topology).To(Equal("grove-topology"))
		Expect(old.Status.Services).To(Equal(map[string]v1alpha1.ServiceReplicaStatus{
			"Frontend": {ComponentKind: "PodClique", ComponentName: "map-0-frontend", Replicas: 2, ReadyReplicas: 2,
				ScheduledReplicas: 2, UpdatedReplicas: 2},
			"Worker": {ComponentKind: "PodCliqueScalingGroup", ComponentName: "map-0-worker", Replicas: 1,
				ReadyReplicas:     1,
				ScheduledReplicas: 1, UpdatedReplicas: 1},
		}))

		By("losing a level, the topology, and both coming back")
		judge(ctx, set, metav1.ConditionTrue, "ClusterTopologyLevelsUnavailable", metav1.ConditionTrue, "")
		eventuallyCondition(ctx, namespace, "map", v1beta1.ConditionTopologyConstraintsEnforced,
			v1beta1.ReasonTopologyLevelsUnavailable)
		eventuallyCondition(ctx, namespace, "map", v1beta1.ConditionReady, v1beta1.ReasonAllServicesReady)
		judge(ctx, set, metav1.ConditionUnknown, "ClusterTopologyNotFound", metav1.ConditionTrue, "")
		eventuallyCondition(ctx, namespace, "map", v1beta1.ConditionTopologyConstraintsEnforced,
			v1beta1.ReasonTopologyDefinitionNotFound)
		judge(ctx, set, metav1.ConditionFalse, "AllClusterTopologyLevelsAvailable", metav1.ConditionTrue, "")
		eventuallyCondition(ctx, namespace, "map", v1beta1.ConditionTopologyConstraintsEnforced,
			v1beta1.ReasonAllTopologyLevelsAvailable)
		Eventually(eventReasons).WithArguments(ctx, namespace).Should(ConsistOf(
			"Normal TopologyConstraintsApplied", "Warning TopologyConstraintsNotEnforced",
			"Normal TopologyConstraintsEnforced",
		))
	})

	It("scales, and leaves alone what others scale", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(k8s.Create(ctx, written(namespace, asMap))).To(Succeed())
		set := eventuallySet(ctx, namespace, "map")
		clique, group := playGrove(ctx, set)

		By("asking for more, and for less")
		patch(ctx, namespace,
			`[{"op":"replace","path":"/spec/components/0/replicas","value":4},{"op":"replace","path":"/spec/components/1/replicas","value":3}]`)
		Eventually(cliqueReplicas).WithArguments(ctx, clique).Should(Equal(int32(4)))
		Eventually(groupReplicas).WithArguments(ctx, group).Should(Equal(int32(3)))
		patch(ctx, namespace,
			`[{"op":"replace","path":"/spec/components/0/replicas","value":2},{"op":"replace","path":"/spec/components/1/replicas","value":1}]`)
		Eventually(cliqueReplicas).WithArguments(ctx, clique).Should(Equal(int32(2)))
		Eventually(groupReplicas).WithArguments(ctx, group).Should(Equal(int32(1)))

		By("a user scaling what the status names")
		Eventually(func() map[string]v1beta1.ServiceReplicaStatus {
			return deployment(ctx, namespace, "map").Status.Services
		}).Should(HaveKey("Worker"))
		worker := deployment(ctx, namespace, "map").Status.Services["Worker"]
		Expect(worker.ComponentKind + " " + worker.ComponentName).To(Equal("PodCliqueScalingGroup map-0-worker"))
		scaleTo(ctx, group, 6)
		patch(ctx, namespace, `[{"op":"replace","path":"/spec/components/0/replicas","value":1}]`)
		Eventually(cliqueReplicas).WithArguments(ctx, clique).Should(Equal(int32(1)),
			"another service is scaled meanwhile")
		Expect(groupReplicas(ctx, group)).To(Equal(int32(6)))
		patch(ctx, namespace, `[{"op":"replace","path":"/spec/components/0/replicas","value":2}]`)
		Eventually(cliqueReplicas).WithArguments(ctx, clique).Should(Equal(int32(2)))
	})

	It("writes nothing while nothing changes", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(k8s.Create(ctx, written(namespace, asMap))).To(Succeed())
		set := eventuallySet(ctx, namespace, "map")
		playGrove(ctx, set)
		eventuallyCondition(ctx, namespace, "map", v1beta1.ConditionReady, v1beta1.ReasonServicesNotReady)
		before := deployment(ctx, namespace, "map").ResourceVersion
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())

		// An annotation makes the controller reconcile the object again.
		touch := client.RawPatch("application/merge-patch+json",
			[]byte(`{"metadata":{"annotations":{"look":"again"}}}`))
		object := deployment(ctx, namespace, "map")
		Expect(k8s.Patch(ctx, object, touch)).To(Succeed())
		Consistently(func(g Gomega) {
			g.Expect(deployment(ctx, namespace, "map").ResourceVersion).To(Equal(object.ResourceVersion))
			again := &grovev1alpha1.PodCliqueSet{}
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(set), again)).To(Succeed())
			g.Expect(again.ResourceVersion).To(Equal(set.ResourceVersion))
		}, "500ms").Should(Succeed())
		Expect(before).NotTo(Equal(object.ResourceVersion), "the annotation itself was written")
	})
})

// playGrove makes the objects that Grove would make of the example's PodCliqueSet.
func playGrove(
	ctx context.Context, set *grovev1alpha1.PodCliqueSet,
) (*grovev1alpha1.PodClique, *grovev1alpha1.PodCliqueScalingGroup) {
	part := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: set.Namespace, Name: set.Name + "-0-" + name,
			Labels: map[string]string{grovev1alpha1.LabelPartOf: set.Name}}
	}
	clique := &grovev1alpha1.PodClique{ObjectMeta: part("frontend"), Spec: set.Spec.Template.Cliques[0].Spec}
	Expect(k8s.Create(ctx, clique)).To(Succeed())
	members := set.Spec.Template.PodCliqueScalingGroups[0]
	group := &grovev1alpha1.PodCliqueScalingGroup{ObjectMeta: part("worker"),
		Spec: grovev1alpha1.PodCliqueScalingGroupSpec{
			Replicas: *members.Replicas, MinAvailable: members.MinAvailable, CliqueNames: members.CliqueNames,
		}}
	Expect(k8s.Create(ctx, group)).To(Succeed())
	judge(ctx, set, "", "", metav1.ConditionFalse, "")
	return clique, group
}

// judge writes Grove's judgement of the PodCliqueSet's topology, if levels is set, and of its readiness, and the
// scheduler's judgement of its gang.
func judge(
	ctx context.Context, set *grovev1alpha1.PodCliqueSet, levels metav1.ConditionStatus, reason string,
	ready metav1.ConditionStatus, sentence string,
) {
	Eventually(func() error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
			return err
		}
		set.Status.ObservedGeneration = set.Generation
		meta.SetStatusCondition(&set.Status.Conditions,
			metav1.Condition{Type: grovev1alpha1.ConditionReady, Status: ready,
				Reason:  grovev1alpha1.ReasonGangsWaiting,
				Message: "PodGang " + set.Name + "-0 waits: " + sentence})
		set.Status.PodGangStatuses = []grovev1alpha1.PodGangStatus{
			{Name: set.Name + "-0", Phase: grovev1alpha1.PodGangPending, Conditions: []metav1.Condition{
				{Type: schedulerv1alpha1.ConditionScheduled, Status: ready, Reason: "Infeasible", Message: sentence,
					LastTransitionTime: metav1.Now()},
			}}}
		if levels != "" {
			meta.SetStatusCondition(&set.Status.Conditions, metav1.Condition{
				Type: grovev1alpha1.ConditionTopologyLevelsUnavailable, Status: levels, Reason: reason, Message: reason,
			})
		}
		return k8s.Status().Update(ctx, set)
	}).Should(Succeed(), "Grove writes the status of the PodCliqueSet")
}

func patch(ctx context.Context, namespace, operations string) {
	object := &v1beta1.DynamoGraphDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "map"}}
	ExpectWithOffset(1, k8s.Patch(ctx, object, client.RawPatch("application/json-patch+json", []byte(operations)))).To(
		Succeed())
}

func deployment(ctx context.Context, namespace, name string) *v1beta1.DynamoGraphDeployment {
	object := &v1beta1.DynamoGraphDeployment{}
	ExpectWithOffset(1, k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)).To(Succeed())
	return object
}

func eventuallySet(ctx context.Context, namespace, name string) *grovev1alpha1.PodCliqueSet {
	set := &grovev1alpha1.PodCliqueSet{}
	EventuallyWithOffset(1, func() error {
		return k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, set)
	}).Should(Succeed(), "the PodCliqueSet is created")
	return set
}

// eventuallyObserved waits until the operator has acted on what a deployment says, and says so.
func eventuallyObserved(ctx context.Context, namespace, name string) {
	EventuallyWithOffset(1, func(g Gomega) {
		current := deployment(ctx, namespace, name)
		g.Expect(current.Status.ObservedGeneration).To(Equal(current.Generation))
	}).Should(Succeed(), "the operator has acted on it")
}

func eventuallyCondition(ctx context.Context, namespace, name, kind, reason string) *metav1.Condition {
	var condition *metav1.Condition
	EventuallyWithOffset(1, func(g Gomega) {
		current := deployment(ctx, namespace, name)
		condition = meta.FindStatusCondition(current.Status.Conditions, kind)
		g.Expect(condition).To(HaveField("Reason", reason), "of %s in %v", kind, current.Status)
	}).Should(Succeed(), "%s becomes %s", kind, reason)
	return condition
}

func cliqueReplicas(ctx context.Context, clique *grovev1alpha1.PodClique) (int32, error) {
	current := &grovev1alpha1.PodClique{}
	err := k8s.Get(ctx, client.ObjectKeyFromObject(clique), current)
	return current.Spec.Replicas, err
}

func groupReplicas(ctx context.Context, group *grovev1alpha1.PodCliqueScalingGroup) (int32, error) {
	current := &grovev1alpha1.PodCliqueScalingGroup{}
	err := k8s.Get(ctx, client.ObjectKeyFromObject(group), current)
	return current.Spec.Replicas, err
}

// scaleTo scales as kubectl scale does.
func scaleTo(ctx context.Context, object client.Object, replicas int32) {
	object = object.DeepCopyObject().(client.Object)
	body := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	ExpectWithOffset(1, k8s.SubResource("scale").Update(ctx, object, client.WithSubResourceBody(body))).To(Succeed())
}

func eventReasons(ctx context.Context, namespace string) ([]string, error) {
	list := &eventsv1.EventList{}
	err := k8s.List(ctx, list, client.InNamespace(namespace))
	var reasons []string
	for _, event := range list.Items {
		if event.Regarding.Kind == "DynamoGraphDeployment" { // An API server has events of its own, on Services.
			reasons = append(reasons, event.Type+" "+event.Reason)
		}
	}
	return reasons, err
}
