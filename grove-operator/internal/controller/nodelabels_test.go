package controller_test

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/controller/clustertopology"
)

var _ = Describe("What nodes say about a ClusterTopology", Ordered, func() {
	// topologyOf makes a topology of label keys that no other test uses.
	topologyOf := func(name string, levels ...grovev1alpha1.TopologyDomain) {
		GinkgoHelper()
		made := &grovev1alpha1.ClusterTopology{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, level := range levels {
			made.Spec.Levels = append(made.Spec.Levels,
				grovev1alpha1.TopologyLevel{Domain: level, Key: name + ".example.com/" + string(level)})
		}
		Expect(c.Create(ctx, made)).To(Succeed())
	}
	// nodeIn makes a node with labels of a topology, written as domain and value in turn.
	nodeIn := func(topology, name string, places ...string) *corev1.Node {
		GinkgoHelper()
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: topology + "-" + name, Labels: map[string]string{}}}
		for i := 0; i < len(places); i += 2 {
			node.Labels[topology+".example.com/"+places[i]] = places[i+1]
		}
		Expect(c.Create(ctx, node)).To(Succeed())
		return node
	}
	label := func(node *corev1.Node, key string, value any) {
		GinkgoHelper()
		change, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{key: value}}})
		Expect(err).NotTo(HaveOccurred())
		Expect(c.Patch(ctx, node, client.RawPatch("application/merge-patch+json", change))).To(Succeed())
	}
	// counts is the status of a topology: of each level nodes/domains-missing, then the nodes with and without all
	// labels.
	counts := func(name string) func() string {
		return func() string {
			status := get("", name, &grovev1alpha1.ClusterTopology{}).Status
			words := ""
			for _, level := range status.Levels {
				words += fmt.Sprintf("%s %d/%d-%d ", level.Domain, level.Nodes, level.DomainCount, level.NodesMissing)
			}
			if status.Nodes == nil || status.NodesMissingLevels == nil {
				return words + "not observed"
			}
			return words + fmt.Sprintf("%d+%d", *status.Nodes, *status.NodesMissingLevels)
		}
	}

	It("stands in its status, and follows nodes and levels", func() {
		const name = "gpus"
		first := nodeIn(name, "a", "zone", "z", "rack", "1")
		nodeIn(name, "b", "zone", "z", "rack", "2")
		nodeIn(name, "c", "rack", "1")
		nodeIn("cpus", "a", "zone", "z")
		topologyOf(name, "zone", "rack")
		Eventually(counts(name)).Should(Equal("zone 2/1-1 rack 3/2-0 2+1"))
		Expect(get("", name, &grovev1alpha1.ClusterTopology{}).Status.Levels[0].MissingOn).To(
			Equal([]string{name + "-c"}))

		By("counting a node that joins without any label of the topology")
		nodeIn("0", "bare")
		Eventually(func() string {
			return condition(get("", name, &grovev1alpha1.ClusterTopology{}), grovev1alpha1.ClusterTopologyReady).Message
		}).Should(MatchRegexp(`2 of \d+ nodes have its labels; labels are missing: zone on 1, all on \d+ \(0-bare`))

		By("following labels that change, come and go")
		label(first, name+".example.com/rack", "2")
		Eventually(counts(name)).Should(Equal("zone 2/1-1 rack 3/1-0 2+1"))
		label(first, name+".example.com/rack", nil)
		Eventually(counts(name)).Should(Equal("zone 2/1-1 rack 2/1-1 1+2"))

		By("following nodes that go")
		Expect(c.Delete(ctx, first)).To(Succeed())
		Eventually(counts(name)).Should(Equal("zone 1/1-1 rack 2/1-0 1+1"))

		By("following the levels")
		patch(get("", name, &grovev1alpha1.ClusterTopology{}), `[{"op":"remove","path":"/spec/levels/0"}]`)
		Eventually(counts(name)).Should(Equal("rack 2/2-0 2+0"))
		Expect(columnsOf(name)).To(Equal(map[string]any{
			"Name": name, "Domains": "rack", "Nodes": float64(2), "MissingLevels": float64(0), "InUse": float64(0),
		}))
	})

	It("is written once in a while as nodes join by the hundred, and not at all for what they do later", func() {
		const name, nodes = "crowd", 300
		topologyOf(name, "rack")
		Eventually(counts(name)).Should(Equal("rack 0/0-0 0+0"))
		writes := writesOf(name)

		began := time.Now()
		joined := make([]*corev1.Node, nodes)
		for i := range joined {
			joined[i] = nodeIn(name, fmt.Sprintf("%04d", i), "rack", fmt.Sprint(i/10))
		}
		Eventually(counts(name)).Should(Equal(fmt.Sprintf("rack %d/%d-0 %d+0", nodes, nodes/10, nodes)))
		most := 2 + int64(time.Since(began)/clustertopology.NodeWindow)
		Expect(writes()).To(And(BeNumerically(">=", 1), BeNumerically("<=", most)))

		By("seeing heartbeats, and labels of no level, before one that matters")
		before := writes()
		for i, node := range joined[:100] {
			beat := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil,
				`{"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-01T00:00:%02dZ"}]}}`, i%60))
			Expect(c.Status().Patch(ctx, node, beat)).To(Succeed())
			label(node, "example.com/seen", fmt.Sprint(i))
		}
		label(joined[0], name+".example.com/rack", "another")
		Eventually(counts(name)).Should(Equal(fmt.Sprintf("rack %d/%d-0 %d+0", nodes, nodes/10+1, nodes)))
		Expect(writes()).To(Equal(before + 1))
	})

	It("is not asked where topology awareness is off", func() {
		const name = "unasked"
		topologyOf(name, "rack")
		Eventually(counts(name)).Should(Equal("rack 0/0-0 0+0"))
		start(levels())
		DeferCleanup(func() { start(levels("zone", "rack", "host")) })
		Eventually(counts(name)).Should(Equal("not observed"))
	})
})

// columnsOf is what kubectl prints of a ClusterTopology, without its age.
func columnsOf(name string) map[string]any {
	GinkgoHelper()
	rest, err := discovery.NewDiscoveryClientForConfig(rcfg)
	Expect(err).NotTo(HaveOccurred())
	raw, err := rest.RESTClient().Get().AbsPath("/apis/grove.io/v1alpha1/clustertopologies", name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	var table metav1.Table
	Expect(json.Unmarshal(raw, &table)).To(Succeed())
	printed := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		printed[column.Name] = table.Rows[0].Cells[i]
	}
	delete(printed, "Age")
	return printed
}

// writesOf counts the changes of a ClusterTopology from now on, each time up to the one that is the last.
func writesOf(name string) func() int64 {
	GinkgoHelper()
	watcher, err := client.NewWithWatch(rcfg, client.Options{Scheme: c.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	version := func() string { return get("", name, &grovev1alpha1.ClusterTopology{}).ResourceVersion }
	seen, err := watcher.Watch(ctx, &grovev1alpha1.ClusterTopologyList{}, &client.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", name),
		Raw:           &metav1.ListOptions{ResourceVersion: version()},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(seen.Stop)
	var count atomic.Int64
	var last atomic.Value
	last.Store(version())
	go func() {
		for event := range seen.ResultChan() {
			if event.Type == watch.Modified {
				count.Add(1)
				last.Store(event.Object.(client.Object).GetResourceVersion())
			}
		}
	}()
	return func() int64 {
		GinkgoHelper()
		Eventually(func(g Gomega) { g.Expect(last.Load()).To(Equal(version())) }).Should(Succeed())
		return count.Load()
	}
}
