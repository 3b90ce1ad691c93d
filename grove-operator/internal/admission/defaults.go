// Package admission holds what a webhook and the offline command ask of a manifest: the defaults that a schema cannot
// express, and the rules that it has to obey.
package admission

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// DefaultTerminationDelay is how long a gang may stay below its minimum where the set does not say.
const DefaultTerminationDelay = 4 * time.Hour

// SetDefaults fills in what a PodCliqueSet leaves open.
func SetDefaults(set *grovev1alpha1.PodCliqueSet) {
	setDefault(&set.Spec.UpdateStrategy, grovev1alpha1.PodCliqueSetUpdateStrategy{})
	if set.Spec.UpdateStrategy.Type == "" {
		set.Spec.UpdateStrategy.Type = grovev1alpha1.RollingRecreate
	}
	template := &set.Spec.Template
	if template.CliqueStartupType == "" {
		template.CliqueStartupType = grovev1alpha1.CliqueStartupTypeAnyOrder
	}
	setDefault(&template.HeadlessServiceConfig, grovev1alpha1.HeadlessServiceConfig{})
	setDefault(&template.HeadlessServiceConfig.PublishNotReadyAddresses, true)
	setDefault(&template.TerminationDelay, metav1.Duration{Duration: DefaultTerminationDelay})
	for i := range template.Cliques {
		setCliqueDefaults(&template.Cliques[i])
	}
	for i := range template.PodCliqueScalingGroups {
		group := &template.PodCliqueScalingGroups[i]
		setDefault(&group.Replicas, 1)
		setDefault(&group.MinAvailable, 1)
		if group.ScaleConfig != nil {
			setDefault(&group.ScaleConfig.MinReplicas, *group.Replicas)
		}
	}
}

func setCliqueDefaults(clique *grovev1alpha1.PodCliqueTemplateSpec) {
	if clique.Spec.RoleName == "" {
		clique.Spec.RoleName = clique.Name
	}
	setDefault(&clique.Spec.MinAvailable, clique.Spec.Replicas)
	if clique.Spec.AutoScalingConfig != nil {
		setDefault(&clique.Spec.AutoScalingConfig.MinReplicas, clique.Spec.Replicas)
	}
}

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
