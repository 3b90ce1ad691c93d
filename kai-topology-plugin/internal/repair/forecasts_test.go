package repair_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/repair"
	"packtree.dev/kai-topology-plugin/internal/turns"
	kai "packtree.dev/shared/api/kai/v1alpha1"
)

// followed is a cluster, the copy that follows it, and what was foretold on that.
type followed struct {
	cluster   *inventory.Inventory
	copied    turns.Copy
	forecasts repair.Forecasts
}

// round foretells what is not known any more, and returns all forecasts and how many failures were foretold for that.
func (f *followed) round(t testing.TB) (all []*repair.Forecast, asked int) {
	t.Helper()
	err := f.copied.On(t.Context(), f.cluster, func(table *turns.Table) error {
		if err := f.forecasts.Begin(table); err != nil {
			return err
		}
		for {
			more, err := f.forecasts.Next(t.Context(), table)
			if !more || err != nil {
				return err
			}
			asked++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return f.forecasts.All(), asked
}

// anew is what is foretold of a copy that was made for this.
func anew(t testing.TB, cluster *inventory.Inventory) []*repair.Forecast {
	t.Helper()
	all, _, err := repair.All(t.Context(), cluster, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// drawSite draws nodes of several sizes.
func drawSite(r *rapid.T) (text string, names []string) {
	text = topology
	for zone := range rapid.IntRange(1, 3).Draw(r, "zones") {
		for rack := range rapid.IntRange(1, 3).Draw(r, "racks") {
			for n := range rapid.IntRange(1, 3).Draw(r, "nodes") {
				names = append(names, fmt.Sprintf("z%d-r%d-n%d", zone, rack, n))
				text += node(names[len(names)-1], rapid.IntRange(1, 4).Draw(r, "devices"))
			}
		}
	}
	return text, names
}

// drawGang draws a gang of one of several forms, with its pods on nodes where they may stand, whether these have room
// or not.
func drawGang(r *rapid.T, name string, names []string) string {
	home := rapid.SampledFrom(names).Draw(r, "home")
	within := func(same func(string) string) (found []string) {
		for _, node := range names {
			if same(node) == same(home) {
				found = append(found, node)
			}
		}
		return found
	}
	drawPods := func(leaf string, on []string) (string, int) {
		var taken []string
		for range rapid.IntRange(1, 3).Draw(r, "pods") {
			taken = append(taken, rapid.SampledFrom(on).Draw(r, "node"))
		}
		return pods(name, leaf, rapid.IntRange(1, 2).Draw(r, "devices"), taken...), len(taken)
	}
	switch rapid.IntRange(0, 4).Draw(r, "form") {
	case 0:
		text, count := drawPods("", within(rackOf))
		return podGroup(name, fmt.Sprintf("minMember: %d, %s", count, oneRack)) + text
	case 1:
		text, count := drawPods("", names)
		return podGroup(name, fmt.Sprintf("minMember: %d", count)) + text
	case 2:
		text, count := drawPods("", within(zoneOf))
		return podGroup(name, fmt.Sprintf("minMember: %d, %s", count, oneZone)) + text
	case 3:
		a, countA := drawPods("a", within(rackOf))
		b, countB := drawPods("b", within(zoneOf))
		return podGroup(name, fmt.Sprintf("subGroups: [{name: a, minMember: %d, %s}, {name: b, minMember: %d}], %s", countA, oneRack, countB, oneZone)) + a + b
	default:
		a, countA := drawPods("a", within(rackOf))
		b, countB := drawPods("b", within(rackOf))
		return podGroup(name, fmt.Sprintf("subGroups: [{name: a, minMember: %d, %s}, {name: b, minMember: %d, %[2]s}], %[4]s", countA, oneRack, countB, oneZone)) + a + b
	}
}

// disturb changes something of the cluster, as informers show it: what is another object is somewhere else in memory.
func (f *followed) disturb(r *rapid.T, number int) {
	nodes, standing := f.cluster.Nodes, f.cluster.Pods
	someNode := func() int { return rapid.IntRange(0, len(nodes)-1).Draw(r, "node") }
	change := func(at int, change func(*corev1.Node)) {
		f.cluster.Nodes[at] = nodes[at].DeepCopy()
		change(f.cluster.Nodes[at])
	}
	switch rapid.IntRange(0, 10).Draw(r, "change") {
	case 0, 1, 2:
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("plain-", number), UID: types.UID(fmt.Sprint(number))}}
		pod.Spec.NodeName = nodes[someNode()].Name
		pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}}}}
		if rapid.IntRange(0, 5).Draw(r, "keeps others away") == 0 {
			pod.Labels = map[string]string{"app": "plain"}
			pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpDoesNotExist}}},
				TopologyKey:   rapid.SampledFrom([]string{"l/rack", "l/zone", corev1.LabelHostname}).Draw(r, "from"),
			}}}}
		}
		f.cluster.Pods = append(slices.Clip(standing), pod)
	case 3, 4:
		if len(standing) > 0 {
			at := rapid.IntRange(0, len(standing)-1).Draw(r, "pod")
			f.cluster.Pods = slices.Delete(slices.Clone(standing), at, at+1)
		}
	case 5:
		if len(standing) > 0 {
			at := rapid.IntRange(0, len(standing)-1).Draw(r, "pod")
			f.cluster.Pods[at] = standing[at].DeepCopy()
			f.cluster.Pods[at].Spec.NodeName = nodes[someNode()].Name
		}
	case 6:
		change(someNode(), func(node *corev1.Node) { node.Spec.Unschedulable = !node.Spec.Unschedulable })
	case 7:
		change(someNode(), func(node *corev1.Node) {
			node.Status.Allocatable["nvidia.com/gpu"] = *resource.NewQuantity(int64(rapid.IntRange(1, 5).Draw(r, "devices")), resource.DecimalSI)
		})
	case 8:
		change(someNode(), func(node *corev1.Node) {
			node.Labels["l/rack"] = rapid.SampledFrom([]string{"r0", "r1", "other"}).Draw(r, "rack")
		})
	case 9:
		if at := someNode(); len(nodes) > 1 {
			f.cluster.Nodes = slices.Delete(slices.Clone(nodes), at, at+1)
		}
	default:
		if at := rapid.IntRange(0, len(f.cluster.PodGroups)-1).Draw(r, "gang"); len(f.cluster.PodGroups) > 1 {
			f.cluster.PodGroups = slices.Delete(slices.Clone(f.cluster.PodGroups), at, at+1)
		}
	}
}

func TestWhatIsKeptIsWhatWouldBeForetoldAnew(t *testing.T) {
	kept := 0
	rapid.Check(t, func(r *rapid.T) {
		text, names := drawSite(r)
		for i := range rapid.IntRange(1, 4).Draw(r, "gangs") {
			text += drawGang(r, fmt.Sprint("g", i), names)
		}
		f := &followed{cluster: read(t, text)}
		for step := range rapid.IntRange(1, 8).Draw(r, "steps") {
			got, asked := f.round(t)
			kept += len(got) - asked
			if diff := cmp.Diff(anew(t, f.cluster), got); diff != "" {
				r.Fatalf("step %d (-anew +kept):\n%s", step, diff)
			}
			f.disturb(r, step)
		}
	})
	if kept == 0 {
		t.Error("nothing was ever kept")
	}
}

// twoZones has a gang in a rack of each of two zones, and a node to spare in each rack.
func twoZones(t *testing.T) *followed {
	return &followed{cluster: read(t, topology+nodes(4, "x-r1-n1", "x-r1-n2", "x-r1-n3", "w-r1-n1", "w-r1-n2", "w-r1-n3")+
		podGroup("a", "minMember: 2, "+oneRack)+pods("a", "", 4, "x-r1-n1", "x-r1-n2")+
		podGroup("b", "minMember: 2, "+oneRack)+pods("b", "", 4, "w-r1-n1", "w-r1-n2"))}
}

func TestOnlyWhatIsTouchedIsForetoldAgain(t *testing.T) {
	const zones, racks, hosts = 2, 2, 6
	for name, test := range map[string]struct {
		change func(cluster *inventory.Inventory)
		want   int
	}{
		"nothing": {func(*inventory.Inventory) {}, 0},
		"what a pod says of itself": {func(cluster *inventory.Inventory) {
			cluster.Pods[0] = cluster.Pods[0].DeepCopy()
			cluster.Pods[0].Status.Message = "ready"
		}, 0},
		"what is said of a gang": {func(cluster *inventory.Inventory) {
			cluster.PodGroups[0] = cluster.PodGroups[0].DeepCopy()
			cluster.PodGroups[0].Status.Conditions = []metav1.Condition{{Type: "Repairable"}}
		}, 0},
		"a node that says it is alive": {func(cluster *inventory.Inventory) {
			cluster.Nodes[0] = cluster.Nodes[0].DeepCopy()
			cluster.Nodes[0].Annotations = map[string]string{"seen": "now"}
		}, 0},
		// The failures of nodes that gang a stands on. No rack has room for the two pods of a gang, with the node or
		// without.
		"a node that is taken": {func(cluster *inventory.Inventory) {
			cluster.Nodes[2] = cluster.Nodes[2].DeepCopy()
			cluster.Nodes[2].Spec.Unschedulable = true
		}, 2},
		// Its rack and its zone, and those of the other gang, which might come to that node's rack.
		"a node that grows": {func(cluster *inventory.Inventory) {
			cluster.Nodes[2] = cluster.Nodes[2].DeepCopy()
			cluster.Nodes[2].Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("8")
		}, 2 + racks + zones},
		"a gang that needs more": {func(cluster *inventory.Inventory) {
			cluster.PodGroups[0] = cluster.PodGroups[0].DeepCopy()
			cluster.PodGroups[0].Annotations = map[string]string{"a": "b"}
		}, 2 + 1 + 1},
		"the Topology": {func(cluster *inventory.Inventory) {
			changed := cluster.Topologies["t"].DeepCopy()
			changed.Spec.Levels = changed.Spec.Levels[1:]
			cluster.Topologies = map[string]*kai.Topology{"t": changed}
		}, hosts + 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := twoZones(t)
			if _, asked := f.round(t); asked != zones+racks+hosts {
				t.Fatalf("at first %d failures are foretold", asked)
			}
			test.change(f.cluster)
			got, asked := f.round(t)
			if asked != test.want {
				t.Errorf("%d failures are foretold again, want %d", asked, test.want)
			}
			if diff := cmp.Diff(anew(t, f.cluster), got); diff != "" {
				t.Errorf("(-anew +kept):\n%s", diff)
			}
		})
	}
}

// Others have the copy between two failures of a round, and it follows the cluster for them.
func TestARoundEndsWhateverHappensMeanwhile(t *testing.T) {
	f := twoZones(t)
	if err := f.copied.On(t.Context(), f.cluster, f.forecasts.Begin); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for more := true; more; asked++ {
		var err error
		if err = f.copied.Again(func(table *turns.Table) error { more, err = f.forecasts.Next(t.Context(), table); return err }); err != nil {
			t.Fatal(err)
		}
		for i := range f.cluster.Nodes {
			f.cluster.Nodes[i] = f.cluster.Nodes[i].DeepCopy()
			f.cluster.Nodes[i].Spec.Unschedulable = !f.cluster.Nodes[i].Spec.Unschedulable
		}
		if err := f.copied.On(t.Context(), f.cluster, func(*turns.Table) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if all := f.forecasts.All(); asked-1 != len(all) || len(all) != 10 {
		t.Errorf("%d of %d failures were foretold", asked-1, len(all))
	}
	got, _ := f.round(t)
	if diff := cmp.Diff(anew(t, f.cluster), got); diff != "" {
		t.Errorf("in the next round (-anew +kept):\n%s", diff)
	}
}
