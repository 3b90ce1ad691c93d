package schedulerserver_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/common/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/scheduler/plugin"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/freeport"
)

var _ = Describe("/metrics", func() {
	It("tells of decisions, of gangs that wait, also after a restart, and of what is free where", func() {
		namespace := givenNamespace()
		givenTopology()
		givenRack("z1", "r1", 2, 4)
		givenRack("z1", "r2", 1, 4)
		file := filepath.Join(GinkgoT().TempDir(), "config.yaml")
		asking := strings.TrimRight(configuration, "\n") + `
    pluginConfig:
      - name: ` + plugin.Name + `
        args:
          shapes:
            - {name: of-3, pods: 3, resources: {` + string(gpu) + `: 2}, requiredLevel: ` + rackLevel + `}
            - {name: of-4, pods: 4, resources: {` + string(gpu) + `: 2}, requiredLevel: ` + rackLevel + `}
`
		Expect(os.WriteFile(file, []byte(asking), 0o600)).To(Succeed())
		scheduler, scrape := startSchedulerWithMetrics("--config", file)
		givenPodGroup(namespace, "fits", needing(3, required(rackLevel)))
		givenPods(namespace, "fits", "", 3, 2)
		eventuallyBound(namespace, gangOf("fits"), 3)
		givenPodGroup(namespace, "wide", needing(4, required(rackLevel)))
		givenPods(namespace, "wide", "", 4, 2)
		givenPodGroup(namespace, "late", needing(1, nil))
		Eventually(scheduled(namespace, "wide")).Should(withReason(scheduling.ReasonInfeasible))
		Eventually(scheduled(namespace, "late")).Should(withReason(scheduling.ReasonIncomplete))

		free := func(g Gomega, found samples) {
			g.Expect(found.value("domain_free", "resource", string(gpu), "level", rackLevel, "domain", "z1/r1")).To(
				BeEquivalentTo(2))
			g.Expect(found.value("domain_free", "resource", string(gpu), "level", zoneLevel, "domain", "z1")).To(
				BeEquivalentTo(6))
			g.Expect(found.value("domain_allocatable", "resource", string(gpu), "level", zoneLevel, "domain", "z1")).To(
				BeEquivalentTo(12))
			g.Expect(found.value("domain_free", "resource", "cpu", "level", rackLevel, "domain", "z1/r2")).To(BeEquivalentTo(64))
			g.Expect(found.value("level_largest_free", "resource", string(gpu), "level", rackLevel)).To(BeEquivalentTo(4))
			g.Expect(found.value("level_domains", "level", rackLevel)).To(BeEquivalentTo(2))
			g.Expect(found.value("level_slots", "shape", "of-4", "level", rackLevel)).To(BeZero(), "of the gang that waits")
			g.Expect(found.value("gangs_waiting", "reason", "Infeasible")).To(BeEquivalentTo(1))
			g.Expect(found.value("gangs_waiting", "reason", "Incomplete")).To(BeEquivalentTo(1))
		}
		Eventually(func(g Gomega) {
			found := scrape(g)
			free(g, found)
			g.Expect(found.value("decisions_total", "verdict", "Placed")).To(BeEquivalentTo(1))
			g.Expect(found.value("decisions_total", "verdict", "Infeasible")).To(BeNumerically(">=", 1))
			g.Expect(found.value("decision_duration_seconds_count", "verdict", "Placed")).To(BeEquivalentTo(1))
			g.Expect(found.value("gangs_let_go_total")).To(BeEquivalentTo(1))
			g.Expect(found.value("gang_complete_to_bound_seconds_count")).To(BeEquivalentTo(1))
			g.Expect(found.value("search_steps_count")).To(BeNumerically(">=", 2))
			g.Expect(found.value("search_budget_used_ratio_count")).To(BeNumerically(">=", 2))
			g.Expect(found.value("plan_invalidations_total", "reason", "NodeRefused")).To(BeZero())
			g.Expect(found.value("preempted_pods_total")).To(BeZero())
			g.Expect(found).To(HaveKey("packtree_build_info"))
			g.Expect(found).To(HaveKey("scheduler_schedule_attempts_total"), "kube-scheduler's own")
		}).Should(Succeed())

		By("a restart")
		kill(scheduler)
		_, scrape = startSchedulerWithMetrics("--config", file)
		Eventually(func(g Gomega) { free(g, scrape(g)) }).Should(Succeed())

		By("gangs that go")
		Expect(packtree.SchedulingV2alpha2().PodGroups(namespace).Delete(ctx, "late", metav1.DeleteOptions{})).To(Succeed())
		givenRack("z1", "r3", 2, 4)
		eventuallyBound(namespace, gangOf("wide"), 4)
		Eventually(func(g Gomega) {
			found := scrape(g)
			g.Expect(found.value("gangs_waiting", "reason", "Infeasible")).To(BeZero())
			g.Expect(found.value("gangs_waiting", "reason", "Incomplete")).To(BeZero())
			g.Expect(found.value("domain_free", "resource", string(gpu), "level", rackLevel, "domain", "z1/r3")).To(BeZero())
		}).Should(Succeed())

		By("room for more of them")
		givenRack("z1", "r4", 2, 4)
		Eventually(func(g Gomega) {
			found := scrape(g)
			g.Expect(found.value("domain_slots", "shape", "of-4", "level", rackLevel, "domain", "z1/r4")).To(
				BeEquivalentTo(1))
			g.Expect(found.value("domain_slots", "shape", "of-3", "level", zoneLevel, "domain", "z1")).
				To(BeEquivalentTo(1), "not 2, for which pods would stand in two racks")
			g.Expect(found.value("level_slots", "shape", "of-4", "level", rackLevel)).To(BeEquivalentTo(1))
		}).Should(Succeed())
	})
})

var _ = Describe("/metrics of relations", func() {
	It("count those that hold and those that do not, of gangs of which pods stand", func() {
		namespace := givenNamespace()
		givenTopology()
		givenRack("z1", "r1", 1, 4)
		givenRack("z1", "r2", 1, 4)
		_, scrape := startSchedulerWithMetrics()
		givenRelated := func(name string, required bool) {
			relations := fmt.Sprintf(`[{"name": "apart", "level": %q, "maxPerDomain": 1, "required": %v}]`, rackLevel, required)
			givenRelatedPodGroup(namespace, name, relations, scheduling.PodGroupSpec{
				MinMember:          ptr.To[int32](3),
				TopologyConstraint: &scheduling.TopologyConstraint{Topology: topologyName, PreferredTopologyLevel: zoneLevel},
			})
			givenPods(namespace, name, "", 3, 1)
		}
		givenRelated("rather", false)
		eventuallyBound(namespace, gangOf("rather"), 3)
		givenRelated("must", true)
		Eventually(scheduled(namespace, "must")).Should(withReason(scheduling.ReasonInfeasible))
		Eventually(func(g Gomega) {
			found := scrape(g)
			g.Expect(found.value("relations", "requirement", "preferred", "holds", "false")).To(BeEquivalentTo(1))
			g.Expect(found.value("relations", "requirement", "required", "holds", "true")).To(BeZero(), "no pod of it stands")
			g.Expect(found.value("relations", "requirement", "required", "holds", "false")).To(BeZero(), "no pod of it stands")
		}).Should(Succeed())
		givenRack("z1", "r3", 1, 4)
		eventuallyBound(namespace, gangOf("must"), 3)
		Eventually(func(g Gomega) {
			g.Expect(scrape(g).value("relations", "requirement", "required", "holds", "true")).To(BeEquivalentTo(1))
		}).Should(Succeed())
	})
})

// startSchedulerWithMetrics starts the program, with further flags, and returns what reads its /metrics.
func startSchedulerWithMetrics(flags ...string) (scheduler *exec.Cmd, scrape func(Gomega) samples) {
	GinkgoHelper()
	address, err := freeport.Address()
	Expect(err).NotTo(HaveOccurred())
	host, port, err := net.SplitHostPort(address)
	Expect(err).NotTo(HaveOccurred())
	scheduler = startSchedulerWith(GinkgoWriter, append(flags, "--bind-address", host, "--secure-port", port, "--v", "2",
		"--authorization-always-allow-paths", "/metrics")...)
	// The program made its certificate itself a moment ago.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	return scheduler, func(g Gomega) samples {
		response, err := client.Get("https://" + address + "/metrics")
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { g.Expect(response.Body.Close()).To(Succeed()) }()
		body, err := io.ReadAll(response.Body)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(response.StatusCode).To(Equal(http.StatusOK), string(body))
		found := testutil.NewMetrics()
		g.Expect(testutil.ParseMetrics(string(body), &found)).To(Succeed())
		return samples(found)
	}
}

// samples are what one scrape found, by name.
type samples testutil.Metrics

// value returns the value of one of our metrics with all the given labels; -1 if there is none.
func (s samples) value(name string, labels ...string) float64 {
	for _, sample := range s["packtree_scheduler_"+name] {
		matches := true
		for i := 0; i < len(labels); i += 2 {
			matches = matches && string(sample.Metric[model.LabelName(labels[i])]) == labels[i+1]
		}
		if matches {
			return float64(sample.Value)
		}
	}
	return -1
}
