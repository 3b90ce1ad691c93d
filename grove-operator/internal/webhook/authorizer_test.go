package webhook_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/gangs"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
	"packtree.dev/grove-operator/internal/topology"
)

const (
	alice            = "alice"
	garbageCollector = "system:serviceaccount:kube-system:generic-garbage-collector"
	namespaceRemover = "system:serviceaccount:kube-system:namespace-controller"
	kubelet          = "system:node:node-1"
	scheduler        = "system:serviceaccount:packtree-system:kai-topology-plugin"
)

// managedSet creates a set in a namespace of its own, with one child of every kind as the operator makes them, and
// returns the namespace.
func managedSet() string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "managed-"}}
	Expect(c.Create(ctx, namespace)).To(Succeed())
	set := fixture.Set(GinkgoTB(), `
metadata: {name: s}
spec:
  replicas: 1
  template:
    cliques: [{name: a, spec: {podSpec: {}, autoScalingConfig: {maxReplicas: 3}}}, {name: b, spec: {podSpec: {}}}]
    podCliqueScalingGroups: [{name: g, cliqueNames: [b]}]
`)
	set.Namespace = namespace.Name
	Expect(c.Create(ctx, set)).To(Succeed())
	Expect(as(alice).Get(ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())
	member := layout.Standalone(set, 0)[0]
	podClique := children.PodClique(set, member, nil)
	create(children.ServiceAccount(set), children.Role(set), children.RoleBinding(set, nil),
		children.HeadlessService(set, 0),
		children.Autoscalers(set, 0)[0], children.ScalingGroup(set, 0, &set.Spec.Template.PodCliqueScalingGroups[0]),
		podClique)
	none := gangs.Live{
		Copies:   func(string) (int32, bool) { return 0, false },
		Replicas: func(string) (int32, bool) { return 0, false },
		Pods:     func(string) []string { return nil },
	}
	create(gangs.Desired(set, 0, topology.Resolution{}, none)[0])
	pod := pods.Maker{Set: set, Member: member, PodClique: podClique}.Make("s-0-a-abcde", 0)
	pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "example.com/hold"})
	pod.Spec.ServiceAccountName = ""
	create(pod)
	Eventually(func() error {
		return as(alice).Delete(ctx, named(&grovev1alpha1.PodClique{}, namespace.Name, "s-0-a"), client.DryRunAll)
	}).Should(Satisfy(apierrors.IsForbidden), "the webhook knows the set")
	return namespace.Name
}

func create(objects ...client.Object) {
	GinkgoHelper()
	for _, object := range objects {
		Expect(c.Create(ctx, object)).To(Succeed(), "%T", object)
	}
}

// action is what a user does to a child of the set.
type action func(user client.Client, namespace string) error

func named(object client.Object, namespace, name string) client.Object {
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

func remove(object client.Object, name string) action {
	return func(user client.Client, namespace string) error {
		return user.Delete(ctx, named(object, namespace, name))
	}
}

func patch(object client.Object, name, merge string) action {
	return func(user client.Client, namespace string) error {
		return user.Patch(ctx, named(object, namespace, name), client.RawPatch("application/merge-patch+json",
			[]byte(merge)))
	}
}

func patchStatus(object client.Object, name, merge string) action {
	return func(user client.Client, namespace string) error {
		return user.Status().Patch(ctx, named(object, namespace, name),
			client.RawPatch("application/merge-patch+json", []byte(merge)))
	}
}

func scaleTo(object client.Object, name string) action {
	return func(user client.Client, namespace string) error {
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
		return user.SubResource("scale").Update(ctx, named(object, namespace, name), client.WithSubResourceBody(scale))
	}
}

func evict(user client.Client, namespace string) error {
	pod := named(&corev1.Pod{}, namespace, "s-0-a-abcde")
	return user.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{})
}

func bind(user client.Client, namespace string) error {
	open := patch(&corev1.Pod{}, "s-0-a-abcde", `{"spec":{"schedulingGates":null}}`)
	if err := open(c, namespace); err != nil {
		return err
	}
	target := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node-1"}}
	return user.SubResource("binding").Create(ctx, named(&corev1.Pod{}, namespace, "s-0-a-abcde"), target)
}

func removeAll(list client.Object) action {
	return func(user client.Client, namespace string) error {
		return user.DeleteAllOf(ctx, list, client.InNamespace(namespace))
	}
}

// maintain switches protection off, or back on, and waits until the webhook has seen it.
func maintain(namespace, value string, expected func() error, matcher OmegaMatcher) {
	GinkgoHelper()
	merge := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, grovev1alpha1.AnnotationDisableProtection, value)
	Expect(patch(&grovev1alpha1.PodCliqueSet{}, "s", merge)(as(alice), namespace)).To(Succeed())
	Eventually(expected).Should(matcher)
}

const relabel = `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"me"}}}`

var _ = Describe("The authorizer", func() {
	pod := func() client.Object { return &corev1.Pod{} }

	DescribeTable("refuses", func(user string, does action, words string) {
		err := does(as(user), managedSet())
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(ContainSubstring(words)))
	},
		Entry("a user that deletes a PodClique", alice, remove(&grovev1alpha1.PodClique{}, "s-0-a"),
			"PodClique s-0-a is kept by grove-operator as PodCliqueSet s wants it: it may not be deleted"),
		Entry("a user that deletes all PodCliques", alice, removeAll(&grovev1alpha1.PodClique{}), "may not be deleted"),
		Entry("a user that changes a PodClique", alice,
			patch(&grovev1alpha1.PodClique{}, "s-0-a", `{"spec":{"podSpec":{"priorityClassName":"x"}}}`),
			"spec.podSpec.priorityClassName"),
		Entry("a user that deletes a PodCliqueScalingGroup", alice,
			remove(&grovev1alpha1.PodCliqueScalingGroup{}, "s-0-g"), "may not be deleted"),
		Entry("a user that deletes a PodGang", alice, remove(&schedulerv1alpha1.PodGang{}, "s-0"), "may not be deleted"),
		Entry("a user that takes the label off by which the webhook is called", alice,
			patch(pod(), "s-0-a-abcde", relabel), "metadata.labels[app.kubernetes.io/managed-by]"),
		Entry("a user that changes a Service", alice,
			patch(&corev1.Service{}, "s-0", `{"spec":{"publishNotReadyAddresses":false}}`),
			"spec.publishNotReadyAddresses"),
		Entry("a user that deletes the ServiceAccount", alice, remove(&corev1.ServiceAccount{}, "s"),
			"may not be deleted"),
		Entry("another service account", "system:serviceaccount:platform:other",
			remove(&grovev1alpha1.PodClique{}, "s-0-a"), "may not be deleted"),
	)

	DescribeTable("lets through", func(user string, does action) {
		namespace := managedSet()
		done := c
		if user != "" {
			done = as(user)
		}
		Expect(does(done, namespace)).To(Succeed())
	},
		Entry("the operator", "", remove(&grovev1alpha1.PodClique{}, "s-0-a")),
		Entry("an exempt user", exempt, patch(&schedulerv1alpha1.PodGang{}, "s-0",
			`{"spec":{"priorityClassName":"x"}}`)),
		Entry("the garbage collector", garbageCollector, remove(&grovev1alpha1.PodClique{}, "s-0-a")),
		Entry("the garbage collector that lets children be orphans", garbageCollector,
			patch(&grovev1alpha1.PodClique{}, "s-0-a", `{"metadata":{"ownerReferences":null}}`)),
		Entry("the namespace controller", namespaceRemover, remove(&corev1.Service{}, "s-0")),
		Entry("controllers without credentials of their own", "system:kube-controller-manager",
			remove(&rbacv1.Role{}, "grove.io:pcs:s")),
		Entry("an autoscaler, and kubectl scale", "system:serviceaccount:kube-system:horizontal-pod-autoscaler",
			scaleTo(&grovev1alpha1.PodClique{}, "s-0-a")),
		Entry("a user that scales a PodCliqueScalingGroup", alice,
			scaleTo(&grovev1alpha1.PodCliqueScalingGroup{}, "s-0-g")),
		Entry("the scheduler that binds", scheduler, bind),
		Entry("the scheduler that says why a pod waits", scheduler,
			patchStatus(pod(), "s-0-a-abcde", `{"status":{"nominatedNodeName":"x"}}`)),
		Entry("a kubelet that deletes a pod", kubelet, remove(pod(), "s-0-a-abcde")),
		Entry("a user that deletes a pod, as under OnDelete", alice, remove(pod(), "s-0-a-abcde")),
		Entry("a drain", alice, evict),
	)

	It("leaves alone what others made, whatever its labels say", func() {
		namespace := managedSet()
		create(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "other",
				Labels: map[string]string{grovev1alpha1.LabelManagedBy: grovev1alpha1.LabelManagedByValue}},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		})
		Expect(remove(&corev1.Service{}, "other")(as(alice), namespace)).To(Succeed())
	})

	It("is switched off for a set by an annotation, and on again", func() {
		namespace := managedSet()
		attempt := func() error {
			return patch(&schedulerv1alpha1.PodGang{}, "s-0", `{"spec":{"priorityClassName":"x"}}`)(
				as(alice), namespace)
		}
		Expect(attempt()).To(Satisfy(apierrors.IsForbidden))
		maintain(namespace, "true", attempt, Succeed())
		maintain(namespace, "false", func() error {
			return as(alice).Delete(ctx, named(&schedulerv1alpha1.PodGang{}, namespace, "s-0"), client.DryRunAll)
		}, Satisfy(apierrors.IsForbidden))
	})

	It("lets every user clean up after a set that is gone", func() {
		namespace := managedSet()
		Expect(remove(&grovev1alpha1.PodCliqueSet{}, "s")(as(alice), namespace)).To(Succeed())
		Eventually(func() error { return remove(&grovev1alpha1.PodClique{}, "s-0-a")(as(alice), namespace) }).Should(
			Succeed())
	})
})
