package schedulerserver_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	corev1 "k8s.io/api/core/v1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var _ = Describe("the log", func() {
	It("has no contents of pods, at the highest verbosity that the chart allows", func() {
		namespace := givenNamespace()
		givenTopology()
		givenRack("z1", "r1", 1, 2)
		log := gbytes.NewBuffer()
		startSchedulerWith(log, "--secure-port", "0", "--v", "7", "--feature-gates", gates)
		for name, gpus := range map[string]int64{"fits": 1, "wide": 4} {
			givenPodGroup(namespace, name, needing(1, required(rackLevel)))
			made := pod(namespace, name, "", name+"-0", gpus)
			made.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "PASSWORD", Value: "hunter2"}}
			made.Spec.Containers[0].Args = []string{"--password=hunter2"}
			create(made)
		}
		eventuallyBound(namespace, gangOf("fits"), 1)
		Eventually(scheduled(namespace, "wide")).Should(withReason(scheduling.ReasonInfeasible))
		Eventually(log).Should(gbytes.Say(namespace + "/wide"))
		Expect(string(log.Contents())).NotTo(ContainSubstring("hunter2"))
	})
})
