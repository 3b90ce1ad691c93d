package schedulerserver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// asking has a pod ask for one of a resource besides, or instead of, what it asks for.
func asking(pod *corev1.Pod, name string) {
	one := resource.MustParse("1")
	resources := &pod.Spec.Containers[0].Resources
	resources.Requests[corev1.ResourceName(name)], resources.Limits[corev1.ResourceName(name)] = one, one
}

var _ = Describe("a resource that nodes do not advertise", func() {
	const license = "example.com/license"
	var namespace string

	BeforeEach(func() {
		namespace = givenNamespace()
		givenTopology()
	})

	givenGang := func(name string, count int, resource string) {
		givenPodGroup(namespace, name, needing(int32(count), required(rackLevel)))
		for i := range count {
			made := pod(namespace, name, "", fmt.Sprintf("%s-%d", name, i), 0)
			asking(made, resource)
			create(made)
		}
	}

	It("comes from the devices of a DeviceClass, and from plugins where nodes have one", func() {
		startScheduler()
		givenRack("z1", "r1", 2, 8)
		givenRack("z1", "r2", 3, 0)
		givenDeviceClass("accelerator", providing(string(gpu)))
		givenDevices("accelerator", "z1-r2-0", 1)
		givenDevices("accelerator", "z1-r2-1", 2)
		givenGang("devices", 3, string(gpu))
		Expect(eventuallyBound(namespace, gangOf("devices"), 3).domains(rackLevel)).To(HaveLen(1))
		givenPodGroup(namespace, "plugins", needing(16, nil))
		givenPods(namespace, "plugins", "", 16, 1)
		Expect(eventuallyBound(namespace, gangOf("plugins"), 16)).NotTo(BeEmpty())
	})

	It("is spread over devices that are free, and no more pods than these are placed", func() {
		startScheduler()
		givenRack("z1", "r1", 2, 0)
		givenDeviceClass("implicit")
		givenDevices("implicit", "z1-r1-0", 1)
		givenDevices("implicit", "z1-r1-1", 1)
		implicit := "deviceclass.resource.kubernetes.io/implicit"
		givenGang("many", 3, implicit)
		Eventually(scheduled(namespace, "many")).Should(withReason(scheduling.ReasonUnknown))
		Expect(placementOf(namespace, gangOf("many"))).To(BeEmpty())
		givenGang("pair", 2, implicit)
		Expect(eventuallyBound(namespace, gangOf("pair"), 2).domains(corev1.LabelHostname)).To(HaveLen(2))
	})

	It("is there as soon as a DeviceClass provides it", func() {
		startScheduler()
		givenRack("z1", "r1", 2, 8)
		givenDevices("late", "z1-r1-0", 1)
		givenDevices("late", "z1-r1-1", 1)
		givenGang("waits", 2, license)
		Eventually(scheduled(namespace, "waits")).Should(
			And(withReason(scheduling.ReasonInfeasible), HaveField("Message", ContainSubstring(license))))
		givenDeviceClass("late", providing(license))
		eventuallyBound(namespace, gangOf("waits"), 2)
	})

	It("is not asked about where the configuration ignores it", func() {
		file := filepath.Join(GinkgoT().TempDir(), "config.yaml")
		ignoring := strings.TrimRight(configuration, "\n") + `
    pluginConfig:
      - name: NodeResourcesFit
        args:
          apiVersion: kubescheduler.config.k8s.io/v1
          kind: NodeResourcesFitArgs
          ignoredResources: [example.com/license]
          ignoredResourceGroups: [ignored.example.com]
          scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: 1}]}
`
		Expect(os.WriteFile(file, []byte(ignoring), 0o600)).To(Succeed())
		startSchedulerWith(GinkgoWriter, "--config", file, "--secure-port", "0")
		givenRack("z1", "r1", 2, 8)
		givenGang("licensed", 2, license)
		eventuallyBound(namespace, gangOf("licensed"), 2)
		givenGang("grouped", 2, "ignored.example.com/anything")
		eventuallyBound(namespace, gangOf("grouped"), 2)
		givenGang("refused", 2, "other.example.com/anything")
		Eventually(scheduled(namespace, "refused")).Should(withReason(scheduling.ReasonInfeasible))
	})
})

var _ = Describe("volumes of which a node takes so many", func() {
	It("has a gang go where each node can attach its volumes", func() {
		namespace := givenNamespace()
		givenTopology()
		givenRack("z1", "r1", 2, 8)
		givenRack("z1", "r2", 3, 8)
		for _, node := range []string{"z1-r1-0", "z1-r1-1", "z1-r2-0", "z1-r2-1", "z1-r2-2"} {
			givenAttachable(node, 1)
		}
		startScheduler()
		givenPodGroup(namespace, "attached", needing(3, required(rackLevel)))
		for i := range 3 {
			made := pod(namespace, "attached", "", fmt.Sprintf("attached-%d", i), 1)
			givenBoundClaim(made)
			create(made)
		}
		found := eventuallyBound(namespace, gangOf("attached"), 3)
		Expect(found.domains(rackLevel)).To(Equal([]string{"/r2"}))
		Expect(found.domains(corev1.LabelHostname)).To(HaveLen(3))
	})
})
