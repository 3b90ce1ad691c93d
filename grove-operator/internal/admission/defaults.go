// Package admission has the decisions about manifests that webhooks and the offline command share: the defaults that a
// schema cannot express, and validation.
package admission

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
)

// defaultTerminationDelay is how long a gang may stay below its minimum if the set has no delay.
const defaultTerminationDelay = 4 * time.Hour

// SetDefaults sets the unset fields of a PodCliqueSet.
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
	setDefault(&template.TerminationDelay, metav1.Duration{Duration: defaultTerminationDelay})
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

// SetDefaultsOnUpdate sets the unset fields of a changed PodCliqueSet. Defaults that came from the replicas of the
// old set stay: a minimum is immutable, and a manifest with other replicas does not ask for another minimum.
func SetDefaultsOnUpdate(old, set *grovev1alpha1.PodCliqueSet) {
	before := map[string]*grovev1alpha1.PodCliqueSpec{}
	for i := range old.Spec.Template.Cliques {
		before[old.Spec.Template.Cliques[i].Name] = &old.Spec.Template.Cliques[i].Spec
	}
	for i := range set.Spec.Template.Cliques {
		clique := &set.Spec.Template.Cliques[i]
		if was := before[clique.Name]; was != nil {
			setDefault(&clique.Spec.MinAvailable, layout.MinAvailable(was))
			keepMinReplicas(clique.Spec.AutoScalingConfig, was.AutoScalingConfig)
		}
	}
	for i := range set.Spec.Template.PodCliqueScalingGroups {
		group := &set.Spec.Template.PodCliqueScalingGroups[i]
		if was := layout.Group(old, group.Name); was != nil {
			setDefault(&group.MinAvailable, layout.GroupMinAvailable(was))
			keepMinReplicas(group.ScaleConfig, was.ScaleConfig)
		}
	}
	SetDefaults(set)
}

func keepMinReplicas(config, was *grovev1alpha1.AutoScalingConfig) {
	if config != nil && was != nil && was.MinReplicas != nil {
		setDefault(&config.MinReplicas, *was.MinReplicas)
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
