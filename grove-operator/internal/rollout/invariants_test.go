package rollout_test

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/podtemplate"
	"packtree.dev/grove-operator/internal/rollout"
)

// look is the user's view of a pod's template, without any hash.
type look struct {
	image, label, annotation, priorityClass string
}

const seen = "example.com/edit"

func lookOfPod(pod *corev1.Pod) look {
	return look{pod.Spec.Containers[0].Image, pod.Labels[seen], pod.Annotations[seen], pod.Spec.PriorityClassName}
}

func (w *world) lookOfClique(clique *grovev1alpha1.PodCliqueTemplateSpec) look {
	return look{clique.Spec.PodSpec.Containers[0].Image, clique.Labels[seen], clique.Annotations[seen],
		w.set.Spec.Template.PriorityClassName}
}

// history has the templates that existed, and those from which a replica that an update has not reached makes its pods.
type history struct {
	// written are the templates of each clique that the user wrote.
	written map[string]map[look]bool
	// allowed are the templates that each PodClique may have: the one of its last pod, and each that the set had at a
	// time when the update had reached the PodClique's replica.
	allowed map[string]map[look]bool
	// made are the hashes of the templates that each PodClique's pods were ever made from.
	made map[string]map[string]bool
}

// remember records what the user has written.
func (w *world) remember() {
	if w.history.written == nil {
		w.history = history{written: map[string]map[look]bool{}, allowed: map[string]map[look]bool{},
			made: map[string]map[string]bool{}}
	}
	for i := range w.set.Spec.Template.Cliques {
		clique := &w.set.Spec.Template.Cliques[i]
		if w.history.written[clique.Name] == nil {
			w.history.written[clique.Name] = map[look]bool{}
		}
		w.history.written[clique.Name][w.lookOfClique(clique)] = true
	}
	w.reach()
}

// reach records which replicas the update has reached: the one with a turn, or all of them if the user replaces pods.
func (w *world) reach() {
	reached := map[int32]bool{}
	if progress := w.set.Status.UpdateProgress; progress != nil {
		for _, turn := range progress.CurrentlyUpdating {
			reached[turn.ReplicaIndex] = true
		}
	}
	for name, allowed := range w.history.allowed {
		podClique := w.podCliques[name]
		if member, ok := layout.Find(w.set, podClique); ok &&
			(reached[member.Replica] || rollout.StrategyOf(w.set) == grovev1alpha1.OnDelete) {
			allowed[w.lookOfClique(member.Clique)] = true
		}
	}
}

// checkMade checks a pod that the operator is about to create: it has one template that the user wrote, and its
// PodClique's earlier one as long as the update has not reached its replica. With OnDelete it has the set's.
func (w *world) checkMade(pod *corev1.Pod, member layout.Member) {
	if rollout.StrategyOf(w.set) == grovev1alpha1.OnDelete && w.old(pod) {
		w.t.Fatalf("pod %s is made of a template that was changed before", pod.Name)
	}
	made, podClique := lookOfPod(pod), pod.Labels[grovev1alpha1.LabelPodClique]
	if !w.history.written[member.Clique.Name][made] {
		w.t.Fatalf("a pod of %s is %v, which nobody ever wrote", podClique, made)
	}
	if allowed := w.history.allowed[podClique]; allowed != nil && !allowed[made] {
		w.t.Fatalf("a pod of %s is %v, though the update has not come to it, which had %v", podClique, made, allowed)
	}
	w.history.allowed[podClique] = map[look]bool{made: true}
	w.reach()
	if w.history.made[podClique] == nil {
		w.history.made[podClique] = map[string]bool{}
	}
	w.history.made[podClique][pod.Labels[grovev1alpha1.LabelPodTemplateHash]] = true
}

// checkUpdatedInPlace checks that a pod with changed images is as if it were made from the set's template.
func (w *world) checkUpdatedInPlace(pod *corev1.Pod) {
	member, _ := layout.Find(w.set, w.podCliques[pod.Labels[grovev1alpha1.LabelPodClique]])
	if is, want := lookOfPod(pod), w.lookOfClique(member.Clique); is != want || w.old(pod) {
		w.t.Fatalf("pod %s is %v after its images were updated, and the template is %v", pod.Name, is, want)
	}
	w.checkMade(pod, member)
}

// checkDeleted checks a pod that is about to be replaced: another image would not have been enough, or the user did not
// ask for that.
func (w *world) checkDeleted(pod *corev1.Pod) {
	member, _ := layout.Find(w.set, w.podCliques[pod.Labels[grovev1alpha1.LabelPodClique]])
	is, want := lookOfPod(pod), w.lookOfClique(member.Clique)
	is.image = want.image
	if is == want && w.inPlace() {
		w.t.Fatalf("pod %s is replaced although it differs from its template in its image alone", pod.Name)
	}
}

func (w *world) inPlace() bool {
	return w.set.Annotations[grovev1alpha1.AnnotationImageUpdate] == grovev1alpha1.ImageUpdateInPlace
}

// checkUpdated: an update leads away from a template, so there was a pod of another template than its new one.
func (w *world) checkUpdated(podClique *grovev1alpha1.PodClique) {
	progress, made := podClique.Status.UpdateProgress, w.history.made[podClique.Name]
	if progress == nil {
		return
	}
	for hash := range made {
		if hash != progress.PodTemplateHash {
			return
		}
	}
	w.t.Fatalf("%s reports an update to %s, and its pods were only ever made from %v:\n%s", podClique.Name,
		progress.PodTemplateHash,
		slices.Sorted(maps.Keys(made)), w)
}

// checkCounts compares the counts of a PodClique's status with its pods.
func (w *world) checkCounts(podClique *grovev1alpha1.PodClique, member layout.Member) {
	type counts struct{ replicas, ready, updated, gated, scheduled int32 }
	var want counts
	for _, pod := range w.pods {
		if pod.Labels[grovev1alpha1.LabelPodClique] != podClique.Name || pod.DeletionTimestamp != nil {
			continue
		}
		want.replicas++
		if len(pod.Status.Conditions) > 0 && pod.Status.Conditions[0].Status == corev1.ConditionTrue &&
			startedOf(pod) == containerOf(pod) {
			want.ready++
		}
		if lookOfPod(pod) == w.lookOfClique(member.Clique) {
			want.updated++
		}
		if pod.Spec.SchedulingGates != nil {
			want.gated++
		}
		if pod.Spec.NodeName != "" {
			want.scheduled++
		}
	}
	status := podClique.Status
	got := counts{status.Replicas, status.ReadyReplicas, status.UpdatedReplicas, status.ScheduleGatedReplicas,
		status.ScheduledReplicas}
	if got != want {
		w.t.Fatalf("%s counts %+v and has %+v:\n%s", podClique.Name, got, want, w)
	}
}

// checkGroupCounts compares the counts of a group's status with those of its PodCliques.
func (w *world) checkGroupCounts(group *grovev1alpha1.PodCliqueScalingGroup, replica int32) {
	var available, scheduled int32
	config := &w.set.Spec.Template.PodCliqueScalingGroups[0]
	for copyIndex := range rollout.Copies(w.set, group) {
		ready, placed := true, true
		for _, member := range layout.Copy(w.set, replica, config, copyIndex) {
			podClique := w.podCliques[member.Name]
			needed := min(*podClique.Spec.MinAvailable, podClique.Spec.Replicas)
			ready = ready && podClique.Status.ReadyReplicas >= needed
			placed = placed && podClique.Status.ScheduledReplicas >= needed
		}
		if ready {
			available++
		}
		if placed {
			scheduled++
		}
	}
	status := group.Status
	if status.Replicas != group.Spec.Replicas || status.AvailableReplicas != available ||
		status.ScheduledReplicas != scheduled {
		w.t.Fatalf("%s counts %d copies, %d available and %d scheduled; it has %d, %d and %d:\n%s", group.Name,
			status.Replicas, status.AvailableReplicas, status.ScheduledReplicas, group.Spec.Replicas,
			available, scheduled, w)
	}
	if group.Annotations[grovev1alpha1.AnnotationGenerationHash] != podtemplate.HashOfSet(w.set) {
		return // The set's controller has not reported the edit to the group yet.
	}
	if updated := w.updatedCopies(group, replica); status.UpdatedReplicas > updated {
		w.t.Fatalf("%s counts %d updated copies and has %d:\n%s", group.Name, status.UpdatedReplicas, updated, w)
	}
}

func (w *world) updatedCopies(group *grovev1alpha1.PodCliqueScalingGroup, replica int32) int32 {
	var updated int32
	for copyIndex := range group.Spec.Replicas {
		if w.allNew(layout.Copy(w.set, replica, &w.set.Spec.Template.PodCliqueScalingGroups[0], copyIndex)) {
			updated++
		}
	}
	return updated
}

// allNew reports whether no pod of these members has another template than the set.
func (w *world) allNew(members []layout.Member) bool {
	return !slices.ContainsFunc(members, func(member layout.Member) bool {
		return slices.ContainsFunc(w.podsWith(member.Name), func(pod *corev1.Pod) bool {
			return pod.DeletionTimestamp == nil && lookOfPod(pod) != w.lookOfClique(member.Clique)
		})
	})
}

// checkSetCounts checks that the set's status does not count more than exists, just after it was written.
func (w *world) checkSetCounts() {
	var updated int32
	for replica := range w.set.Spec.Replicas {
		group := w.groupOf(replica)
		if w.allNew(layout.Standalone(w.set, replica)) && w.updatedCopies(group, replica) == group.Spec.Replicas {
			updated++
		}
	}
	status := w.set.Status
	if status.UpdatedReplicas > updated {
		w.t.Fatalf("the set counts %d updated replicas and has %d:\n%s", status.UpdatedReplicas, updated, w)
	}
	least, most := w.availableReplicas()
	if status.Replicas != w.set.Spec.Replicas || status.AvailableReplicas < least || status.AvailableReplicas > most {
		w.t.Fatalf("the set counts %d replicas and %d available; it has %d, and %d to %d:\n%s",
			status.Replicas, status.AvailableReplicas, w.set.Spec.Replicas, least, most, w)
	}
	if progress := status.UpdateProgress; progress != nil {
		w.checkProgress(progress)
	}
}

// checkProgress: an update counts everything, and has not ended while old pods are left.
func (w *world) checkProgress(progress *grovev1alpha1.PodCliqueSetUpdateProgress) {
	replicas := w.set.Spec.Replicas
	if progress.TotalPodCliquesCount != replicas || progress.TotalPodCliqueScalingGroupsCount != replicas ||
		progress.UpdatedPodCliquesCount > replicas || progress.UpdatedPodCliqueScalingGroupsCount > replicas {
		w.t.Fatalf("a set of %d replicas with a PodClique and a group each counts %+v", replicas, progress)
	}
	if progress.UpdateEndedAt == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(w.podCliques)) {
		podClique := w.podCliques[name]
		if member, ok := layout.Find(w.set, podClique); ok && w.wanted(podClique) &&
			!w.allNew([]layout.Member{member}) {
			w.t.Fatalf("the update has ended, and %s has old pods:\n%s", name, w)
		}
	}
}

// availableReplicas counts the replicas that have the minima of their PodClique and group, by the statuses. If a
// group has just been scaled in, it is not known yet whether the rest has its minimum.
func (w *world) availableReplicas() (least, most int32) {
	for replica := range w.set.Spec.Replicas {
		alone := w.podCliques[layout.Standalone(w.set, replica)[0].Name]
		group := w.groupOf(replica)
		if alone.Status.ReadyReplicas < min(*alone.Spec.MinAvailable, alone.Spec.Replicas) ||
			group.Status.AvailableReplicas < min(*group.Spec.MinAvailable, group.Spec.Replicas) {
			continue
		}
		most++
		if group.Status.Replicas <= group.Spec.Replicas {
			least++
		}
	}
	return least, most
}

func (w *world) groupOf(replica int32) *grovev1alpha1.PodCliqueScalingGroup {
	return w.groups[layout.ScalingGroup(w.set.Name, replica, "g")]
}
