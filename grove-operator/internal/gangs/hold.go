package gangs

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	schedulingv2alpha2 "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/grove-operator/internal/topology"
)

// hold makes a gang wait if its topology lacks a level without which its set does not want to be placed. The gates of
// its pods stay as long as the gang has the annotation. The gang's earlier constraints stay too, for the pods without
// gates: the scheduler lets these wait, since it has no such level either. Both are written at once, so that no pod is
// scheduled in between.
//
// Current returns the existing PodGang of a name, nil if it does not exist.
func hold(
	gang *schedulerv1alpha1.PodGang, current func(name string) *schedulerv1alpha1.PodGang, resolved topology.Resolution,
) {
	awaited := resolved.Awaited()
	if awaited == "" {
		return
	}
	metav1.SetMetaDataAnnotation(&gang.ObjectMeta, grovev1alpha1.AnnotationHeldForTopology, awaited)
	live := current(gang.Name)
	if live == nil || made(live) != resolved.Name {
		return
	}
	keepAnnotations(gang, live)
	gang.Spec.TopologyConstraint = live.Spec.TopologyConstraint.DeepCopy()
	before := map[string]*schedulerv1alpha1.TopologyConstraint{}
	for _, group := range live.Spec.PodGroups {
		before[group.Name] = group.TopologyConstraint
	}
	exists := map[string]bool{}
	for i := range gang.Spec.PodGroups {
		group := &gang.Spec.PodGroups[i]
		exists[group.Name] = true
		if constraint, ok := before[group.Name]; ok {
			group.TopologyConstraint = constraint.DeepCopy()
		}
	}
	gang.Spec.TopologyConstraintGroupConfigs = keptConfigs(live, exists)
}

// made is the topology for which the pods of a gang are made; empty if it has no constraint.
func made(live *schedulerv1alpha1.PodGang) string {
	if live.Annotations[grovev1alpha1.AnnotationTopologyName] == "" {
		return ""
	}
	return cmp.Or(live.Annotations[schedulingv2alpha2.AnnotationPodsTopology],
		live.Annotations[grovev1alpha1.AnnotationTopologyName])
}

func keepAnnotations(gang, live *schedulerv1alpha1.PodGang) {
	for _, key := range append(schedulingv2alpha2.CompanyAnnotations(), schedulingv2alpha2.AnnotationRelations,
		grovev1alpha1.AnnotationTopologyName) {
		if value, ok := live.Annotations[key]; ok {
			metav1.SetMetaDataAnnotation(&gang.ObjectMeta, key, value)
		}
	}
}

// keptConfigs are the group configs of a gang without the pod groups that no longer exist.
func keptConfigs(
	live *schedulerv1alpha1.PodGang, exists map[string]bool,
) []schedulerv1alpha1.TopologyConstraintGroupConfig {
	var kept []schedulerv1alpha1.TopologyConstraintGroupConfig
	for i := range live.Spec.TopologyConstraintGroupConfigs {
		config := live.Spec.TopologyConstraintGroupConfigs[i].DeepCopy()
		var names []string
		for _, name := range config.PodGroupNames {
			if exists[name] {
				names = append(names, name)
			}
		}
		if config.PodGroupNames = names; len(names) > 0 {
			kept = append(kept, *config)
		}
	}
	return kept
}
