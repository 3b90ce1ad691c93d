package controller_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/controller"
	"packtree.dev/grove-operator/internal/controller/podclique"
	"packtree.dev/grove-operator/internal/passes"
)

// at reconciles a PodClique as the operator does at a moment: after a conflict, with the running operator here, again.
func at(moment time.Time, in, name string) (result reconcile.Result) {
	GinkgoHelper()
	reconciler := &podclique.Reconciler{Client: cached, Writer: controller.Writer(cached, c),
		Clock: testclock.NewFakePassiveClock(moment)}
	Eventually(func() time.Duration {
		var err error
		result, err = reconciler.Reconcile(ctx,
			reconcile.Request{NamespacedName: types.NamespacedName{Namespace: in, Name: name}})
		Expect(err).NotTo(HaveOccurred())
		return result.RequeueAfter
	}).ShouldNot(Equal(passes.Window))
	return result
}

// served are the pods that the headless Service of the first replica selects.
func served(in string) func() []string {
	return func() []string {
		GinkgoHelper()
		service := get(in, "inf-0", &corev1.Service{})
		return names(podsOf(in, client.MatchingLabels(service.Spec.Selector))())
	}
}

// keepEndpoints runs the controller of Kubernetes that keeps EndpointSlices, until the end of the spec.
func keepEndpoints() {
	GinkgoHelper()
	user, err := environment.AddUser(envtest.User{Name: "endpoints", Groups: []string{"system:masters"}}, nil)
	Expect(err).NotTo(HaveOccurred())
	content, err := user.KubeConfig()
	Expect(err).NotTo(HaveOccurred())
	kubeconfig := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(os.WriteFile(kubeconfig, content, 0o600)).To(Succeed())
	process := exec.Command(filepath.Join(environment.BinaryAssetsDirectory, "kube-controller-manager"),
		"--kubeconfig", kubeconfig, "--controllers=endpointslice-controller", "--leader-elect=false", "--secure-port=0")
	process.Stdout, process.Stderr = GinkgoWriter, GinkgoWriter
	Expect(process.Start()).To(Succeed())
	DeferCleanup(func() {
		Expect(process.Process.Kill()).To(Succeed())
		Expect(process.Wait()).NotTo(Succeed())
	})
}

// endpoints are the names of the pods that the headless Service of the first replica publishes, with their conditions.
func endpoints(in string) func() map[string]string {
	return func() map[string]string {
		GinkgoHelper()
		var slices discoveryv1.EndpointSliceList
		Expect(c.List(ctx, &slices, client.InNamespace(in),
			client.MatchingLabels{discoveryv1.LabelServiceName: "inf-0"})).To(
			Succeed())
		all := map[string]string{}
		for _, slice := range slices.Items {
			for _, endpoint := range slice.Endpoints {
				all[endpoint.TargetRef.Name] = fmt.Sprintf("ready %t, terminating %t", *endpoint.Conditions.Ready,
					*endpoint.Conditions.Terminating)
			}
		}
		return all
	}
}

func giveAddress(pod corev1.Pod, address string) {
	GinkgoHelper()
	before := pod.DeepCopy()
	pod.Status.PodIP, pod.Status.PodIPs = address, []corev1.PodIP{{IP: address}}
	Expect(c.Status().Patch(ctx, &pod, client.MergeFrom(before))).To(Succeed())
}

var _ = Describe("A pod on a node that does not answer", func() {
	// cutOff deletes a router pod, which no kubelet ends, and waits until the operator has seen that.
	cutOff := func(in string) *corev1.Pod {
		GinkgoHelper()
		pod := podsOf(in, client.MatchingLabels{"grove.io/podclique": "inf-0-router"})()[0]
		Expect(c.Delete(ctx, &pod, client.GracePeriodSeconds(30))).To(Succeed())
		known := &corev1.Pod{}
		Eventually(func() bool {
			Expect(cached.Get(ctx, client.ObjectKeyFromObject(&pod), known)).To(Succeed())
			return known.DeletionTimestamp != nil
		}).Should(BeTrue())
		return known
	}

	It("is replaced a minute past its grace period, and leaves the Service before", func() {
		in, _ := running()
		routers := client.MatchingLabels{"grove.io/podclique": "inf-0-router"}
		stuck := cutOff(in)
		graceEnds := stuck.DeletionTimestamp.Time

		result := at(graceEnds.Add(59*time.Second), in, "inf-0-router")
		Expect(result.RequeueAfter).To(Equal(time.Second))
		Expect(podsOf(in, routers)()).To(HaveLen(2))
		Expect(served(in)()).To(ContainElement(stuck.Name))

		at(graceEnds.Add(time.Minute), in, "inf-0-router")
		Expect(served(in)()).NotTo(ContainElement(stuck.Name))
		var successors []corev1.Pod
		for _, pod := range podsOf(in, routers)() {
			if pod.Name != stuck.Name && pod.Spec.Hostname == stuck.Spec.Hostname {
				successors = append(successors, pod)
			}
		}
		Expect(successors).To(HaveLen(1))
		Expect(served(in)()).To(ContainElement(successors[0].Name))
		Expect(podsOf(in, routers)()).To(HaveLen(3), "the stuck pod is still there")

		By("being left alone from then on")
		left := get(in, stuck.Name, &corev1.Pod{})
		Eventually(func() map[string]string {
			known := &corev1.Pod{}
			Expect(cached.Get(ctx, client.ObjectKeyFromObject(left), known)).To(Succeed())
			return known.Labels
		}).ShouldNot(HaveKey(grovev1alpha1.LabelPodCliqueSetReplicaIndex))
		at(graceEnds.Add(time.Hour), in, "inf-0-router")
		Expect(get(in, stuck.Name, &corev1.Pod{}).ResourceVersion).To(Equal(left.ResourceVersion))
	})

	It("is published by Kubernetes until the operator takes it out", func() {
		keepEndpoints()
		in, _ := running()
		for i, pod := range podsOf(in, client.MatchingLabels{"grove.io/podclique": "inf-0-router"})() {
			giveAddress(pod, fmt.Sprintf("10.0.0.%d", i+1))
		}
		Eventually(endpoints(in)).Should(HaveLen(2))
		stuck := cutOff(in)
		setReady(stuck, corev1.ConditionFalse) // Kubernetes sets this for pods on a node that does not answer.
		Eventually(endpoints(in)).Should(HaveKeyWithValue(stuck.Name, "ready true, terminating true"))

		at(stuck.DeletionTimestamp.Add(time.Minute), in, "inf-0-router")
		Eventually(endpoints(in)).Should(And(HaveLen(1), Not(HaveKey(stuck.Name))))
	})

	It("leaves the Service, and holds its PodClique no longer, when that is deleted", func() {
		in, _ := running()
		stuck := cutOff(in)
		graceEnds := stuck.DeletionTimestamp.Time
		deleted := get(in, "inf-0-router", &grovev1alpha1.PodClique{})
		Expect(c.Delete(ctx, deleted)).To(Succeed())
		Eventually(func() []string {
			for _, pod := range podsOf(in, client.MatchingLabels{"grove.io/podclique": "inf-0-router"})() {
				if pod.DeletionTimestamp != nil && pod.Name != stuck.Name {
					Expect(client.IgnoreNotFound(c.Delete(ctx, &pod, client.GracePeriodSeconds(0)))).To(Succeed())
				}
			}
			var known corev1.PodList
			Expect(cached.List(ctx, &known, client.InNamespace(in),
				client.MatchingLabels{"grove.io/podclique": "inf-0-router"})).To(Succeed())
			return names(known.Items)
		}).Should(ConsistOf(stuck.Name))

		Expect(at(graceEnds.Add(59*time.Second), in, "inf-0-router").RequeueAfter).To(Equal(time.Second))
		Expect(get(in, "inf-0-router", &grovev1alpha1.PodClique{}).UID).To(Equal(deleted.UID))
		Expect(served(in)()).To(ContainElement(stuck.Name))

		at(graceEnds.Add(time.Minute), in, "inf-0-router")
		Expect(served(in)()).NotTo(ContainElement(stuck.Name))
		Eventually(func() types.UID {
			made := &grovev1alpha1.PodClique{}
			Expect(client.IgnoreNotFound(c.Get(ctx, client.ObjectKeyFromObject(deleted), made))).To(Succeed())
			return made.UID
		}).ShouldNot(Or(BeEmpty(), Equal(deleted.UID)), "another is made in its place")
	})
})
