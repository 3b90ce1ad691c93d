package schedulerserver_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

var _ = Describe("a gang whose pods come one by one", func() {
	It("stands in one rack, also if the scheduler dies in between", func() {
		namespace := givenNamespace()
		givenTopology()
		for _, rack := range []string{"r1", "r2", "r3"} {
			givenRack("z1", rack, 1, 1)
		}
		givenRack("z1", "roomy", 4, 1)
		_, err := packtree.SchedulingV2alpha2().PodGroups(namespace).Create(ctx, &scheduling.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "slow", Annotations: map[string]string{
				scheduling.AnnotationExpectedPods: podgrouptree.Expected{"": 4}.String(),
			}},
			Spec: needing(1, required(rackLevel)),
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		scheduler := startScheduler()
		for i := range 4 {
			if i == 2 {
				kill(scheduler)
				startScheduler()
			}
			create(pod(namespace, "slow", "", fmt.Sprintf("slow-%d", i), 1))
			Expect(eventuallyBound(namespace, gangOf("slow"), i+1).domains(rackLevel)).To(Equal([]string{"/roomy"}))
		}
	})
})
