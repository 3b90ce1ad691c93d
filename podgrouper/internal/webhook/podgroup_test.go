package webhook

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// silent is a cluster that does not answer.
type silent struct{ client.Reader }

func (silent) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return context.DeadlineExceeded
}

func TestAPodGroupIsNotRefusedForTopologiesThatCannotBeRead(t *testing.T) {
	members := int32(2)
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "g"},
		Spec: scheduling.PodGroupSpec{MinMember: &members, TopologyConstraint: &scheduling.TopologyConstraint{
			Topology: "net", RequiredTopologyLevel: "rack"}}}
	before := podGroup.DeepCopy()
	*before.Spec.MinMember = 1
	want := admission.Warnings{"Topologies were not checked: listing Topologies: context deadline exceeded"}
	for operation, judge := range map[string]func() (admission.Warnings, error){
		"create": func() (admission.Warnings, error) {
			return validator{silent{}}.ValidateCreate(t.Context(), podGroup)
		},
		"update": func() (admission.Warnings, error) {
			return validator{silent{}}.ValidateUpdate(t.Context(), before, podGroup)
		},
	} {
		got, err := judge()
		require.NoError(t, err, "%s: %v, warnings (-want +got)", operation, err)
		assert.Empty(t, cmp.Diff(want, got), "%s: %v, warnings (-want +got)", operation, err)
	}
}
