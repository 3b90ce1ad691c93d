package zones_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/model/zones"
	"packtree.dev/shared/packing"
)

// Short names of resources in tests.
var long = map[string]string{"gpu": "nvidia.com/gpu", "nic": "rdma/hca", "huge": "hugepages-2Mi"}

func full(name string) string {
	if name, ok := long[name]; ok {
		return name
	}
	return name
}

// amounts reads "4 gpu, 16 cpu".
func amounts(text string) map[string]string {
	read := map[string]string{}
	for _, item := range strings.Split(text, ", ") {
		if amount, name, ok := strings.Cut(item, " "); ok {
			read[full(name)] = amount
		}
	}
	return read
}

// topology is a NodeResourceTopology with a policy such as "restricted pod", and zones of amounts. What is after a bar
// in a zone is available.
func topology(policy string, zoned ...string) *unstructured.Unstructured {
	policy, scope, _ := strings.Cut(policy, " ")
	attribute := func(name, value string) any { return map[string]any{"name": name, "value": value} }
	object := map[string]any{
		"apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology",
		"metadata": map[string]any{"name": "a"},
		"attributes": []any{
			attribute("topologyManagerPolicy", policy), attribute("topologyManagerScope", scope),
		},
	}
	var list []any
	for i, zone := range zoned {
		has, left, observed := strings.Cut(zone, " | ")
		var resources []any
		for name, amount := range amounts(has) {
			listed := map[string]any{"name": name, "capacity": amount, "allocatable": amount, "available": amount}
			if observed {
				delete(listed, "available")
				if amount, there := amounts(left)[name]; there {
					listed["available"] = amount
				}
			}
			resources = append(resources, listed)
		}
		list = append(list, map[string]any{"name": fmt.Sprintf("node-%d", i), "type": "Node", "resources": resources})
	}
	object["zones"] = list
	return &unstructured.Unstructured{Object: object}
}

func node(t testing.TB, policy string, zoned ...string) *zones.Node {
	t.Helper()
	n, err := zones.Read(topology(policy, zoned...))
	require.NoError(t, err)
	return n
}

// pod has containers of amounts, "init" ones first, which a sidecar is, too. It is guaranteed if each has CPUs and
// memory.
func pod(name string, containers ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name)}}
	for i, text := range containers {
		kind, rest, special := strings.Cut(text, ": ")
		if special {
			text = rest
		}
		container := corev1.Container{Name: fmt.Sprint("c", i)}
		container.Resources.Requests = corev1.ResourceList{}
		for name, amount := range amounts(text) {
			container.Resources.Requests[corev1.ResourceName(name)] = resource.MustParse(amount)
		}
		container.Resources.Limits = container.Resources.Requests
		switch {
		case !special:
			p.Spec.Containers = append(p.Spec.Containers, container)
		case kind == "sidecar":
			container.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
			fallthrough
		default:
			p.Spec.InitContainers = append(p.Spec.InitContainers, container)
		}
	}
	return p
}

// created gives pods ages: the first is the oldest.
func created(pods ...*corev1.Pod) []*corev1.Pod {
	for i, p := range pods {
		p.CreationTimestamp = metav1.NewTime(time.Unix(int64(1000+i), 0))
	}
	return pods
}

// in is what a pod holds of a zone of several: "2 gpu" of zone 1 of 2 is in(2, 1, "2 gpu").
func in(count, zone int, text string) zones.Held {
	held := make(zones.Held, count)
	held[zone] = packing.Resources{}
	for name, amount := range amounts(text) {
		quantity := resource.MustParse(amount)
		held[zone][name] = quantity.Value()
		if name == "cpu" {
			held[zone][name] = quantity.MilliValue()
		}
	}
	return held
}

func TestTheKubeletsRule(t *testing.T) {
	two := []string{"4 gpu, 16 cpu, 64Gi memory", "4 gpu, 16 cpu, 64Gi memory"}
	for name, c := range map[string]struct {
		policy string
		zones  []string
		// there are pods by the zone that they are in.
		there map[int]string
		pod   []string
		// want are the zones taken, "" if the pod is rejected, and "-" if it holds nothing.
		want string
	}{
		"the lowest zone is taken":                    {"single-numa-node container", two, nil, []string{"2 gpu"}, "node-0"},
		"and the next one if it is full":              {"single-numa-node container", two, map[int]string{0: "3 gpu"}, []string{"2 gpu"}, "node-1"},
		"3 + 3 free do not hold 4":                    {"single-numa-node container", two, map[int]string{0: "1 gpu", 1: "1 gpu"}, []string{"4 gpu"}, ""},
		"one zone has to have both":                   {"single-numa-node container", two, map[int]string{0: "3 gpu", 1: "14 cpu, 1Gi memory"}, []string{"2 gpu, 10 cpu, 1Gi memory"}, ""},
		"a whole node is more than one zone":          {"single-numa-node container", two, nil, []string{"8 gpu"}, ""},
		"containers may be in two zones":              {"single-numa-node container", two, nil, []string{"3 gpu", "3 gpu"}, "node-0 node-1"},
		"but not of a pod as a whole":                 {"single-numa-node pod", two, nil, []string{"3 gpu", "3 gpu"}, ""},
		"widths 2 and 1 are rejected":                 {"restricted container", two, nil, []string{"6 gpu, 10 cpu, 1Gi memory"}, ""},
		"widths 2 and 2 are admitted":                 {"restricted container", two, nil, []string{"6 gpu, 24 cpu, 100Gi memory"}, "node-0 node-1"},
		"width 1: one zone has to have it":            {"restricted container", []string{"6 cpu", "6 cpu", "6 cpu"}, map[int]string{0: "3 cpu, 1 memory", 1: "3 cpu, 1 memory", 2: "3 cpu, 1 memory"}, []string{"4 cpu, 1Gi memory"}, ""},
		"the lowest two of three zones":               {"restricted container", []string{"4 gpu", "4 gpu", "4 gpu"}, map[int]string{0: "3 gpu"}, []string{"7 gpu"}, "node-1 node-2"},
		"CPUs of burstable pods are not aligned":      {"single-numa-node container", two, nil, []string{"2 gpu, 30 cpu"}, "node-0"},
		"nor parts of CPUs":                           {"single-numa-node container", two, map[int]string{0: "16 cpu, 1Gi memory", 1: "16 cpu, 1Gi memory"}, []string{"1500m cpu, 1Gi memory"}, "node-0"},
		"a resource of no zone gives no hint":         {"single-numa-node container", two, nil, []string{"100 nic"}, "-"},
		"a pod that asks for nothing":                 {"single-numa-node container", two, nil, []string{""}, "-"},
		"an init container's devices are used again":  {"single-numa-node container", []string{"4 gpu"}, nil, []string{"init: 4 gpu", "3 gpu"}, "node-0"},
		"those of a sidecar are not":                  {"single-numa-node container", []string{"4 gpu"}, nil, []string{"sidecar: 2 gpu", "3 gpu"}, ""},
		"a sidecar stays beside a later one":          {"single-numa-node pod", []string{"4 gpu"}, nil, []string{"sidecar: 2 gpu", "init: 3 gpu", "1 gpu"}, ""},
		"but not beside an earlier one":               {"single-numa-node pod", []string{"4 gpu"}, nil, []string{"init: 3 gpu", "sidecar: 2 gpu", "1 gpu"}, "node-0"},
		"what is used again ties a pod to its zone":   {"single-numa-node container", two, map[int]string{0: "2 gpu"}, []string{"init: 1 gpu", "3 gpu"}, ""},
		"even if only a part is used of two zones":    {"restricted container", []string{"4 gpu", "4 gpu", "4 gpu"}, nil, []string{"init: 8 gpu", "6 gpu", "3 gpu"}, ""},
		"and not if all of it is":                     {"restricted container", []string{"4 gpu", "4 gpu", "4 gpu"}, nil, []string{"init: 8 gpu", "8 gpu", "3 gpu"}, "node-0 node-1 node-2"},
		"memory keeps single and several zones apart": {"restricted container", two, map[int]string{0: "1 cpu, 1Gi memory"}, []string{"24 cpu, 70Gi memory"}, ""},
		"zones are judged one by one":                 {"single-numa-node container", []string{"8 cpu, 10Gi memory", "8 cpu, 16Gi memory"}, nil, []string{"1 cpu, 12Gi memory"}, "node-1"},
		"more than an amount can be":                  {"restricted container", two, nil, []string{"9223372036854775807 gpu"}, ""},
	} {
		n := node(t, c.policy, c.zones...)
		u := n.Usage(nil, nil)
		for zone, text := range c.there {
			u.Add(types.UID(fmt.Sprint(zone)), zones.DemandOf(pod("there", text)), in(len(c.zones), zone, text))
		}
		held, ok := u.Admit(zones.DemandOf(pod("p", c.pod...)))
		got := strings.Join(held.In(n), " ")
		if ok && got == "" {
			got = "-"
		}
		assert.Equal(t, c.want, got, name)
	}
}

func TestNever(t *testing.T) {
	two := []string{"4 gpu, 16 cpu, 64Gi memory", "4 gpu, 16 cpu, 64Gi memory"}
	one := func(pods ...*corev1.Pod) *zones.Demand { return zones.InOneZone(pods...) }
	for name, c := range map[string]struct {
		node   *zones.Node
		demand *zones.Demand
		want   string
	}{
		"an ordinary pod on any node":       {nil, zones.DemandOf(pod("p", "9 gpu")), ""},
		"one zone without an object":        {nil, one(pod("p", "1 gpu")), "no NodeResourceTopology"},
		"one zone where none is enforced":   {node(t, "best-effort pod", two...), one(pod("p", "1 gpu")), "Topology Manager policy best-effort"},
		"one zone with no policy":           {node(t, " pod", two...), one(pod("p", "1 gpu")), "Topology Manager policy none"},
		"one zone without the device":       {node(t, "restricted pod", two...), one(pod("p", "1 nic")), "NUMA zones without rdma/hca"},
		"one zone for what is not aligned":  {node(t, "restricted pod", two...), one(pod("p", "1 cpu")), "requests that no NUMA zone aligns"},
		"one zone for more than it has":     {node(t, "restricted pod", two...), one(pod("p", "5 gpu")), "NUMA zones too small"},
		"pods in one zone add up":           {node(t, "restricted pod", two...), one(pod("p", "3 gpu"), pod("q", "3 gpu")), "NUMA zones too small"},
		"pods that one zone has":            {node(t, "restricted pod", two...), one(pod("p", "3 gpu"), pod("q", "1 gpu")), ""},
		"a given zone":                      {node(t, "restricted pod", two...), one(pod("p", "3 gpu")).In("node-1"), ""},
		"a zone that is not there":          {node(t, "restricted pod", two...), one(pod("p", "3 gpu")).In("node-7"), "NUMA zones too small"},
		"an ordinary pod of several zones":  {node(t, "restricted pod", two...), zones.DemandOf(pod("p", "6 gpu")), ""},
		"an ordinary pod that is too large": {node(t, "single-numa-node pod", two...), zones.DemandOf(pod("p", "6 gpu")), "NUMA zones too small"},
		"a pod that asks for nothing":       {node(t, "single-numa-node pod", two...), zones.DemandOf(pod("p", "")), ""},
	} {
		assert.Equal(t, c.want, c.node.Never(c.demand), name)
	}
}

func TestRoom(t *testing.T) {
	n := node(t, "single-numa-node pod", "4 gpu, 16 cpu", "4 gpu, 16 cpu")
	three := created(pod("b", "1 gpu"), pod("c", "1 gpu"))
	u := n.Usage(three, func(uid types.UID) (zones.Held, bool) {
		return in(2, map[types.UID]int{"uid-c": 1}[uid], "1 gpu"), true
	})
	several := node(t, "restricted container", "4 gpu", "4 gpu", "4 gpu", "4 gpu").Usage(nil, nil)
	for name, c := range map[string]struct {
		usage  *zones.Usage
		demand *zones.Demand
		want   int64
	}{
		"3 + 3 free hold two pods of 2":  {u, zones.DemandOf(pod("p", "2 gpu")), 2},
		"and six of 1":                   {u, zones.DemandOf(pod("p", "1 gpu")), 6},
		"one of three in one zone":       {u, zones.InOneZone(pod("p", "1 gpu"), pod("q", "1 gpu"), pod("r", "1 gpu")), 2},
		"in a given zone":                {u, zones.InOneZone(pod("p", "1 gpu")).In("node-1"), 3},
		"at most the limit":              {u, zones.DemandOf(pod("p", "nothing")), 50},
		"containers in turn":             {several, zones.DemandOf(pod("p", "3 gpu", "2 gpu")), 2},
		"pods of two zones":              {several, zones.DemandOf(pod("p", "6 gpu")), 2},
		"nothing that the node aligns":   {u, zones.DemandOf(pod("p", "1 nic", "1 nic")), 50},
		"a node that does not enforce":   {nil, zones.DemandOf(pod("p", "1 gpu")), 50},
		"it has no zone for pods of one": {nil, zones.InOneZone(pod("p", "1 gpu")), 0},
	} {
		assert.Equal(t, c.want, c.usage.Room(c.demand, 50), name)
	}
}

func TestUsage(t *testing.T) {
	gone := pod("gone", "4 gpu")
	gone.Status.Phase = corev1.PodFailed
	for name, c := range map[string]struct {
		zones []string
		pods  []*corev1.Pod
		known map[string]int
		want  map[string]string
		free  []int64
	}{
		"pods are predicted, the oldest first": {[]string{"4 gpu", "4 gpu"},
			created(pod("x", "3 gpu"), pod("b", "2 gpu"), pod("c", "1 gpu")), nil,
			map[string]string{"x": "node-0", "b": "node-1", "c": "node-0"}, []int64{0, 2}},
		"after those that are known": {[]string{"4 gpu", "4 gpu"},
			created(pod("x", "3 gpu"), pod("b", "3 gpu")), map[string]int{"b": 0},
			map[string]string{"x": "node-1", "b": "node-0"}, []int64{1, 1}},
		"ended pods hold nothing": {[]string{"4 gpu", "4 gpu"}, created(gone), nil, map[string]string{"gone": "unknown"}, []int64{4, 4}},
		"available that nobody maintains": {[]string{"4 gpu | 4 gpu", "4 gpu | 4 gpu"},
			created(pod("x", "3 gpu"), pod("y", "3 gpu")), nil, map[string]string{"x": "node-0", "y": "node-1"}, []int64{1, 1}},
		"what is observed wins": {[]string{"4 gpu | 4 gpu", "4 gpu | 1 gpu"},
			created(pod("x", "3 gpu")), map[string]int{"x": 0}, map[string]string{"x": "node-1"}, []int64{4, 1}},
		"and moves no more than it has to": {[]string{"4 gpu | 2 gpu", "4 gpu | 0 gpu"},
			created(pod("x", "2 gpu"), pod("y", "2 gpu"), pod("z", "2 gpu")), map[string]int{"x": 1, "y": 0, "z": 0},
			map[string]string{"x": "node-1", "y": "node-0", "z": "node-1"}, []int64{2, 0}},
		"a pod that no zone admits is in each": {[]string{"4 gpu", "4 gpu"},
			created(pod("x", "3 gpu"), pod("y", "3 gpu"), pod("z", "2 gpu")), nil,
			map[string]string{"x": "node-0", "y": "node-1", "z": "unknown"}, []int64{0, 0}},
		"unless it is observed": {[]string{"4 gpu | 0 gpu", "4 gpu | 1 gpu"},
			created(pod("x", "3 gpu"), pod("y", "2 gpu"), pod("z", "2 gpu")), map[string]int{"x": 0, "y": 1},
			map[string]string{"x": "node-1", "y": "node-0", "z": "node-0"}, []int64{0, 1}},
	} {
		n := node(t, "single-numa-node pod", c.zones...)
		u := n.Usage(c.pods, func(uid types.UID) (zones.Held, bool) {
			name := strings.TrimPrefix(string(uid), "uid-")
			zone, ok := c.known[name]
			for _, p := range c.pods {
				if p.Name == name {
					return in(2, zone, p.Spec.Containers[0].Resources.Requests.Name("nvidia.com/gpu", resource.DecimalSI).String()+" gpu"), ok
				}
			}
			return nil, false
		})
		got := map[string]string{}
		for _, p := range c.pods {
			held, known := u.HeldBy(p.UID)
			got[p.Name] = strings.Join(held.In(n), " ")
			if !known {
				got[p.Name] = "unknown"
			}
		}
		assert.Empty(t, cmp.Diff(c.want, got), "%s", name)
		for zone, free := range u.Free() {
			assert.Equal(t, c.free[zone], free["nvidia.com/gpu"], "%s free in zone %d", name, zone)
		}
	}
}

func TestWhatIsAlignedOfAPod(t *testing.T) {
	const text = "1 gpu, 2 cpu, 1Gi memory, 4Mi huge"
	burstable, whole, said := pod("p", text), pod("p", text), pod("p", text)
	burstable.Spec.Containers[0].Resources.Limits = nil
	asWhole := corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("1Gi")}
	whole.Spec.Resources = &corev1.ResourceRequirements{Requests: asWhole, Limits: asWhole}
	said.Status.QOSClass = corev1.PodQOSBurstable
	overhead := pod("p", text)
	overhead.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("1")}
	const devices, all = "1 nvidia.com/gpu", "1 nvidia.com/gpu, 2 cpu, 4Mi hugepages-2Mi and 1Gi memory"
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"all of a guaranteed pod":           {pod("p", text), all},
		"devices of others":                 {burstable, devices},
		"by what the API server says":       {said, devices},
		"devices of a pod with resources":   {whole, devices},
		"nothing of the overhead":           {overhead, all},
		"parts of a device count as one":    {pod("p", "500m gpu"), devices},
		"containers without any do not ask": {pod("p", "1 gpu", "2 disks"), devices},
	} {
		assert.Equal(t, c.want+" aligned by NUMA zone", zones.DemandOf(c.pod).String(), "%s, want %s", name, c.want)
	}
}

func TestDemandInWords(t *testing.T) {
	for want, demand := range map[string]*zones.Demand{
		"2 nvidia.com/gpu, 16 cpu and 64Gi memory aligned by NUMA zone": zones.DemandOf(pod("p", "16 cpu, 2 gpu, 64Gi memory")),
		"2 nvidia.com/gpu in one NUMA zone":                             zones.InOneZone(pod("p", "1 gpu"), pod("q", "1 gpu")),
		"1 nvidia.com/gpu in NUMA zone node-1":                          zones.InOneZone(pod("p", "1 gpu")).In("node-1"),
		"at first 2 nvidia.com/gpu, then 1 nvidia.com/gpu, then 1 rdma/hca aligned by NUMA zone": zones.DemandOf(
			pod("p", "init: 2 gpu", "1 gpu", "1 nic")),
		"nothing in one NUMA zone": zones.InOneZone(pod("p", "1 cpu")),
	} {
		assert.Equal(t, want, demand.String())
	}
}
