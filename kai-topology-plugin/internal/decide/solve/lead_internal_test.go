package solve

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestAGangThatIsAskedAboutAsALeaderIsNotChanged(t *testing.T) {
	follower := &gang.Gang{PodGroup: &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, Pending: []*corev1.Pod{
		{ObjectMeta: metav1.ObjectMeta{Name: "p"}},
	}}
	stands := gang.RelatedGang{Gang: gang.Key{Name: "b"}, Nodes: []string{"n1"}}
	others := append(make([]gang.RelatedGang, 0, 2), stands) // With room for one more.
	request := Request{Gang: &gang.Gang{Shared: &gang.Shared{Others: others}}}
	together := &Answer{Nodes: map[string]string{"p": "n2"}}
	for range 2 {
		asked := beside(request, []*gang.Gang{follower}, together).Gang.Shared.Others
		want := []gang.RelatedGang{{Gang: gang.Key{Name: "a"}, Nodes: []string{"n2"}}, stands}
		assert.Empty(t, cmp.Diff(want, asked), "asked about")
		assert.Empty(t, cmp.Diff([]gang.RelatedGang{stands}, request.Gang.Shared.Others), "the gang itself")
	}
}
