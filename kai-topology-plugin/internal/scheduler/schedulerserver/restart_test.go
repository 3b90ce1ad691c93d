package schedulerserver_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var _ = Describe("a scheduler that starts anew", func() {
	It("finishes a gang that was left half bound, where it stands", func() {
		namespace := givenNamespace()
		givenTopology()
		givenRack("z1", "r1", 2, 2)
		givenRack("z1", "r2", 2, 2)
		givenPodGroup(namespace, "half", needing(4, required(rackLevel)))
		givenPods(namespace, "half", "", 4, 1)
		for name, node := range map[string]string{"half-0": "z1-r2-0", "half-1": "z1-r2-1"} {
			Expect(kube.CoreV1().Pods(namespace).Bind(ctx, &corev1.Binding{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
				Target:     corev1.ObjectReference{Kind: "Node", Name: node},
			}, metav1.CreateOptions{})).To(Succeed())
		}
		startScheduler()
		Expect(eventuallyBound(namespace, gangOf("half"), 4).domains(rackLevel)).To(Equal([]string{"/r2"}))
	})

	It("ends with whole gangs, each in one rack, however often it is killed", func() {
		const size = 40
		namespace := givenNamespace()
		givenTopology()
		for _, rack := range []string{"r1", "r2", "r3"} {
			givenRack("z1", rack, 6, 8)
		}
		scheduler := startScheduler()
		for _, name := range []string{"one", "two", "three"} {
			givenPodGroup(namespace, name, needing(size, required(rackLevel)))
			givenPods(namespace, name, "", size, 1)
			Eventually(func() placement { return placementOf(namespace, gangOf(name)) }).ShouldNot(BeEmpty())
			kill(scheduler)
			scheduler = startScheduler()
		}
		for _, name := range []string{"one", "two", "three"} {
			Expect(eventuallyBound(namespace, gangOf(name), size).domains(rackLevel)).To(HaveLen(1), "racks of gang %s", name)
		}
	})

	It("takes the gangs that came before it in their order", func() {
		namespace := givenNamespace()
		givenTopology()
		givenPriorities()
		givenRack("z1", "r1", 2, 2)
		// One that is placed too early stays, so that the wrong order shows.
		stays := scheduling.PodGroupSpec{MinMember: ptr.To[int32](3), Preemptibility: scheduling.NonPreemptible}
		for _, gang := range []struct{ name, priority string }{{"first", low}, {"second", low}, {"last", high}} {
			givenPodGroup(namespace, gang.name, stays)
			for i := range 3 {
				create(important(gang.priority, pod(namespace, gang.name, "", fmt.Sprintf("%s-%d", gang.name, i), 1)))
			}
		}
		startScheduler()
		eventuallyBound(namespace, gangOf("last"), 3)
		for _, name := range []string{"first", "second"} {
			Eventually(scheduled(namespace, name)).Should(withReason(scheduling.ReasonInfeasible))
		}
		eventuallyBound(namespace, "", 3)
	})
})
