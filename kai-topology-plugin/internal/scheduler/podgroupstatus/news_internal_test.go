package podgroupstatus

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/scheduler/gangevents"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var start = time.Unix(1000, 0)

// story is what has been reported of gangs, and the one that it is about.
type story struct {
	told *told
	gang *gang.Gang
}

func newStory() *story {
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "gang", UID: "1", Generation: 1}}
	podGroup.Spec.MinMember = ptr.To[int32](1)
	assembled, _ := gang.Assemble(podGroup, nil, nil)
	return &story{told: &told{}, gang: assembled}
}

// announced has the gang go on to a condition, which is written, and returns the reasons of the events about it.
func (s *story) announced(status metav1.ConditionStatus, reason string, after time.Duration) (reasons string, again time.Duration) {
	condition := metav1.Condition{
		Type: scheduling.ConditionScheduled, Status: status, Reason: reason, Message: "since " + reason,
		ObservedGeneration: s.gang.PodGroup.Generation, LastTransitionTime: metav1.NewTime(start),
	}
	desired := Desired{Condition: condition}
	news, again := newsTo(s.told.to(s.gang.PodGroup), Observed{Gang: s.gang}, desired, start.Add(after))
	s.gang.PodGroup.Status.Conditions = []metav1.Condition{condition}
	var all []string
	for _, one := range news {
		about := one.Reason
		if one.Pod != nil {
			about += " of " + one.Pod.Name
		}
		all = append(all, about)
	}
	return strings.Join(all, ", "), again
}

func (s *story) expect(t *testing.T, status metav1.ConditionStatus, reason, want string) {
	t.Helper()
	got, _ := s.announced(status, reason, time.Hour)
	assert.Equal(t, want, got, "%s: announced", reason)
}

func TestAGangIsToldOfOncePerReason(t *testing.T) {
	s := newStory()
	s.expect(t, "False", "Waiting", "")
	s.expect(t, "False", "Infeasible", "Infeasible")
	s.expect(t, "False", "Waiting", "")
	s.expect(t, "False", "Infeasible", "")
	s.expect(t, "False", "Unknown", "Unknown")
	s.expect(t, "False", "Infeasible", "")
	s.expect(t, "True", "Placed", "Placed")
	s.expect(t, "True", "Placed", "")
	s.expect(t, "False", "Infeasible", "Infeasible") // It lost pods; that is another wait.
}

func TestAChangedPodGroupIsToldOfAnew(t *testing.T) {
	s := newStory()
	s.expect(t, "False", "Invalid", "Invalid")
	s.gang.PodGroup.Generation++
	s.expect(t, "False", "Invalid", "Invalid")
	s.expect(t, "True", "Placed", "Placed")
	s.gang.PodGroup.Generation++
	s.expect(t, "True", "Placed", "")
	s.gang.PodGroup.UID = "2"
	s.gang.PodGroup.Status.Conditions = nil
	s.expect(t, "True", "Placed", "Placed")
}

func TestARestartTellsNothingTwice(t *testing.T) {
	for _, before := range []struct {
		status metav1.ConditionStatus
		reason string
	}{{"False", "Infeasible"}, {"True", "Placed"}} {
		s := newStory()
		s.expect(t, before.status, before.reason, before.reason)
		s.told = &told{}
		s.expect(t, before.status, before.reason, "")
	}
}

func TestWhatWasSaidIsKnownUntilItIsForgotten(t *testing.T) {
	all, key := &said{}, gang.Key{Name: "gang"}
	all.about(key).waits = "Infeasible"
	assert.Equal(t, "Infeasible", all.about(key).waits, "it waits")
	if all.forget(key); len(all.of) > 0 {
		t.Errorf("still known are %v", all.of)
	}
}

func TestAGangThatIsBeingMadeIsNoNews(t *testing.T) {
	s := newStory()
	if announced, again := s.announced("False", "Incomplete", time.Second); announced != "" || again != 9*time.Second {
		t.Errorf("after a second: announced %q, again after %v", announced, again)
	}
	s.gang.Gated = []*corev1.Pod{{}}
	if announced, again := s.announced("False", "Incomplete", time.Hour); announced != "" || again != 0 {
		t.Errorf("held back by a gate: announced %q, again after %v", announced, again)
	}
	s.gang.Gated = nil
	if announced, again := s.announced("False", "Incomplete", 10*time.Second); announced != "Incomplete" || again != 0 {
		t.Errorf("after ten seconds: announced %q, again after %v", announced, again)
	}
}

func TestStraysAreToldOnceEach(t *testing.T) {
	s := newStory()
	stray := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{kai.LabelSubGroupName: "x"}}}
	}
	s.gang.Strays = []*corev1.Pod{stray("a")}
	s.expect(t, "False", "Waiting", "UnknownSubGroup of a, UnknownSubGroup")
	s.gang.Strays = append(s.gang.Strays, stray("b"))
	s.expect(t, "False", "Waiting", "UnknownSubGroup of b")
	s.expect(t, "False", "Waiting", "")
}

func TestWhere(t *testing.T) {
	zone := map[string]scheduling.Domains{"zone": {"z1"}}
	racks := map[string]scheduling.Domains{"zone": {"z1"}, "rack": {"z1/r1", "z1/r2", "z1/r3", "z1/r4", "z1/r5"}}
	for name, test := range map[string]struct {
		groups []scheduling.SubGroupStatus
		want   string
	}{
		"no topology":           {[]scheduling.SubGroupStatus{{}}, ""},
		"the whole gang":        {[]scheduling.SubGroupStatus{{Domains: zone}, {Name: "a", Domains: zone}}, ": zone z1"},
		"its groups":            {[]scheduling.SubGroupStatus{{}, {Name: "a", Domains: zone}, {Name: "b", Domains: zone}}, ": a in zone z1; b in zone z1"},
		"many, broadest first":  {[]scheduling.SubGroupStatus{{Domains: racks}}, ": zone z1, rack z1/r1, z1/r2, z1/r3, z1/r4 and 1 more"},
		"more than status says": {[]scheduling.SubGroupStatus{{Domains: racks, MoreDomains: map[string]int32{"rack": 10}}}, ": zone z1, rack z1/r1, z1/r2, z1/r3, z1/r4 and 11 more"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, cmp.Diff(test.want, where(test.groups)), "(-want +got)")
		})
	}
	var many []scheduling.SubGroupStatus
	for range 500 {
		many = append(many, scheduling.SubGroupStatus{Name: "group", Domains: racks})
	}
	if note := where(many); len(note) > 800 || !strings.HasSuffix(note, "; …") {
		t.Errorf("of 500 groups the note has %d bytes and ends in %q", len(note), note[len(note)-10:])
	}
}

// Each step is reported once, and another message about the same step is none.
func TestStepsOfARepairAreTold(t *testing.T) {
	step := func(status metav1.ConditionStatus, reason, message string) *metav1.Condition {
		return &metav1.Condition{Type: scheduling.ConditionRepairPlanned, Status: status, Reason: reason, Message: message}
	}
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "gang"}}
	for _, c := range []struct {
		planned *metav1.Condition
		want    []gangevents.News
	}{
		{nil, nil},
		{step("True", "MoveAhead", "will"), []gangevents.News{{Type: corev1.EventTypeNormal, Reason: "MoveAhead", Note: "will"}}},
		{step("True", "MoveAhead", "will elsewhere"), nil},
		{step("True", "Moving", "moves"), []gangevents.News{{Type: corev1.EventTypeNormal, Reason: "Moving", Note: "moves"}}},
		{step("False", "NoPlace", "no"), []gangevents.News{{Type: corev1.EventTypeWarning, Reason: "NoPlace", Note: "no"}}},
		{nil, nil},
	} {
		assert.Empty(t, cmp.Diff(c.want, repairNews(podGroup, c.planned)), "%v (-want +got)", c.planned)
		podGroup.Status.Conditions = nil
		if c.planned != nil {
			podGroup.Status.Conditions = []metav1.Condition{*c.planned}
		}
	}
}

// No pod of a gang that cannot be planned is tried, so that no attempt says why it waits.
func TestPodsThatAreNotTriedSayWhatTheirGangSays(t *testing.T) {
	s := newStory()
	said := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "no room"}}}}
	fresh, late := &corev1.Pod{}, &corev1.Pod{}
	late.CreationTimestamp = metav1.NewTime(start.Add(25 * time.Second))
	stray := said.DeepCopy()
	tried := Observed{Waiting: []*corev1.Pod{said, fresh}}
	incomplete, alone, later, strayed := tried, tried, tried, tried
	incomplete.Gang, tried.Gang, later.Gang = s.gang, s.gang, s.gang
	incomplete.Hold = &gang.Hold{Reason: scheduling.ReasonIncomplete}
	alone.Hold, later.Hold = incomplete.Hold, incomplete.Hold
	later.Waiting = append(later.Waiting, late)
	strayed.Waiting, strayed.Gang = append(strayed.Waiting, stray), &gang.Gang{Strays: []*corev1.Pod{stray}}
	for _, step := range []struct {
		name     string
		observed Observed
		sentence string
		after    time.Duration
		pods     int
		again    time.Duration
	}{
		{"the PodGroup may come in a moment", alone, "no PodGroup", -15 * time.Second, 0, 10 * time.Second},
		{"no PodGroup comes", alone, "no PodGroup", -5 * time.Second, 2, 0},
		{"pods are still coming", incomplete, "has 1 of 3", 0, 0, 10 * time.Second},
		{"another pod has come", incomplete, "has 2 of 3", 9 * time.Second, 0, 10 * time.Second},
		{"no further one comes", incomplete, "has 2 of 3", 19 * time.Second, 2, 0},
		{"a further one comes late", later, "has 2 of 3", 28 * time.Second, 2, 7 * time.Second},
		{"it is tried", tried, "no rack", 30 * time.Second, 0, 10 * time.Second},
		{"the next pod is not tried soon", tried, "no rack", 40 * time.Second, 1, 0},
		{"a pod that names no leaf is never tried", strayed, "no rack", 40 * time.Second, 2, 0},
	} {
		condition := metav1.Condition{Status: metav1.ConditionFalse, Message: step.sentence}
		pods, again := s.told.untold(step.observed, condition, start.Add(step.after))
		require.Len(t, pods, step.pods, step.name)
		assert.Equal(t, step.again, again, step.name)
	}
	placed := metav1.Condition{Status: metav1.ConditionTrue, Message: "no rack"}
	if pods, again := s.told.untold(strayed, placed, start.Add(time.Hour)); !slices.Equal(pods, []*corev1.Pod{stray}) || again > 0 {
		t.Errorf("of a gang that is placed %d pods are told, and again after %v", len(pods), again)
	}
}
