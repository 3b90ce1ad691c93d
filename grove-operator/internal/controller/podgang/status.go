package podgang

import (
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/grove-operator/internal/gangs"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/status"
)

func scalingGroupName(scope *scope, i int) string {
	return layout.ScalingGroup(scope.set.Name, scope.replica, scope.set.Spec.Template.PodCliqueScalingGroups[i].Name)
}

// writeStatus applies the operator's part of a gang's status. The condition Scheduled has another writer, so only
// server-side apply is possible.
func (r *Reconciler) writeStatus(ctx context.Context, scope *scope, desired, live *schedulerv1alpha1.PodGang) error {
	judged := live.DeepCopy()
	// The gang as this pass has just written it: its status stays right when the cache has it.
	judged.Spec = desired.Spec
	computed := gangs.Status(judged, scope.counts, scope.recreated(live.Name))
	changed := live.DeepCopy()
	changed.Status.Phase = computed.Phase
	for i, condition := range computed.Conditions {
		meta.SetStatusCondition(&changed.Status.Conditions, condition)
		// Apply the decided condition with the time since which it holds.
		computed.Conditions[i] = *meta.FindStatusCondition(changed.Status.Conditions, condition.Type)
	}
	if apiequality.Semantic.DeepEqual(live.Status, changed.Status) {
		return nil
	}
	_, err := r.Writer.Status(ctx, live, nil, &computed)
	return err
}

// recreated says what of a gang is being recreated because it stayed below its minimum; empty if nothing is.
func (s *scope) recreated(gang string) string {
	if record := s.set.Status.GangTermination; record != nil && record.Index == s.replica {
		return fmt.Sprintf("replica %d is recreated: %s", s.replica, record.Message)
	}
	groups := s.set.Spec.Template.PodCliqueScalingGroups
	for i := range groups {
		record := s.terminations[scalingGroupName(s, i)]
		if record == nil {
			continue
		}
		for _, member := range layout.Copy(s.set, s.replica, &groups[i], record.Index) {
			if member.Gang == gang {
				return fmt.Sprintf("copy %d of scaling group %s is recreated: %s", record.Index, groups[i].Name,
					record.Message)
			}
		}
	}
	return ""
}

// counts returns how many pods of a group are wanted, scheduled and ready.
func (s *scope) counts(podGroup string) gangs.GroupCounts {
	var counts gangs.GroupCounts
	if podClique := s.podCliques[podGroup]; podClique != nil {
		counts.Wanted = podClique.Spec.Replicas
		counts.WasReady, counts.MinRunning = podClique.Status.ReachedMinAvailable, layout.MinRunning(&podClique.Spec)
		counts.Failing = status.Failing(podClique)
	} else {
		counts.Wanted = s.templateReplicas(podGroup)
	}
	for _, pod := range s.pods[podGroup] {
		if pods.Scheduled(pod) {
			counts.Scheduled++
		}
		if pods.Ready(pod) {
			counts.Ready++
		}
	}
	return counts
}

// templateReplicas is how many pods a PodClique will have that does not exist yet.
func (s *scope) templateReplicas(podClique string) int32 {
	members := layout.Members(s.set, s.replica, func(group *grovev1alpha1.PodCliqueScalingGroupConfig) int32 {
		if copies, ok := s.copies[layout.ScalingGroup(s.set.Name, s.replica, group.Name)]; ok {
			return copies
		}
		return layout.GroupReplicas(group)
	})
	for _, member := range members {
		if member.Name == podClique {
			return member.Clique.Spec.Replicas
		}
	}
	return 0
}
