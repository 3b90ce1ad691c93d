package grove

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"k8s.io/utils/ptr"

	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

func TestThePlacementOfADeploymentIsThatOfItsWorstGang(t *testing.T) {
	one, less := ptr.To(1.0), ptr.To(0.5)
	for name, test := range map[string]struct {
		scores []*float64
		want   v1beta1.PlacementStatus
	}{
		"no gang":                   {nil, v1beta1.PlacementStatus{State: "Unknown"}},
		"gangs that are not judged": {[]*float64{nil, nil}, v1beta1.PlacementStatus{State: "Unknown"}},
		"each has a score": {[]*float64{one, one},
			v1beta1.PlacementStatus{State: "Reported", Score: one}},
		"the lowest counts": {[]*float64{one, less, one}, v1beta1.PlacementStatus{State: "Reported",
			Score: less}},
		"one of several was judged": {[]*float64{nil, one}, v1beta1.PlacementStatus{State: "Partial", Score: one}},
		"what is nothing is a score too": {[]*float64{one, ptr.To(0.0)}, v1beta1.PlacementStatus{State: "Reported",
			Score: ptr.To(0.0)}},
	} {
		t.Run(name, func(t *testing.T) {
			var gangs []grovev1alpha1.PodGangStatus
			for _, score := range test.scores {
				gangs = append(gangs, grovev1alpha1.PodGangStatus{PlacementScore: score})
			}
			assert.Empty(t, cmp.Diff(&test.want, placement(
				grovev1alpha1.PodCliqueSetStatus{PodGangStatuses: gangs})), "(-want +got)")
		})
	}
	counted := grovev1alpha1.PodCliqueSetStatus{
		PodGangs:        &grovev1alpha1.PodGangCounts{Total: 500, Scored: 400, LowestPlacementScore: less},
		PodGangStatuses: []grovev1alpha1.PodGangStatus{{PlacementScore: one}},
	}
	want := &v1beta1.PlacementStatus{State: "Partial", Score: less}
	assert.Empty(t, cmp.Diff(want, placement(counted)), "of a set that lists the first of its gangs (-want +got)")
}
