package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Tests wait for less than users do. None of them depends on how long.
func init() { lookAgain, settling = time.Second, 200*time.Millisecond }

func TestADoubtIsReportedOnceItLasts(t *testing.T) {
	start := time.Unix(1000, 0)
	a, b := client.ObjectKey{Namespace: "ns", Name: "a"}, client.ObjectKey{Namespace: "ns", Name: "b"}
	var d doubts
	expect := func(what string, key client.ObjectKey, after, want time.Duration) {
		t.Helper()
		assert.Equal(t, want, d.wait(key, start.Add(after)), what)
	}
	expect("at first", a, 0, settling)
	expect("on the way", a, settling/2, settling/2)
	expect("another PodGroup has its own time", b, settling/2, settling)
	expect("it lasted", a, settling, 0)
	expect("once reported, a new one begins anew", a, settling, settling)
	d.over(b)
	expect("what is over does not count", b, 5*settling, settling)
}

// A Topology with changed levels is gone for a moment, which is not reported; one that stays away is reported, once.
func TestWorkloadsAreNotWarnedOfATopologyThatIsReplaced(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	k := &podGroups{clock: clock}
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}
	missing := field.ErrorList{field.Invalid(field.NewPath("metadata", "annotations"), "net",
		"no Topology has this name")}

	assert.Equal(t, settling, k.unsettled(podGroup, missing), "at first it waits")
	clock.SetTime(clock.Now().Add(settling / 2))
	assert.Zero(t, k.unsettled(podGroup, nil), "the new Topology is there")
	clock.SetTime(clock.Now().Add(settling))
	assert.Equal(t, settling, k.unsettled(podGroup, missing), "the next time counts by itself")
	clock.SetTime(clock.Now().Add(settling))
	assert.Zero(t, k.unsettled(podGroup, missing), "it lasted")
	podGroup.Status.Conditions = []metav1.Condition{{Type: scheduling.ConditionValid, Status: metav1.ConditionFalse}}
	assert.Zero(t, k.unsettled(podGroup, missing), "what was reported stands")
}
