package rollout_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/successors"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/rollout"
)

// TestSurges simulates updates in which copies are added beyond replicas, with all actors running most of the time.
func TestSurges(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(outer, t)
		w.known, w.set.Spec.UpdateStrategy.Type = true, grovev1alpha1.RollingRecreate
		surge := rapid.Int32Range(1, 2).Draw(t, "further copies")
		w.config().MaxSurge, w.config().MaxUnavailable = ptr.To(surge),
			ptr.To(rapid.Int32Range(0, 2).Draw(t, "copies at a time"))
		w.remember()
		w.settle()
		w.edit(t)
		round := func(t *rapid.T) {
			words := rapid.SampledFrom(w.words()).Draw(t, "answer")
			w.round(t, func() {})
			for _, name := range slices.Sorted(maps.Keys(w.gangs)) {
				if rapid.IntRange(0, 4).Draw(t, "answers") > 0 {
					w.answer(w.gangs[name], words)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"a round": round, "a round 2": round, "a round 3": round, "a round 4": round, "a round 5": round,
			"a round 6":                             round,
			"the PodGangs' controller":              w.gangPass,
			"the set's controller":                  w.setPass,
			"a group's controller":                  func(t *rapid.T) { w.groupPass(pick(t, w.groups)) },
			"the scheduler judges a gang":           w.judge,
			"a pod becomes unready":                 func(t *rapid.T) { w.report(pick(t, w.pods), false) },
			"a minute passes":                       func(*rapid.T) { w.now = w.now.Add(time.Minute) },
			"the user edits":                        w.edit,
			"the user scales a group":               w.scaleGroup,
			"the user chooses whether to wait":      w.switchWait,
			"the user chooses how many copies come": w.switchSurge,
			"room comes and goes": func(t *rapid.T) {
				w.room = rapid.IntRange(0,
					30).Draw(t, "room")
			},
			"the operator's next write is its last": func(t *rapid.T) {
				w.lifetime = rapid.IntRange(0,
					4).Draw(t, "writes")
			},
		})
		w.settle()
		w.checkConverged()
	})
}

// gangPass makes PodGangs for the copies that an update may add, before these have any pods, and deletes those that are
// not needed.
func (w *world) gangPass(*rapid.T) {
	if !w.known {
		return
	}
	wanted := sets.New[string]()
	for _, podClique := range w.podCliques {
		wanted.Insert(podClique.Labels[grovev1alpha1.LabelPodGang])
	}
	for replica := range w.set.Spec.Replicas {
		group := w.groupOf(replica)
		if group == nil {
			continue
		}
		for copyIndex := range rollout.GangCopies(w.set, group) {
			wanted.Insert(layout.Copy(w.set, replica, w.config(), copyIndex)[0].Gang)
		}
	}
	for name := range w.gangs {
		if !wanted.Has(name) {
			delete(w.gangs, name)
		}
	}
	for name := range wanted {
		w.gang(name)
	}
}

// gang is the PodGang of a name, created if it does not exist.
func (w *world) gang(name string) {
	if w.gangs[name] == nil {
		w.gangs[name] = &schedulerv1alpha1.PodGang{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid"}}
	}
}

func (w *world) config() *grovev1alpha1.PodCliqueScalingGroupConfig {
	return &w.set.Spec.Template.PodCliqueScalingGroups[0]
}

// judge makes the scheduler say whether a gang has its minimum on nodes.
func (w *world) judge(t *rapid.T) {
	gang := pick(t, w.gangs)
	if gang == nil {
		return
	}
	said := metav1.Condition{Type: schedulerv1alpha1.ConditionScheduled, Status: metav1.ConditionFalse,
		Reason: scheduling.ReasonInfeasible, Message: "no rack"}
	if rapid.Bool().Draw(t, "has room") {
		said.Status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&gang.Status.Conditions, said)
}

func (w *world) switchSurge(t *rapid.T) {
	surge := rapid.Int32Range(0, 2).Draw(t, "further copies")
	w.config().MaxSurge = ptr.To(surge)
	w.config().MaxUnavailable = ptr.To(rapid.Int32Range(1-min(1, surge), 3).Draw(t, "copies at a time"))
}

// relent sets the annotation by which copies may be taken away first if it cannot be proved that others have room.
func (w *world) relent() {
	for _, group := range w.groups {
		if w.edits > 0 && (!w.known || group.Spec.Replicas < *group.Spec.MinAvailable) {
			w.config().MaxUnavailable = ptr.To(max(1, *w.config().MaxUnavailable))
		}
	}
	for _, gang := range w.gangs {
		meta.RemoveStatusCondition(&gang.Status.Conditions, schedulerv1alpha1.ConditionScheduled)
	}
}

// further counts the copies of a group beyond replicas that are available.
func (w *world) further(group *grovev1alpha1.PodCliqueScalingGroup) (count int) {
	for copyIndex := group.Spec.Replicas; copyIndex < rollout.Copies(w.set, group); copyIndex++ {
		if w.copyAvailable(group, copyIndex) {
			count++
		}
	}
	return count
}

// checkStrict: if no copy may be unavailable, or there are copies beyond replicas, then as many copies as replicas are
// available, except those that are unavailable for another reason than the update.
func (w *world) checkStrict(group *grovev1alpha1.PodCliqueScalingGroup, units map[string]bool, left int) {
	replica, _ := layout.ReplicaOf(group)
	ofGroup := slices.ContainsFunc(w.copiesOf(group), func(unit string) bool { return units[unit] })
	strict := *w.config().MaxUnavailable == 0 &&
		w.set.Annotations[grovev1alpha1.AnnotationUpdateWithoutRoom] != grovev1alpha1.UpdateWithoutRoomReplace
	if !ofGroup || !strict && w.further(group) == 0 {
		return
	}
	for copyIndex := range group.Spec.Replicas {
		members := layout.Copy(w.set, replica, w.config(), copyIndex)
		replaced := slices.ContainsFunc(members,
			func(member layout.Member) bool { return len(w.replaced[member.Name]) > 0 })
		podClique := w.podCliques[members[0].Name]
		if !w.copyAvailable(group, copyIndex) && (!replaced || podClique == nil || !w.stoodOnce(podClique, copyIndex)) {
			left++ // It is unavailable for another reason.
		}
	}
	if left < int(group.Spec.Replicas) {
		w.t.Fatalf("%v are replaced, which leaves %s with %d copies of %d:\n%s", units, group.Name, left,
			group.Spec.Replicas, w)
	}
}

// copiesOf are the names of the copies of a group, as serving names them.
func (w *world) copiesOf(group *grovev1alpha1.PodCliqueScalingGroup) []string {
	var names []string
	for copyIndex := range rollout.Copies(w.set, group) {
		names = append(names, unitName(group, copyIndex))
	}
	return names
}

// checkAdded: copies beyond replicas are made only when the scheduler has just said that all of them have room, and are
// no more than allowed.
func (w *world) checkAdded(before *grovev1alpha1.PodCliqueSetUpdateProgress) {
	proved := map[int32]bool{}
	for _, turn := range turnsOf(before) {
		proved[turn.ReplicaIndex] = len(turn.Surge) > 0 && turn.Surge[0].Proved
	}
	for _, turn := range turnsOf(w.set.Status.UpdateProgress) {
		for _, surge := range turn.Surge {
			group := w.groupOf(turn.ReplicaIndex)
			if surge.Copies <= group.Spec.Replicas || surge.Copies > group.Spec.Replicas+*w.config().MaxSurge {
				w.t.Fatalf("%s has %d copies, and is to have %d", group.Name, group.Spec.Replicas, surge.Copies)
			}
			for copyIndex := group.Spec.Replicas; surge.Proved && !proved[turn.ReplicaIndex] &&
				copyIndex < surge.Copies; copyIndex++ {
				w.checkRoomFor(turn.ReplicaIndex, copyIndex)
			}
		}
	}
}

func turnsOf(progress *grovev1alpha1.PodCliqueSetUpdateProgress) []grovev1alpha1.PodCliqueSetReplicaUpdate {
	if progress == nil {
		return nil
	}
	return progress.CurrentlyUpdating
}

func (w *world) checkRoomFor(replica, copyIndex int32) {
	for _, member := range layout.Copy(w.set, replica, w.config(), copyIndex) {
		said := false
		for _, gang := range w.gangs {
			question, err := successors.Parse(gang.Annotations)
			if err != nil || question == nil {
				continue
			}
			answer := successors.AnswerIn(gang.Status.Conditions)
			said = said || answer.ID == question.ID && answer.Fits == metav1.ConditionTrue &&
				slices.ContainsFunc(question.Groups,
					func(group successors.Group) bool {
						return group.SubGroup == member.Name && group.PodGroup == member.Gang &&
							group.Added == member.Clique.Spec.Replicas &&
							group.Template.Labels[seen] == w.lookOfClique(member.Clique).label
					})
		}
		if !said {
			w.t.Fatalf("%s comes, and nobody has said that it has room:\n%s", member.Name, w)
		}
	}
}

// checkNothingAdded: after the update there are as many copies as users want.
func (w *world) checkNothingAdded() {
	for name, podClique := range w.podCliques {
		if !w.wanted(podClique) {
			w.t.Fatalf("the update is over, and %s is there:\n%s", name, w)
		}
	}
}
