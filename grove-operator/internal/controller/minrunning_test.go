package controller_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/grove-operator/internal/pods"
)

var _ = Describe("A clique that goes on with fewer pods than it starts with", func() {
	It("is in breach, and its replica made anew, only below that; its gang says so to the scheduler", func() {
		in := namespace()
		createSet(in, `
metadata: {name: few}
spec:
  replicas: 1
  template:
    terminationDelay: 1s
    cliques:
      - name: a
        spec: {roleName: a, replicas: 4, minAvailable: 3, minRunning: 2, podSpec: {containers: [{name: main, image: x}]}}
`)
		Eventually(podsOf(in, nil)).Should(HaveLen(4))
		settleSet(in, "few", "1/1/1 AllReplicasAvailable")
		Expect(get(in, "few-0", &schedulerv1alpha1.PodGang{}).Annotations).To(
			HaveKeyWithValue(scheduling.AnnotationMinRunning, `{"few-0-a":2}`))
		before := identities(in)
		breach := func() string {
			found := condition(get(in, "few-0-a", &grovev1alpha1.PodClique{}), grovev1alpha1.ConditionMinAvailableBreached)
			return string(found.Status) + " " + found.Message
		}
		unready := func() {
			for _, pod := range podsOf(in, nil)() {
				if pods.Ready(&pod) {
					setReady(&pod, corev1.ConditionFalse)
					return
				}
			}
		}
		unready()
		unready()
		Eventually(breach).Should(Equal("False 2 pods are ready and 4 scheduled, 2 are needed"))
		Consistently(func(g Gomega) {
			g.Expect(breach()).To(HavePrefix("False"))
			g.Expect(state(in, "few")()).To(HavePrefix("1/1/1"))
			g.Expect(identities(in)).To(Equal(before))
		}).WithTimeout(3 * time.Second).Should(Succeed())
		unready()
		Eventually(terminations(in)).Should(HaveLen(1))
		settleSet(in, "few", "1/1/1 AllReplicasAvailable")
		for name, uid := range identities(in) {
			Expect(before[name]).NotTo(Equal(uid), name)
		}
	})
})
