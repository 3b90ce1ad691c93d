package children

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
)

// Autoscalers returns the HorizontalPodAutoscalers of one replica: of standalone cliques first, then of scaling groups.
func Autoscalers(set *grovev1alpha1.PodCliqueSet, replica int32) []*autoscalingv2.HorizontalPodAutoscaler {
	var autoscalers []*autoscalingv2.HorizontalPodAutoscaler
	for _, member := range layout.Standalone(set, replica) {
		if config := member.Clique.Spec.AutoScalingConfig; config != nil {
			autoscalers = append(autoscalers,
				autoscaler(set, replica, "PodClique", member.Name, config, member.Clique.Spec.Replicas))
		}
	}
	groups := set.Spec.Template.PodCliqueScalingGroups
	for i := range groups {
		if config := groups[i].ScaleConfig; config != nil {
			name := layout.ScalingGroup(set.Name, replica, groups[i].Name)
			autoscalers = append(autoscalers,
				autoscaler(set, replica, "PodCliqueScalingGroup", name, config, layout.GroupReplicas(&groups[i])))
		}
	}
	return autoscalers
}

func autoscaler(
	set *grovev1alpha1.PodCliqueSet, replica int32, kind, target string, config *grovev1alpha1.AutoScalingConfig,
	replicas int32,
) *autoscalingv2.HorizontalPodAutoscaler {
	minReplicas := ptr.Deref(config.MinReplicas, replicas)
	own := map[string]string{grovev1alpha1.LabelPodCliqueSetReplicaIndex: index(replica)}
	made := &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta: metav1.TypeMeta{APIVersion: autoscalingv2.SchemeGroupVersion.String(),
			Kind: "HorizontalPodAutoscaler"},
		ObjectMeta: metadata(set, target, grovev1alpha1.ComponentHPA, nil, own),
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
				APIVersion: grovev1alpha1.GroupVersion.String(), Kind: kind, Name: target,
			},
			MinReplicas: &minReplicas,
			MaxReplicas: config.MaxReplicas,
			Metrics:     config.Metrics,
		},
	}
	made.OwnerReferences = ownedBySet(set)
	return made
}
