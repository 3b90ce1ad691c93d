package refute

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing/certificate"
)

// crowd asks about so many pods, a group each, of a kind each, that must stand in one of two racks together.
func crowd(pods int) *certificate.Input {
	in := racks(0, 0)
	in.Nodes[0].Free["cpu"], in.Nodes[1].Free["cpu"] = 16, 16
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
		require.NoError(t, err)
		proof := Prove(m, certificate.MaxSteps, Hints{Scarce: []string{"gpu"}})
		if proof == nil || len(proof.Rules) != 1 || proof.Rules[0].Cut == nil {
			t.Fatalf("%d pods: %+v", pods, proof)
		}
		cut := proof.Rules[0].Cut
		if cut.Groups["all"] != 1 || len(cut.By) != 1 || cut.By[0].Resource != want {
			t.Errorf("%d pods: weighed by %+v", pods, cut)
		}
		require.NoError(t, certificate.Verify(in, proof))
		for i := range in.Nodes {
			in.Nodes[i].Free = map[string]int64{"gpu": int64(pods), "cpu": int64(pods)}
		}
		m, err = certificate.Read(in)
		require.NoError(t, err)
		assert.Nil(t, Prove(m, certificate.MaxSteps, Hints{}), "%d pods fit, and are refused", pods)
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
		require.NoError(t, err)
		proof := Prove(m, certificate.MaxSteps, Hints{Tight: func() []string { return test.tight }})
		if proof == nil {
			t.Errorf("%s: 14 pods have room for 13, and nothing is proved", name)
			continue
		}
		require.NoError(t, certificate.Verify(in, proof))
		if cut := proof.Rules[0].Cut; test.want > 0 && (cut == nil || cut.Need != int64(test.want)) {
			t.Errorf("%s: %+v", name, proof.Rules[0])
		}
	}
}

// A team needs a zone, and each of its workers half of a rack: no zone has racks enough. That is found for one team of
// however many there are.
func TestTeamsWithWorkersThatNeedMoreRacksThanAZoneHas(t *testing.T) {
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
		require.NoError(t, err)
		if proof := Prove(m, 1<<21, Hints{}); proof == nil {
			t.Errorf("%+v: no proof", size)
		} else if err := certificate.Verify(in, proof); err != nil {
			t.Errorf("%+v: %v", size, err)
		}
	}
}

// Pods that take more than half of a node are counted, those of one kind and those of several: amounts would suffice, and
// the nodes are too many to search.
func TestPodsThatTakeAWholeNodeAreCounted(t *testing.T) {
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
			require.NoError(t, err)
			proof := Prove(m, 1<<21, Hints{})
			assert.Equal(t, test.want, proof != nil, "%+v", proof)
		})
	}
}
