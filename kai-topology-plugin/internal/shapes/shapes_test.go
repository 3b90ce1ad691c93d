package shapes_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/capacity"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/shapes"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

func levels(topology string) (podgrouptree.Hierarchy, bool) {
	return podgrouptree.Hierarchy{{Key: "example.com/zone", Alias: "zone"}, {Key: "example.com/rack", Alias: "rack"}},
		topology == "t"
}

// pod is a pod of a leaf that requests this, as "cpu=1,memory=2Gi".
func pod(leaf, name, requests string, changes ...func(*corev1.Pod)) *corev1.Pod {
	made := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{kai.LabelSubGroupName: leaf}},
	}
	list := corev1.ResourceList{}
	for _, each := range strings.FieldsFunc(requests, func(r rune) bool { return r == ',' }) {
		key, amount, _ := strings.Cut(each, "=")
		list[corev1.ResourceName(key)] = resource.MustParse(amount)
	}
	made.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: list}}}
	for _, change := range changes {
		change(made)
	}
	return made
}

func onNode(pod *corev1.Pod)    { pod.Spec.NodeName = "n" }
func gated(pod *corev1.Pod)     { pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} }
func selecting(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"gpu": "x", "disk": "ssd"} }

func tolerating(key string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	}
}

func demanding(pod *corev1.Pod) {
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "gpu", Operator: corev1.NodeSelectorOpIn, Values: []string{"x", "y"}},
			},
		}}},
	}}
}

func requires(level string) *scheduling.TopologyConstraint {
	return &scheduling.TopologyConstraint{Topology: "t", RequiredTopologyLevel: level}
}

func read(t *testing.T, spec scheduling.PodGroupSpec, pods ...*corev1.Pod) []capacity.Shape {
	t.Helper()
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "g"}, Spec: spec}
	assembled, _ := gang.Assemble(podGroup, pods, levels)
	found, err := shapes.Of(assembled, kubeframework.Requests)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestOf(t *testing.T) {
	const large = "cpu=1500m,memory=64Gi,nvidia.com/gpu=8,ephemeral-storage=0"
	twoLeaves := scheduling.PodGroupSpec{
		TopologyConstraint: requires("zone"),
		SubGroups: []scheduling.SubGroup{
			{Name: "a", MinMember: ptr.To[int32](2), TopologyConstraint: requires("rack")},
			{Name: "b", MinMember: ptr.To[int32](1)},
		},
	}
	for name, c := range map[string]struct {
		spec scheduling.PodGroupSpec
		pods []*corev1.Pod
		want []string
	}{
		"a gang of alike pods, whether they stand, wait or are held": {
			spec: scheduling.PodGroupSpec{MinMember: ptr.To[int32](3)},
			pods: []*corev1.Pod{pod("", "a", large, onNode), pod("", "b", large), pod("", "c", large, gated),
				pod("", "d", large)},
			want: []string{"3 x cpu=1500m,memory=64Gi,nvidia.com/gpu=8"},
		},
		"each leaf, in one domain of the narrowest level above it": {
			spec: twoLeaves, pods: []*corev1.Pod{pod("a", "a", "cpu=1"), pod("b", "b", "cpu=2")},
			want: []string{"2 x cpu=1 in one example.com/rack", "1 x cpu=2 in one example.com/zone"},
		},
		"a leaf without pods, or with pods that differ, has none": {
			spec: twoLeaves, pods: []*corev1.Pod{pod("b", "b", "cpu=2"), pod("b", "c", "cpu=3")},
		},
		"a leaf without a minimum has none": {
			spec: scheduling.PodGroupSpec{SubGroups: []scheduling.SubGroup{
				{Name: "a", MinMember: ptr.To[int32](0)}, {Name: "b", MinMember: ptr.To[int32](1)},
			}},
			pods: []*corev1.Pod{pod("a", "a", "cpu=1"), pod("b", "b", "")},
			want: []string{"1 x no requests"},
		},
		"node selectors are written out": {
			spec: scheduling.PodGroupSpec{MinMember: ptr.To[int32](1)}, pods: []*corev1.Pod{pod("", "a", "cpu=1", selecting)},
			want: []string{"1 x cpu=1 on disk=ssd on gpu=x"},
		},
		"what every pod tolerates makes no difference": {
			spec: scheduling.PodGroupSpec{MinMember: ptr.To[int32](1)},
			pods: []*corev1.Pod{pod("", "a", "cpu=1", tolerating(corev1.TaintNodeNotReady))},
			want: []string{"1 x cpu=1"},
		},
		"an invalid PodGroup has none": {
			spec: scheduling.PodGroupSpec{SubGroups: []scheduling.SubGroup{{Name: "a", Parent: ptr.To("a")}}},
			pods: []*corev1.Pod{pod("a", "a", "cpu=1")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, shape := range read(t, c.spec, c.pods...) {
				got = append(got, shape.Name)
				if shape.Requests["pods"] != 1 {
					t.Errorf("shape %s does not ask for the room of a pod", shape.Name)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhichNodesAShapeTakes(t *testing.T) {
	tainted := corev1.Taint{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}
	node := func(labels map[string]string, taints ...corev1.Taint) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.NodeSpec{Taints: taints}}
	}
	nodes := map[string]*corev1.Node{
		"plain": node(nil), "tainted": node(nil, tainted), "x": node(map[string]string{"gpu": "x", "disk": "ssd"}),
		"y": node(map[string]string{"gpu": "y"}), "z": node(map[string]string{"gpu": "y"}, tainted),
	}
	names := map[string]bool{}
	for name, c := range map[string]struct {
		changes []func(*corev1.Pod)
		want    string
	}{
		"any":                       {nil, "plain x y"},
		"a selector":                {[]func(*corev1.Pod){selecting}, "x"},
		"affinity":                  {[]func(*corev1.Pod){demanding}, "x y"},
		"a toleration":              {[]func(*corev1.Pod){tolerating("gpu")}, "plain tainted x y z"},
		"affinity and a toleration": {[]func(*corev1.Pod){demanding, tolerating("gpu")}, "x y z"},
	} {
		shape := read(t, scheduling.PodGroupSpec{MinMember: ptr.To[int32](1)}, pod("", "a", "cpu=1", c.changes...))[0]
		var taken []string
		for _, node := range slices.Sorted(maps.Keys(nodes)) {
			if shape.Takes(nodes[node]) {
				taken = append(taken, node)
			}
		}
		if got := strings.Join(taken, " "); got != c.want {
			t.Errorf("%s: takes %s, want %s", name, got, c.want)
		}
		if names[shape.Name] {
			t.Errorf("%s: the name %q is that of another shape", name, shape.Name)
		}
		names[shape.Name] = true
	}
	asked, err := shapes.FromConfiguration([]shapes.Named{{
		Name: "n", Pods: 1, Resources: corev1.ResourceList{"cpu": resource.MustParse("1")},
		NodeSelector: map[string]string{"gpu": "y"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if named := asked[0]; named.Takes(nodes["x"]) || !named.Takes(nodes["y"]) || !named.Takes(nodes["z"]) {
		t.Error("a named shape is for nodes with its labels, whatever their taints")
	}
}

func key(name string) gang.Key { return gang.Key{Namespace: "ns", Name: name} }

func TestOnlyGangsOfWhichSomethingWasSeenAreReadAgain(t *testing.T) {
	var used shapes.InUse
	gangs := map[gang.Key][]capacity.Shape{key("a"): {{Name: "s"}}, key("b"): {{Name: "s"}, {Name: "r"}}, key("c"): nil}
	var asked []string
	most := func(count int) (names []string) {
		asked = nil
		for _, shape := range used.Most(count, func(key gang.Key) ([]capacity.Shape, bool) {
			asked = append(asked, key.Name)
			shapes, exists := gangs[key]
			return shapes, exists
		}) {
			names = append(names, shape.Name)
		}
		slices.Sort(asked)
		return names
	}
	expect := func(when string, got, want, read []string) {
		t.Helper()
		if !slices.Equal(got, want) || !slices.Equal(asked, read) {
			t.Errorf("%s: %q after %q were read, want %q after %q", when, got, asked, want, read)
		}
	}
	expect("at first", most(9), nil, nil)
	for key := range gangs {
		used.Touch(key)
	}
	expect("all new", most(9), []string{"s", "r"}, []string{"a", "b", "c"})
	expect("nothing new", most(1), []string{"s"}, nil)
	gangs[key("a")] = []capacity.Shape{{Name: "r"}}
	used.Touch(key("a"))
	expect("one changed", most(9), []string{"r", "s"}, []string{"a"})
	delete(gangs, key("b"))
	used.Touch(key("b"))
	expect("one gone", most(9), []string{"r"}, []string{"b"})
	used.TouchAll()
	expect("all at once", most(9), []string{"r"}, []string{"a", "c"})
}

// However gangs come, change and go, the shapes are those that counting all gangs finds.
func TestTheMostFrequentShapes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var used shapes.InUse
		gangs := map[gang.Key][]capacity.Shape{}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			changed := key(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "gang"))
			delete(gangs, changed)
			if rapid.Bool().Draw(t, "there") {
				gangs[changed] = nil
				for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"s", "t", "u"}), 0, 3).Draw(t, "shapes") {
					gangs[changed] = append(gangs[changed], capacity.Shape{Name: name})
				}
			}
			used.Touch(changed)
			if rapid.Bool().Draw(t, "unasked") {
				continue
			}
			groups := map[string]int{}
			for _, shapes := range gangs {
				for _, shape := range shapes {
					groups[shape.Name]++
				}
			}
			want := slices.Sorted(maps.Keys(groups))
			slices.SortStableFunc(want, func(a, b string) int { return groups[b] - groups[a] })
			var got []string
			for _, shape := range used.Most(2, func(key gang.Key) ([]capacity.Shape, bool) {
				shapes, exists := gangs[key]
				return shapes, exists
			}) {
				got = append(got, shape.Name)
			}
			if !slices.Equal(got, want[:min(2, len(want))]) {
				t.Fatalf("%q, want the first two of %q", got, want)
			}
		}
	})
}

func TestShapesInALine(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		// asks is what the last one asks for, and wrong what the error says if there is one.
		asks, wrong string
	}{
		"all that can be said": {
			lines: []string{"big=4 x nvidia.com/gpu=8,memory=64Gi,cpu=500m in one example.com/rack on gpu=x on disk=ssd"},
			asks:  "4 x cpu=500m,memory=64Gi,nvidia.com/gpu=8 in one example.com/rack on disk=ssd on gpu=x",
		},
		"as little as can be":     {lines: []string{"a=1 x cpu=1", " b = 2 x cpu=1 "}, asks: "2 x cpu=1"},
		"a label without a value": {lines: []string{"a=1 x cpu=1 on gpu="}, asks: "1 x cpu=1 on gpu="},
		"no name": {lines: []string{"4 x nvidia.com/gpu=8"},
			wrong: `"4 x nvidia.com/gpu=8" is not NAME=PODS x RESOURCE=AMOUNT`},
		"no shape":              {lines: []string{"a"}, wrong: "lacks PODS x RESOURCE=AMOUNT"},
		"no number":             {lines: []string{"a=four x cpu=1"}, wrong: `"four" is no number of pods`},
		"too many pods":         {lines: []string{"a=4294967296 x cpu=1"}, wrong: `"4294967296" is no number of pods`},
		"no pods":               {lines: []string{"a=0 x cpu=1"}, wrong: "pods: must be at least 1, not 0"},
		"no amount":             {lines: []string{"a=1 x cpu,memory=1Gi"}, wrong: `"cpu" is no RESOURCE=AMOUNT`},
		"nothing of a resource": {lines: []string{"a=1 x cpu=-1"}, wrong: "resources.cpu: must be above 0"},
		"two levels":            {lines: []string{"a=1 x cpu=1 in one rack in one zone"}, wrong: `"in one zone" is neither`},
		"half a level":          {lines: []string{"a=1 x cpu=1 in one"}, wrong: `"in one" is neither`},
		"a label alone":         {lines: []string{"a=1 x cpu=1 on gpu"}, wrong: `"on gpu" is neither`},
		"a name twice":          {lines: []string{"a=1 x cpu=1", "a=2 x cpu=1"}, wrong: "name: a is named already"},
		"a name for no metric":  {lines: []string{"A=1 x cpu=1"}, wrong: "lowercase RFC 1123 label"},
		"too many": {lines: slices.Repeat([]string{"a=1 x cpu=1"}, 17),
			wrong: "at most 16 may be named, not 17"},
	} {
		t.Run(name, func(t *testing.T) {
			named, err := shapes.Parse(c.lines)
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("error %v, want %s", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if asks, err := named[len(named)-1].Asks(); err != nil || asks != c.asks {
				t.Errorf("asks for %q, want %q; error %v", asks, c.asks, err)
			}
			if _, err := shapes.FromConfiguration(named); err != nil {
				t.Errorf("in a configuration it is wrong: %v", err)
			}
		})
	}
}
