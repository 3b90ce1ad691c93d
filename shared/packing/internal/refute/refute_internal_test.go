package refute

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/shared/packing/certificate"
)

// hall asks about a gang of two teams: each has a leader and two workers, which need a rack
// each; the second team can do without a worker. There are two racks of 8 gpu and 16 cpu.
func hall() *question {
	in := &certificate.Input{
		Topologies: []certificate.Topology{{Name: "net", Levels: []string{"zone", "rack"}}},
		Kinds: []certificate.Kind{{Requests: map[string]int64{"cpu": 1, "gpu": 0}},
			{Requests: map[string]int64{"cpu": 2, "gpu": 4}}, {Requests: map[string]int64{"gpu": 8}}},
		Groups: []certificate.Group{{Name: "all", Parent: -1, MinSubGroups: 2}},
	}
	for _, rack := range []string{"a", "b"} {
		in.Nodes = append(in.Nodes, certificate.Node{Name: rack, Free: map[string]int64{"gpu": 8, "cpu": 16},
			Domains: map[string][]string{"net": {"z", rack}}})
	}
	for team, workers := range []int{3, 2} {
		parent := len(in.Groups)
		name := fmt.Sprint("team-", team)
		in.Groups = append(in.Groups, certificate.Group{Name: name, Parent: 0, MinSubGroups: workers, Topology: "net",
			Required: "zone"})
		add := func(role string, kind, pods int) {
			g := certificate.Group{Name: name + "-" + role, Parent: parent, MinMember: pods, Topology: "net",
				Required: "rack",
				Pending:  []certificate.Pods{{Kind: kind}}}
			for i := range pods {
				g.Pending[0].Names = append(g.Pending[0].Names, fmt.Sprint(g.Name, "-", i))
			}
			in.Groups = append(in.Groups, g)
		}
		add("leader", 0, 1)
		add("worker-0", 1, 2)
		add("worker-1", 1, 2)
	}
	return &question{Input: in}
}

// The groups of hall, by index.
const (
	all, team0, leader0, worker00, worker01 = 0, 1, 2, 3, 4
	team1, leader1, worker10, worker11      = 5, 6, 7, 8
)

func TestGroupsBelowStandBehind(t *testing.T) {
	in := hall()
	for group, want := range map[int]int{all: 9, team0: 5, leader0: 3, team1: 9, worker11: 9} {
		if got := end(in, group); got != want {
			t.Errorf("%s ends at %d, want %d", in.Groups[group].Name, got, want)
		}
	}
}

func TestTheFewestPodsThatSatisfyAGroup(t *testing.T) {
	in := hall()
	in.Groups[worker11].Running = []string{"a"}
	for name, want := range map[int]int64{
		all: 7, team0: 5,
		team1:    2, // a leader, and the worker that is there in part
		worker10: 2, worker11: 1,
	} {
		if got := fewest(in, name); got != want {
			t.Errorf("%s needs %d pods, want %d", in.Groups[name].Name, got, want)
		}
	}
}

// Groups in groups that need the same level, or a narrower one, are part of these.
func TestOutermostGroupsThatNeedALevel(t *testing.T) {
	in := hall()
	net := in.Topologies[0]
	for _, test := range []struct {
		inside, depth int
		want          []int
	}{
		{all, 0, []int{team0, team1}},
		{all, 1, []int{leader0, worker00, worker01, leader1, worker10, worker11}},
		{team0, 0, []int{leader0, worker00, worker01}},
		{team0, 1, []int{leader0, worker00, worker01}},
		{leader1, 1, nil},
	} {
		if got := outermost(in, test.inside, net, test.depth); !slices.Equal(got, test.want) {
			t.Errorf("inside %s by %s: %v, want %v", in.Groups[test.inside].Name, net.Levels[test.depth], got,
				test.want)
		}
	}
	if got := outermost(in, all, certificate.Topology{Name: "power", Levels: net.Levels}, 0); got != nil {
		t.Errorf("by another topology: %v", got)
	}
}

// Groups that are alike, in teams that are so too, stand together if their parent can do without
// one; any that a parent needs is as good as all, since it has to fit.
func TestGroupsThatAreLookedAtByThemselves(t *testing.T) {
	in := hall()
	var got [][]int
	for _, alike := range distinct(in) {
		got = append(got, alike)
	}
	want := [][]int{{worker10, worker11}, {leader1}, {team1}, {team0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	in.Groups[worker10].Running = []string{"a"}
	in.Groups[worker00].Relations = []string{"apart"}
	in.Groups[leader0].Follow = []certificate.Anchor{{Topology: "net", Level: "zone", Nodes: []string{"a"}}}
	if n := len(distinct(in)); n != 7 {
		t.Errorf("%d kinds of groups, want 7: running pods, relations and followed pods tell them apart", n)
	}
}

// What is weighed: each resource that is asked for, the scarce ones first; the number of pods;
// those of each kind, and those that ask for much.
func TestPodsAreMeasured(t *testing.T) {
	in := hall()
	a, b := "team-0-leader-0", "team-0-worker-0-0"
	want := []certificate.Measure{
		{Resource: "cpu"}, {Resource: "gpu"}, {Pods: map[string]int64{a: 1, b: 1}},
		{Pods: map[string]int64{a: 1}}, {Pods: map[string]int64{b: 1}},
	}
	if diff := cmp.Diff(want, measuresOf(in)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	in.scarce = []string{"gpu"}
	if m := measuresOf(in); m[0].Resource != "gpu" || m[1].Resource != "cpu" {
		t.Errorf("%s comes first, and gpu is scarce", m[0].Resource)
	}
	in.Groups[leader1].Pending[0].Kind = 2
	large := certificate.Measure{Pods: map[string]int64{b: 1, "team-1-leader-0": 1}}
	if !slices.ContainsFunc(measuresOf(in), func(m certificate.Measure) bool { return cmp.Equal(m, large) }) {
		t.Error("pods that ask for at least 4 gpu are not counted")
	}
	for range measuredKinds {
		in.Kinds = append(in.Kinds, in.Kinds[0])
		pod := fmt.Sprint("more-", len(in.Kinds))
		in.Groups[leader0].Pending = append(in.Groups[leader0].Pending,
			certificate.Pods{Kind: len(in.Kinds) - 1, Names: []string{pod}})
	}
	if n := len(measuresOf(in)); n != 3 {
		t.Errorf("%d measures of pods of too many kinds to look at each", n)
	}
}

// A relation bounds what domains take if it has a maximum.
func TestRelationsThatBound(t *testing.T) {
	in := hall()
	in.Relations = []certificate.Relation{
		{Name: "apart", Topology: "net", Level: "rack", Max: 1},
		{Name: "near", Topology: "net", Level: "rack", Near: []string{"a"}},
		{Name: "pairs", Topology: "net", Level: "zone", Max: 2},
	}
	var cut, inRacks []string
	for _, rule := range relationCuts(in) {
		cut = append(cut, rule.Cut.Relation)
	}
	for _, m := range relationMeasures(in, in.Topologies[0], 1) {
		inRacks = append(inRacks, m.Relation)
	}
	want := [][]string{{"apart", "pairs"}, {"apart"}}
	if diff := cmp.Diff(want, [][]string{cut, inRacks}); diff != "" {
		t.Errorf("cuts, and what counts inside racks (-want +got):\n%s", diff)
	}
}

// The proof found is complete, small, and names what is at fault.
func TestWhatIsFoundIsSmall(t *testing.T) {
	for name, test := range map[string]struct {
		change func(in *certificate.Input)
		// rules are how many there are, and cut what the last one weighs.
		rules int
		cut   string
	}{
		"too few gpu for four workers in two racks of which each takes one": {
			func(*certificate.Input) {}, 1, "gpu"},
		"a worker that fits into no rack": {func(in *certificate.Input) {
			in.Groups[team1].MinSubGroups, in.Groups[worker01].MinMember = 1, 3
			in.Groups[worker01].Pending[0].Names = append(in.Groups[worker01].Pending[0].Names, "third")
			in.Nodes = append(in.Nodes, in.Nodes[0])
			in.Nodes[2].Name, in.Nodes[2].Domains = "c", map[string][]string{"net": {"z", "c"}}
		}, 4, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := hall().Input
			test.change(in)
			m, err := certificate.Read(in)
			if err != nil {
				t.Fatal(err)
			}
			proof := Prove(m, certificate.MaxSteps, Hints{Scarce: []string{"gpu"}})
			if proof == nil {
				t.Fatal("nothing is proved")
			}
			if err := certificate.Verify(in, proof); err != nil {
				t.Error(err)
			}
			if last := proof.Rules[len(proof.Rules)-1]; len(proof.Rules) > test.rules ||
				test.cut != "" && (last.Cut == nil || last.Cut.Resource != test.cut) {
				t.Errorf("%d rules, the last is %+v", len(proof.Rules), last)
			}
		})
	}
}

// Of measures that bound how many groups a rack takes those are left that it takes.
func TestMeasuresOfNoUseAreLeftOut(t *testing.T) {
	in := hall()
	m, err := certificate.Read(in.Input)
	if err != nil {
		t.Fatal(err)
	}
	_, try := asking(m, certificate.MaxSteps, Hints{})
	cut := certificate.Measure{Topology: "net", Level: "rack", Groups: map[string]int64{},
		By: []certificate.Measure{{Resource: "cpu"}, {Resource: "gpu"}}}
	for _, worker := range []int{worker00, worker01, worker10, worker11} {
		cut.Groups[in.Groups[worker].Name] = 1
	}
	proof := try(&certificate.Proof{Start: []int{0}, Rules: []certificate.Rule{{Cut: &certificate.Cut{Measure: cut}}}})
	if proof == nil {
		t.Fatal("three workers have room in two racks")
	}
	least := smaller(proof, try).Rules[0].Cut
	if diff := cmp.Diff([]certificate.Measure{{Resource: "gpu"}}, least.By); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if least.Need != 3 || least.Offer != 2 {
		t.Errorf("%d are needed and %d have room", least.Need, least.Offer)
	}
	if len(proof.Rules[0].Cut.By) != len(cut.By) {
		t.Error("the proof that was made smaller is another one now")
	}
}

func TestNothingIsProvedOfWhatFits(t *testing.T) {
	in := hall().Input
	in.Groups[all].MinSubGroups, in.Groups[team0].MinSubGroups = 1, 2
	m, err := certificate.Read(in)
	if err != nil {
		t.Fatal(err)
	}
	if proof := Prove(m, certificate.MaxSteps, Hints{}); proof != nil {
		t.Errorf("%+v", proof.Rules)
	}
	if proof := Prove(m, 1, Hints{}); proof != nil {
		t.Errorf("within a step: %+v", proof.Rules)
	}
}

// crowd asks about so many pods, a group each, of a kind each, that must stand in one of two racks together.
func crowd(pods int) *certificate.Input {
	in := hall().Input
	in.Kinds = nil
	in.Groups = []certificate.Group{{Name: "all", Parent: -1, MinSubGroups: pods, Topology: "net", Required: "rack"}}
	for i := range pods {
		name := fmt.Sprint("pod-", i)
		in.Kinds = append(in.Kinds, certificate.Kind{Requests: map[string]int64{"cpu": 1, "gpu": int64(i % 2)}})
		in.Groups = append(in.Groups, certificate.Group{Name: "group-" + name, Parent: 0, MinMember: 1,
			Pending: []certificate.Pods{{Kind: i, Names: []string{name}}}})
	}
	return in
}

// A gang of many groups is weighed as one, by one measure at a time; one that fits is not refused.
func TestAGangOfManyGroupsIsWeighedAsOne(t *testing.T) {
	for pods, want := range map[int]string{300: "gpu", 600: "gpu"} {
		in := crowd(pods)
		m, err := certificate.Read(in)
		if err != nil {
			t.Fatal(err)
		}
		proof := Prove(m, certificate.MaxSteps, Hints{Scarce: []string{"gpu"}})
		if proof == nil || len(proof.Rules) != 1 || proof.Rules[0].Cut == nil {
			t.Fatalf("%d pods: %+v", pods, proof)
		}
		cut := proof.Rules[0].Cut
		if cut.Groups["all"] != 1 || len(cut.By) != 1 || cut.By[0].Resource != want {
			t.Errorf("%d pods: weighed by %+v", pods, cut)
		}
		if err := certificate.Verify(in, proof); err != nil {
			t.Error(err)
		}
		for i := range in.Nodes {
			in.Nodes[i].Free = map[string]int64{"gpu": int64(pods), "cpu": int64(pods)}
		}
		if m, err = certificate.Read(in); err != nil {
			t.Fatal(err)
		}
		if proof := Prove(m, certificate.MaxSteps, Hints{}); proof != nil {
			t.Errorf("%d pods fit, and are refused: %+v", pods, proof.Rules)
		}
	}
}

// What a search has met is proved if it is right, and left aside if it is not.
func TestKindsWithTooFewNodes(t *testing.T) {
	in := crowd(40)
	in.Groups[0].Required, in.Groups[0].Topology = "", ""
	for i := range in.Kinds {
		// Those of every third pod have one node, where there is room for 13 of 14.
		in.Kinds[i].Requests = map[string]int64{"cpu": 1}
		in.Kinds[i].Barred = []bool{i%3 == 1, i%3 == 0}
	}
	in.Nodes[0].Free["cpu"], in.Nodes[1].Free["cpu"] = 13, 27
	for name, test := range map[string]struct {
		tight []string
		want  int
	}{
		"those of one node": {[]string{"pod-0", "pod-3", "pod-6"}, 0},
		"all of one node": {func() (pods []string) {
			for i := 0; i < 40; i += 3 {
				pods = append(pods, fmt.Sprint("pod-", i))
			}
			return pods
		}(), 14},
	} {
		m, err := certificate.Read(in)
		if err != nil {
			t.Fatal(err)
		}
		proof := Prove(m, certificate.MaxSteps, Hints{Tight: func() []string { return test.tight }})
		if proof == nil {
			t.Errorf("%s: 14 pods have room for 13, and nothing is proved", name)
			continue
		}
		if err := certificate.Verify(in, proof); err != nil {
			t.Error(err)
		}
		if cut := proof.Rules[0].Cut; test.want > 0 && (cut == nil || cut.Need != int64(test.want)) {
			t.Errorf("%s: %+v", name, proof.Rules[0])
		}
	}
}

// A team needs a zone, and each of its workers half of a rack: no zone has racks enough. That is found for one team of
// however many there are.
func TestTeamsWhoseWorkersNeedMoreRacksThanAZoneHas(t *testing.T) {
	for _, size := range []struct{ teams, workers, racks int }{{1, 5, 4}, {3, 5, 4}, {20, 9, 8}, {40, 17, 16}} {
		in := &certificate.Input{
			Topologies: []certificate.Topology{{Name: "net", Levels: []string{"zone", "rack"}}},
			Kinds:      []certificate.Kind{{Requests: map[string]int64{"gpu": 2}}},
			Groups:     []certificate.Group{{Name: "all", Parent: -1, MinSubGroups: size.teams}},
		}
		for zone := range 2 * size.teams {
			for rack := range size.racks {
				for range 2 {
					in.Nodes = append(in.Nodes, certificate.Node{Name: fmt.Sprint(len(in.Nodes)),
						Free:    map[string]int64{"gpu": 5},
						Domains: map[string][]string{"net": {fmt.Sprint(zone), fmt.Sprint(rack)}}})
				}
			}
		}
		for team := range size.teams {
			at := len(in.Groups)
			in.Groups = append(in.Groups, certificate.Group{Name: fmt.Sprint(team), Parent: 0, Topology: "net",
				Required:     "zone",
				MinSubGroups: size.workers})
			for worker := range size.workers {
				name := fmt.Sprint(team, "-", worker)
				in.Groups = append(in.Groups, certificate.Group{Name: name, Parent: at, Topology: "net",
					Required:  "rack",
					MinMember: 3, Pending: []certificate.Pods{{Names: []string{name + "-a", name + "-b",
						name + "-c"}}}})
			}
		}
		m, err := certificate.Read(in)
		if err != nil {
			t.Fatal(err)
		}
		if proof := Prove(m, 1<<21, Hints{}); proof == nil {
			t.Errorf("%+v: no proof", size)
		} else if err := certificate.Verify(in, proof); err != nil {
			t.Errorf("%+v: %v", size, err)
		}
	}
}

// Pods that take more than half of a node are counted, those of one kind and those of several: amounts would suffice, and
// the nodes are too many to search.
func TestPodsOfWhichANodeTakesOneAreCounted(t *testing.T) {
	for name, test := range map[string]struct {
		sizes, pods []int64
		want        bool
	}{
		"one more of a kind than nodes":            {[]int64{5, 1}, []int64{61, 50}, true},
		"as many of a kind as nodes":               {[]int64{5, 1}, []int64{60, 50}, false},
		"one more of two kinds than nodes":         {[]int64{5, 6, 1}, []int64{31, 30, 50}, true},
		"as many of two kinds as nodes":            {[]int64{5, 6, 1}, []int64{30, 30, 50}, false},
		"more small pods than nodes, and room too": {[]int64{4, 1}, []int64{61, 50}, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := &certificate.Input{Groups: []certificate.Group{{Parent: -1}}}
			for node := range 60 {
				in.Nodes = append(in.Nodes, certificate.Node{Name: fmt.Sprint(node), Free: map[string]int64{"gpu": 8}})
			}
			for kind, size := range test.sizes {
				in.Kinds = append(in.Kinds, certificate.Kind{Requests: map[string]int64{"gpu": size}})
				pods := certificate.Pods{Kind: kind}
				for pod := range test.pods[kind] {
					pods.Names = append(pods.Names, fmt.Sprint(kind, "-", pod))
				}
				in.Groups[0].Pending = append(in.Groups[0].Pending, pods)
				in.Groups[0].MinMember += len(pods.Names)
			}
			m, err := certificate.Read(in)
			if err != nil {
				t.Fatal(err)
			}
			if proof := Prove(m, 1<<21, Hints{}); (proof != nil) != test.want {
				t.Errorf("%+v", proof)
			}
		})
	}
}
