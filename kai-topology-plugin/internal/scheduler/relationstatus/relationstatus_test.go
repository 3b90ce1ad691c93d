package relationstatus_test

import (
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/scheduler/relationstatus"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// rows are four nodes in two racks, and one without a rack.
var rows = map[string]string{"a1": "a", "a2": "a", "b1": "b", "b2": "b", "stray": ""}

func nodes(yield func(*corev1.Node) bool) {
	for name, rack := range rows {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if rack != "" {
			node.Labels = map[string]string{"rack": rack}
		}
		if !yield(node) {
			return
		}
	}
}

func podGroup(name, relations string) *scheduling.PodGroup {
	return &scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, Annotations: map[string]string{scheduling.AnnotationRelations: relations},
		},
		Spec: scheduling.PodGroupSpec{
			TopologyConstraint: &scheduling.TopologyConstraint{Topology: "site", PreferredTopologyLevel: "rack"},
			SubGroups: []scheduling.SubGroup{{Name: "x", MinMember: new(int32(1))},
				{Name: "y", MinMember: new(int32(1))}},
		},
	}
}

// standing are pods of subgroups, each on the node that follows.
func standing(placed ...string) (pods []*corev1.Pod) {
	for i := 0; i < len(placed); i += 2 {
		pods = append(pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: placed[i] + placed[i+1], Labels: map[string]string{kai.LabelSubGroupName: placed[i]},
			},
			Spec: corev1.PodSpec{NodeName: placed[i+1]},
		})
	}
	return pods
}

func assemble(t testing.TB, relations string, pods []*corev1.Pod) *gang.Gang {
	t.Helper()
	assembled, hold := gang.Assemble(podGroup("g", relations), pods, func(string) (podgrouptree.Hierarchy, bool) {
		return podgrouptree.Hierarchy{{Key: "rack"}}, true
	})
	if hold != nil && hold.Reason != scheduling.ReasonIncomplete {
		t.Fatal(hold.Message)
	}
	return assembled
}

func domains(t *testing.T) *relationstatus.Domains {
	t.Helper()
	read, err := relationstatus.NewDomains(map[string][]string{"site": {"rack"}}, nodes)
	require.NoError(t, err)
	return read
}

func TestRelationsHoldOfThePodsThatStandOrNot(t *testing.T) {
	const apart = `[{"name": "r", "subGroups": ["x", "y"], "level": "rack", "maxPerDomain": 1}]`
	const preferred = `[{"name": "r", "subGroups": ["x", "y"], "level": "rack", "even": true, "required": false}]`
	const near = `[{"name": "r", "near": "router", "level": "rack"}]`
	others := map[string][]*corev1.Pod{"router": standing("x", "a2")}
	for name, tc := range map[string]struct {
		relations string
		pods      []*corev1.Pod
		lacks     int
		required  bool
	}{
		"apart":                        {apart, standing("x", "a1", "y", "b1"), 0, true},
		"one group in two racks":       {apart, standing("x", "a1", "x", "b1"), 0, true},
		"beside one another":           {apart, standing("x", "a1", "y", "a2"), 1, true},
		"in no rack":                   {apart, standing("x", "a1", "y", "stray"), 1, true},
		"two in each":                  {preferred, standing("x", "b1", "y", "b2"), 0, false},
		"one in each":                  {preferred, standing("x", "a1", "y", "b2"), 0, false},
		"two in one, one in the other": {preferred, standing("x", "a1", "y", "a2", "y", "b2"), 1, false},
		"near another gang":            {near, standing("x", "a1"), 0, true},
		"half of it near":              {near, standing("x", "a1", "y", "b1"), 1, true},
		"far from that gang":           {near, standing("x", "b1"), 1, true},
		"nothing that lacks pods":      {preferred, nil, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			assembled := assemble(t, tc.relations, tc.pods)
			assembled.Relate(func(gang.Key) iter.Seq2[*scheduling.PodGroup, []*corev1.Pod] {
				return func(yield func(*scheduling.PodGroup, []*corev1.Pod) bool) {
					for name, pods := range others {
						if !yield(podGroup(name, "[]"), pods) {
							return
						}
					}
				}
			})
			got, err := domains(t).Of(assembled)
			require.NoError(t, err)
			if len(got) != 1 || got[0].Lacks != tc.lacks || got[0].Required != tc.required || got[0].Rule == "" {
				t.Errorf("%+v, want one that lacks %d, required: %v", got, tc.lacks, tc.required)
			}
		})
	}
}

func TestATopologyThatIsGoneIsNamed(t *testing.T) {
	read, err := relationstatus.NewDomains(nil, slices.Values([]*corev1.Node(nil)))
	require.NoError(t, err)
	assembled := assemble(t, `[{"name": "r", "subGroups": ["x", "y"], "level": "rack", "maxPerDomain": 1}]`,
		standing("x", "a1"))
	got, err := read.Of(assembled)
	require.Error(t, err, "%+v without a Topology", got)
	read, err = relationstatus.NewDomains(map[string][]string{"site": {"rack", "rack"}}, nodes)
	assert.Error(t, err, "%+v with a level twice", read)
}

func TestTallyCountsByRequirementAndByWhatHolds(t *testing.T) {
	var tally relationstatus.Tally
	for i, relation := range []relationstatus.Relation{{Required: true}, {Required: true, Lacks: 2}, {Lacks: 1}, {}} {
		tally.Add(relation)
		got := tally.Count(relation.Required, relation.Lacks == 0)
		assert.Equal(t, 1, got, "relation %d is counted %d times", i, got)
	}
}
