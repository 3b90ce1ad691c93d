package certificate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing/certificate"
)

// spreadRacks is racks, with groups a and b apart by rack.
func spreadRacks(change func(r *certificate.Relation)) *certificate.Input {
	in := racks()
	r := certificate.Relation{Name: "apart", Topology: "net", Level: "rack", Max: 1}
	if change != nil {
		change(&r)
	}
	in.Relations = []certificate.Relation{r}
	in.Groups[1].Relations, in.Groups[2].Relations = []string{"apart"}, []string{"apart"}
	return in
}

// Each case gives the error about a measure, and a measure that differs in one thing and has no such error.
func TestAMeasureThatIsNoneIsNamed(t *testing.T) {
	groups := func(m certificate.Measure, names ...string) certificate.Measure {
		m.Groups = map[string]int64{}
		for _, name := range names {
			m.Groups[name] = 1
		}
		return m
	}
	rack, by := certificate.Measure{Topology: "net", Level: "rack"}, []certificate.Measure{{Resource: "gpu"}}
	for name, test := range map[string]struct {
		bad, good certificate.Measure
		want      string
	}{
		"a resource that is no pod's": {
			certificate.Measure{Resource: "tpu"}, certificate.Measure{Resource: "gpu"},
			`resource "tpu" is asked for by no pod`,
		},
		"a resource beside weights": {
			certificate.Measure{Resource: "gpu", Pods: map[string]int64{"a-0": 1}},
			certificate.Measure{Pods: map[string]int64{"a-0": 1}},
			"or stands beside weights",
		},
		"pods of one kind": {
			certificate.Measure{Pods: map[string]int64{"a-0": 1, "a-1": 2}},
			certificate.Measure{Pods: map[string]int64{"a-0": 2, "a-1": 2}},
			"pods of one kind weigh differently",
		},
		"pods of one kind, of which one weighs nothing": {
			certificate.Measure{Pods: map[string]int64{"a-0": 0, "a-1": 2}},
			certificate.Measure{Pods: map[string]int64{"a-0": 2, "b-1": 0}},
			"pods of one kind weigh differently",
		},
		"pods by topology": {
			certificate.Measure{Resource: "gpu", Topology: "net"}, certificate.Measure{Resource: "gpu"},
			"a measure of pods names a level",
		},
		"pods bounded by more": {
			certificate.Measure{Resource: "gpu", By: by}, certificate.Measure{Resource: "gpu"},
			"a measure of pods names a level",
		},
		"a group inside another": {
			groups(certificate.Measure{Topology: "net", Level: "zone"}, "", "a"),
			groups(certificate.Measure{Topology: "net", Level: "zone"}, "a", "b"),
			`group "" contains group "a"`,
		},
		"a group that may stand in several domains": {
			groups(rack, ""), groups(rack, "a"), `group "" weighs 1, or need not stand in one rack`,
		},
		"a relation that there is not": {
			certificate.Measure{Relation: "near"}, certificate.Measure{Relation: "apart"},
			`relation "near" is not in the input`,
		},
		"a relation with a resource": {
			certificate.Measure{Relation: "apart", Resource: "gpu"}, certificate.Measure{Relation: "apart"},
			`a measure of relation "apart" says more`,
		},
		"a relation with a topology": {
			certificate.Measure{Relation: "apart", Topology: "net"}, certificate.Measure{Relation: "apart"},
			"says more",
		},
		"a relation with a level": {
			certificate.Measure{Relation: "apart", Level: "rack"}, certificate.Measure{Relation: "apart"}, "says more",
		},
		"a relation with pods": {
			certificate.Measure{Relation: "apart", Pods: map[string]int64{"a-0": 1}},
			certificate.Measure{Relation: "apart"}, "says more",
		},
		"a relation with leaves": {
			certificate.Measure{Relation: "apart", Of: []string{"a"}}, certificate.Measure{Relation: "apart"},
			"says more",
		},
		"a relation with groups": {
			groups(certificate.Measure{Relation: "apart"}, "a"), certificate.Measure{Relation: "apart"}, "says more",
		},
		"a relation bounded by more": {
			certificate.Measure{Relation: "apart", By: by}, certificate.Measure{Relation: "apart"}, "says more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := spreadRacks(nil)
			if strings.Contains(name, "inside") {
				in.Groups[0].Topology, in.Groups[0].Required = "net", "zone"
			}
			_, err := certificate.Complete(in, proofOf(cut(test.bad)))
			require.ErrorContains(t, err, test.want)
			_, err = certificate.Complete(in, proofOf(cut(test.good)))
			assert.EqualError(t, err, certificate.ErrNotProved.Error(), "of a measure")
		})
	}
}

func TestARelationThatContradictsItselfIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		bad, good func(in *certificate.Input)
		want      string
	}{
		"a level that there is not": {
			func(in *certificate.Input) { in.Relations[0].Level = "row" },
			func(in *certificate.Input) { in.Relations[0].Level = "zone" },
			`relation "apart" names level "row", which topology "net" does not have`,
		},
		"two of one name": {
			func(in *certificate.Input) { in.Relations = append(in.Relations, in.Relations[0]) },
			func(in *certificate.Input) {
				in.Relations = append(in.Relations, in.Relations[0])
				in.Relations[1].Name = "more"
			},
			`relation "apart" is there twice, or allows 1 items`,
		},
		"none in a domain": {
			func(in *certificate.Input) { in.Relations[0].Max = 0 },
			func(in *certificate.Input) { in.Relations[0].Max = 2 },
			"or allows 0 items in a domain",
		},
		"fewer than none": {
			func(in *certificate.Input) { in.Relations[0].Max = -1 },
			func(in *certificate.Input) { in.Relations[0].Max, in.Relations[0].Near = 0, []string{"n0"} },
			"or allows -1 items in a domain",
		},
		"a group of a relation that there is not": {
			func(in *certificate.Input) { in.Groups[1].Relations = []string{"near"} },
			func(in *certificate.Input) { in.Groups[1].Relations = nil },
			`group "a" names relation "near", which is not there or which it is in twice`,
		},
		"a group inside an item": {
			func(in *certificate.Input) { in.Groups[0].Relations = []string{"apart"} },
			func(in *certificate.Input) {
				in.Groups[0].Relations, in.Groups[1].Relations, in.Groups[2].Relations = []string{"apart"}, nil, nil
			},
			`group "a" names relation "apart", which is not there or which it is in twice`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := spreadRacks(nil)
			test.bad(in)
			if errs := certificate.Check(in, nil); len(errs) != 1 || !strings.Contains(errs[0].Error(), test.want) {
				t.Errorf("%v, want %s", errs, test.want)
			}
			in = spreadRacks(nil)
			test.good(in)
			_, err := certificate.Read(in)
			assert.NoError(t, err)
		})
	}
}

// Pods of a are on nodes of rack r0 if a is 0, those of b on nodes of rack r1 if b is 1.
func TestEachFaultOfARelationIsNamed(t *testing.T) {
	const tooMany = `relation "apart" allows 1 in rack z/r0, where 2 come to what stands there`
	alone := func(in *certificate.Input) { in.Groups[0].MinSubGroups = 1 }
	for name, test := range map[string]struct {
		change func(in *certificate.Input)
		r      func(r *certificate.Relation)
		a, b   int // rack; -1 for no pods
		want   string
	}{
		"one in each rack":         {nil, nil, 0, 1, ""},
		"two in one rack":          {nil, nil, 0, 0, tooMany},
		"two, of which two may be": {nil, func(r *certificate.Relation) { r.Max = 2 }, 0, 0, ""},
		"one where another stands": {alone, func(r *certificate.Relation) { r.Others = [][]string{{"n2"}} }, -1, 1,
			`relation "apart" allows 1 in rack z/r1, where 1 come`},
		"one where none stands": {alone, func(r *certificate.Relation) { r.Others = [][]string{{"n1"}} }, -1, 1,
			""},
		"one where it stands itself": {func(in *certificate.Input) { alone(in); in.Groups[2].Running = []string{"n3"} }, nil, -1, 1, ""},
		"one where pods of its item stand": {func(in *certificate.Input) { alone(in); in.Groups[1].Relations = nil },
			func(r *certificate.Relation) { r.Joined, r.Others = []string{"n3"}, [][]string{{"n3"}} }, -1, 1, ""},
		"one where pods of its item do not": {func(in *certificate.Input) { alone(in); in.Groups[1].Relations = nil },
			func(r *certificate.Relation) { r.Joined, r.Others = []string{"n0"}, [][]string{{"n3"}} }, -1, 1,
			`relation "apart" allows 1 in rack z/r1, where 1 come`},
		"one where the other runs": {func(in *certificate.Input) { alone(in); in.Groups[2].Running = []string{"n3"} },
			nil, 1, -1,
			`relation "apart" allows 1 in rack z/r1, where 1 come`},
		"pods as items": {nil, func(r *certificate.Relation) { r.PerPod = true }, 0, 1,
			`relation "apart" allows 1 in rack z/r0, where 2 come`},
		"pods as items, of which as many may be": {nil, func(r *certificate.Relation) { r.PerPod, r.Max = true, 2 },
			0, 1, ""},
		"a node in no rack": {func(in *certificate.Input) {
			alone(in)
			in.Nodes[3].Domains["net"] = []string{"z"}
			in.Groups[2].Required = ""
		},
			nil, -1, 1, `relation "apart" counts group "b" by rack, and node "n3" is in none`},
		"a node in no rack, without relation": {func(in *certificate.Input) {
			alone(in)
			in.Nodes[3].Domains["net"], in.Groups[2].Required, in.Groups[2].Relations = []string{"z"}, "", nil
		}, nil, -1, 1, ""},
		"near": {alone, func(r *certificate.Relation) { r.Near = []string{"n2"} }, -1, 1, ""},
		"not near": {alone, func(r *certificate.Relation) { r.Near = []string{"n0"} }, -1, 1,
			`relation "apart" allows 1 in rack z/r1, where 1 come`},
		"near nodes that are not there": {alone, func(r *certificate.Relation) { r.Near = []string{"n9"} }, -1, 1,
			`relation "apart" allows 1 in rack z/r1, where 1 come`},
	} {
		t.Run(name, func(t *testing.T) {
			in, nodes := spreadRacks(test.r), map[string]string{}
			if test.change != nil {
				test.change(in)
			}
			in.Kinds[1].Barred, in.Kinds[1].Requests["gpu"], in.Kinds[0].Requests["gpu"] = nil, 1, 1
			for pod := range 2 {
				if test.a >= 0 {
					nodes[fmt.Sprint("a-", pod)] = fmt.Sprint("n", 2*test.a+pod)
				}
				if test.b >= 0 {
					nodes[fmt.Sprint("b-", pod)] = fmt.Sprint("n", 2*test.b+1)
				}
			}
			var said []string
			for _, err := range certificate.Check(in, nodes) {
				said = append(said, err.Error())
			}
			if got := strings.Join(said, "\n"); test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("said\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}
