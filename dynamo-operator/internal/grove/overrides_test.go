package grove_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"packtree.dev/dynamo-operator/internal/overrides"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

func overridesDeployment(t *testing.T, spec string) *v1beta1.DynamoGraphDeployment {
	t.Helper()
	written := &v1beta1.DynamoGraphDeployment{}
	require.NoError(t, yaml.UnmarshalStrict([]byte("spec: "+spec), written))
	return written
}

func TestFolded(t *testing.T) {
	for name, c := range map[string]struct {
		spec  string
		whole *v1beta1.SpecTopologyConstraint
		part  *v1beta1.TopologyConstraint
	}{
		"in Grove's words": {
			spec: "{providerOverride: {value: {spec: {template: {topologyConstraint: {topologyName: net, pack: {required: " +
				"zone, preferred: rack}}}}}}, " +
				"components: [{name: A, providerOverride: {target: PodCliqueTemplateSpec, value: {topologyConstraint: " +
				"{packDomain: host}}}, podTemplate: {}}]}",
			whole: &v1beta1.SpecTopologyConstraint{ClusterTopologyName: "net", PackDomain: "zone",
				PreferredDomain: "rack"},
			part: &v1beta1.TopologyConstraint{PackDomain: "host"},
		},
		"the deployment's own words count": {
			spec: "{topologyConstraint: {packDomain: block}, providerOverride: {value: {spec: {template: " +
				"{topologyConstraint: {packDomain: zone}}}}}, " +
				"components: [{name: A, topologyConstraint: {packDomain: rack}, providerOverride: {value: {topologyConstraint: " +
				"{packDomain: host}}}, podTemplate: {}}]}",
			whole: &v1beta1.SpecTopologyConstraint{PackDomain: "block"},
			part:  &v1beta1.TopologyConstraint{PackDomain: "rack"},
		},
		"what is no constraint is none": {
			spec: "{providerOverride: {value: {spec: {template: {topologyConstraint: zone}}}}, components: [{name: A, " +
				"providerOverride: {value: {replicas: 3}}, podTemplate: {}}]}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			written := overridesDeployment(t, c.spec)
			before := written.DeepCopy()
			folded := overrides.Folded(written)
			assert.Empty(t, cmp.Diff(c.whole, folded.Spec.TopologyConstraint), "of the deployment (-want +got)")
			assert.Empty(t, cmp.Diff(c.part, folded.Spec.Components[0].TopologyConstraint),
				"of the component (-want +got)")
			assert.Empty(t, cmp.Diff(before, written), "the deployment itself has changed")
		})
	}
	if plain := overridesDeployment(t, "{components: [{name: A, podTemplate: {}}]}"); overrides.Folded(plain) != plain {
		t.Error("a deployment without overrides was copied")
	}
}

func TestWhatOfAnOverrideIsNotCarriedOut(t *testing.T) {
	written := overridesDeployment(t,
		"{providerOverride: {value: {metadata: {}, spec: {replicas: 2, template: {topologyConstraint: {packDomain: zone}, "+
			"terminationDelay: 1h}}}}, components: []}")
	constraint, rest := overrides.Constraint(written.Spec.ProviderOverride, overrides.OfDeployment)
	require.NotNil(t, constraint)
	assert.Equal(t, "zone", string(constraint.PackDomain))
	assert.Empty(t, cmp.Diff([][]string{{"metadata"}, {"spec", "replicas"}, {"spec", "template", "terminationDelay"}},
		rest), "the rest (-want +got)")
	constraint, rest = overrides.Constraint(nil, overrides.OfComponent)
	assert.Nil(t, constraint, "no override")
	assert.Nil(t, rest, "no override")
}
