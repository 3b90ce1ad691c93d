package capacity_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/scheduler/capacity"
	"packtree.dev/shared/packing"
)

var zonesAndRacks = map[string][]string{"t": {"zone", "rack"}}

// node takes 110 pods, and what is offered beside that.
func node(name string, labels map[string]string, offered packing.Resources) *corev1.Node {
	made := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	made.Status.Allocatable = amounts(offered)
	made.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("110")
	return made
}

// amounts are as people write them; CPU is in millicores.
func amounts(of packing.Resources) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, amount := range of {
		list[corev1.ResourceName(name)] = *resource.NewQuantity(amount, resource.DecimalSI)
		if name == string(corev1.ResourceCPU) {
			list[corev1.ResourceCPU] = *resource.NewMilliQuantity(amount, resource.DecimalSI)
		}
	}
	return list
}

// pod stands on a node.
func pod(uid, node string, requests packing.Resources) *corev1.Pod {
	made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: uid, UID: types.UID(uid)}}
	made.Spec.NodeName = node
	made.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: amounts(requests)}}}
	return made
}

// fleet is two zones: z1 with racks r1 of 8 and 6 GPUs and r2 of 7, and z2 with one rack of 8, and a node of 8 without
// a rack.
func fleet() *inventory.Inventory {
	cluster := inventory.New()
	for _, at := range []struct {
		name, zone, rack string
		gpus             int64
	}{
		{"a", "z1", "r1", 8}, {"b", "z1", "r1", 6}, {"c", "z1", "r2", 7}, {"d", "z2", "r1", 8}, {"e", "z2", "", 8},
	} {
		offered := packing.Resources{gpu: at.gpus, "cpu": 32000}
		cluster.Nodes = append(cluster.Nodes, node(at.name, labels(at.zone, at.rack), offered))
	}
	return cluster
}

func slots(
	t interface{ Fatal(...any) }, table *turns.Table, bounds capacity.Bounds, shapes ...capacity.Shape,
) []capacity.LevelSlots {
	trial, err := table.Begin(zonesAndRacks)
	if err != nil {
		t.Fatal(err)
	}
	defer trial.End()
	return capacity.Slots(trial, zonesAndRacks, shapes, bounds)
}

func lay(t *testing.T, cluster *inventory.Inventory) *turns.Table {
	table, err := turns.Set(t.Context(), cluster)
	require.NoError(t, err)
	return table
}

// flat has the slots of each level by its key, and of each domain by its path.
func flat(levels []capacity.LevelSlots) map[string]int64 {
	found := map[string]int64{}
	for _, level := range levels {
		found[level.Key] = level.Slots
		for _, domain := range level.Domains {
			found[domain.Path.String()] = domain.Slots
		}
	}
	return found
}

func TestSlots(t *testing.T) {
	asking := func(gpus int64) corev1.ResourceList { return amounts(packing.Resources{gpu: gpus}) }
	for name, c := range map[string]struct {
		shape  capacity.Shape
		change func(*inventory.Inventory)
		want   map[string]int64
	}{
		"a gang that may stand anywhere is counted in each domain by itself": {
			shape: capacity.Shape{Pods: 2, Resources: asking(4)},
			want:  map[string]int64{"zone": 4, "z1": 2, "z2": 2, "rack": 2, "z1/r1": 1, "z1/r2": 0, "z2/r1": 1},
		},
		"one that requires a rack does not use what is left over in two of them": {
			shape: capacity.Shape{Pods: 3, Resources: asking(2), RequiredLevel: "rack"},
			want:  map[string]int64{"zone": 4, "z1": 3, "z2": 1, "rack": 4, "z1/r1": 2, "z1/r2": 1, "z2/r1": 1},
		},
		"one that requires a zone does, and takes nodes without a rack": {
			shape: capacity.Shape{Pods: 3, Resources: asking(2), RequiredLevel: "zone"},
			want:  map[string]int64{"zone": 5, "z1": 3, "z2": 2, "rack": 4, "z1/r1": 2, "z1/r2": 1, "z2/r1": 1},
		},
		"what there is least of counts": {
			shape: capacity.Shape{Pods: 1, Resources: amounts(packing.Resources{gpu: 1, "cpu": 16000})},
			want:  map[string]int64{"zone": 10, "z1": 6, "z2": 4, "rack": 8, "z1/r1": 4, "z1/r2": 2, "z2/r1": 2},
		},
		"what pods take is not free": {
			shape: capacity.Shape{Pods: 1, Resources: asking(4)},
			change: func(cluster *inventory.Inventory) {
				cluster.Pods = []*corev1.Pod{pod("x", "a", packing.Resources{gpu: 2}), pod("y", "b", packing.Resources{gpu: 3})}
			},
			want: map[string]int64{"zone": 6, "z1": 2, "z2": 4, "rack": 4, "z1/r1": 1, "z1/r2": 1, "z2/r1": 2},
		},
		"nodes that are cordoned, out of service, refused or gone have no room": {
			shape: capacity.Shape{
				Pods: 1, Resources: asking(1), NodeSelector: map[string]string{"picked": "yes"},
			},
			change: func(cluster *inventory.Inventory) {
				for _, node := range cluster.Nodes {
					if node.Name != "c" {
						node.Labels["picked"] = "yes"
					}
				}
				cluster.Nodes[0].Spec.Unschedulable = true
				taint := func(at int, key string, effect corev1.TaintEffect) {
					spec := &cluster.Nodes[at].Spec
					spec.Taints = append(spec.Taints, corev1.Taint{Key: key, Effect: effect})
				}
				taint(1, corev1.TaintNodeNotReady, corev1.TaintEffectNoSchedule)
				taint(4, gpu, corev1.TaintEffectNoSchedule)
				cluster.Nodes = slices.Delete(cluster.Nodes, 3, 4)
			},
			want: map[string]int64{"zone": 8, "z1": 0, "z2": 8, "rack": 0, "z1/r1": 0, "z1/r2": 0},
		},
		"a resource that no node has leaves no room": {
			shape: capacity.Shape{Pods: 1, Resources: amounts(packing.Resources{"example.com/other": 1})},
			want:  map[string]int64{"zone": 0, "z1": 0, "z2": 0, "rack": 0, "z1/r1": 0, "z1/r2": 0, "z2/r1": 0},
		},
		"a topology without the level is not told of": {
			shape: capacity.Shape{Pods: 1, Resources: asking(1), RequiredLevel: "block"},
			want:  map[string]int64{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := fleet()
			if c.change != nil {
				c.change(cluster)
			}
			assert.Empty(t, cmp.Diff(c.want, flat(slots(t, lay(t, cluster), everything, c.shape))), "(-want +got)")
		})
	}
}

func TestDomainsOfSlotsAreListedWithinBounds(t *testing.T) {
	shapes := []capacity.Shape{
		{Name: "s", Pods: 1, Resources: amounts(packing.Resources{"cpu": 32000})},
		{Name: "u", Pods: 9, Resources: amounts(packing.Resources{gpu: 1})},
	}
	in := func(path string, slots int64) capacity.DomainSlots {
		return capacity.DomainSlots{Path: strings.Split(path, "/"), Slots: slots}
	}
	zones := []capacity.DomainSlots{in("z1", 3), in("z2", 2)}
	racks := []capacity.DomainSlots{in("z1/r1", 2), in("z1/r2", 1), in("z2/r1", 1)}
	for name, c := range map[string]struct {
		bounds capacity.Bounds
		want   [][]capacity.DomainSlots
	}{
		"a level that is too large is left out": {
			capacity.Bounds{PerLevel: 2, InAll: 100},
			[][]capacity.DomainSlots{zones, nil},
		},
		"a shape for which there is no room is not listed": {
			capacity.Bounds{PerLevel: 100, InAll: 5},
			[][]capacity.DomainSlots{zones, racks, nil, nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			levels := slots(t, lay(t, fleet()), c.bounds, shapes...)
			for i, want := range c.want {
				assert.Empty(t, cmp.Diff(want, levels[i].Domains), "level %d of shape %s (-want +got)", i, levels[i].Shape)
			}
			assert.EqualValues(t, 4, levels[1].Slots, "the level has %d slots, listed or not", levels[1].Slots)
		})
	}
}

// model is the cluster, plainly. Offer and takes have what its nodes and pods were made of.
type model struct {
	nodes map[string]*corev1.Node
	offer map[string]packing.Resources
	pods  []*corev1.Pod
	takes map[*corev1.Pod]packing.Resources
	made  int
}

func (m *model) shown() *inventory.Inventory {
	cluster := inventory.New()
	cluster.Nodes, cluster.Pods = slices.Collect(maps.Values(m.nodes)), slices.Clone(m.pods)
	return cluster
}

// slots is the largest number of gangs that fit at the same time on the nodes within a domain, of all ways to place
// them.
func (m *model) slots(shape capacity.Shape, domain []string) int64 {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(m.nodes)) {
		if path := pathOf(m.nodes[name].Labels, len(domain)); slices.Equal(path, domain) && m.lets(name, shape) {
			names = append(names, name)
		}
	}
	free := make([]packing.Resources, len(names))
	for i, name := range names {
		free[i] = maps.Clone(m.offer[name])
		for _, pod := range m.pods {
			if pod.Spec.NodeName != name {
				continue
			}
			for resource, amount := range m.takes[pod] {
				free[i][resource] -= amount
			}
		}
	}
	depth := slices.Index(zonesAndRacks["t"], shape.RequiredLevel) + 1
	asks := packing.Resources{gpu: shape.Resources.Name(gpu, resource.DecimalSI).Value(),
		"cpu": shape.Resources.Cpu().MilliValue()}
	search := &search{pods: shape.Pods, asks: asks, free: free, known: map[string]int64{}}
	for _, name := range names {
		path := pathOf(m.nodes[name].Labels, depth)
		search.domains = append(search.domains, fmt.Sprint(path))
		search.stands = append(search.stands, depth == 0 || path != nil)
	}
	return search.most(shape.Pods, "")
}

func (m *model) lets(name string, shape capacity.Shape) bool {
	node := m.nodes[name]
	return !node.Spec.Unschedulable && len(node.Spec.Taints) == 0 &&
		(shape.NodeSelector == nil || node.Labels["picked"] == shape.NodeSelector["picked"])
}

// pathOf returns the first label values of a node, nil if it lacks one of them.
func pathOf(labels map[string]string, depth int) []string {
	path := []string{}
	for _, key := range zonesAndRacks["t"][:depth] {
		if labels[key] == "" {
			return nil
		}
		path = append(path, labels[key])
	}
	return path
}

// search goes through all ways to put pods on nodes, one after the other.
type search struct {
	pods    int64
	asks    packing.Resources
	free    []packing.Resources
	domains []string
	stands  []bool
	known   map[string]int64
}

// most returns how many gangs can be completed when the one that was begun, in a domain if it has a pod already, lacks
// so many pods.
func (s *search) most(lacks int64, domain string) (best int64) {
	if lacks == 0 {
		return 1 + s.most(s.pods, "")
	}
	state := fmt.Sprint(s.free, lacks, domain)
	if known, ok := s.known[state]; ok {
		return known
	}
	for i, free := range s.free {
		if !s.stands[i] || domain != "" && s.domains[i] != domain {
			continue
		}
		fits := true
		for resource, amount := range s.asks {
			// Of what it does not ask for, pods may take more than there is.
			fits = fits && (amount == 0 || free[resource] >= amount)
		}
		if !fits {
			continue
		}
		for resource, amount := range s.asks {
			free[resource] -= amount
		}
		best = max(best, s.most(lacks-1, s.domains[i]))
		for resource, amount := range s.asks {
			free[resource] += amount
		}
	}
	s.known[state] = best
	return best
}

// want has what flat should have of a shape.
func (m *model) want(shape capacity.Shape) map[string]int64 {
	want := map[string]int64{"zone": 0, "rack": 0}
	for _, node := range m.nodes {
		for depth, key := range zonesAndRacks["t"] {
			path := pathOf(node.Labels, depth+1)
			if path == nil {
				break
			}
			name := packing.Path(path).String()
			if _, counted := want[name]; !counted {
				want[name] = m.slots(shape, path)
				want[key] += want[name]
			}
		}
	}
	return want
}

// However nodes and pods come and go, a copy of the cluster that follows it counts what trying all ways finds.
func TestSlotsAreTheMostThatFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		told := model{nodes: map[string]*corev1.Node{}, offer: map[string]packing.Resources{},
			takes: map[*corev1.Pod]packing.Resources{}}
		var copied turns.Copy
		shapes := make([]capacity.Shape, rapid.IntRange(1, 2).Draw(t, "shapes"))
		for i := range shapes {
			shapes[i] = capacity.Shape{
				Name: fmt.Sprint(i), Pods: rapid.Int64Range(1, 3).Draw(t, "pods of the gang"),
				Resources: amounts(packing.Resources{gpu: rapid.Int64Range(1, 3).Draw(t, "gpus"),
					"cpu": rapid.Int64Range(0, 2).Draw(t, "cpus")}),
				RequiredLevel: rapid.SampledFrom([]string{"", "zone", "rack"}).Draw(t, "required"),
			}
			if rapid.Bool().Draw(t, "picky") {
				shapes[i].NodeSelector = map[string]string{"picked": "yes"}
			}
		}
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			told.step(t)
			compare := func(table *turns.Table) error {
				all := slots(t, table, everything, shapes...)
				for i, shape := range shapes {
					require.Empty(t, cmp.Diff(told.want(shape), flat(all[2*i:2*i+2])), "shape %+v (-want +got)", shape)
				}
				return nil
			}
			require.NoError(t, copied.On(t.Context(), told.shown(), compare))
		}
	})
}

// step has something happen to a node.
func (m *model) step(t *rapid.T) {
	name := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "node")
	amounts := func(most int64) packing.Resources {
		return packing.Resources{
			gpu: rapid.Int64Range(0, most).Draw(t, "gpus"), "cpu": rapid.Int64Range(0, most).Draw(t, "cpus"),
		}
	}
	switch rapid.SampledFrom([]string{"seen", "seen", "seen", "gone", "take", "take", "give back"}).Draw(t, "what") {
	case "seen":
		value := rapid.SampledFrom([]string{"", "1", "2"})
		m.offer[name] = amounts(6)
		seen := node(name, labels(value.Draw(t, "zone"), value.Draw(t, "rack")), m.offer[name])
		if rapid.Bool().Draw(t, "picked") {
			seen.Labels["picked"] = "yes"
		}
		switch rapid.IntRange(0, 7).Draw(t, "condition") {
		case 0:
			seen.Spec.Unschedulable = true
		case 1:
			seen.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}}
		}
		m.nodes[name] = seen
	case "gone":
		delete(m.nodes, name)
	case "take":
		m.made++
		takes := amounts(3)
		taking := pod(fmt.Sprint(m.made), name, takes)
		m.pods, m.takes[taking] = append(m.pods, taking), takes
	case "give back":
		if len(m.pods) > 0 {
			at := rapid.IntRange(0, len(m.pods)-1).Draw(t, "pod")
			m.pods = slices.Delete(m.pods, at, at+1)
		}
	}
}
