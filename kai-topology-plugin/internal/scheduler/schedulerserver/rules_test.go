package schedulerserver_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var _ = Describe("a gang whose pods have rules about each other", Ordered, ContinueOnFailure, func() {
	var namespace string

	BeforeAll(func() { startScheduler() })

	BeforeEach(func() {
		namespace = givenNamespace()
		givenTopology()
	})

	// givenGang creates a gang of one leaf that requires a rack, of pods that are changed before.
	givenGang := func(name string, count int, change func(i int, pod *corev1.Pod)) {
		givenPodGroup(namespace, name, needing(int32(count), required(rackLevel)))
		for i := range count {
			made := pod(namespace, name, "", fmt.Sprintf("%s-%d", name, i), 1)
			change(i, made)
			create(made)
		}
	}

	It("is put on its nodes in the order that its rules ask for", func() {
		givenRack("z1", "r1", 1, 2)
		givenRack("z1", "r2", 2, 2)
		givenPodGroup(namespace, "led", needing(4, nil))
		for i := range 3 {
			follower := pod(namespace, "led", "", fmt.Sprintf("led-%d", i), 1)
			follower.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"leader": "yes"}}, TopologyKey: rackLevel,
				}},
			}}
			create(follower)
		}
		leader := pod(namespace, "led", "", "led-x", 1)
		leader.Labels["leader"] = "yes"
		create(leader)
		Expect(eventuallyBound(namespace, gangOf("led"), 4).domains(rackLevel)).To(Equal([]string{"/r2"}))
	})

	It("goes where each of its pods gets a device", func() {
		givenRack("z1", "r1", 2, 8)
		givenRack("z1", "r2", 3, 8)
		givenDeviceClass("nic")
		for _, node := range []string{"z1-r1-0", "z1-r1-1", "z1-r2-0", "z1-r2-1", "z1-r2-2"} {
			givenDevices("nic", node, 1)
		}
		givenGang("wired", 3, func(_ int, pod *corev1.Pod) { givenClaim(pod, pod.Name, "nic") })
		found := eventuallyBound(namespace, gangOf("wired"), 3)
		Expect(found.domains(rackLevel)).To(Equal([]string{"/r2"}))
		Expect(found.domains(corev1.LabelHostname)).To(HaveLen(3))
	})

	sharing := func(name, class, cpu string) {
		givenGang(name, 3, func(i int, pod *corev1.Pod) {
			pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
			if i == 0 {
				givenClaim(pod, name, class)
				return
			}
			useClaim(pod, name)
		})
	}

	It("shares a device of one node before it is allocated", func() {
		givenRack("z1", "r1", 3, 8)
		givenDeviceClass("card")
		givenDevices("card", "z1-r1-1", 1)
		sharing("shared", "card", "1")
		Expect(eventuallyBound(namespace, gangOf("shared"), 3).domains(corev1.LabelHostname)).To(Equal([]string{"/z1-r1-1"}))
	})

	It("shares a device of a rack, which all its nodes can use", func() {
		givenRack("z1", "r1", 2, 8)
		givenRack("z1", "r2", 3, 8)
		givenDeviceClass("channel")
		for _, rack := range []string{"r1", "r2"} {
			givenDeviceOf("channel", rackLevel, rack)
		}
		sharing("wide", "channel", "40")
		found := eventuallyBound(namespace, gangOf("wide"), 3)
		Expect(found.domains(rackLevel)).To(Equal([]string{"/r2"}))
		Expect(found.domains(corev1.LabelHostname)).To(HaveLen(3))
	})

	It("names a shared claim whose device not all nodes of its pods can use", func() {
		givenRack("z1", "r1", 3, 8)
		givenDeviceClass("local")
		for _, node := range []string{"z1-r1-0", "z1-r1-1", "z1-r1-2"} {
			givenDevices("local", node, 1)
		}
		sharing("torn", "local", "40")
		Eventually(scheduled(namespace, "torn")).Should(And(withReason(scheduling.ReasonUnknown),
			HaveField("Message", ContainSubstring("claim torn is shared, and its device cannot be used from all nodes"))))
		Expect(placementOf(namespace, gangOf("torn"))).To(BeEmpty())
	})

	// attached is a gang of two pods; one uses a device of a node that has to be prepared.
	attached := func(name, node string) {
		givenDeviceClass("attached")
		givenSlice(name, 1, func(slice *resourcev1.ResourceSlice) {
			slice.Spec.NodeName = &node
		}, func(device *resourcev1.Device) {
			device.BindingConditions, device.BindingFailureConditions = []string{"ready"}, []string{"failed"}
		})
		givenGang(name, 2, func(i int, pod *corev1.Pod) {
			if i == 0 {
				givenClaim(pod, name, "attached")
			}
		})
	}

	It("has no pod bound before the devices of all are prepared, and names the claim that it waits for", func() {
		givenRack("z1", "r1", 2, 8)
		attached("prepared", "z1-r1-0")
		Eventually(scheduled(namespace, "prepared")).Should(And(withReason(scheduling.ReasonWaiting),
			HaveField("Message", ContainSubstring("waiting for claim prepared"))))
		Expect(placementOf(namespace, gangOf("prepared"))).To(BeEmpty())
		markDevice(namespace, "prepared", "ready")
		eventuallyBound(namespace, gangOf("prepared"), 2)
	})

	It("gives back a device that cannot be prepared, and goes where there is another", func() {
		givenRack("z1", "r1", 2, 8)
		attached("spoilt", "z1-r1-0")
		Eventually(scheduled(namespace, "spoilt")).Should(HaveField("Message", ContainSubstring("claim spoilt")))
		givenDevices("attached", "z1-r1-1", 1)
		cordonNode("z1-r1-0")
		markDevice(namespace, "spoilt", "failed")
		found := eventuallyBound(namespace, gangOf("spoilt"), 2)
		Expect(found.domains(corev1.LabelHostname)).To(Equal([]string{"/z1-r1-1"}))
	})

	It("goes where each of its pods gets a volume", func() {
		givenRack("z1", "r1", 2, 8)
		givenRack("z1", "r2", 3, 8)
		for _, node := range []string{"z1-r1-0", "z1-r2-0", "z1-r2-1", "z1-r2-2"} {
			givenLocalVolume(node)
		}
		givenGang("stored", 3, func(_ int, pod *corev1.Pod) { givenVolumeClaim(pod) })
		Eventually(func() placement {
			bindVolumes(namespace)
			return placementOf(namespace, gangOf("stored"))
		}).Should(HaveLen(3))
		Expect(placementOf(namespace, gangOf("stored")).domains(rackLevel)).To(Equal([]string{"/r2"}))
	})

	It("has no pod bound before all have their volumes, and names the claim that it waits for", func() {
		givenRack("z1", "r3", 2, 8)
		givenLocalVolume("z1-r3-0") // Volumes that are deleted keep their names.
		givenGang("half", 2, func(i int, pod *corev1.Pod) {
			if i == 1 {
				givenVolumeClaim(pod)
			}
		})
		Eventually(scheduled(namespace, "half")).Should(And(withReason(scheduling.ReasonWaiting),
			HaveField("Message", ContainSubstring("waiting for claim half-1"))))
		Expect(placementOf(namespace, gangOf("half"))).To(BeEmpty())
		Eventually(func() placement {
			bindVolumes(namespace)
			return placementOf(namespace, gangOf("half"))
		}).Should(HaveLen(2))
		Eventually(scheduled(namespace, "half")).Should(withReason(scheduling.ReasonPlaced))
	})
})
