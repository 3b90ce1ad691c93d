package rollout_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/podtemplate"
	"packtree.dev/grove-operator/internal/rollout"
	"packtree.dev/grove-operator/internal/status"
)

// TestRollouts simulates whole updates, with all other actions in any order, and checks every deletion of the operator.
// The operator's passes are those of the controllers, without their clients.
func TestRollouts(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(outer, t)
		w.remember()
		w.settle()
		w.edit(t)
		t.Repeat(map[string]func(*rapid.T){
			"the set's controller":               w.setPass,
			"a group's controller":               func(t *rapid.T) { w.groupPass(pick(t, w.groups)) },
			"a PodClique's controller":           func(t *rapid.T) { w.podCliquePass(pick(t, w.podCliques)) },
			"a PodClique's controller, 2":        func(t *rapid.T) { w.podCliquePass(pick(t, w.podCliques)) },
			"the scheduler":                      w.schedule,
			"the kubelet starts a pod":           func(t *rapid.T) { w.report(pick(t, w.pods), true) },
			"the kubelet starts another":         func(t *rapid.T) { w.report(pick(t, w.pods), true) },
			"the kubelet ends a pod":             func(t *rapid.T) { w.vanish(pick(t, w.pods)) },
			"a pod becomes unready":              func(t *rapid.T) { w.report(pick(t, w.pods), false) },
			"a user deletes a pod":               func(t *rapid.T) { w.leave(pick(t, w.pods)) },
			"the user edits":                     w.edit,
			"the user chooses another strategy":  w.switchStrategy,
			"the user chooses how images change": w.switchImageUpdate,
			"the user scales a PodClique":        w.scalePodClique,
			"the user scales a group":            w.scaleGroup,
			"the user scales the set": func(t *rapid.T) {
				w.set.Spec.Replicas = rapid.Int32Range(0, 3).Draw(t, "replicas")
			},
			"the user chooses how many copies come": w.switchSurge,
			"room comes and goes": func(t *rapid.T) {
				w.room = rapid.IntRange(0,
					30).Draw(t, "room")
			},
			"a quota comes and goes": func(t *rapid.T) {
				w.quota = rapid.IntRange(0,
					20).Draw(t, "quota")
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

func (w *world) checkConverged() {
	for _, pod := range w.pods {
		if w.old(pod) || !pods.Ready(pod) {
			w.t.Fatalf("pod %s of %s is old (%v) or not ready:\n%s", pod.Name, pod.Labels[grovev1alpha1.LabelPodClique],
				w.old(pod), w)
		}
	}
	progress := w.set.Status.UpdateProgress
	if progress != nil && (progress.UpdateEndedAt == nil || len(progress.CurrentlyUpdating) > 0 ||
		progress.UpdatedPodCliquesCount != progress.TotalPodCliquesCount) {
		w.t.Fatalf("the update has not ended: %+v", progress)
	}
	for _, podClique := range w.podCliques {
		if progress := podClique.Status.UpdateProgress; progress != nil && progress.UpdateEndedAt == nil {
			w.t.Fatalf("the update of %s has not ended: %+v", podClique.Name, progress)
		}
	}
	for _, group := range w.groups {
		if progress := group.Status.UpdateProgress; progress != nil && progress.UpdateEndedAt == nil {
			w.t.Fatalf("the update of %s has not ended: %+v", group.Name, progress)
		}
	}
	w.checkNothingAdded()
	if w.set.Status.UpdatedReplicas != w.set.Spec.Replicas {
		w.t.Fatalf("%d of %d replicas are updated", w.set.Status.UpdatedReplicas, w.set.Spec.Replicas)
	}
}

// checkDecision checks what the operator is about to delete, before it does.
func (w *world) checkDecision(decision rollout.Decision) {
	touched := slices.Clone(decision.Delete)
	for _, update := range decision.Images {
		touched = append(touched, update.Pod)
	}
	if len(touched) == 0 {
		return
	}
	if len(decision.Images) > 0 && !w.inPlace() {
		w.t.Fatalf("%d pods are updated in place, which the user has not asked for", len(decision.Images))
	}
	for _, pod := range decision.Delete {
		w.checkDeleted(pod)
	}
	turns := map[int32]bool{}
	for _, turn := range w.set.Status.UpdateProgress.CurrentlyUpdating {
		turns[turn.ReplicaIndex] = true
	}
	if rollout.StrategyOf(w.set) == grovev1alpha1.OnDelete ||
		len(turns) > int(*w.set.Spec.UpdateStrategy.MaxUnavailable) {
		w.t.Fatalf("pods are replaced, and the turns are %v", turns)
	}
	for _, name := range w.notBack() {
		if replica, _ := layout.ReplicaOf(w.podCliques[name]); !turns[replica] {
			w.t.Fatalf("pods of replicas %v are replaced while pods of %s are not back", turns, name)
		}
	}
	units := map[int32]map[string]bool{}
	for _, pod := range touched {
		podClique := w.podCliques[pod.Labels[grovev1alpha1.LabelPodClique]]
		replica, _ := layout.ReplicaOf(pod)
		if !turns[replica] || !w.old(pod) {
			w.t.Fatalf("pod %s of replica %d, old: %v, is replaced", pod.Name, replica, w.old(pod))
		}
		member, _ := layout.Find(w.set, podClique)
		if podClique.Labels[grovev1alpha1.LabelPodTemplateHash] != podtemplate.HashOfClique(w.set, member.Clique) {
			w.t.Fatalf("pod %s is replaced before its PodClique has the new template", pod.Name)
		}
		if unit := w.serving(pod, podClique); unit != "" {
			if units[replica] == nil {
				units[replica] = map[string]bool{}
			}
			units[replica][unit] = true
		}
	}
	for replica, serving := range units {
		w.checkServing(serving, replica)
	}
}

// serving names the ready pod, or the available copy of a group, that a deletion makes unavailable; empty if there is
// none.
func (w *world) serving(pod *corev1.Pod, podClique *grovev1alpha1.PodClique) string {
	copyIndex, inGroup := layout.CopyOf(podClique)
	switch {
	case !pods.Ready(pod):
		return ""
	case !inGroup:
		return pod.Name
	}
	group := w.groups[podClique.Labels[grovev1alpha1.LabelPodCliqueScalingGroup]]
	if w.copyAvailable(group, copyIndex) {
		return unitName(group, copyIndex)
	}
	return ""
}

func unitName(group *grovev1alpha1.PodCliqueScalingGroup, copyIndex int32) string {
	return fmt.Sprintf("%s/%d", group.Name, copyIndex)
}

func (w *world) copyAvailable(group *grovev1alpha1.PodCliqueScalingGroup, copyIndex int32) bool {
	replica, _ := layout.ReplicaOf(group)
	for _, member := range layout.Copy(w.set, replica, &w.set.Spec.Template.PodCliqueScalingGroups[0], copyIndex) {
		podClique := w.podCliques[member.Name]
		if podClique == nil || w.ready(member.Name) < int(status.Minimum(podClique)) {
			return false
		}
	}
	return true
}

func (w *world) ready(podClique string) int {
	return len(w.podsThat(func(pod *corev1.Pod) bool {
		return pod.Labels[grovev1alpha1.LabelPodClique] == podClique && pods.Active(pod) && pods.Ready(pod)
	}))
}

// notBack are the PodCliques that once had their minimum, and lack ready pods that the operator deleted.
func (w *world) notBack() []string {
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(w.replaced)) {
		podClique := w.podCliques[name]
		if len(w.replaced[name]) > 0 && w.wanted(podClique) && podClique.Status.ReachedMinAvailable &&
			w.ready(name) < int(podClique.Spec.Replicas) && (!w.lacksRoom(podClique) || !w.madeUpFor(podClique)) {
			missing = append(missing, name)
		}
	}
	return missing
}

// lacksRoom reports whether a PodClique has its minimum, and all that it lacks was refused by the scheduler or a quota.
func (w *world) lacksRoom(podClique *grovev1alpha1.PodClique) bool {
	existing := 0
	for _, pod := range w.podsWith(podClique.Name) {
		switch {
		case !pods.Active(pod):
			continue
		case !pods.Ready(pod) && (pod.Spec.NodeName != "" || len(pod.Status.Conditions) == 0):
			return false
		}
		existing++
	}
	return w.ready(podClique.Name) >= int(status.Minimum(podClique)) &&
		(existing == int(podClique.Spec.Replicas) || len(podClique.Status.LastErrors) > 0)
}

// madeUpFor reports whether a PodClique has no old pods left, or behind the first of them as many ready new ones as
// serving ones were replaced and are not back.
func (w *world) madeUpFor(podClique *grovev1alpha1.PodClique) bool {
	active := w.podsThat(func(pod *corev1.Pod) bool {
		return pod.Labels[grovev1alpha1.LabelPodClique] == podClique.Name && pods.Active(pod)
	})
	slices.SortFunc(active, func(a, b *corev1.Pod) int { return cmp.Compare(indexOf(a), indexOf(b)) })
	first := slices.IndexFunc(active, w.old)
	if first < 0 {
		return true
	}
	away, came := 0, 0
	for _, wasReady := range w.replaced[podClique.Name] {
		if wasReady {
			away++
		}
	}
	for _, pod := range active[first:] {
		if !w.old(pod) && pods.Ready(pod) {
			came++
		}
	}
	return away <= came
}

func indexOf(pod *corev1.Pod) int32 {
	index, _ := layout.PodIndexOf(pod)
	return index
}

// wanted reports whether a PodClique was not scaled in.
func (w *world) wanted(podClique *grovev1alpha1.PodClique) bool {
	if podClique == nil {
		return false
	}
	replica, _ := layout.ReplicaOf(podClique)
	copyIndex, inGroup := layout.CopyOf(podClique)
	group := w.groups[podClique.Labels[grovev1alpha1.LabelPodCliqueScalingGroup]]
	return replica < w.set.Spec.Replicas && (!inGroup || group != nil && copyIndex < group.Spec.Replicas)
}

// checkServing: in a replica one ready pod goes at a time, or so many copies of a group as may be unavailable, when
// nothing else is on its way back, and minima are kept if there is any spare.
func (w *world) checkServing(units map[string]bool, replica int32) {
	away := maps.Clone(units)
	for _, name := range w.notBack() {
		_, inGroup := layout.CopyOf(w.podCliques[name])
		if of, _ := layout.ReplicaOf(w.podCliques[name]); of == replica && !inGroup {
			w.t.Fatalf("%v is replaced while pods of %v are not back", units, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.podCliques)) {
		podClique := w.podCliques[name]
		copyIndex, inGroup := layout.CopyOf(podClique)
		of, _ := layout.ReplicaOf(podClique)
		if inGroup && of == replica && w.wanted(podClique) && w.stoodOnce(podClique, copyIndex) &&
			w.ready(name) < int(podClique.Spec.Replicas) && !w.lacksRoom(podClique) {
			away[fmt.Sprintf("%s/%d", podClique.Labels[grovev1alpha1.LabelPodCliqueScalingGroup], copyIndex)] = true
		}
	}
	group := w.groups[layout.ScalingGroup(w.set.Name, replica, "g")]
	if most := w.mostAway(units, group); len(away) > most {
		w.t.Fatalf("%v are replaced, with which %v are away, at most %d may be", slices.Sorted(maps.Keys(units)),
			slices.Sorted(maps.Keys(away)), most)
	}
	for _, member := range layout.Standalone(w.set, replica) {
		w.checkMinimum(member.Name, units)
	}
	available := 0
	for copyIndex := range rollout.Copies(w.set, group) {
		if w.copyAvailable(group, copyIndex) && !units[fmt.Sprintf("%s/%d", group.Name, copyIndex)] {
			available++
		}
	}
	if least := min(status.GroupMinimum(group), group.Spec.Replicas-1-w.neverStood(group)); available < int(least) {
		w.t.Fatalf("%s is left with %d copies, %d are needed", group.Name, available, least)
	}
	w.checkSurge(group, units, available)
}

// mostAway is how many copies of the group may be unavailable, or 1 for a pod of another clique. With maxSurge it is the
// number of available copies beyond replicas.
func (w *world) mostAway(units map[string]bool, group *grovev1alpha1.PodCliqueScalingGroup) int {
	for unit := range units {
		if !strings.Contains(unit, "/") {
			return 1
		}
	}
	if *w.config().MaxSurge > 0 {
		return len(w.further(group))
	}
	return max(1, int(*w.set.Spec.Template.PodCliqueScalingGroups[0].MaxUnavailable))
}

func (w *world) checkMinimum(name string, units map[string]bool) {
	podClique := w.podCliques[name]
	left := w.ready(name)
	for _, pod := range w.podsWith(name) {
		if units[pod.Name] {
			left--
		}
	}
	most := int(podClique.Spec.Replicas)
	if w.lacksRoom(podClique) {
		most = w.ready(name)
	}
	if least := min(int(status.Minimum(podClique)), most-1); podClique.Status.ReachedMinAvailable &&
		left < least {
		w.t.Fatalf("%s is left with %d ready pods, %d are needed", name, left, least)
	}
}

// stoodOnce reports whether all PodCliques of a copy once had their minimum.
func (w *world) stoodOnce(podClique *grovev1alpha1.PodClique, copyIndex int32) bool {
	replica, _ := layout.ReplicaOf(podClique)
	members := layout.Copy(w.set, replica, &w.set.Spec.Template.PodCliqueScalingGroups[0], copyIndex)
	return !slices.ContainsFunc(members, func(member layout.Member) bool {
		other := w.podCliques[member.Name]
		return other == nil || !other.Status.ReachedMinAvailable
	})
}

// neverStood counts the copies that wait for room that they never had.
func (w *world) neverStood(group *grovev1alpha1.PodCliqueScalingGroup) int32 {
	replica, _ := layout.ReplicaOf(group)
	var count int32
	for copyIndex := range group.Spec.Replicas {
		members := layout.Copy(w.set, replica, &w.set.Spec.Template.PodCliqueScalingGroups[0], copyIndex)
		if slices.ContainsFunc(members, func(member layout.Member) bool {
			podClique := w.podCliques[member.Name]
			return podClique != nil && !podClique.Status.ReachedMinAvailable
		}) {
			count++
		}
	}
	return count
}
