package plugin

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// asRead shows a gang as it was read.
type asRead struct {
	seen
	version gangstate.Version
}

func (s asRead) Version(gang.Key) (gangstate.Version, bool) { return s.version, true }

func (asRead) Pod(pod *corev1.Pod) *corev1.Pod { return pod }

// A gang of three has lost two pods, and their successors find one free node: one of them has its place back at once,
// also if the other is yet to be made.
func TestAPodOfAGangThatStandsDoesNotWaitForTheOthers(t *testing.T) {
	hour, none := &metav1.Duration{Duration: time.Hour}, &metav1.Duration{}
	for name, c := range map[string]struct {
		grace   *metav1.Duration
		reason  string
		pods    []string
		prepare func(b *bench)
		mended  bool
	}{
		"both wait":                     {hour, scheduling.ReasonBelowMinimum, []string{"b", "c"}, nil, true},
		"one is yet to be made":         {hour, scheduling.ReasonBelowMinimum, []string{"b"}, nil, true},
		"it is stopped where it stands": {none, scheduling.ReasonBelowMinimum, []string{"b", "c"}, nil, false},
		"it never had all":              {hour, scheduling.ReasonWaiting, []string{"b", "c"}, nil, false},
		"it moves": {hour, scheduling.ReasonBelowMinimum, []string{"b", "c"}, func(b *bench) {
			b.plugin.gangs.NodeChanged("n1", newNodes(2)[1])
			move := gangstate.Move{Until: time.Now().Add(time.Hour), Began: b.plugin.gangs.Now()}
			move.Seats = []gangstate.Placement{{Pod: newPod("gang", "next"), Node: "n1"}}
			b.plugin.gangs.HoldMove(theGang, move, b.plugin.mender.left, time.Now())
		}, false},
		"what stands of it leaves for another": {hour, scheduling.ReasonBelowMinimum, []string{"b", "c"}, func(b *bench) {
			other := newPod("other", "o")
			asked := b.read(t, theGang, other)
			asked.PodGroup = podGroup("other", 1)
			b.plugin.gangs.Preempting(asked.Gang, asked.version, other, nil, sets.New[types.UID]("a"), "",
				asRead{version: asked.version})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			group := podGroup("gang", 3)
			group.Spec.StalenessGracePeriod = c.grace
			group.Status.Conditions = []metav1.Condition{{
				Type: scheduling.ConditionScheduled, Status: metav1.ConditionFalse, Reason: c.reason,
				LastTransitionTime: metav1.Now(),
			}}
			stands := newPod("gang", "a")
			stands.Spec.NodeName = "n0"
			pods := []*corev1.Pod{stands}
			for _, name := range c.pods {
				pods = append(pods, newPod("gang", name))
			}
			bench := newBench(t, newNodes(2), pods, group)
			if c.prepare != nil {
				c.prepare(bench)
			}
			bound := 0
			for _, pod := range pods[1:] {
				if held := bench.plugin.PreEnqueue(t.Context(), pod); !held.IsSuccess() {
					continue
				}
				if node, status := bench.schedule(t, pod); node == "n1" && status.IsSuccess() {
					bound++
					bench.stands(t, pod, node)
				}
			}
			assert.Equal(t, c.mended, bound == 1, "pods go to the free node")
			assert.LessOrEqual(t, bound, 1, "pods go to the free node")
		})
	}
}
