package gang_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"k8s.io/utils/ptr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

func sharing(annotations map[string]string) *scheduling.PodGroup {
	podGroup := &scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "scaled", Annotations: annotations},
	}
	podGroup.Spec.MinMember = ptr.To[int32](0)
	return podGroup
}

// What is wrong with a shared constraint holds the gang, as what is wrong with its own does, and the sentence names the
// annotation.
func TestASharedConstraintIsJudged(t *testing.T) {
	levels := func(topology string) (podgrouptree.Hierarchy, bool) {
		return podgrouptree.Hierarchy{{Key: "zone"}, {Key: "rack"}}, topology == "t"
	}
	for name, c := range map[string]struct {
		annotations map[string]string
		holds       string
	}{
		"well": {annotations: map[string]string{
			scheduling.AnnotationBaseGang: "base", scheduling.AnnotationSharedTopology: "t",
			scheduling.AnnotationSharedRequired: "zone",
		}},
		"without a Topology": {
			annotations: map[string]string{scheduling.AnnotationBaseGang: "base", scheduling.AnnotationSharedRequired: "zone"},
			holds:       "metadata.annotations[packtree.dev/shared-topology]: Required value",
		},
		"of a Topology that does not exist": {
			annotations: map[string]string{
				scheduling.AnnotationBaseGang: "base", scheduling.AnnotationSharedTopology: "u",
				scheduling.AnnotationSharedRequired: "zone",
			},
			holds: "metadata.annotations[packtree.dev/shared-topology]: Invalid value: \"u\"",
		},
		"at a level that does not exist": {
			annotations: map[string]string{
				scheduling.AnnotationBaseGang: "base", scheduling.AnnotationSharedTopology: "t",
				scheduling.AnnotationSharedPreferred: "block",
			},
			holds: "metadata.annotations[packtree.dev/shared-preferred-level]: Invalid value: \"block\"",
		},
		"with nobody": {annotations: map[string]string{scheduling.AnnotationSharedRequired: "zone"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, hold := gang.Assemble(sharing(c.annotations), nil, levels)
			switch {
			case c.holds == "" && hold != nil:
				t.Errorf("held: %s", hold.Message)
			case c.holds != "" &&
				(hold == nil || hold.Reason != scheduling.ReasonInvalid || !strings.Contains(hold.Message, c.holds)):
				t.Errorf("got %v, want %q", hold, c.holds)
			}
		})
	}
}

func TestTheBaseGangIsMetFirst(t *testing.T) {
	assembled, _ := gang.Assemble(sharing(map[string]string{
		scheduling.AnnotationBaseGang: "m", scheduling.AnnotationSharedTopology: "t",
		scheduling.AnnotationSharedRequired: "zone",
	}), nil, func(string) (podgrouptree.Hierarchy, bool) { return podgrouptree.Hierarchy{{Key: "zone"}}, true })
	for _, name := range []string{"z", "m", "a"} {
		assembled.Shared.Add(gang.Key{Namespace: "ns", Name: name}, []string{"n"})
	}
	var met []string
	for _, other := range assembled.Shared.Others {
		met = append(met, other.Gang.Name)
	}
	assert.Empty(t, cmp.Diff([]string{"m", "a", "z"}, met), "(-want +got)")
	assert.Empty(t, cmp.Diff([]string{"t"}, assembled.Topologies()), "topologies (-want +got)")
}
