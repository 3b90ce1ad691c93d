package solve_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
)

// The site of the benchmarks: 5,000 nodes of 8 GPUs, 16 to a rack and 64 racks to a zone, with 20,000 running pods.
const (
	siteNodes   = 5_000
	siteRunning = 20_000
	rackNodes   = 16
	zoneNodes   = 1_024
)

// site is kube-scheduler's own cache of the nodes and pods, and its snapshot of them.
type site struct {
	cache    cache.Cache
	snapshot *cache.Snapshot
	filters  kubeframework.Filters
	nodes    []*corev1.Node
	random   *rand.Rand
}

func newSite(b *testing.B) *site {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)
	metrics.Register()
	s := &site{cache: cache.New(ctx, nil, false), snapshot: cache.NewEmptySnapshot(), random: rand.New(rand.NewPCG(1, 2))}
	filters, err := kubeframework.FiltersOver(ctx, s.snapshot)
	require.NoError(b, err)
	s.filters = filters
	for i := range siteNodes {
		s.nodes = append(s.nodes, siteNode(i))
		s.cache.AddNode(klog.Background(), s.nodes[i])
	}
	for i := range siteRunning {
		s.run(b, fmt.Sprint("running-", i), s.random.IntN(siteNodes))
	}
	return s
}

func siteNode(i int) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%05d", i), Labels: map[string]string{
		"zone": fmt.Sprint("z", i/zoneNodes), "rack": fmt.Sprint("r", i/rackNodes), corev1.LabelHostname: fmt.Sprintf("node-%05d", i),
	}}}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("192"), corev1.ResourceMemory: resource.MustParse("2Ti"),
		corev1.ResourcePods: resource.MustParse("110"), "nvidia.com/gpu": resource.MustParse("8"),
	}
	return node
}

func sitePod(name string) *corev1.Pod {
	return pod(name, func(pod *corev1.Pod) {
		pod.Namespace, pod.ResourceVersion = "default", "1"
		pod.Labels = map[string]string{"app": "inference", "index": name}
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("64Gi"), "nvidia.com/gpu": resource.MustParse("1"),
		}
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}}
	})
}

// run puts a pod on the numbered node.
func (s *site) run(b *testing.B, name string, node int) *corev1.Pod {
	b.Helper()
	running := sitePod(name)
	running.Spec.NodeName = s.nodes[node].Name
	require.NoError(b, s.cache.AddPod(klog.Background(), running))
	return running
}

func (s *site) list(b *testing.B) []fwk.NodeInfo {
	b.Helper()
	require.NoError(b, s.cache.UpdateSnapshot(klog.Background(), s.snapshot))
	nodes, err := s.snapshot.NodeInfos().List()
	require.NoError(b, err)
	return nodes
}

var siteTopology = map[string]*kai.Topology{"topology": {
	Spec: kai.TopologySpec{Levels: []kai.TopologyLevel{{NodeLabel: "zone"}, {NodeLabel: "rack"}}},
}}

// nested is a gang that needs one zone, of subgroups of equal size that each need one rack.
func nested(b *testing.B, subGroups, pods int) *gang.Gang {
	b.Helper()
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gang"}}
	podGroup.Spec.TopologyConstraint = &scheduling.TopologyConstraint{Topology: "topology", RequiredTopologyLevel: "zone"}
	var members []*corev1.Pod
	for i := range subGroups {
		name := fmt.Sprint("group-", i)
		podGroup.Spec.SubGroups = append(podGroup.Spec.SubGroups, scheduling.SubGroup{
			Name: name, MinMember: ptr.To(int32(pods)),
			TopologyConstraint: &scheduling.TopologyConstraint{Topology: "topology", RequiredTopologyLevel: "rack"},
		})
		for k := range pods {
			member := sitePod(fmt.Sprintf("%s-%d", name, k))
			member.UID = types.UID(member.Name)
			member.Labels[kai.LabelSubGroupName] = name
			members = append(members, member)
		}
	}
	assembled, hold := gang.Assemble(podGroup, members, func(string) (podgrouptree.Hierarchy, bool) {
		return podgrouptree.Hierarchy{{Key: "zone"}, {Key: "rack"}}, true
	})
	require.Nil(b, hold)
	return assembled
}

func (s *site) ask(b *testing.B, view *clusterview.View, asked *gang.Gang, verdict string) {
	b.Helper()
	answer, err := solve.Solve(b.Context(), solve.Request{Gang: asked, Topologies: siteTopology, View: view, Nodes: s.list(b)})
	require.NoError(b, err)
	require.Equal(b, verdict, answer.Verdict, "verdict %s: %s", answer.Verdict, answer.Message)
}

var siteGangs = map[string]struct {
	subGroups, pods int
	verdict         string
}{
	"fits/pods=4":               {2, 2, "Placed"},
	"fits/pods=64":              {4, 16, "Placed"},
	"fits/pods=1000":            {50, 20, "Placed"},
	"a subgroup above any rack": {2, 129, "Infeasible"},
	"more than a zone has":      {200, 20, "Infeasible"},
	"more than any rack has":    {2, 120, "Infeasible"},
}

// BenchmarkDecision is a decision after one node has changed, as happens in a cluster that is at work. It has a clock of
// its own: to stop and start that of the benchmark empties the caches of the allocator, which costs each decision more
// than its search.
func BenchmarkDecision(b *testing.B) {
	s := newSite(b)
	view := clusterview.New(s.filters)
	for name, test := range siteGangs {
		b.Run(name, func(b *testing.B) {
			asked := nested(b, test.subGroups, test.pods)
			s.ask(b, view, asked, test.verdict)
			var took time.Duration
			for i := 0; b.Loop(); i++ {
				changing := s.run(b, "changing", i%siteNodes)
				start := time.Now()
				s.ask(b, view, asked, test.verdict)
				took += time.Since(start)
				require.NoError(b, s.cache.RemovePod(klog.Background(), changing))
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "ns/op")
		})
	}
}

// BenchmarkDecisionByZones is that of BenchmarkDecision about 64 pods, without zones and with two on each node.
func BenchmarkDecisionByZones(b *testing.B) {
	s := newSite(b)
	for _, zoned := range []bool{false, true} {
		view := clusterview.New(s.filters)
		if zoned {
			view.SeeZones(s.zones(b))
		}
		b.Run(fmt.Sprintf("zones=%t", zoned), func(b *testing.B) {
			asked := nested(b, 8, 8)
			s.ask(b, view, asked, "Placed")
			var took time.Duration
			for i := 0; b.Loop(); i++ {
				changing := s.run(b, "changing", i%siteNodes)
				start := time.Now()
				s.ask(b, view, asked, "Placed")
				took += time.Since(start)
				require.NoError(b, s.cache.RemovePod(klog.Background(), changing))
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "ns/op")
		})
	}
}

// zones has two zones of four GPUs on each node of the site, and kubelets that reject pods by zone.
func (s *site) zones(b *testing.B) *zones.Catalogue {
	b.Helper()
	catalogue := &zones.Catalogue{}
	for _, node := range s.nodes {
		half := packing.Resources{"nvidia.com/gpu": 4}
		catalogue.Set(&zones.Node{Name: node.Name, Policy: zones.SingleNUMA, Zones: []zones.Zone{
			{Name: "node-0", Allocatable: half, Available: half}, {Name: "node-1", Allocatable: half, Available: half},
		}})
	}
	return catalogue
}

// BenchmarkFirstDecision is the first decision of a scheduler, and the first one about pods of a kind.
func BenchmarkFirstDecision(b *testing.B) {
	s := newSite(b)
	asked := nested(b, 2, 2)
	b.Run("of all", func(b *testing.B) {
		for b.Loop() {
			s.ask(b, clusterview.New(s.filters), asked, "Placed")
		}
	})
	b.Run("of a shape", func(b *testing.B) {
		view := clusterview.New(s.filters)
		for i := 0; b.Loop(); i++ {
			for _, pod := range asked.Pending {
				pod.Spec.Tolerations[0].Value, pod.ResourceVersion = fmt.Sprint(i), fmt.Sprint(i)
			}
			s.ask(b, view, asked, "Placed")
		}
	})
	b.Run("of a shape that looks at other pods", func(b *testing.B) {
		view := clusterview.New(s.filters)
		repelling := nested(b, 2, 2)
		for _, pod := range repelling.Pending {
			pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}, TopologyKey: "rack",
				}},
			}}
		}
		for b.Loop() {
			s.ask(b, view, repelling, "Placed")
		}
	})
}

// BenchmarkSync brings the view in step with nodes after some have changed.
func BenchmarkSync(b *testing.B) {
	s := newSite(b)
	view := clusterview.New(s.filters)
	for _, changed := range []int{0, 1, 100, 1000, siteNodes} {
		b.Run(fmt.Sprintf("changed=%d", changed), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				s.annotate(i, changed)
				nodes := s.list(b)
				b.StartTimer()
				view.Follow(nodes)
				trial, err := view.Begin(map[string][]string{"topology": {"zone", "rack"}}, nil)
				require.NoError(b, err)
				trial.End()
			}
		})
	}
}

// annotate changes so many nodes, from a numbered one on, in what no filter looks at.
func (s *site) annotate(from, changed int) {
	for k := range changed {
		at := (from + k) % siteNodes
		annotated := s.nodes[at].DeepCopy()
		annotated.Annotations = map[string]string{"seen": fmt.Sprint(from)}
		s.cache.UpdateNode(klog.Background(), s.nodes[at], annotated)
		s.nodes[at] = annotated
	}
}

// BenchmarkRefusal decides a new gang of 1,000 pods that no rack has room for, after a number of nodes were annotated.
// The snapshot is up to date, as it is in a scheduling cycle.
func BenchmarkRefusal(b *testing.B) {
	s := newSite(b)
	view := clusterview.New(s.filters)
	s.ask(b, view, nested(b, 8, 125), "Infeasible")
	for _, changed := range []int{0, 1000} {
		b.Run(fmt.Sprintf("changed=%d", changed), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				s.annotate(i, changed)
				nodes := s.list(b)
				asked := nested(b, 8, 125)
				asAPIServerShows(asked.Pending, i)
				b.StartTimer()
				answer, err := solve.Solve(b.Context(), solve.Request{
					Gang: asked, Topologies: siteTopology, View: view, Nodes: nodes,
				})
				if err != nil || answer.Verdict != "Infeasible" {
					b.Fatal(err, answer)
				}
			}
		})
	}
}

// asAPIServerShows gives pods what admission adds to each, in memory of its own, and names that no pods had before.
func asAPIServerShows(pods []*corev1.Pod, round int) {
	for i, pod := range pods {
		pod.UID = types.UID(fmt.Sprintf("%d of round %d", i, round))
		for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
				Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
				TolerationSeconds: ptr.To[int64](300),
			})
		}
		pod.Spec.Volumes = []corev1.Volume{{
			Name: "kube-api-access", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}},
		}}
	}
}

// BenchmarkMemory reports what a view of the site holds, with the counts of 8 shapes.
func BenchmarkMemory(b *testing.B) {
	s := newSite(b)
	asked := nested(b, 2, 2)
	s.list(b)
	for b.Loop() {
		before := heap()
		view := clusterview.New(s.filters)
		for i := range 8 {
			for _, pod := range asked.Pending {
				pod.Spec.Tolerations[0].Value, pod.ResourceVersion = fmt.Sprint(i), fmt.Sprint(i)
			}
			s.ask(b, view, asked, "Placed")
		}
		b.ReportMetric(float64(heap()-before), "B/view")
		runtime.KeepAlive(view)
	}
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
