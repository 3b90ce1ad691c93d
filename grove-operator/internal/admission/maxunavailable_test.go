package admission_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"k8s.io/utils/ptr"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

func TestMaxUnavailable(t *testing.T) {
	const ofSet, ofGroup = "spec.updateStrategy.maxUnavailable",
		"spec.template.podCliqueScalingGroups[0].maxUnavailable"
	const atLeast = "must be at least 1, or nothing could be updated; without it, it is 1"
	const orSurge = "must be at least 1, or 0 with a maxSurge of at least 1, or nothing could be updated; without it, " +
		"it is 1"
	const surgeOfGroup = "spec.template.podCliqueScalingGroups[0].maxSurge"
	for name, test := range map[string]struct {
		strategy          grovev1alpha1.UpdateStrategyType
		set, group, surge *int32
		replicas, minimum int32
		warnings, errs    []string
	}{
		"unset":                            {replicas: 4, minimum: 4},
		"as many as are above the minimum": {set: ptr.To[int32](3), group: ptr.To[int32](3), replicas: 4, minimum: 1},
		"one, with nothing to spare":       {group: ptr.To[int32](1), replicas: 2, minimum: 2},
		"more replicas than the set has":   {set: ptr.To[int32](100), replicas: 1, minimum: 1},
		"none of the set": {set: ptr.To[int32](0), replicas: 1, minimum: 1,
			errs: []string{ofSet + ": Invalid value: 0: " + atLeast}},
		"less than none of the group": {group: ptr.To[int32](-1), replicas: 1, minimum: 1,
			errs: []string{ofGroup + ": Invalid value: -1: " + orSurge}},
		"none of the group": {
			group: ptr.To[int32](0), replicas: 1, minimum: 1,
			errs: []string{ofGroup + ": Invalid value: 0: " + orSurge},
		},
		"none of the group, and none beyond replicas": {
			group: ptr.To[int32](0), surge: ptr.To[int32](0), replicas: 1, minimum: 1,
			errs: []string{ofGroup + ": Invalid value: 0: " + orSurge},
		},
		"none of the group, and one beyond replicas": {group: ptr.To[int32](0), surge: ptr.To[int32](1), replicas: 1,
			minimum: 1},
		"one beyond replicas": {surge: ptr.To[int32](1), replicas: 1, minimum: 1},
		"fewer than none beyond replicas": {
			surge: ptr.To[int32](-1), replicas: 1, minimum: 1,
			errs: []string{surgeOfGroup + ": Invalid value: -1: must not be negative; without it, it is 0"},
		},
		"beyond replicas, where users delete pods": {
			strategy: grovev1alpha1.OnDelete, surge: ptr.To[int32](1), replicas: 1, minimum: 1,
			warnings: []string{
				surgeOfGroup + ": says nothing with spec.updateStrategy.type OnDelete, which takes nothing away: " +
					"use RollingRecreate, or leave it out"},
		},
		"more than are above the minimum": {
			group: ptr.To[int32](3), replicas: 4, minimum: 2,
			warnings: []string{
				ofGroup + ": 3 copies may be unavailable, and of the 4 that the group starts with 2 have to stay available: " +
					"an update takes away 2 at a time; lower minAvailable, or have more replicas"},
		},
		"more than one, with nothing to spare": {
			group: ptr.To[int32](2), replicas: 4, minimum: 4,
			warnings: []string{
				ofGroup + ": 2 copies may be unavailable, and of the 4 that the group starts with 4 have to stay available: " +
					"an update takes away 1 at a time; lower minAvailable, or have more replicas"},
		},
		"where users delete pods": {
			strategy: grovev1alpha1.OnDelete, set: ptr.To[int32](2), group: ptr.To[int32](1), replicas: 2, minimum: 1,
			warnings: []string{
				ofSet +
					": says nothing with spec.updateStrategy.type OnDelete, which takes nothing away: use RollingRecreate, " +
					"or leave it out",
				ofGroup +
					": says nothing with spec.updateStrategy.type OnDelete, which takes nothing away: use RollingRecreate, " +
					"or leave it out",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := fixture.Set(t,
				manifest("s", "cliques: ["+one("a", "")+"], podCliqueScalingGroups: [{name: g, cliqueNames: [a]}]"))
			set.Spec.UpdateStrategy = &grovev1alpha1.PodCliqueSetUpdateStrategy{Type: test.strategy,
				MaxUnavailable: test.set}
			group := &set.Spec.Template.PodCliqueScalingGroups[0]
			group.Replicas, group.MinAvailable, group.MaxUnavailable = &test.replicas, &test.minimum, test.group
			group.MaxSurge = test.surge
			warnings, errs := admission.ValidateCreate(set, cluster())
			assert.Empty(t, cmp.Diff(test.warnings, warnings), "warnings (-want +got)")
			assert.Empty(t, cmp.Diff(test.errs, messages(errs)), "errors (-want +got)")
		})
	}
}

func TestMaxUnavailableMayChange(t *testing.T) {
	before := fixture.Set(t,
		manifest("s", "cliques: ["+one("a",
			"")+"], podCliqueScalingGroups: [{name: g, cliqueNames: [a], replicas: 4}]"))
	after := before.DeepCopy()
	after.Spec.UpdateStrategy = &grovev1alpha1.PodCliqueSetUpdateStrategy{MaxUnavailable: ptr.To[int32](2)}
	after.Spec.Template.PodCliqueScalingGroups[0].MaxUnavailable = ptr.To[int32](0)
	after.Spec.Template.PodCliqueScalingGroups[0].MaxSurge = ptr.To[int32](2)
	warnings, errs := admission.ValidateUpdate(before, after, cluster(), 0)
	assert.Empty(t, warnings)
	assert.Empty(t, errs)
}
