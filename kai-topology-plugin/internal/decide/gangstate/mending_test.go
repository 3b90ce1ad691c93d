package gangstate

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Of a gang of three one pod stands, and the successor of one of the others is there. It need not wait for the third
// once the status says that the gang has started.
func TestAPodIsTriedAgainOnceItsGangMayBeMended(t *testing.T) {
	group := groupOf(3)
	state := New(anyone, nil)
	state.Opened(start)
	state.PodGroupChanged(nil, group, start)
	state.added(ownedPod("a", "n1"), start)
	b := ownedPod("b", "")
	state.added(b, start)
	if held, _ := state.Queued(mine, b, start); held == "" || state.Mends(mine, start) {
		t.Fatal("a gang starts with less than it needs")
	}
	below := group.DeepCopy()
	below.Status.Conditions = []metav1.Condition{{Type: scheduling.ConditionScheduled,
		Status: metav1.ConditionFalse, Reason: scheduling.ReasonBelowMinimum}}
	effects := state.PodGroupChanged(group, below, start)
	if called := names(effects.Activate); !slices.Contains(called, "b") || !state.Mends(mine, start) {
		t.Errorf("only %v are called", called)
	}
	held, _ := state.Queued(mine, b, start)
	assert.Empty(t, held, "it is held")
	state.deleted(ownedPod("a", "n1"), start)
	held, _ = state.Queued(mine, b, start)
	assert.NotEmpty(t, held, "the gang, of which nothing stands, starts with less than it needs")
}
