package rollout

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/podtemplate"
	"packtree.dev/grove-operator/internal/status"
)

// State is the state of one replica of a set, by its pods and the statuses of its PodCliques.
type State struct {
	// Replica is its index.
	Replica int32
	// Pods is how many pods its PodCliques are to have, and Updated how many of them have the set's current template.
	Pods, Updated int32
	// HasOld reports whether there are pods of another template.
	HasOld bool
	// Outdated is false if all its pods were seen with the set's current template.
	Outdated bool
	// Scheduled reports whether the minima of its base gang are on nodes, Available whether they are ready.
	Scheduled, Available bool
}

// Situation has the inputs of a decision about a set's update. Only an update that goes on asks for what is behind its
// functions.
type Situation struct {
	// Strategy of the set.
	Strategy grovev1alpha1.UpdateStrategyType
	// MaxUnavailable is how many replicas may have a turn at the same time; less than 1 is 1.
	MaxUnavailable int32
	// Before is the progress that the set's status records.
	Before *grovev1alpha1.PodCliqueSetUpdateProgress
	// Changed reports whether the template differs from the one in the status.
	Changed bool
	// States are the states of the replicas, in any order.
	States []State
	// Replica returns a replica with its pods.
	Replica func(replica int32) Replica
	// Surplus reports whether there are PodCliques that were scaled in and are not deleted yet. Scaled out again, they
	// and their pods would stay.
	Surplus func() bool
	// Now is the time to record.
	Now time.Time
}

// Decision says what to record and do.
type Decision struct {
	// Progress is to be recorded in the status. Its counts are unchanged.
	Progress *grovev1alpha1.PodCliqueSetUpdateProgress
	// Delete are the pods to replace, in replicas that have their turn by the recorded status.
	Delete []*corev1.Pod
	// Images are the pods of these replicas that get new images in place.
	Images []pods.ImageUpdate
	// Waiting says what the update waits for; empty if it does not wait.
	Waiting string
	// Why says why the pods that the update waits for are not ready, as far as that is known.
	Why string
	// Replica is the replica that Waiting is about, and Also are the others that have a turn.
	Replica int32
	Also    []int32
	// Updated is how many of Pods have the template.
	Updated, Pods int32
}

// Decide returns the next step of a set's update. An update begins when the template changes, and also when there is a
// pod of another one: its creation may have been under way when the last update ended. The turn of a replica is
// recorded before any of its pods is changed: whatever happens to the operator or to the other replicas, that replica
// is finished first, even if fewer turns are allowed meanwhile. Of the waits of several replicas it reports the first
// one with a known reason, or else the first.
func Decide(situation Situation) Decision {
	decision := Decision{Progress: situation.begin()}
	for _, state := range situation.States {
		decision.Pods, decision.Updated = decision.Pods+state.Pods, decision.Updated+state.Updated
	}
	progress := decision.Progress
	if !Running(progress) {
		return decision
	}
	if situation.Strategy == grovev1alpha1.OnDelete {
		// No pod is changed: the update is over when the user has deleted every old one, and the replacements are ready.
		progress.CurrentlyUpdating = nil
		if left := queue(situation.States, progress); len(left) > 0 {
			decision.Replica, decision.Waiting = left[0], "pods of the old template stay until you delete them"
			return decision
		}
	} else if situation.step(&decision); len(progress.CurrentlyUpdating) > 0 {
		return decision
	}
	if !situation.Surplus() {
		now := metav1.NewTime(situation.Now)
		progress.UpdateEndedAt = &now
	}
	return decision
}

func (s *Situation) begin() *grovev1alpha1.PodCliqueSetUpdateProgress {
	progress := s.Before.DeepCopy()
	old := slices.ContainsFunc(s.States, func(state State) bool { return state.HasOld })
	if s.Changed || old && !Running(progress) {
		progress = &grovev1alpha1.PodCliqueSetUpdateProgress{UpdateStartedAt: metav1.NewTime(s.Now)}
		if s.Before != nil {
			progress.CurrentlyUpdating = s.Before.CurrentlyUpdating
		}
	}
	return progress
}

// step decides about the replicas with a turn, and gives free turns to the next ones with something left to do.
func (s *Situation) step(decision *Decision) {
	replicas := queue(s.States, decision.Progress)
	decision.Progress.CurrentlyUpdating = nil // Turns that go on are recorded again.
	for _, replica := range replicas {
		turn, recorded := turnOf(s.Before, replica)
		turns := decision.Progress.CurrentlyUpdating
		if !recorded && len(turns) >= max(1, int(s.MaxUnavailable)) {
			return
		}
		step := Next(s.Replica(replica))
		switch {
		case step.Done:
			continue
		case recorded:
			turn.Surge = step.Surge
			decision.Delete = append(decision.Delete, step.Delete...)
		default:
			turn = grovev1alpha1.PodCliqueSetReplicaUpdate{ReplicaIndex: replica, UpdateStartedAt: metav1.NewTime(s.Now)}
		}
		switch {
		case len(turns) == 0:
			decision.Replica, decision.Waiting, decision.Why = replica, step.Waiting, step.Why
		case decision.Why == "" && step.Why != "":
			decision.Also = slices.Insert(decision.Also, 0, decision.Replica)
			decision.Replica, decision.Waiting, decision.Why = replica, step.Waiting, step.Why
		default:
			decision.Also = append(decision.Also, replica)
		}
		decision.Progress.CurrentlyUpdating = append(turns, turn)
	}
}

// queue returns the replicas that may have pods to replace: first those with a turn, then those with a minimum that is
// not on nodes, then those with one that is not ready, then the others, each by index.
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

// Updating reports whether a replica of a set is being updated: the operator may have deleted its missing pods.
func Updating(set *grovev1alpha1.PodCliqueSet, replica int32) bool {
	_, is := turnOf(set.Status.UpdateProgress, replica)
	return is
}

// Reached reports whether the PodCliques of a replica get the set's current template. In an update replica by replica,
// those without a turn yet keep their template, and replacements of their lost pods get that one too: if the new
// template is broken, only one replica suffers.
func Reached(set *grovev1alpha1.PodCliqueSet, replica int32) bool {
	if StrategyOf(set) == grovev1alpha1.OnDelete || Updating(set, replica) {
		return true
	}
	return !UnderWay(set)
}

// UnderWay reports whether an update of a set is running by its status, or about to begin.
func UnderWay(set *grovev1alpha1.PodCliqueSet) bool {
	return Changed(set) || Running(set.Status.UpdateProgress)
}

// Changed reports whether the template of a set differs from the one in its status.
func Changed(set *grovev1alpha1.PodCliqueSet) bool {
	known := set.Status.CurrentGenerationHash
	return known != nil && !podtemplate.SetUnchanged(*known, set)
}

// Running reports whether a recorded update has not ended.
func Running(progress *grovev1alpha1.PodCliqueSetUpdateProgress) bool {
	return progress != nil && progress.UpdateEndedAt == nil
}

// Prepared reports whether a PodClique that was made from a member of the set has the template that its pods are to
// have now. A PodClique that the update has not reached makes pods of its own template.
func Prepared(set *grovev1alpha1.PodCliqueSet, member layout.Member, podClique *grovev1alpha1.PodClique) bool {
	return !Reached(set, member.Replica) ||
		slices.Contains(podtemplate.KnownHashes(set, member.Clique),
			podClique.Labels[grovev1alpha1.LabelPodTemplateHash])
}

// UpdateOf returns the update of the set for the status of a replica's children. Set is nil if it is gone.
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

// StrategyOf is the update strategy of a set.
func StrategyOf(set *grovev1alpha1.PodCliqueSet) grovev1alpha1.UpdateStrategyType {
	if set.Spec.UpdateStrategy != nil && set.Spec.UpdateStrategy.Type == grovev1alpha1.OnDelete {
		return grovev1alpha1.OnDelete
	}
	return grovev1alpha1.RollingRecreate
}
