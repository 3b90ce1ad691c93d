package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

var _ = Describe("grove-startup, as a process with the token of its pod", func() {
	const ordered = `
metadata: {name: s}
spec: {replicas: 1, template: {cliqueStartupType: CliqueStartupTypeInOrder, cliques: [{name: a}, {name: b, spec: {podSpec: {serviceAccountName: theirs}}}]}}`

	// allow makes the Role and RoleBinding of a set, and nothing else.
	allow := func(in string) {
		GinkgoHelper()
		set := fixture.Set(GinkgoTB(), ordered)
		set.Namespace = in
		Expect(c.Create(ctx, children.Role(set))).To(Succeed())
		Expect(c.Create(ctx, children.RoleBinding(set, nil))).To(Succeed())
	}

	DescribeTable("waits for exactly its parents, under the account", func(account string) {
		in := namespace()
		allow(in)
		second := createPod(in, "s-0-a", 1)
		readyPod(in, "s-0-a", 0)
		readyPod(in, "s-0-a-b", 0) // A name that begins alike.
		readyPod(in, "s-1-a", 0)   // Another replica.
		waiting := launch(rcfg.Host, credentials(in, account, rcfg.CAData), "s-0-a:2", "s-0-x:1")
		Eventually(waiting.Err).Should(gbytes.Say(`podclique=s-0-a ready=1 minimum=2`))
		Eventually(waiting.Err).Should(gbytes.Say(`podclique=s-0-x ready=0 minimum=1`))
		Consistently(waiting).ShouldNot(gexec.Exit())
		setReady(second, corev1.ConditionTrue)
		Eventually(waiting.Err).Should(gbytes.Say(`podclique=s-0-a ready=2 minimum=2`))
		Consistently(waiting).ShouldNot(gexec.Exit())
		readyPod(in, "s-0-x", 0)
		Eventually(waiting).Should(gexec.Exit(exitMet))
	},
		Entry("that the set has", "s"),
		Entry("that the user gave the pods", "theirs"),
	)

	It("stays without the right to look, says so, and goes on when it has it", func() {
		in := namespace()
		readyPod(in, "s-0-a", 0)
		waiting := launch(rcfg.Host, credentials(in, "s", rcfg.CAData), "s-0-a:1")
		Eventually(waiting.Err).Should(gbytes.Say(`forbidden: User \\"system:serviceaccount:` + in + `:s\\"`))
		Consistently(waiting).ShouldNot(gexec.Exit())
		allow(in)
		Eventually(waiting).Should(gexec.Exit(exitMet))
	})

	DescribeTable("is stopped", func(account string) {
		in := namespace()
		allow(in)
		waiting := launch(rcfg.Host, credentials(in, account, rcfg.CAData), "s-0-a:1")
		Eventually(waiting.Err).Should(gbytes.Say("pods"))
		Eventually(waiting.Signal(syscall.SIGTERM)).Should(gexec.Exit(exitStopped))
		Expect(waiting.Err).To(gbytes.Say("stopped before"))
	},
		Entry("while it watches", "s"),
		Entry("while it cannot", "stranger"),
	)

	It("outlives an API server that is away, and believes nothing of before", func() {
		in := namespace()
		allow(in)
		between := startProxy()
		first, second := readyPod(in, "s-0-a", 0), createPod(in, "s-0-b", 0)
		waiting := launch(between.URL, credentials(in, "s", between.authority()), "s-0-a:1", "s-0-b:1")
		Eventually(waiting.Err).Should(gbytes.Say("podclique=s-0-b ready=0"))
		between.leave()
		setReady(first, corev1.ConditionFalse)
		setReady(second, corev1.ConditionTrue)
		Eventually(between.refused.Load).Should(BeNumerically(">", 2))
		Eventually(waiting.Err).Should(gbytes.Say("failed, will be tried again"))
		Expect(waiting).NotTo(gexec.Exit())
		between.away.Store(false)
		Eventually(waiting.Err).Should(gbytes.Say("podclique=s-0-a ready=0"))
		Eventually(waiting.Err).Should(gbytes.Say("podclique=s-0-b ready=1"))
		Consistently(waiting).ShouldNot(gexec.Exit())
		setReady(first, corev1.ConditionTrue)
		Eventually(waiting).Should(gexec.Exit(exitMet))
	})

	It("starts while the API server is away", func() {
		in := namespace()
		allow(in)
		readyPod(in, "s-0-a", 0)
		between := startProxy()
		between.leave()
		waiting := launch(between.URL, credentials(in, "s", between.authority()), "s-0-a:1")
		Eventually(between.refused.Load).Should(BeNumerically(">", 1))
		Expect(waiting).NotTo(gexec.Exit())
		between.away.Store(false)
		Eventually(waiting).Should(gexec.Exit(exitMet))
	})

	It("looks anew when the API server no longer knows where its watch was", func() {
		in := namespace()
		allow(in)
		between := startProxy()
		gone := readyPod(in, "s-0-a", 0)
		waiting := launch(between.URL, credentials(in, "s", between.authority()), "s-0-a:1", "s-0-b:1")
		Eventually(waiting.Err).Should(gbytes.Say("podclique=s-0-b ready=0"))
		between.expire.Store(3)
		between.CloseClientConnections()
		Eventually(between.expire.Load).Should(BeNumerically("<=", 0))
		remove(gone)
		readyPod(in, "s-0-b", 0)
		Eventually(waiting.Err).Should(gbytes.Say("podclique=s-0-a ready=0"))
		Consistently(waiting).ShouldNot(gexec.Exit())
		readyPod(in, "s-0-a", 1)
		Eventually(waiting).Should(gexec.Exit(exitMet))
	})

	DescribeTable("needs little memory for many large pods", func(streams string) {
		GinkgoT().Setenv("KUBE_FEATURE_WatchListClient", streams)
		in := namespace()
		allow(in)
		for index := range 250 {
			largePod(in, "s-0-a", index)
		}
		waiting := launch(rcfg.Host, credentials(in, "s", rcfg.CAData), "s-0-a:251")
		Eventually(waiting.Err).Should(gbytes.Say("ready=250"))
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", waiting.Command.Process.Pid))
		Expect(err).NotTo(HaveOccurred())
		peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
		Expect(peak).NotTo(BeNil(), string(status))
		Expect(strconv.Atoi(string(peak[1]))).To(BeNumerically("<", 48<<10),
			"KiB at most, of the 64Mi that the container may have")
		readyPod(in, "s-0-a", 250)
		Eventually(waiting).Should(gexec.Exit(exitMet))
	},
		Entry("that an API server streams", "true"),
		Entry("that an older one sends in pages", "false"),
	)
})
