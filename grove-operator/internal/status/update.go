package status

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
)

// Update is the part of a set's update that concerns one of its replicas.
type Update struct {
	// Turn is set while the operator replaces pods of this replica.
	Turn bool
	// OnDelete is set if the user replaces the pods.
	OnDelete bool
	// Templates are the hashes of the set's current template for the pods of a PodClique; nil if the PodClique's own
	// template is the current one.
	Templates []string
	// Copies is how many copies a scaling group has, with copies that the update adds beyond replicas; if less than
	// replicas, that number counts.
	Copies int32
	// Now is the time to record.
	Now time.Time
}

// current are the hashes of pods with the set's template.
func (u Update) current(podClique *grovev1alpha1.PodClique) []string {
	if u.Templates == nil {
		return []string{podClique.Labels[grovev1alpha1.LabelPodTemplateHash]}
	}
	return u.Templates
}

// own are the hashes of pods with the PodClique's template, which is the set's unless the update has not reached it
// yet.
func (u Update) own(podClique *grovev1alpha1.PodClique) []string {
	if u.reached(podClique) {
		return u.current(podClique)
	}
	return []string{podClique.Labels[grovev1alpha1.LabelPodTemplateHash]}
}

func (u Update) reached(podClique *grovev1alpha1.PodClique) bool {
	return slices.Contains(u.current(podClique), podClique.Labels[grovev1alpha1.LabelPodTemplateHash])
}

func hasTemplate(pod *corev1.Pod, hashes []string) bool {
	return slices.Contains(hashes, pod.Labels[grovev1alpha1.LabelPodTemplateHash])
}

// recordTemplate records which template all pods have, from the first pod on: otherwise a PodClique that was never
// complete could not be distinguished from one that an edit changed. While the pods have several templates, none is
// recorded: a template that was given up half-way and came back would look as if all pods had it. The set's generation
// is recorded only when no pod is missing.
func recordTemplate(
	status *grovev1alpha1.PodCliqueStatus, podClique *grovev1alpha1.PodClique, existing []*corev1.Pod, update Update,
) {
	template, generation := podClique.Labels[grovev1alpha1.LabelPodTemplateHash],
		podClique.Annotations[grovev1alpha1.AnnotationGenerationHash]
	complete, have := status.Replicas == podClique.Spec.Replicas, templatesOf(podClique, existing, update)
	recorded := status.CurrentPodTemplateHash
	switch {
	case complete && (len(have) == 0 || len(have) == 1 && have.Has(template)):
		status.CurrentPodTemplateHash, status.CurrentPodCliqueSetGenerationHash = &template, &generation
	case len(have) == 0 || len(have) == 1 && recorded != nil && have.Has(*recorded):
		// Unchanged.
	case len(have) == 1:
		shared, _ := have.PopAny()
		status.CurrentPodTemplateHash, status.CurrentPodCliqueSetGenerationHash = &shared, nil
	default:
		status.CurrentPodTemplateHash, status.CurrentPodCliqueSetGenerationHash = nil, nil
	}
}

// templatesOf are the hashes of the pods' templates; for the PodClique's own template the hash in the PodClique.
func templatesOf(podClique *grovev1alpha1.PodClique, existing []*corev1.Pod, update Update) sets.Set[string] {
	have, own := sets.New[string](), update.own(podClique)
	for _, pod := range existing {
		switch {
		case !pods.Active(pod):
		case hasTemplate(pod, own):
			have.Insert(podClique.Labels[grovev1alpha1.LabelPodTemplateHash])
		default:
			have.Insert(pod.Labels[grovev1alpha1.LabelPodTemplateHash])
		}
	}
	return have
}

// Complete reports whether a PodClique once had all its pods with the template in its status. Otherwise it may have
// pods of another template that its controller has not seen yet.
func Complete(podClique *grovev1alpha1.PodClique) bool {
	return podClique.Status.CurrentPodTemplateHash != nil && podClique.Status.CurrentPodCliqueSetGenerationHash != nil
}

// settles reports whether an update has ended that left no old pods: with the turn, where pods may lack that cannot
// come; or when no pod lacks, and all are ready if it is the operator that replaces them.
func (u Update) settles(complete, ready bool) bool {
	return !u.Turn && !u.OnDelete || complete && (ready || !u.Turn)
}

// podCliqueProgress begins with the turn of a clique that has old pods, and ends when all its pods are new and ready,
// or with the turn.
// The counts of the last status show an update that was over before it could be recorded.
func podCliqueProgress(
	podClique *grovev1alpha1.PodClique, status grovev1alpha1.PodCliqueStatus, existing []*corev1.Pod, update Update,
) *grovev1alpha1.PodCliqueUpdateProgress {
	progress, now := status.UpdateProgress.DeepCopy(), metav1.NewTime(update.Now)
	template := podClique.Labels[grovev1alpha1.LabelPodTemplateHash]
	isNew := status.UpdatedReplicas == status.Replicas
	begun := isNew && hadOldPods(podClique) || !isNew && (update.Turn || update.OnDelete)
	if begun && update.reached(podClique) &&
		(progress == nil || progress.PodTemplateHash != template || progress.UpdateEndedAt != nil) {
		progress = &grovev1alpha1.PodCliqueUpdateProgress{
			UpdateStartedAt:            now,
			PodCliqueSetGenerationHash: podClique.Annotations[grovev1alpha1.AnnotationGenerationHash],
			PodTemplateHash:            template,
		}
	}
	if progress == nil || progress.UpdateEndedAt != nil {
		return progress
	}
	if isNew && update.settles(status.Replicas == podClique.Spec.Replicas, status.ReadyReplicas == status.Replicas) {
		progress.ReadyPodsSelectedToUpdate, progress.UpdateEndedAt = nil, &now
		return progress
	}
	progress.ReadyPodsSelectedToUpdate = selectedPods(progress.ReadyPodsSelectedToUpdate, existing,
		update.current(podClique))
	return progress
}

// hadOldPods reports whether the status of a PodClique counts pods of another template than the PodClique's current
// one. Pods that are made for the first time are not counted, although some of them are missing.
func hadOldPods(podClique *grovev1alpha1.PodClique) bool {
	status := podClique.Status
	if recorded := status.CurrentPodTemplateHash; recorded != nil {
		return *recorded != podClique.Labels[grovev1alpha1.LabelPodTemplateHash] && status.Replicas > 0
	}
	return status.UpdatedReplicas < status.Replicas
}

// selectedPods lists ready pods of the old template that are being deleted, and pods with containers that are
// replaced in place. A pod stays the current one until the next one follows.
func selectedPods(
	before *grovev1alpha1.PodsSelectedToUpdate, existing []*corev1.Pod, current []string,
) *grovev1alpha1.PodsSelectedToUpdate {
	selected := before.DeepCopy()
	if selected == nil {
		selected = &grovev1alpha1.PodsSelectedToUpdate{}
	}
	chosen := slices.DeleteFunc(chosenPods(existing, current),
		func(name string) bool { return slices.Contains(selected.Completed, name) })
	if len(chosen) > 0 && !slices.Contains(chosen, selected.Current) {
		if selected.Current != "" {
			selected.Completed = append(selected.Completed, selected.Current)
		}
		selected.Current = chosen[0]
	}
	if selected.Current == "" && len(selected.Completed) == 0 {
		return nil
	}
	return selected
}

func chosenPods(existing []*corev1.Pod, current []string) []string {
	var chosen []string
	for _, pod := range existing {
		replaced := pod.DeletionTimestamp != nil && pods.Ready(pod) && !hasTemplate(pod, current)
		restarted := pods.Active(pod) && pods.ImagesUpdated(pod) && !pods.Ready(pod) && hasTemplate(pod, current)
		if replaced || restarted {
			chosen = append(chosen, pod.Name)
		}
	}
	slices.Sort(chosen)
	return chosen
}

// copies are the PodCliques of a scaling group, by copy.
type copies map[int32][]*grovev1alpha1.PodClique

func (c copies) any(is func(*grovev1alpha1.PodClique) bool) bool {
	for _, podCliques := range c {
		if slices.ContainsFunc(podCliques, is) {
			return true
		}
	}
	return false
}

// available reports whether all of the first copies, by index, are available.
func (c copies) available(replicas int32) bool {
	for copyIndex := range layout.Bounded(replicas) {
		if !every(c[copyIndex], Available) {
			return false
		}
	}
	return true
}

// groupProgress begins with the turn of a group that has old pods, and ends when all copies are new and available, or
// with the turn. An update that its PodCliques had was one of the group as well, even if the turn was over before it
// could be recorded.
func groupProgress(
	group *grovev1alpha1.PodCliqueScalingGroup, status grovev1alpha1.PodCliqueScalingGroupStatus, all copies,
	update Update,
) *grovev1alpha1.PodCliqueScalingGroupUpdateProgress {
	progress, now := status.UpdateProgress.DeepCopy(), metav1.NewTime(update.Now)
	hash := group.Annotations[grovev1alpha1.AnnotationGenerationHash]
	another := progress == nil || progress.PodCliqueSetGenerationHash != hash
	wentThrough := func(podClique *grovev1alpha1.PodClique) bool {
		own := podClique.Status.UpdateProgress
		return own != nil && own.PodCliqueSetGenerationHash == hash
	}
	if another && all.any(wentThrough) ||
		(another || progress.UpdateEndedAt != nil) && (update.Turn || update.OnDelete) && all.any(hadOldPods) {
		progress = &grovev1alpha1.PodCliqueScalingGroupUpdateProgress{UpdateStartedAt: now,
			PodCliqueSetGenerationHash: hash}
	}
	if progress == nil || progress.UpdateEndedAt != nil {
		return progress
	}
	done := !all.any(outdated) &&
		update.settles(status.UpdatedReplicas == group.Spec.Replicas, all.available(group.Spec.Replicas))
	progress.UpdatedPodCliques, progress.ReadyReplicaIndicesSelectedToUpdate = selectedCopies(all, hash,
		update.Turn, done)
	if done {
		progress.UpdateEndedAt = &now
	}
	return progress
}

// selectedCopies says which PodCliques have the template, which copies have been replaced, and which one is being
// replaced.
func selectedCopies(all copies, hash string, turn, done bool) ([]string, *grovev1alpha1.ReplicasSelectedToUpdate) {
	var podCliques []string
	selected := &grovev1alpha1.ReplicasSelectedToUpdate{}
	for _, copyIndex := range slices.Sorted(maps.Keys(all)) {
		updated := updatedNames(all[copyIndex], hash)
		podCliques = append(podCliques, updated...)
		switch {
		case len(updated) == len(all[copyIndex]) && (!turn || every(all[copyIndex], Available)):
			selected.Completed = append(selected.Completed, copyIndex)
		case !done && selected.Current == nil && slices.ContainsFunc(all[copyIndex], begun):
			selected.Current = &copyIndex
		}
	}
	slices.Sort(podCliques)
	if selected.Current == nil && len(selected.Completed) == 0 {
		return podCliques, nil
	}
	return podCliques, selected
}

func updatedNames(podCliques []*grovev1alpha1.PodClique, hash string) []string {
	var names []string
	for _, podClique := range podCliques {
		if Updated(podClique, hash) {
			names = append(names, podClique.Name)
		}
	}
	return names
}

// outdated reports whether a PodClique has pods of another template than its own, or has not counted them.
func outdated(podClique *grovev1alpha1.PodClique) bool {
	return podClique.Status.ObservedGeneration != podClique.Generation || hadOldPods(podClique)
}

// begun reports whether pods of a PodClique are being replaced.
func begun(podClique *grovev1alpha1.PodClique) bool {
	status := podClique.Status
	return status.UpdateProgress != nil && status.UpdateProgress.UpdateEndedAt == nil &&
		(status.Replicas < podClique.Spec.Replicas || status.ReadyReplicas < status.Replicas)
}

func resetCounts(progress *grovev1alpha1.PodCliqueSetUpdateProgress) {
	if progress != nil {
		progress.TotalPodCliquesCount, progress.UpdatedPodCliquesCount = 0, 0
		progress.TotalPodCliqueScalingGroupsCount, progress.UpdatedPodCliqueScalingGroupsCount = 0, 0
	}
}

// addTo adds the counts of a replica.
func (j replicaJudgement) addTo(progress *grovev1alpha1.PodCliqueSetUpdateProgress) {
	if progress != nil {
		progress.TotalPodCliquesCount += j.podCliques
		progress.UpdatedPodCliquesCount += j.updatedPodCliques
		progress.TotalPodCliqueScalingGroupsCount += j.groups
		progress.UpdatedPodCliqueScalingGroupsCount += j.updatedGroups
	}
}
