package rollout_test

import (
	"slices"
	"testing"

	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/rollout"
)

// TestSurges simulates updates in which copies are added beyond replicas, with all actors running most of the time.
func TestSurges(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(outer, t)
		w.set.Spec.UpdateStrategy.Type = grovev1alpha1.RollingRecreate
		surge := rapid.Int32Range(1, 2).Draw(t, "further copies")
		w.config().MaxSurge, w.config().MaxUnavailable = ptr.To(surge),
			ptr.To(rapid.Int32Range(0, 2).Draw(t, "copies at a time"))
		w.remember()
		w.settle()
		w.edit(t)
		t.Repeat(map[string]func(*rapid.T){
			"a round": w.round, "a round 2": w.round, "a round 3": w.round, "a round 4": w.round, "a round 5": w.round,
			"a round 6":                             w.round,
			"the set's controller":                  w.setPass,
			"a group's controller":                  func(t *rapid.T) { w.groupPass(pick(t, w.groups)) },
			"a pod becomes unready":                 func(t *rapid.T) { w.report(pick(t, w.pods), false) },
			"the user edits":                        w.edit,
			"the user scales a group":               w.scaleGroup,
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

func (w *world) config() *grovev1alpha1.PodCliqueScalingGroupConfig {
	return &w.set.Spec.Template.PodCliqueScalingGroups[0]
}

func (w *world) switchSurge(t *rapid.T) {
	surge := rapid.Int32Range(0, 2).Draw(t, "further copies")
	w.config().MaxSurge = ptr.To(surge)
	w.config().MaxUnavailable = ptr.To(rapid.Int32Range(1-min(1, surge), 3).Draw(t, "copies at a time"))
}

// relent takes maxSurge back where a group can have no further copy.
func (w *world) relent() {
	for _, group := range w.groups {
		if group.Spec.Replicas < *group.Spec.MinAvailable {
			w.config().MaxSurge = ptr.To[int32](0)
			w.config().MaxUnavailable = ptr.To(max(1, *w.config().MaxUnavailable))
		}
	}
}

// further are the available copies of a group beyond replicas.
func (w *world) further(group *grovev1alpha1.PodCliqueScalingGroup) (further []int32) {
	for copyIndex := group.Spec.Replicas; copyIndex < rollout.Copies(w.set, group); copyIndex++ {
		if w.copyAvailable(group, copyIndex) {
			further = append(further, copyIndex)
		}
	}
	return further
}

// checkSurge: with maxSurge as many copies as replicas are available, except copies that are unavailable for another
// reason than the update; and one goes only while a further copy of the new template is available.
func (w *world) checkSurge(group *grovev1alpha1.PodCliqueScalingGroup, units map[string]bool, left int) {
	replica, _ := layout.ReplicaOf(group)
	if *w.config().MaxSurge == 0 ||
		!slices.ContainsFunc(w.copiesOf(group), func(unit string) bool { return units[unit] }) {
		return
	}
	regular := slices.ContainsFunc(w.copiesOf(group)[:group.Spec.Replicas],
		func(unit string) bool { return units[unit] })
	if regular && !slices.ContainsFunc(w.further(group), func(copyIndex int32) bool {
		return w.allNew(layout.Copy(w.set, replica, w.config(), copyIndex))
	}) {
		w.t.Fatalf("%v are replaced, and no further copy has the new template:\n%s", units, w)
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

// checkAdded: there are no more copies beyond replicas than allowed.
func (w *world) checkAdded() {
	if w.set.Status.UpdateProgress == nil {
		return
	}
	for _, turn := range w.set.Status.UpdateProgress.CurrentlyUpdating {
		for _, surge := range turn.Surge {
			group := w.groupOf(turn.ReplicaIndex)
			if surge.Copies <= group.Spec.Replicas || surge.Copies > group.Spec.Replicas+*w.config().MaxSurge {
				w.t.Fatalf("%s has %d copies, and is to have %d", group.Name, group.Spec.Replicas, surge.Copies)
			}
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
