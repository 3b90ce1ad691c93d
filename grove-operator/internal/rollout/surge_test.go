package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/rollout"
)

// surgeBench is a bench whose group has two copies and may have two more; copy 0 is in the base gang.
type surgeBench struct {
	*bench
	group    *grovev1alpha1.PodCliqueScalingGroup
	progress *grovev1alpha1.PodCliqueSetUpdateProgress
	// required is set if no copy may be replaced otherwise.
	required bool
}

func newSurgeBench(t *testing.T) *surgeBench {
	b := newBench(t)
	set := b.objects.Set
	config := &set.Spec.Template.PodCliqueScalingGroups[0]
	config.MaxSurge = ptr.To[int32](2)
	group := children.ScalingGroup(set, 0, config)
	b.objects.ScalingGroups = map[string]*grovev1alpha1.PodCliqueScalingGroup{group.Name: group}
	b.make(0)
	progress := &grovev1alpha1.PodCliqueSetUpdateProgress{
		CurrentlyUpdating: []grovev1alpha1.PodCliqueSetReplicaUpdate{{ReplicaIndex: 0}},
	}
	set.Status.UpdateProgress = progress
	return &surgeBench{bench: b, group: group, progress: progress}
}

// make makes the PodCliques of a copy.
func (b *bench) make(copyIndex int32) {
	for _, member := range layout.Copy(b.objects.Set, 0, &b.objects.Set.Spec.Template.PodCliqueScalingGroups[0],
		copyIndex) {
		b.objects.PodCliques[member.Name] = children.PodClique(b.objects.Set, member, nil)
	}
}

// decide decides about copies 0 and 1, of which copy 0 is to be replaced, and writes the result.
func (b *surgeBench) decide() rollout.Decision {
	first, second := b.pod("s-0-g-0-b", "p0", "n"), b.pod("s-0-g-1-b", "p1", "n")
	decision := b.objects.Prove(rollout.Decision{
		Delete: []*corev1.Pod{first}, Of: "copy 0", Waiting: "copy 0 is being updated", Progress: b.progress,
		Surge: &rollout.Surge{Group: "g", Most: 2, Next: [][]*corev1.Pod{{first}, {second}}, Required: b.required},
	}, b.now)
	b.write(decision)
	return decision
}

func (b *bench) write(decision rollout.Decision) {
	for name, written := range b.objects.Questions(decision) {
		b.objects.Gangs[name].Annotations = map[string]string{"packtree.dev/successors": written}
		if written == "" {
			b.objects.Gangs[name].Annotations = nil
		}
	}
}

// gangs makes the wanted PodGangs.
func (b *surgeBench) gangs() {
	for copyIndex := range rollout.GangCopies(b.objects.Set, b.group) - 1 {
		if name := fmt.Sprintf("s-0-g-%d", copyIndex); b.objects.Gangs[name] == nil {
			b.objects.Gangs[name] = &schedulerv1alpha1.PodGang{ObjectMeta: metav1.ObjectMeta{Name: name}}
		}
	}
}

// is compares how many copies are wanted, and how many have a PodGang.
func (b *surgeBench) is(what string, copies, gangs int32) {
	b.Helper()
	if got, of := rollout.Copies(b.objects.Set, b.group), rollout.GangCopies(b.objects.Set, b.group); got != copies ||
		of != gangs {
		b.Errorf("%s: there are to be %d copies and PodGangs for %d, want %d and %d", what, got, of, copies, gangs)
	}
}

func (b *surgeBench) groupsAsked(gang string) string {
	b.Helper()
	var words []string
	for _, group := range b.asked(gang).Groups {
		gpus := group.Template.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"]
		words = append(words,
			fmt.Sprintf("%s %s %v+%d of %s", group.PodGroup, group.SubGroup, group.Pods, group.Added, gpus.String()))
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

func TestCopiesComeWhenTheSchedulerSaysThatTheyHaveRoom(t *testing.T) {
	b := newSurgeBench(t)
	b.is("at first", 2, 2)
	b.want("there are no PodGangs", b.decide(), "", 0)
	b.is("to be asked about", 2, 4)
	b.gangs()
	asking := b.decide()
	b.want("nobody was asked", asking, "", 1)
	if want := b.now.Add(time.Minute); !asking.Recheck.Equal(want) || asking.Held {
		t.Errorf("it looks again at %s, want %s; held: %t", asking.Recheck, want, asking.Held)
	}
	want :=
		"s-0 s-0-g-0-b [p0]+0 of 2, s-0-g-0 s-0-g-1-b [p1]+0 of 2, s-0-g-1 s-0-g-2-b []+2 of 2, s-0-g-2 s-0-g-3-b []+2 of 2"
	if got := b.groupsAsked("s-0-g-1"); got != want {
		t.Errorf("it asks about %s, want %s", got, want)
	}
	b.is("while nobody answers", 2, 4)
	b.answer("s-0-g-1", metav1.ConditionTrue)
	b.want("the answer is yes", b.decide(), "", 0)
	b.is("proved", 4, 4)
	if b.objects.Gangs["s-0-g-1"].Annotations == nil {
		t.Error("the question is gone before the copies are there, so that another may be given their room")
	}
	b.make(2)
	b.make(3)
	b.write(rollout.Decision{Progress: b.progress})
	if b.objects.Gangs["s-0-g-1"].Annotations != nil {
		t.Error("what is there is asked about")
	}
}

func TestFewerCopiesComeWhereAllHaveNoRoom(t *testing.T) {
	b := newSurgeBench(t)
	b.decide()
	b.gangs()
	b.decide()
	b.answer("s-0-g-1", metav1.ConditionFalse)
	b.want("no room for two", b.decide(), "", 0)
	b.is("to be asked about", 2, 3)
	b.want("one", b.decide(), "", 1)
	if want := "s-0 s-0-g-0-b [p0]+0 of 2, s-0-g-1 s-0-g-2-b []+2 of 2"; b.groupsAsked("s-0-g-1") != want {
		t.Errorf("it asks about %s, want %s", b.groupsAsked("s-0-g-1"), want)
	}
	b.answer("s-0-g-1", metav1.ConditionTrue)
	b.want("room for one", b.decide(), "", 0)
	b.is("proved", 3, 3)
}

func TestWithoutRoomForCopies(t *testing.T) {
	const why = "without a further copy of PodCliqueScalingGroup s-0-g: "
	refused := func(b *surgeBench) {
		b.decide()
		b.gangs()
		b.decide()
		b.answer("s-0-g-1", metav1.ConditionFalse)
		b.decide()
		b.decide()
		b.answer("s-0-g-1", metav1.ConditionFalse)
	}
	for name, c := range map[string]struct {
		prepare func(b *surgeBench)
		why     string
	}{
		"the answer is no": {prepare: refused, why: "no rack has room"},
		"nobody knows": {prepare: func(b *surgeBench) {
			b.decide()
			b.gangs()
			b.decide()
			b.answer("s-0-g-1", metav1.ConditionUnknown)
		}, why: "no rack has room"},
		"nobody answers": {prepare: func(b *surgeBench) {
			b.decide()
			b.gangs()
			b.decide()
			b.now = b.now.Add(time.Minute)
		}, why: "nobody has answered for 1m0s"},
		"nobody but the operator says where pods are": {prepare: func(b *surgeBench) {
			b.objects.Gangs["s-0"].Status.Conditions = []metav1.Condition{
				{Type: "Scheduled", Status: "True", Reason: "MinimaOnNodes"},
			}
		}, why: "no scheduler says whether it has room"},
		"there is no PodGang": {prepare: func(b *surgeBench) { b.objects.Gangs = nil },
			why: "no scheduler says whether it has room"},
		"another scheduler": {prepare: func(b *surgeBench) {
			b.objects.Set.Spec.Template.Cliques[1].Spec.PodSpec.SchedulerName = "volcano"
		}, why: "scheduler volcano does not say whether it has room"},
		"it would belong to the base gang": {prepare: func(b *surgeBench) {
			b.objects.Set.Spec.Template.PodCliqueScalingGroups[0].MinAvailable = ptr.To[int32](3)
		}, why: "a group gets none below its minAvailable, nor beyond the most copies that it may have"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSurgeBench(t)
			c.prepare(b)
			b.required = true
			held := b.decide()
			if held.Delete != nil || !held.Held || held.Why != c.why ||
				held.Waiting != "PodCliqueScalingGroup s-0-g waits for a further copy, as its maxUnavailable is 0" {
				t.Errorf("where no copy may be away: %+v", held)
			}
			b.required = false
			if decision := b.decide(); decision.Without != why+c.why || decision.Held {
				t.Errorf("it goes on %q, held: %t", decision.Without, decision.Held)
			}
			b.is("refused", 2, rollout.GangCopies(b.objects.Set, b.group))
		})
	}
	b := newSurgeBench(t)
	refused(b)
	b.want("the step is asked about by itself", b.decide(), "", 1)
	b.answer("s-0", metav1.ConditionTrue)
	b.want("and taken", b.decide(), "p0", 0)
	waiting := b.objects.Prove(rollout.Decision{Progress: b.progress, Waiting: "copy 0 is being updated"}, b.now)
	if waiting.Without != why+"no rack has room" {
		t.Errorf("while the step is under way it says: %q", waiting.Without)
	}
	b.answer("s-0-g-1", metav1.ConditionTrue)
	b.want("there is room after all", b.decide(), "", 0)
	b.is("proved at last", 3, 3)
}

func TestAnAnswerToAnotherQuestionIsNone(t *testing.T) {
	b := newSurgeBench(t)
	b.decide()
	b.gangs()
	b.decide()
	b.answer("s-0-g-1", metav1.ConditionTrue)
	b.objects.Set.Spec.Template.Cliques[1].Spec.PodSpec.NodeSelector = map[string]string{"gpu": "h100"}
	b.want("the template has changed since", b.decide(), "", 1)
	b.is("not proved", 2, 4)
	b.objects.Set.Spec.Template.Cliques[1].Spec.PodSpec.NodeSelector = nil
	b.want("and back, while the other is asked", b.decide(), "", 1)
	b.is("not proved", 2, 4)
}

func TestCopiesBeyondReplicasFollowTheScale(t *testing.T) {
	b := newSurgeBench(t)
	config := &b.objects.Set.Spec.Template.PodCliqueScalingGroups[0]
	b.progress.CurrentlyUpdating[0].Surge = []grovev1alpha1.PodCliqueScalingGroupSurge{
		{Name: "g", Copies: 4, Proved: true},
	}
	for _, c := range []struct {
		what                                  string
		replicas, surge, minAvailable, copies int32
		recorded                              int32
	}{
		{"as it was", 2, 2, 1, 4, 4},
		{"one of them is an ordinary one now", 3, 2, 1, 4, 4},
		{"all are", 4, 2, 1, 4, 0},
		{"more are wanted", 7, 2, 1, 7, 0},
		{"fewer are wanted", 1, 2, 1, 3, 3},
		{"fewer may be beyond", 2, 1, 1, 3, 3},
		{"none may be beyond", 2, 0, 1, 2, 0},
		{"what is beyond would be of the base gang", 2, 2, 3, 2, 0},
		{"none is wanted", 0, 2, 1, 0, 0},
		{"the last may be", layout.MaxReplicas, 2, 1, layout.MaxReplicas, 0},
	} {
		b.group.Spec.Replicas, config.MaxSurge, config.MinAvailable = c.replicas, &c.surge, &c.minAvailable
		b.is(c.what, c.copies, c.copies)
		progress := b.progress.DeepCopy()
		b.objects.Prove(rollout.Decision{Progress: progress}, b.now)
		recorded := int32(0)
		for _, surge := range progress.CurrentlyUpdating[0].Surge {
			recorded = surge.Copies
		}
		if recorded != c.recorded {
			t.Errorf("%s: %d copies are recorded from now on, want %d", c.what, recorded, c.recorded)
		}
	}
	b.group.Spec.Replicas, config.MaxSurge, config.MinAvailable = 2, ptr.To[int32](2), ptr.To[int32](1)
	b.progress.CurrentlyUpdating[0].UpdateEndedAt = &metav1.Time{Time: b.now}
	b.is("the turn is over", 2, 2)
	b.objects.Set.Status.UpdateProgress = nil
	b.is("there is no update", 2, 2)
	if copies := rollout.Copies(nil, b.group); copies != 2 {
		t.Errorf("of a set that is gone there are to be %d copies", copies)
	}
}
