package gang_test

import (
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
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

// member is a PodGroup with its pods that stand, or are about to where they name a node.
type member struct {
	podGroup *scheduling.PodGroup
	pods     []*corev1.Pod
}

// members gives those of these that have a key.
func members(all ...member) gang.Related {
	return func(key gang.Key) iter.Seq2[*scheduling.PodGroup, []*corev1.Pod] {
		return func(yield func(*scheduling.PodGroup, []*corev1.Pod) bool) {
			for _, one := range all {
				if slices.Contains(gang.RelationKeys(one.podGroup), key) && !yield(one.podGroup, one.pods) {
					return
				}
			}
		}
	}
}

func TestARelationThatCannotBeFollowedHoldsTheGang(t *testing.T) {
	for name, c := range map[string]struct{ relations, holds string }{
		"one that can":      {`[{"name":"r","topology":"t","level":"rack","maxPerDomain":1}]`, ""},
		"of another shape":  {`{}`, "must be a JSON list of relations"},
		"of no known level": {`[{"name":"r","topology":"t","level":"row","maxPerDomain":1}]`, `"row"`},
		"of no known Topology": {`[{"name":"r","topology":"u","level":"rack","maxPerDomain":1}]`,
			"no Topology has this name"},
		"of groups not its own": {`[{"name":"r","topology":"t","level":"rack","subGroups":["x"],"maxPerDomain":1}]`,
			"no subGroup has this name"},
		"that says not how many": {`[{"name":"r","topology":"t","level":"rack"}]`, "by one of maxPerDomain"},
	} {
		t.Run(name, func(t *testing.T) {
			assembled, hold := gang.Assemble(relating("g", c.relations), nil, zonesOnly)
			switch {
			case c.holds == "" && (hold != nil || len(assembled.Relations) != 1):
				t.Errorf("held: %v", hold)
			case c.holds != "" &&
				(hold == nil || hold.Reason != scheduling.ReasonInvalid || !strings.Contains(hold.Message, c.holds)):
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
	require.Nil(t, hold)
	r := &first.Relations[0]
	if got, counts := first.RelationKey(r); !counts || got != (gang.Key{Namespace: "ns", Name: "gangs/service"}) {
		t.Errorf("key %v, %v", got, counts)
	}
	parted := relating("parted", `[{"name":"other",`+key+`,"subGroups":["a","b"]}]`)
	parted.Spec.MinMember = nil
	for _, name := range []string{"a", "b", "c"} {
		parted.Spec.SubGroups = append(parted.Spec.SubGroups, scheduling.SubGroup{Name: name, MinMember: ptr.To[int32](1)})
	}
	first.Relate(members(
		member{parted, []*corev1.Pod{pod("b", "n3"), pod("a", "n2"), pod("a", "n1"), pod("a", "n1"), pod("c", "n4")}},
		member{relating("another", `[{"name":"s",`+key+`,"item":"mine"}]`), []*corev1.Pod{pod("", "n5"), pod("", "")}},
		member{relating("nowhere", `[{"name":"s",`+key+`}]`), []*corev1.Pod{pod("", "")}},
		member{first.PodGroup, []*corev1.Pod{pod("", "n7")}},
		member{relating("unrelated", `[{"name":"s","topology":"t","level":"zone","maxPerDomain":1}]`),
			[]*corev1.Pod{pod("", "n6")}},
	))
	want := []gang.RelatedItems{
		{Gang: gang.Key{Namespace: "ns", Name: "another"}, Item: "mine", Nodes: [][]string{{"n5"}}},
		{Gang: gang.Key{Namespace: "ns", Name: "parted"}, Nodes: [][]string{{"n1", "n2"}, {"n3"}}},
	}
	assert.Empty(t, cmp.Diff(want, r.Others), "(-want +got)")
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
		"one that stands nowhere": {near("a", "b", ""), relating("b", `[]`), []*corev1.Pod{{}},
			nil, false},
		"another":                          {near("a", "b", ""), near("c", "b", ""), []*corev1.Pod{standing}, nil, false},
		"one that has to be near this one": {near("a", "b", ""), near("b", "a", ""), nil, nil, true},
		"one that has to be near this one, its turn": {near("b", "a", ""), near("a", "b", ""), nil, nil, false},
		"one that rather is near this one": {near("a", "b", ""), near("b", "a", `,"required":false`), nil,
			nil, false},
		"one that stands and has to be near": {near("a", "b", ""), near("b", "a", ""), []*corev1.Pod{standing},
			[]gang.RelatedItems{{Gang: gang.Key{Namespace: "ns", Name: "b"}, Nodes: [][]string{{"n1"}}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			assembled, hold := gang.Assemble(c.of, nil, zonesOnly)
			require.Nil(t, hold)
			r := &assembled.Relations[0]
			key, looks := assembled.RelationKey(r)
			assert.True(t, looks, "no key in common: %v", key)
			assert.Contains(t, gang.RelationKeys(c.other), key, "no key in common: %v", key)
			assembled.Relate(members(member{c.of, nil}, member{c.other, c.pods}))
			assert.Empty(t, cmp.Diff(c.want, r.Others))
			assert.Equal(t, c.first, r.First)
			assert.True(t, r.Counts(assembled.Tree, ""), "the pods of the gang are not to be near")
		})
	}
}

// Each case says of gangs which others they must be near; one with an asterisk stands somewhere.
func TestOfGangsInACircleOneNeedNotWait(t *testing.T) {
	for name, c := range map[string]struct {
		near  map[string]string
		first []string
	}{
		"one near itself":            {map[string]string{"a": "a"}, []string{"a"}},
		"two":                        {map[string]string{"a": "b", "b": "a"}, []string{"a"}},
		"three":                      {map[string]string{"a": "b", "b": "c", "c": "a"}, []string{"a"}},
		"three, the other way round": {map[string]string{"a": "c", "b": "a", "c": "b"}, []string{"a"}},
		"five": {map[string]string{"a": "d", "d": "b", "b": "e", "e": "c", "c": "a"},
			[]string{"a"}},
		"three of which one stands":   {map[string]string{"a": "b", "b": "c*", "c*": "a"}, nil},
		"a circle that one waits for": {map[string]string{"a": "b", "b": "c", "c": "d", "d": "b"}, []string{"b"}},
		"a way that ends":             {map[string]string{"a": "b", "b": "c", "c": "d"}, nil},
		"two circles": {map[string]string{"a": "b", "b": "a", "c": "d", "d": "e", "e": "c"},
			[]string{"a", "c"}},
		"two circles of which one holds another": {map[string]string{"a": "b", "b": "a,c", "c": "d", "d": "b"},
			[]string{"a", "b"}},
		"two circles with a gang in common": {map[string]string{"a": "c", "c": "a,b", "b": "c"}, []string{"a", "b"}},
		"circles in a row": {map[string]string{"b": "c", "c": "b,a", "a": "d", "d": "a"},
			[]string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			var all []member
			for of, whom := range c.near {
				var asked []string
				for _, one := range strings.Split(strings.ReplaceAll(whom, "*", ""), ",") {
					asked = append(asked, `{"name":"`+one+`","topology":"t","level":"zone","near":"`+one+`"}`)
				}
				own, stands := strings.CutSuffix(of, "*")
				made := member{podGroup: relating(own, "["+strings.Join(asked, ",")+"]")}
				if stands {
					made.pods = []*corev1.Pod{{Spec: corev1.PodSpec{NodeName: "n1"}}}
				}
				all = append(all, made)
			}
			var first []string
			for _, one := range all {
				assembled, hold := gang.Assemble(one.podGroup, nil, zonesOnly)
				require.Nil(t, hold)
				assembled.Relate(members(all...))
				if slices.ContainsFunc(assembled.Relations, func(r gang.Relation) bool { return r.First }) {
					first = append(first, one.podGroup.Name)
				}
			}
			slices.Sort(first)
			assert.Empty(t, cmp.Diff(c.first, first), "first (-want +got)")
		})
	}
}
