package staleness

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var broke = time.Unix(1000, 0)

// podGroup needs two pods, and its condition turned at the time broke.
func podGroup(grace *metav1.Duration, status metav1.ConditionStatus, reason string) *scheduling.PodGroup {
	made := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gang"}}
	made.Spec.MinMember = ptr.To[int32](2)
	made.Spec.StalenessGracePeriod = grace
	made.Status.Conditions = []metav1.Condition{{
		Type: scheduling.ConditionScheduled, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(broke),
	}}
	return made
}

func minutes(n int) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(n) * time.Minute}
}

func TestDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		podGroup *scheduling.PodGroup
		want     time.Time
	}{
		"a gang below its minimum, after the grace period": {podGroup(minutes(5), "False", scheduling.ReasonBelowMinimum),
			broke.Add(5 * time.Minute)},
		"at once, if there is no grace":    {podGroup(minutes(0), "False", scheduling.ReasonBelowMinimum), broke},
		"never, if nobody says so":         {podGroup: podGroup(nil, "False", scheduling.ReasonBelowMinimum)},
		"never, if it is negative":         {podGroup: podGroup(minutes(-1), "False", scheduling.ReasonBelowMinimum)},
		"never while it has what it needs": {podGroup: podGroup(minutes(5), "True", scheduling.ReasonPlaced)},
		"never if it never ran":            {podGroup: podGroup(minutes(5), "False", scheduling.ReasonInfeasible)},
		"never before anybody looked at it": {
			podGroup: &scheduling.PodGroup{Spec: scheduling.PodGroupSpec{StalenessGracePeriod: minutes(5)}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, stops := Deadline(c.podGroup)
			assert.NotEqual(t, c.want.IsZero(), stops, "got %v %v, want %v", got, stops, c.want)
			assert.False(t, stops && !got.Equal(c.want), "got %v %v, want %v", got, stops, c.want)
		})
	}
}

// table is a stopper on a fake API server, for a gang with so many pods on nodes.
type table struct {
	*Stopper
	client  *fake.Clientset
	reports int
}

func stopperFor(podGroup *scheduling.PodGroup, standing int, after time.Duration, leaves ...string) *table {
	var objects []runtime.Object
	var pods []*corev1.Pod
	for i := range 3 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: string(rune('a' + i)),
			UID: types.UID(rune('a' + i))}}
		if i < standing {
			pod.Spec.NodeName = "node"
		}
		if i < len(leaves) {
			pod.Labels = map[string]string{kai.LabelSubGroupName: leaves[i]}
		}
		objects, pods = append(objects, pod), append(pods, pod)
	}
	made := &table{client: fake.NewClientset(objects...)}
	made.Stopper = NewStopper(made.client.CoreV1(), func(gang.Key) (*gang.Gang, error) {
		assembled, _ := gang.Assemble(podGroup, pods, nil)
		return assembled, nil
	}, func(gang.Key, string) { made.reports++ })
	made.clock = testingclock.NewFakePassiveClock(broke.Add(after))
	return made
}

func (s *table) left(t *testing.T) []string {
	t.Helper()
	pods, err := s.client.CoreV1().Pods("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var names []string
	for i := range pods.Items {
		names = append(names, pods.Items[i].Name)
	}
	slices.Sort(names)
	return names
}

func TestAGangIsStoppedAtItsDeadline(t *testing.T) {
	key := gang.Key{Namespace: "ns", Name: "gang"}
	for name, c := range map[string]struct {
		standing int
		after    time.Duration
		left     []string
		reports  int
	}{
		"all pods that have a node, and no other": {standing: 1, after: 5 * time.Minute, left: []string{"b", "c"}, reports: 1},
		"not before":                        {standing: 1, after: 5*time.Minute - 1, left: []string{"a", "b", "c"}},
		"not if it has what it needs again": {standing: 2, after: time.Hour, left: []string{"a", "b", "c"}},
		"nobody, if nothing stands":         {standing: 0, after: time.Hour, left: []string{"a", "b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			stopper := stopperFor(podGroup(minutes(5), "False", scheduling.ReasonBelowMinimum), c.standing, c.after)
			require.NoError(t, stopper.look(t.Context(), key))
			assert.Empty(t, cmp.Diff(c.left, stopper.left(t)))
			assert.Equal(t, c.reports, stopper.reports)
		})
	}
}

// One pod that cannot be deleted must not save the others, and is tried again.
func TestAFailureIsReported(t *testing.T) {
	group := podGroup(minutes(5), "False", scheduling.ReasonBelowMinimum)
	group.Spec.MinMember = ptr.To[int32](3)
	stopper := stopperFor(group, 2, time.Hour)
	stopper.client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return action.(clienttesting.DeleteAction).GetName() == "a", nil, errors.New("the API server is away")
	})
	require.Error(t, stopper.look(t.Context(), gang.Key{Namespace: "ns", Name: "gang"}), "no error")
	assert.Empty(t, cmp.Diff([]string{"a", "c"}, stopper.left(t)), "pods")
}

// The gang needs one of two subgroups; of the other one a pod stands that is of no use without its second.
func TestWhatIsLeftOfAGroupIsStoppedAtItsDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		grace *metav1.Duration
		leaf  string
		after time.Duration
		left  []string
	}{
		"after the grace period":              {minutes(5), "b", 5 * time.Minute, []string{"a", "c"}},
		"not before":                          {minutes(5), "b", 5*time.Minute - 1, []string{"a", "b", "c"}},
		"never, if nobody says so":            {nil, "b", time.Hour, []string{"a", "b", "c"}},
		"not what the gang cannot do without": {minutes(5), "a", time.Hour, []string{"a", "b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			group := podGroup(c.grace, "True", scheduling.ReasonPlaced)
			group.Spec.MinMember, group.Spec.MinSubGroup = nil, ptr.To[int32](1)
			group.Spec.SubGroups = []scheduling.SubGroup{
				{Name: "a", MinMember: ptr.To[int32](1)}, {Name: "b", MinMember: ptr.To[int32](2)},
			}
			group.Status.SubGroups = []scheduling.SubGroupStatus{{Name: "b", BelowMinimumSince: &metav1.Time{Time: broke}}}
			stopper := stopperFor(group, 2, c.after, "a", c.leaf, "b")
			require.NoError(t, stopper.look(t.Context(), gang.Key{Namespace: "ns", Name: "gang"}))
			assert.Empty(t, cmp.Diff(c.left, stopper.left(t)), "pods")
		})
	}
}
