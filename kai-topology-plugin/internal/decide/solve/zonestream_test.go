package solve_test

import (
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/eligibility"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
)

// The stream: each node has two zones of four GPUs and 32 CPUs.
const (
	streamNodes = 100
	streamGangs = 200
	zoneGPUs    = 4
	zoneCPUs    = 32
)

// played is a kubelet that admits pods in the order in which they arrive. Amounts are of GPUs and CPUs.
type played struct {
	policy zones.Policy
	free   [2][2]int64
	pods   map[string][2][2]int64
}

// admit takes a pod into the lowest of the narrowest masks of zones that have what it asks for; false if the kubelet
// rejects it.
func (k *played) admit(name string, asked [2]int64) bool {
	size := [2]int64{zoneGPUs, zoneCPUs}
	for mask := 1; mask <= 3; mask++ {
		fits := true
		for resource, amount := range asked {
			free := int64(0)
			for zone := range 2 {
				free += k.free[zone][resource] * int64(mask>>zone&1)
			}
			narrow := amount == 0 || (amount > size[resource]) == (bits.OnesCount(uint(mask)) == 2)
			fits = fits && free >= amount && (narrow || !k.enforces())
		}
		if fits && (mask < 3 || k.policy != zones.SingleNUMA) {
			k.take(name, mask, asked)
			return true
		}
	}
	return false
}

func (k *played) enforces() bool { return k.policy == zones.SingleNUMA || k.policy == zones.Restricted }

func (k *played) take(name string, mask int, asked [2]int64) {
	var taken [2][2]int64
	for zone := range 2 {
		for resource := range asked {
			taken[zone][resource] = min(asked[resource], k.free[zone][resource]) * int64(mask>>zone&1)
			asked[resource] -= taken[zone][resource]
			k.free[zone][resource] -= taken[zone][resource]
		}
	}
	k.pods[name] = taken
}

func (k *played) end(name string) {
	for zone, taken := range k.pods[name] {
		for resource, amount := range taken {
			k.free[zone][resource] += amount
		}
	}
	delete(k.pods, name)
}

// reported is what an agent writes of a node now.
func (k *played) reported(name string) *zones.Node {
	n := &zones.Node{Name: name, Policy: k.policy, PerPod: true}
	for zone, free := range k.free {
		n.Zones = append(n.Zones, zones.Zone{
			Name:        fmt.Sprint("node-", zone),
			Allocatable: packing.Resources{"nvidia.com/gpu": zoneGPUs, "cpu": zoneCPUs * 1000},
			Available:   packing.Resources{"nvidia.com/gpu": free[0], "cpu": free[1] * 1000},
		})
	}
	return n
}

// streamed is a cluster with what a scheduler knows of it, and kubelets that know better.
type streamed struct {
	*testing.T
	random    *rand.Rand
	offline   *kubeframework.Offline
	view      *clusterview.View
	catalogue *zones.Catalogue
	kubelets  map[string]*played
	running   []*corev1.Pod
}

func newStream(t *testing.T, seed uint64) *streamed {
	s := &streamed{
		T: t, random: rand.New(rand.NewPCG(seed, 3)), catalogue: &zones.Catalogue{}, kubelets: map[string]*played{},
	}
	var nodes []*corev1.Node
	for i := range streamNodes {
		made := siteNode(i)
		made.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("64")
		nodes = append(nodes, made)
		policy := []zones.Policy{zones.SingleNUMA, zones.SingleNUMA, zones.Restricted, "best-effort"}[s.random.IntN(4)]
		all := [2]int64{zoneGPUs, zoneCPUs}
		s.kubelets[made.Name] = &played{policy: policy, free: [2][2]int64{all, all}, pods: map[string][2][2]int64{}}
	}
	var err error
	s.offline, err = kubeframework.NewOffline(t.Context(), nodes, nil)
	require.NoError(t, err)
	s.view = clusterview.New(s.offline)
	s.view.SeeZones(s.catalogue)
	return s
}

// asked is what each pod of a gang asks for, and whether all pods are to share a zone.
type asked struct {
	pods    int
	gpus    int64
	cpus    int64
	oneZone bool
}

func (s *streamed) draw() asked {
	a := asked{pods: 1 + s.random.IntN(6), gpus: int64(1 + s.random.IntN(4))}
	switch s.random.IntN(4) {
	case 0:
		a.cpus = 8 * a.gpus
	case 1:
		a.cpus = 20
	case 2:
		a.gpus, a.cpus = 8, 40
	}
	if s.random.IntN(3) == 0 && a.gpus <= zoneGPUs {
		a.oneZone, a.pods = true, 1+s.random.IntN(int(zoneGPUs/a.gpus))
	}
	return a
}

// zoneTopology has racks, hosts and zones.
var zoneTopology = &kai.Topology{Spec: kai.TopologySpec{Levels: []kai.TopologyLevel{
	{NodeLabel: "rack"}, {NodeLabel: corev1.LabelHostname}, {NodeLabel: "example.com/numa", Alias: "numa"},
}}}

func (s *streamed) gang(name string, a asked) *gang.Gang {
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	podGroup.Spec.MinMember = ptr.To(int32(a.pods))
	if a.oneZone {
		podGroup.Spec.TopologyConstraint = &scheduling.TopologyConstraint{Topology: "zoned", RequiredTopologyLevel: "numa"}
	}
	var pods []*corev1.Pod
	for i := range a.pods {
		pods = append(pods, pod(fmt.Sprintf("%s-%d", name, i), func(pod *corev1.Pod) {
			all := corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(a.gpus, resource.DecimalSI)}
			if a.cpus > 0 {
				all[corev1.ResourceCPU] = *resource.NewQuantity(a.cpus, resource.DecimalSI)
				all[corev1.ResourceMemory] = resource.MustParse("1Gi")
			}
			pod.Namespace, pod.Spec.Containers[0].Resources = "default", corev1.ResourceRequirements{Requests: all, Limits: all}
			if a.cpus > 0 {
				pod.Status.QOSClass = corev1.PodQOSGuaranteed
			}
		}))
	}
	assembled, hold := gang.Assemble(podGroup, pods, func(string) (podgrouptree.Hierarchy, bool) {
		return podgrouptree.HierarchyOf(zoneTopology), true
	})
	require.Nil(s, hold)
	return assembled
}

// fits is the oracle: whether kubelets as they are would take the pods of a gang.
func (s *streamed) fits(a asked) bool {
	left := a.pods
	for _, name := range slices.Sorted(maps.Keys(s.kubelets)) {
		k := s.kubelets[name]
		if a.oneZone {
			for _, free := range k.free {
				if k.enforces() && free[0] >= a.gpus*int64(a.pods) && free[1] >= a.cpus*int64(a.pods) {
					return true
				}
			}
			continue
		}
		tried := &played{policy: k.policy, free: k.free, pods: map[string][2][2]int64{}}
		for left > 0 && tried.admit("", [2]int64{a.gpus, a.cpus}) {
			left--
		}
	}
	return !a.oneZone && left == 0
}

func (s *streamed) decide(asked *gang.Gang) *solve.Answer {
	nodes, err := s.offline.Nodes()
	require.NoError(s, err)
	answer, err := solve.Solve(s.Context(), solve.Request{
		Gang: asked, Topologies: map[string]*kai.Topology{"zoned": zoneTopology}, View: s.view, Nodes: nodes,
	})
	require.NoError(s, err)
	return answer
}

// place puts the pods on the nodes of an answer, one after the other: the zones of each are predicted, and the kubelet
// has to admit it.
func (s *streamed) place(answer *solve.Answer, a asked, pods []*corev1.Pod) {
	order := answer.Order
	if order == nil {
		order = slices.Sorted(maps.Keys(answer.Nodes))
	}
	for _, name := range order {
		found := slices.IndexFunc(pods, func(pod *corev1.Pod) bool { return pod.Name == name })
		standing := pods[found].DeepCopy()
		standing.Spec.NodeName = answer.Nodes[name]
		info := s.node(standing.Spec.NodeName)
		if usage, demand := eligibility.UsageOn(s.catalogue, info), zones.DemandOf(standing); usage != nil {
			_, admitted := usage.Admit(demand)
			require.True(s, admitted, "the plan has pod %s on node %s, which the filter refuses", name, standing.Spec.NodeName)
			s.catalogue.Hold(standing.Spec.NodeName, standing.UID, usage.Add(standing.UID, demand, nil))
			s.catalogue.Outdate(standing.Spec.NodeName)
		}
		require.NoError(s, s.offline.Change(kubeframework.Change{Stand: []*corev1.Pod{standing}}))
		k := s.kubelets[standing.Spec.NodeName]
		before := k.free
		require.True(s, k.admit(name, [2]int64{a.gpus, a.cpus}),
			"the kubelet of node %s (%s, %d free) rejects pod %s of %+v", standing.Spec.NodeName, k.policy, before, name, a)
		s.running = append(s.running, standing)
	}
}

func (s *streamed) node(name string) fwk.NodeInfo {
	nodes, err := s.offline.Nodes()
	at := slices.IndexFunc(nodes, func(node fwk.NodeInfo) bool { return node.Node().Name == name })
	if err != nil || at < 0 {
		s.Fatal(name, err)
	}
	return nodes[at]
}

func (s *streamed) end(at int) {
	ended := s.running[at]
	s.running = slices.Delete(s.running, at, at+1)
	s.kubelets[ended.Spec.NodeName].end(ended.Name)
	s.catalogue.Leave(ended.UID)
	s.catalogue.Outdate(ended.Spec.NodeName)
	require.NoError(s, s.offline.Change(kubeframework.Change{Leave: []*corev1.Pod{ended}}))
}

// report has the agent of a node write what is available now.
func (s *streamed) report(node string) { s.catalogue.Set(s.kubelets[node].reported(node)) }

// Kubelets admit what is planned by objects that are mostly old; and what they would admit is not refused.
func TestAStreamOfGangsByZones(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newStream(t, seed)
			names := slices.Sorted(maps.Keys(s.kubelets))
			for i := range 20 {
				s.decide(s.gang(fmt.Sprint("early-", i), s.draw())) // Agents report later.
			}
			for _, name := range names {
				s.report(name)
			}
			placed, refused := 0, 0
			for i := range streamGangs {
				a := s.draw()
				asking := s.gang(fmt.Sprint("gang-", i), a)
				answer, fits := s.decide(asking), s.fits(a)
				require.Equal(t, fits, answer.Verdict == scheduling.ReasonPlaced,
					"gang %d of %+v is %s, and fits: %t", i, a, answer.Verdict, fits)
				if fits {
					placed++
					s.place(answer, a, asking.Pending)
				} else {
					refused++
				}
				for range s.random.IntN(4) {
					s.report(names[s.random.IntN(len(names))])
				}
				for range min(s.random.IntN(5), len(s.running)) {
					s.end(s.random.IntN(len(s.running)))
				}
			}
			t.Logf("%d gangs placed, %d refused", placed, refused)
		})
	}
}

// Both are looked at in one go, and neither hides what the other has changed.
func TestANodeAndItsObjectChangeTogether(t *testing.T) {
	s := newStream(t, 0)
	name := slices.Sorted(maps.Keys(s.kubelets))[0]
	report := func(gpus ...int64) {
		made := &zones.Node{Name: name, Policy: zones.SingleNUMA}
		for i, count := range gpus {
			made.Zones = append(made.Zones, zones.Zone{
				Name: fmt.Sprint("node-", i), Allocatable: packing.Resources{"nvidia.com/gpu": count},
			})
		}
		s.catalogue.Set(made)
	}
	report(8, 0)
	asking := s.gang("five", asked{pods: 1, gpus: 5, oneZone: true})
	if answer := s.decide(asking); answer.Verdict != scheduling.ReasonPlaced {
		t.Fatalf("five of eight devices: %s", answer.Message)
	}
	other := pod("other", func(pod *corev1.Pod) { pod.Spec.NodeName = name })
	require.NoError(t, s.offline.Change(kubeframework.Change{Stand: []*corev1.Pod{other}}))
	report(4, 4)
	answer := s.decide(asking)
	for _, e := range answer.Explanations {
		if slices.Contains(e.Excluded, packing.Exclusion{Reason: "NUMA zones too small", Nodes: 1}) {
			return
		}
	}
	t.Errorf("no zone is large enough, and the answer is %s: %+v", answer.Verdict, answer.Explanations)
}
