package gang_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/gang"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

func zonesOnly(topology string) (podgrouptree.Hierarchy, bool) {
	return podgrouptree.Hierarchy{{Key: "zone"}, {Key: "rack"}}, topology == "t"
}

func relating(name, relations string) *scheduling.PodGroup {
	podGroup := sharing(map[string]string{scheduling.AnnotationRelations: relations})
	podGroup.Name = name
	return podGroup
}

func TestARelationThatCannotBeFollowedHoldsTheGang(t *testing.T) {
	for name, c := range map[string]struct{ relations, holds string }{
		"one that can":           {`[{"name":"r","topology":"t","level":"rack","maxPerDomain":1}]`, ""},
		"of another shape":       {`{}`, "must be a JSON list of relations"},
		"of no known level":      {`[{"name":"r","topology":"t","level":"row","maxPerDomain":1}]`, `"row"`},
		"of no known Topology":   {`[{"name":"r","topology":"u","level":"rack","maxPerDomain":1}]`, "no Topology has this name"},
		"of groups not its own":  {`[{"name":"r","topology":"t","level":"rack","subGroups":["x"],"maxPerDomain":1}]`, "no subGroup has this name"},
		"that says not how many": {`[{"name":"r","topology":"t","level":"rack"}]`, "by one of maxPerDomain"},
	} {
		t.Run(name, func(t *testing.T) {
			assembled, hold := gang.Assemble(relating("g", c.relations), nil, zonesOnly)
			switch {
			case c.holds == "" && (hold != nil || len(assembled.Relations) != 1):
				t.Errorf("held: %v", hold)
			case c.holds != "" && (hold == nil || hold.Reason != scheduling.ReasonInvalid || !strings.Contains(hold.Message, c.holds)):
				t.Errorf("got %v, want %q", hold, c.holds)
			}
		})
	}
}

func TestARelationCountsTheItemsOfOtherGangs(t *testing.T) {
	pod := func(leaf, node string) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{kai.LabelSubGroupName: leaf}}}
		pod.Spec.NodeName = node
		return pod
	}
	key := `"gangs":"service","topology":"t","level":"zone","maxPerDomain":1`
	first, hold := gang.Assemble(relating("first", `[{"name":"r",`+key+`,"item":"mine"}]`), nil, zonesOnly)
	if hold != nil {
		t.Fatal(hold.Message)
	}
	r := &first.Relations[0]
	if got, counts := first.RelationKey(r); !counts || got != (gang.Key{Namespace: "ns", Name: "gangs/service"}) {
		t.Errorf("key %v, %v", got, counts)
	}
	parted := relating("parted", `[{"name":"other",`+key+`,"subGroups":["a","b"]}]`)
	parted.Spec.MinMember = nil
	for _, name := range []string{"a", "b", "c"} {
		parted.Spec.SubGroups = append(parted.Spec.SubGroups, scheduling.SubGroup{Name: name, MinMember: ptr.To[int32](1)})
	}
	r.Count(first.PodGroup, parted, []*corev1.Pod{pod("b", "n3"), pod("a", "n2"), pod("a", "n1"), pod("a", "n1"), pod("c", "n4")})
	r.Count(first.PodGroup, relating("another", `[{"name":"s",`+key+`,"item":"mine"}]`), []*corev1.Pod{pod("", "n5"), pod("", "")})
	r.Count(first.PodGroup, relating("nowhere", `[{"name":"s",`+key+`}]`), []*corev1.Pod{pod("", "")})
	r.Count(first.PodGroup, relating("unrelated", `[{"name":"s","topology":"t","level":"zone","maxPerDomain":1}]`), []*corev1.Pod{pod("", "n6")})
	want := []gang.RelatedItems{
		{Gang: gang.Key{Namespace: "ns", Name: "another"}, Item: "mine", Nodes: [][]string{{"n5"}}},
		{Gang: gang.Key{Namespace: "ns", Name: "parted"}, Nodes: [][]string{{"n1", "n2"}, {"n3"}}},
	}
	if diff := cmp.Diff(want, r.Others); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAGangIsNearWhereAnotherStands(t *testing.T) {
	near := func(name, whom, more string) *scheduling.PodGroup {
		return relating(name, `[{"name":"r","topology":"t","level":"zone","near":"`+whom+`"`+more+`}]`)
	}
	standing := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n1"}}
	for name, c := range map[string]struct {
		of, other *scheduling.PodGroup
		pods      []*corev1.Pod
		want      []gang.RelatedItems
		first     bool
	}{
		"one that stands": {near("a", "b", ""), relating("b", `[]`), []*corev1.Pod{standing, standing, {}},
			[]gang.RelatedItems{{Gang: gang.Key{Namespace: "ns", Name: "b"}, Nodes: [][]string{{"n1"}}}}, false},
		"one that stands nowhere":                    {near("a", "b", ""), relating("b", `[]`), []*corev1.Pod{{}}, nil, false},
		"another":                                    {near("a", "b", ""), near("c", "b", ""), []*corev1.Pod{standing}, nil, false},
		"one that has to be near this one":           {near("a", "b", ""), near("b", "a", ""), nil, nil, true},
		"one that has to be near this one, its turn": {near("b", "a", ""), near("a", "b", ""), nil, nil, false},
		"one that rather is near this one":           {near("a", "b", ""), near("b", "a", `,"required":false`), nil, nil, false},
		"one that stands and has to be near": {near("a", "b", ""), near("b", "a", ""), []*corev1.Pod{standing},
			[]gang.RelatedItems{{Gang: gang.Key{Namespace: "ns", Name: "b"}, Nodes: [][]string{{"n1"}}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			assembled, hold := gang.Assemble(c.of, nil, zonesOnly)
			if hold != nil {
				t.Fatal(hold.Message)
			}
			r := &assembled.Relations[0]
			key, looks := assembled.RelationKey(r)
			if !looks || !slices.Contains(gang.RelationKeys(c.other), key) {
				t.Errorf("no key in common: %v", key)
			}
			r.Count(c.of, c.other, c.pods)
			if diff := cmp.Diff(c.want, r.Others); diff != "" || r.First != c.first {
				t.Errorf("first %v (-want +got):\n%s", r.First, diff)
			}
			if !r.Counts(assembled.Tree, "") {
				t.Error("the pods of the gang are not to be near")
			}
		})
	}
}
