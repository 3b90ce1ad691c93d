package solve_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
)

func standing(name, node string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name,
		Annotations: map[string]string{scheduling.AnnotationPodGroupName: "scaled"}}}
	pod.Spec.NodeName = node
	return pod
}

// following assembles the gang "scaled" that shares a constraint with "base", with the given annotations besides.
func following(t *testing.T, annotations map[string]string, pods ...*corev1.Pod) *gang.Gang {
	t.Helper()
	podGroup := &scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "scaled", Annotations: map[string]string{
			scheduling.AnnotationBaseGang: "base", scheduling.AnnotationSharedTopology: "t",
		}}}
	for key, value := range annotations {
		podGroup.Annotations[key] = value
	}
	podGroup.Spec.MinMember = ptr.To(int32(len(pods)))
	podGroup.Spec.TopologyConstraint = &scheduling.TopologyConstraint{Topology: "t", RequiredTopologyLevel: "rack"}
	assembled, hold := gang.Assemble(podGroup, pods, func(string) (podgrouptree.Hierarchy, bool) {
		return podgrouptree.Hierarchy{{Key: "zone"}, {Key: "rack"}}, true
	})
	require.Nil(t, hold)
	if assembled.Shared != nil {
		assembled.Shared.Add(gang.Key{Namespace: "ns", Name: "another"}, []string{"n2"})
		assembled.Shared.Add(gang.Key{Namespace: "ns", Name: "base"}, []string{"n1"})
		assembled.Shared.Add(gang.Key{Namespace: "ns", Name: "nowhere"}, nil)
	}
	return assembled
}

func TestAGangIsTiedToItsRelatedGangs(t *testing.T) {
	own := packing.Constraint{Topology: "t", Required: "rack"}
	joins := []packing.Anchor{
		{Topology: "t", Level: "zone", Nodes: []string{"n1"}, PodsText: "gang base"},
		{Topology: "t", Level: "zone", Nodes: []string{"n2"}, PodsText: "gang another"},
	}
	for name, c := range map[string]struct {
		annotations map[string]string
		pods        []*corev1.Pod
		want        packing.Group
	}{
		"by nothing if nothing is shared": {want: packing.Group{Constraint: own}},
		"in the level that is required": {
			annotations: map[string]string{scheduling.AnnotationSharedRequired: "zone"},
			want:        packing.Group{Constraint: own, Follow: joins},
		},
		"to where it stands itself, if it does": {
			annotations: map[string]string{scheduling.AnnotationSharedRequired: "zone"},
			pods:        []*corev1.Pod{standing("p", "n3")},
			want: packing.Group{Constraint: own, MinMember: 1, Running: []string{"n3"}, Follow: []packing.Anchor{
				{Topology: "t", Level: "zone", Nodes: []string{"n3"}, PodsText: "its running pods"},
			}},
		},
		"in the level that is preferred, before what it prefers itself": {
			annotations: map[string]string{scheduling.AnnotationSharedRequired: "zone",
				scheduling.AnnotationSharedPreferred: "rack"},
			want: packing.Group{
				Constraint: packing.Constraint{Topology: "t", Required: "zone", Preferred: "rack"},
				Follow:     joins,
				Beside:     []string{"n1", "n2"},
				Children:   []packing.Group{{Constraint: own, Follow: joins}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			assembled := following(t, c.annotations, c.pods...)
			got, err := solve.Translate(assembled, nil, nil)
			require.NoError(t, err)
			assert.Empty(t, cmp.Diff(c.want, got.Root))
		})
	}
}
