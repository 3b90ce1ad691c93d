package controller_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	schedulingv2alpha2 "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// topologies creates ClusterTopologies; the key for a rack is example.com/rack-<name>.
func topologies(names ...string) {
	GinkgoHelper()
	for _, name := range names {
		made := fixture.Topology(name, "zone", "rack")
		made.Spec.Levels[1].Key = "example.com/rack-" + name
		if err := c.Create(ctx, made); !apierrors.IsAlreadyExists(err) {
			Expect(err).NotTo(HaveOccurred())
		}
	}
}

// turn changes the topology that a set names, without admission.
func turn(in, set, to string) {
	GinkgoHelper()
	patch(get(in, set, &grovev1alpha1.PodCliqueSet{}),
		fmt.Sprintf(`{"spec":{"template":{"clusterTopologyName":%q}}}`, to))
}

func bindTo(pod *corev1.Pod, node string) error {
	return c.SubResource("binding").Create(ctx, pod,
		&corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}})
}

var _ = Describe("A set that turns to another topology", func() {
	const manifest = `
metadata: {name: s}
spec:
  replicas: 1
  template:
    clusterTopologyName: turn-a
    topologyConstraint: {packDomain: rack}
    cliques:
      - {name: a, spec: {replicas: 3, minAvailable: 1, podSpec: {containers: [{name: c, image: i}]}}}
      - {name: b, spec: {podSpec: {containers: [{name: c, image: i}]}}}
    podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 2, minAvailable: 1}]
`
	all := client.MatchingLabels{"app.kubernetes.io/part-of": "s"}
	ofGang := func(name string) client.MatchingLabels { return client.MatchingLabels{"grove.io/podgang": name} }
	BeforeEach(func() { topologies("turn-a", "turn-b", "turn-c", "turn-d", "turn-e") })

	// refersTo is the topology of a gang, its level, and the topology that it keeps it instead of.
	refersTo := func(in, gang string) func() string {
		return func() string {
			found := &schedulerv1alpha1.PodGang{}
			if err := c.Get(ctx, client.ObjectKey{Namespace: in, Name: gang}, found); err != nil {
				return err.Error()
			}
			return found.Annotations[grovev1alpha1.AnnotationTopologyName] + " " +
				*found.Spec.TopologyConstraint.PackConstraint.Required +
				" " + found.Annotations[grovev1alpha1.AnnotationTopologyKept]
		}
	}
	opened := func(in, topology string, labels client.MatchingLabels) func() int {
		return func() int {
			count := 0
			for _, pod := range podsOf(in, labels)() {
				if len(pod.Spec.SchedulingGates) == 0 &&
					pod.Annotations[grovev1alpha1.AnnotationTopologyName] == topology {
					count++
				}
			}
			return count
		}
	}
	kept := func(in string) func() string {
		return func() string {
			found := condition(get(in, "s", &grovev1alpha1.PodCliqueSet{}), grovev1alpha1.ConditionTopologyKept)
			return string(found.Status) + " " + found.Message
		}
	}

	It("has gangs that are tried again there at once, and pods that were made for it", func() {
		in := namespace()
		createSet(in, manifest)
		Eventually(opened(in, "turn-a", ofGang("s-0"))).Should(Equal(4))
		Expect(refersTo(in, "s-0")()).To(Equal("turn-a example.com/rack-turn-a "))
		turn(in, "s", "turn-b")
		Eventually(opened(in, "turn-b", ofGang("s-0"))).Should(Equal(4))
		for _, gang := range []string{"s-0", "s-0-g-0"} {
			Eventually(refersTo(in, gang)).Should(Equal("turn-b example.com/rack-turn-b "))
		}
		Eventually(opened(in, "turn-a", all)).Should(BeZero())
		Eventually(
			func() string { return get(in, "s", &grovev1alpha1.PodCliqueSet{}).Status.ClusterTopologyName }).Should(
			Equal("turn-b"))
		Expect(kept(in)()).To(HavePrefix("False"))

		By("letting them run there")
		run(in, all)
		Eventually(opened(in, "turn-b", ofGang("s-0-g-0"))).Should(Equal(1))
		run(in, all)
		Eventually(gangPhases(in)).Should(Equal(map[string]string{"s-0": "Running", "s-0-g-0": "Running"}))
	})

	It("keeps the topology of pods that were bound in the meantime, says so, and turns when they are gone", func() {
		in := namespace()
		createSet(in, strings.Replace(manifest, "turn-a", "turn-d", 1))
		Eventually(opened(in, "turn-d", ofGang("s-0"))).Should(Equal(4))
		chosen := podsOf(in, client.MatchingLabels{"grove.io/podclique": "s-0-a"})()[0]
		Expect(bindTo(&chosen, "node")).To(Succeed())
		turn(in, "s", "turn-b")
		for _, gang := range []string{"s-0", "s-0-g-0"} {
			Eventually(refersTo(in, gang)).Should(Equal("turn-d example.com/rack-turn-d turn-b"))
		}
		Eventually(kept(in)).Should(
			And(HavePrefix("True"), ContainSubstring("s-0, s-0-g-0 keep turn-d"), ContainSubstring(chosen.Name),
				ContainSubstring("name turn-d again, or delete these pods")))
		Eventually(recorded(in)).Should(ContainElement(HavePrefix("s TopologyKept")))

		By("keeping the topology from being deleted")
		Expect(c.Delete(ctx, get("", "turn-d", &grovev1alpha1.ClusterTopology{}))).To(Succeed())
		Consistently(func() error {
			return c.Get(ctx, client.ObjectKey{Name: "turn-d"}, &grovev1alpha1.ClusterTopology{})
		}).Should(Succeed())

		By("replacing what is lost under the topology that is kept")
		Eventually(opened(in, "turn-d", ofGang("s-0"))).Should(Equal(4))
		other := podsOf(in, client.MatchingLabels{"grove.io/podclique": "s-0-g-0-b"})()[0]
		Expect(c.Delete(ctx, &other)).To(Succeed())
		Eventually(opened(in, "turn-d", ofGang("s-0"))).Should(Equal(4))

		By("turning when the pod is gone")
		Expect(c.Delete(ctx, &chosen, client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(opened(in, "turn-b", ofGang("s-0"))).Should(Equal(4))
		Eventually(refersTo(in, "s-0")).Should(Equal("turn-b example.com/rack-turn-b "))
		Eventually(kept(in)).Should(HavePrefix("False"))
		Eventually(func() bool {
			return apierrors.IsNotFound(c.Get(ctx, client.ObjectKey{Name: "turn-d"}, &grovev1alpha1.ClusterTopology{}))
		}).WithTimeout(3*time.Minute).Should(BeTrue(), "the topology that is not needed any more goes")
	})

	It("follows levels that change although a pod stands", func() {
		in := namespace()
		createSet(in, strings.Replace(manifest, "turn-a", "turn-e", 1))
		Eventually(opened(in, "turn-e", ofGang("s-0"))).Should(Equal(4))
		chosen := podsOf(in, client.MatchingLabels{"grove.io/podclique": "s-0-a"})()[0]
		Expect(bindTo(&chosen, "node")).To(Succeed())
		before := podsOf(in, ofGang("s-0"))()
		patch(get("", "turn-e", &grovev1alpha1.ClusterTopology{}),
			`[{"op":"replace","path":"/spec/levels/1/key","value":"example.com/other"}]`)
		Eventually(refersTo(in, "s-0")).Should(Equal("turn-e example.com/other "))
		uids := func(pods []corev1.Pod) []string {
			var all []string
			for _, pod := range pods {
				all = append(all, string(pod.UID))
			}
			return all
		}
		Consistently(func() []string { return uids(podsOf(in, ofGang("s-0"))()) }).Should(ConsistOf(uids(before)))
	})

	It("never has pods on nodes that were placed under two topologies, whatever writes at the same time", func() {
		in := namespace()
		createSet(in, manifest)
		seed := GinkgoRandomSeed()
		until := time.Now().Add(6 * time.Second)
		var writers sync.WaitGroup
		busy := func(number uint64, do func(random *rand.Rand)) {
			writers.Go(func() {
				defer GinkgoRecover()
				for random := rand.New(rand.NewPCG(uint64(seed), number)); time.Now().Before(until); {
					do(random)
					time.Sleep(5 * time.Millisecond) // Without a pause the others would have no time to race.
				}
			})
		}
		for editor := range uint64(2) {
			busy(editor, func(random *rand.Rand) {
				turn(in, "s", []string{"turn-a", "turn-b", "turn-c"}[random.IntN(3)])
				time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
			})
		}
		for binder := range uint64(2) {
			busy(10+binder, func(random *rand.Rand) { bindOne(in, random) })
		}
		busy(20, func(random *rand.Rand) {
			if all := podsOf(in, all)(); len(all) > 0 {
				leaving := all[random.IntN(len(all))]
				Expect(client.IgnoreNotFound(c.Delete(ctx, &leaving, client.GracePeriodSeconds(0)))).To(Succeed())
			}
			time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
		})
		busy(30, func(*rand.Rand) { Expect(len(placedUnder(in, all))).To(BeNumerically("<=", 1), "seed %d", seed) })
		writers.Wait()

		By("coming to rest under one of them")
		random := rand.New(rand.NewPCG(uint64(seed), 40))
		Eventually(func(g Gomega) {
			bindOne(in, random)
			standing := 0
			for _, count := range placedUnder(in, all) {
				standing += count
			}
			g.Expect(standing).To(Equal(5))
		}).Should(Succeed())
		Expect(placedUnder(in, all)).To(HaveLen(1))
	})
})

// bindOne simulates a scheduler that places any pod under its PodGang's topology at that moment, by the node.
func bindOne(in string, random *rand.Rand) {
	GinkgoHelper()
	all := podsOf(in, client.MatchingLabels{"app.kubernetes.io/part-of": "s"})()
	if len(all) == 0 {
		return
	}
	pod := all[random.IntN(len(all))]
	gang := &schedulerv1alpha1.PodGang{}
	if pod.Spec.NodeName != "" || len(pod.Spec.SchedulingGates) > 0 ||
		c.Get(ctx, client.ObjectKey{Namespace: in, Name: pod.Labels[grovev1alpha1.LabelPodGang]}, gang) != nil {
		return
	}
	err := bindTo(&pod, gang.Annotations[schedulingv2alpha2.AnnotationPodsTopology])
	if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		Expect(err).NotTo(HaveOccurred())
	}
}

// placedUnder counts the pods on nodes by the topology under which they were placed.
func placedUnder(in string, labels client.MatchingLabels) map[string]int {
	GinkgoHelper()
	under := map[string]int{}
	for _, pod := range podsOf(in, labels)() {
		if pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil {
			under[pod.Spec.NodeName]++
		}
	}
	return under
}
