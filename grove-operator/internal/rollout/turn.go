package rollout

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/podtemplate"
	"packtree.dev/grove-operator/internal/status"
)

// State is how one replica of a set is doing, as the statuses of its PodCliques tell.
type State struct {
	// Replica is its index.
	Replica int32
	// Outdated is false if all its pods were seen to have the template that the set has now.
	Outdated bool
	// Scheduled reports whether the minima of its base gang stand on nodes, Available whether they are ready.
	Scheduled, Available bool
}

// Situation is what is known about a set whose template may have to reach its pods.
type Situation struct {
	// Strategy of the set.
	Strategy grovev1alpha1.UpdateStrategyType
	// MaxUnavailable is how many replicas may have their turn at the same time; less than 1 is 1.
	MaxUnavailable int32
	// Before is the progress that the set's status records.
	Before *grovev1alpha1.PodCliqueSetUpdateProgress
	// Changed reports whether the template is another one than the status knows of.
	Changed bool
	// States returns how the replicas are doing, in any order.
	States func() []State
	// Surplus reports whether there are PodCliques that were scaled in and that nobody has deleted yet. Scaled out again, they
	// and their pods would stay.
	Surplus func() bool
	// Now dates what begins and ends.
	Now time.Time
}

// Decision is what is to be recorded and done.
type Decision struct {
	// Progress is what the status is to record. Its counts are left as they were.
	Progress *grovev1alpha1.PodCliqueSetUpdateProgress
	// Delete are the pods to replace. They are in the replica whose turn the status has recorded already.
	Delete []*corev1.Pod
	// Images are the pods of that replica that get the template where they are.
	Images []pods.ImageUpdate
	// Of is what Delete and Images are of, in words.
	Of string
	// Waiting says what the update waits for; empty if there is none.
	Waiting string
	// Why says what keeps the pods that the update waits for from being ready, as far as that is known.
	Why string
	// Replica is the replica that Waiting is about, and Also are the others whose turn it is.
	Replica int32
	Also    []int32
	// Surge are the copies that are to come before Delete, if there is room; nil if there are none to come. Without says that
	// there is none, and why; empty if nothing is known of that.
	Surge   *Surge
	Without string
	// Ask are questions whether successors of pods have room, and Held is set if the answer was no, which Why repeats.
	Ask  []Asking
	Held bool
	// Unproved says, where that was not known before, that pods on nodes are in Delete although nobody knows whether their
	// successors have room, and why.
	Unproved string
	// Recheck is when to decide again if nothing has changed; the zero time if that need not be.
	Recheck time.Time
}

// Update is an update as far as it is decided without a look at pods. The pods of the replicas in Queue are then looked at
// in order, as long as Takes accepts them. Step decides about each, and End about all.
type Update struct {
	// Queue are the replicas that may have pods to replace.
	Queue []int32

	situation Situation
	progress  *grovev1alpha1.PodCliqueSetUpdateProgress
	// behind are the replicas that have old pods which the user deletes.
	behind []int32
}

// Begin returns the update of a set.
func Begin(situation Situation) Update {
	progress := situation.Before.DeepCopy()
	if situation.Changed {
		progress = &grovev1alpha1.PodCliqueSetUpdateProgress{UpdateStartedAt: metav1.NewTime(situation.Now)}
		if situation.Before != nil {
			progress.CurrentlyUpdating = situation.Before.CurrentlyUpdating
		}
	}
	update := Update{situation: situation, progress: progress}
	switch {
	case update.over():
	case situation.Strategy == grovev1alpha1.OnDelete:
		progress.CurrentlyUpdating = nil
		update.behind = queue(situation.States(), progress)
	default:
		update.Queue = queue(situation.States(), progress)
		progress.CurrentlyUpdating = nil // Those that go on have it recorded again.
	}
	return update
}

func (u Update) over() bool { return u.progress == nil || u.progress.UpdateEndedAt != nil }

// Takes reports whether a replica of the queue is to be looked at: its turn is recorded, or there is a turn left. One whose
// turn has come is finished, also if fewer may have it meanwhile.
func (u Update) Takes(replica int32) bool {
	_, recorded := turnOf(u.situation.Before, replica)
	return recorded || len(u.progress.CurrentlyUpdating) < max(1, int(u.situation.MaxUnavailable))
}

// Step decides about a replica of the queue, as its pods show it; not if nothing is left to do there. The turn of a replica
// is recorded before any of its pods is touched: whatever happens to the operator or to the other replicas, that one is
// finished first.
func (u Update) Step(replica int32, observed Replica) (Decision, bool) {
	step := Next(observed)
	if step.Done {
		return Decision{}, false
	}
	decision := Decision{Progress: u.progress, Of: step.Of, Waiting: step.Waiting, Why: step.Why, Replica: replica}
	turn, recorded := turnOf(u.situation.Before, replica)
	if recorded {
		decision.Delete, decision.Surge = step.Delete, step.Surge
	} else {
		turn = grovev1alpha1.PodCliqueSetReplicaUpdate{ReplicaIndex: replica,
			UpdateStartedAt: metav1.NewTime(u.situation.Now)}
	}
	u.progress.CurrentlyUpdating = append(u.progress.CurrentlyUpdating, *turn.DeepCopy())
	return decision, true
}

// End puts together what was decided about replicas. Of what they wait for it says what is known not to come by itself, or
// else that of the first.
func (u Update) End(steps []Decision) Decision {
	if len(steps) == 0 {
		return u.rest()
	}
	told := max(0, slices.IndexFunc(steps, func(step Decision) bool { return step.Why != "" }))
	all := steps[told]
	all.Delete, all.Images, all.Ask = nil, nil, nil
	for i, step := range steps {
		all.Delete = append(all.Delete, step.Delete...)
		all.Images = append(all.Images, step.Images...)
		all.Ask = append(all.Ask, step.Ask...)
		all.Unproved, all.Without = cmp.Or(all.Unproved, step.Unproved), cmp.Or(all.Without, step.Without)
		if all.Recheck.IsZero() || !step.Recheck.IsZero() && step.Recheck.Before(all.Recheck) {
			all.Recheck = step.Recheck
		}
		if i != told {
			all.Also = append(all.Also, step.Replica)
		}
	}
	return all
}

// rest decides when there is nothing left to do in the replicas of the queue. With OnDelete nothing is touched, and the
// update is over when the user has deleted every old pod, and others have come.
func (u Update) rest() Decision {
	decision := Decision{Progress: u.progress}
	switch {
	case u.over():
	case len(u.behind) > 0:
		decision.Replica, decision.Waiting = u.behind[0], "pods of the old template stay until somebody deletes them"
	case u.situation.Surplus():
		u.progress.CurrentlyUpdating = nil
	default:
		now := metav1.NewTime(u.situation.Now)
		u.progress.UpdateEndedAt, u.progress.CurrentlyUpdating = &now, nil
	}
	return decision
}

// queue returns the replicas that may have pods to replace: first the one whose turn it is, then those of which a minimum
// stands nowhere, then those of which one is not ready, then the others, each by index.
func queue(states []State, progress *grovev1alpha1.PodCliqueSetUpdateProgress) []int32 {
	rank := func(state State) int {
		_, turn := turnOf(progress, state.Replica)
		switch {
		case turn:
			return 0
		case !state.Scheduled:
			return 1
		case !state.Available:
			return 2
		}
		return 3
	}
	candidates := slices.DeleteFunc(slices.Clone(states),
		func(state State) bool { return !state.Outdated && rank(state) > 0 })
	slices.SortFunc(candidates, func(a, b State) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Replica, b.Replica))
	})
	replicas := make([]int32, 0, len(candidates))
	for _, candidate := range candidates {
		replicas = append(replicas, candidate.Replica)
	}
	return replicas
}

func turnOf(
	progress *grovev1alpha1.PodCliqueSetUpdateProgress, replica int32,
) (turn grovev1alpha1.PodCliqueSetReplicaUpdate, is bool) {
	for _, turn := range turnsIn(progress) {
		if turn.ReplicaIndex == replica {
			return turn, true
		}
	}
	return grovev1alpha1.PodCliqueSetReplicaUpdate{}, false
}

// turnsIn are the turns that have not ended.
func turnsIn(progress *grovev1alpha1.PodCliqueSetUpdateProgress) []grovev1alpha1.PodCliqueSetReplicaUpdate {
	if progress == nil {
		return nil
	}
	ended := func(turn grovev1alpha1.PodCliqueSetReplicaUpdate) bool { return turn.UpdateEndedAt != nil }
	return slices.DeleteFunc(slices.Clone(progress.CurrentlyUpdating), ended)
}

// Updating reports whether a replica of a set is being updated: its pods may be missing because the operator replaces them.
func Updating(set *grovev1alpha1.PodCliqueSet, replica int32) bool {
	_, is := turnOf(set.Status.UpdateProgress, replica)
	return is
}

// Reached reports whether the PodCliques of a replica get the template that the set has now. While it goes from replica to
// replica, those whose turn has not come keep theirs, and a pod that they lose comes back as it was: what the new template
// breaks, it breaks in one replica.
func Reached(set *grovev1alpha1.PodCliqueSet, replica int32) bool {
	if StrategyOf(set) == grovev1alpha1.OnDelete || Updating(set, replica) {
		return true
	}
	progress, known := set.Status.UpdateProgress, set.Status.CurrentGenerationHash
	underWay := progress != nil && progress.UpdateEndedAt == nil
	return !underWay && (known == nil || podtemplate.SetUnchanged(*known, set))
}

// Prepared reports whether a PodClique that was made from a member of the set has the template that its pods are to have now. One
// that the update has not reached makes pods of the template that it has.
func Prepared(set *grovev1alpha1.PodCliqueSet, member layout.Member, podClique *grovev1alpha1.PodClique) bool {
	return !Reached(set, member.Replica) ||
		slices.Contains(podtemplate.KnownHashes(set, member.Clique), podClique.Labels[grovev1alpha1.LabelPodTemplateHash])
}

// UpdateOf tells the status of a replica's children about the update. Set is nil when it is gone.
func UpdateOf(set *grovev1alpha1.PodCliqueSet, replica int32, now time.Time) status.Update {
	if set == nil {
		return status.Update{Now: now}
	}
	return status.Update{Turn: Updating(set, replica), OnDelete: StrategyOf(set) == grovev1alpha1.OnDelete, Now: now}
}

// UpdateOfPodClique is UpdateOf for a PodClique that was made from a member of the set.
func UpdateOfPodClique(set *grovev1alpha1.PodCliqueSet, member layout.Member, now time.Time) status.Update {
	update := UpdateOf(set, member.Replica, now)
	if set != nil {
		update.Templates = podtemplate.KnownHashes(set, member.Clique)
	}
	return update
}

// MaxUnavailable is how many replicas of a set are updated at the same time.
func MaxUnavailable(set *grovev1alpha1.PodCliqueSet) int32 {
	if set.Spec.UpdateStrategy == nil {
		return 1
	}
	return ptr.Deref(set.Spec.UpdateStrategy.MaxUnavailable, 1)
}

// StrategyOf is how a changed template reaches the pods of a set.
func StrategyOf(set *grovev1alpha1.PodCliqueSet) grovev1alpha1.UpdateStrategyType {
	if set.Spec.UpdateStrategy != nil && set.Spec.UpdateStrategy.Type == grovev1alpha1.OnDelete {
		return grovev1alpha1.OnDelete
	}
	return grovev1alpha1.RollingRecreate
}
