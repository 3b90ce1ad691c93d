package schedulerserver_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var _ = Describe("a gang that is disturbed while it is bound", func() {
	var namespace string

	BeforeEach(func() {
		namespace = givenNamespace()
		givenTopology()
	})

	It("is mended where it stands when one of its bindings fails for a while", func() {
		givenRack("z1", "r1", 3, 2)
		givenRack("z1", "r2", 3, 2)
		admitAgain := refuseBinding("sick-2")
		startScheduler()
		givenPodGroup(namespace, "sick", needing(6, required(rackLevel)))
		givenPods(namespace, "sick", "", 6, 1)
		rack := eventuallyBound(namespace, gangOf("sick"), 5).domains(rackLevel)
		Expect(rack).To(HaveLen(1))

		// The other rack has room for a gang, and no pod holds what the pod will need.
		givenPodGroup(namespace, "next", needing(6, required(rackLevel)))
		givenPods(namespace, "next", "", 6, 1)
		eventuallyBound(namespace, gangOf("next"), 6)
		admitAgain()
		Expect(eventuallyBound(namespace, gangOf("sick"), 6).domains(rackLevel)).To(Equal(rack))
		Eventually(scheduled(namespace, "sick")).Should(withReason(scheduling.ReasonPlaced))
	})

	for run := range *repeats / 2 {
		It(fmt.Sprintf("ends whole in one rack when the scheduler dies after any number of bindings: run %d", run), func() {
			const size = 40
			for _, rack := range []string{"r1", "r2", "r3"} {
				givenRack("z1", rack, 5, 8)
			}
			first := startScheduler()
			givenPodGroup(namespace, "cut", needing(size, required(rackLevel)))
			givenPods(namespace, "cut", "", size, 1)
			bound := rand.IntN(size)
			Eventually(func() int { return boundOf(namespace, gangOf("cut")) }).WithPolling(time.Millisecond).Should(
				BeNumerically(">=", bound))
			kill(first)
			givenPodGroup(namespace, "rival", needing(size, required(rackLevel)))
			givenPods(namespace, "rival", "", size, 1)
			startScheduler()
			for _, gang := range []string{"cut", "rival"} {
				Expect(eventuallyBound(namespace, gangOf(gang), size).domains(rackLevel)).To(HaveLen(1), "racks of gang %s", gang)
			}
		})

		It(fmt.Sprintf("ends whole, on nodes without taint, when nodes are tainted meanwhile: run %d", run), func() {
			const size = 12
			for _, rack := range []string{"r1", "r2"} {
				givenRack("z1", rack, 8, 2)
			}
			startScheduler()
			givenPodGroup(namespace, "chased", needing(size, required(rackLevel)))
			givenPods(namespace, "chased", "", size, 1)
			for _, i := range rand.Perm(8)[:2] {
				taint(fmt.Sprintf("z1-r1-%d", i))
				taint(fmt.Sprintf("z1-r2-%d", i))
			}
			Expect(eventuallyBound(namespace, gangOf("chased"), size).domains(rackLevel)).To(HaveLen(1))
		})
	}

	It("is planned anew when a node of its plan is deleted, and waits whole if it then does not fit", func() {
		givenRack("z1", "r1", 4, 2)
		startScheduler()
		refuseBinding("lost-0")
		givenPodGroup(namespace, "lost", needing(8, required(rackLevel)))
		givenPods(namespace, "lost", "", 8, 1)
		eventuallyBound(namespace, gangOf("lost"), 7)
		// The room that the last pod was planned for disappears under it.
		givenNode("z1", "r1", 4, 1)
		loseNode(lastNodeWithRoom(namespace))
		Expect(kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(ctx, "refuse-lost-0",
			metav1.DeleteOptions{})).To(Succeed())
		Eventually(func(g Gomega) {
			pod, err := kube.CoreV1().Pods(namespace).Get(ctx, "lost-0", metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(pod.Spec.NodeName).To(Equal("z1-r1-4"))
		}).Should(Succeed())
	})
})

// lastNodeWithRoom is the node of the first rack that has one GPU left.
func lastNodeWithRoom(namespace string) string {
	GinkgoHelper()
	pods, err := kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	used := map[string]int{}
	for _, pod := range pods.Items {
		used[pod.Spec.NodeName]++
	}
	for i := range 4 {
		if name := fmt.Sprintf("z1-r1-%d", i); used[name] == 1 {
			return name
		}
	}
	Fail(fmt.Sprintf("no node has one pod: %v", used))
	return ""
}

func boundOf(namespace, selector string) int {
	GinkgoHelper()
	pods, err := kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	Expect(err).NotTo(HaveOccurred())
	bound := 0
	for _, pod := range pods.Items {
		if pod.Spec.NodeName != "" {
			bound++
		}
	}
	return bound
}

func taint(name string) {
	GinkgoHelper()
	_, err := kube.CoreV1().Nodes().Patch(ctx, name, "application/merge-patch+json",
		[]byte(`{"spec":{"taints":[{"key":"broken","effect":"NoSchedule"}]}}`), metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// refuseBinding has the API server turn down the binding of a pod until the function that it returns is called. It
// returns once the API server does so.
func refuseBinding(pod string) (admitAgain func()) {
	GinkgoHelper()
	name := "refuse-" + pod
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	policy.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
				Resources: []string{"pods/binding"}},
		},
	}}}
	policy.Spec.Validations = []admissionv1.Validation{{Expression: fmt.Sprintf("object.metadata.name != %q", pod)}}
	_, err := kube.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	bound := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	bound.Spec = admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
	}
	bindings := kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	_, err = bindings.Create(ctx, bound, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	admitAgain = func() { _ = bindings.Delete(ctx, name, metav1.DeleteOptions{}) }
	DeferCleanup(func() {
		admitAgain()
		Expect(kube.AdmissionregistrationV1().ValidatingAdmissionPolicies().Delete(ctx, name, metav1.DeleteOptions{})).To(
			Succeed())
	})
	Eventually(func() error { return tryToBind(pod) }).Should(MatchError(ContainSubstring(name)))
	return admitAgain
}

// tryToBind tries to bind a pod of that name, unknown to the cluster, without effect.
func tryToBind(name string) error {
	GinkgoHelper()
	const namespace = "default"
	made := pod(namespace, "", "", name, 0)
	made.Spec.SchedulerName = "nobody"
	if _, err := kube.CoreV1().Pods(namespace).Create(ctx, made, metav1.CreateOptions{}); err == nil {
		DeferCleanup(func() {
			Expect(kube.CoreV1().Pods(namespace).Delete(ctx, name,
				metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})).To(Succeed())
		})
	}
	return kube.CoreV1().Pods(namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "none"},
	}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}
