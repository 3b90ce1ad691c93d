package grove_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/dynamo-operator/internal/grove"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

const notYet = "it is not known yet whether the cluster's topology has the levels that the constraints need"

func TestEnforcementForEveryConditionOfThePodCliqueSet(t *testing.T) {
	condition := func(status metav1.ConditionStatus, reason string) []metav1.Condition {
		return []metav1.Condition{
			{Type: grovev1alpha1.ConditionTopologyLevelsUnavailable, Status: status, Reason: reason,
				Message: "said Grove"},
		}
	}
	for name, c := range map[string]struct {
		conditions []metav1.Condition
		want       backend.Enforcement
	}{
		"not judged yet": {nil, backend.Enforcement{Status: "Unknown", Reason: "NotYetJudged", Message: notYet}},
		"available": {condition("False", "AllClusterTopologyLevelsAvailable"),
			backend.Enforcement{Status: "True", Reason: "AllTopologyLevelsAvailable",
				Message: "every level that the constraints need is part of the cluster's topology"}},
		"a level is gone": {condition("True", "ClusterTopologyLevelsUnavailable"),
			backend.Enforcement{Status: "False", Reason: "TopologyLevelsUnavailable", Message: "said Grove"}},
		"the topology is gone": {condition("Unknown", "ClusterTopologyNotFound"),
			backend.Enforcement{Status: "False", Reason: "TopologyDefinitionNotFound", Message: "said Grove"}},
		"gone, with another status": {condition("True", "ClusterTopologyNotFound"),
			backend.Enforcement{Status: "False", Reason: "TopologyDefinitionNotFound", Message: "said Grove"}},
		"gone, with yet another": {condition("False", "ClusterTopologyNotFound"),
			backend.Enforcement{Status: "False", Reason: "TopologyDefinitionNotFound", Message: "said Grove"}},
		"unknown for other reasons": {condition("Unknown", "Whatever"),
			backend.Enforcement{Status: "Unknown", Reason: "NotYetJudged", Message: "said Grove"}},
	} {
		t.Run(name, func(t *testing.T) {
			standing := grove.Standing{
				Deployment:   constrained(),
				PodCliqueSet: &grovev1alpha1.PodCliqueSet{Status: grovev1alpha1.PodCliqueSetStatus{Conditions: c.conditions}},
			}
			assert.Empty(t, cmp.Diff(&c.want, standing.Observation().Enforcement), "(-want +got)")
		})
	}
	unmade := backend.Enforcement{Status: "Unknown", Reason: "NotYetApplied",
		Message: "nothing has been created yet for the constraints"}
	assert.Empty(t, cmp.Diff(&unmade, grove.Standing{Deployment: constrained()}.Observation().Enforcement),
		"without a PodCliqueSet (-want +got)")
	got := (grove.Standing{Deployment: deployment(nil)}).Observation()
	assert.Nil(t, got.Enforcement, "without constraints there is nothing to enforce")
	assert.Empty(t, got.Topology, "without constraints there is nothing to enforce")
}

func TestScalings(t *testing.T) {
	for name, c := range map[string]struct {
		wanted    *int32
		minimum   *int32
		adapter   bool
		template  int32
		live      int32
		requested string
		// scaled is the number to set; -1 means none. standing is the number that stays in the template.
		scaled, standing int32
	}{
		"a change goes to the live object and the template": {wanted: new(int32(3)), template: 2, live: 2, scaled: 3,
			standing: 3},
		"and is asked for once": {wanted: new(int32(3)), template: 3, live: 2, scaled: -1,
			standing: 3},
		"also while the template is behind": {wanted: new(int32(3)), template: 2, live: 3, requested: "3",
			scaled: -1, standing: 3},
		"a user's number goes when another is asked for": {wanted: new(int32(3)), template: 2, live: 7, scaled: 3,
			standing: 3},
		"back to what the template said at first": {wanted: new(int32(2)), template: 3, live: 3, requested: "3",
			scaled: 2, standing: 2},
		"to zero by scaling, the template stays": {wanted: new(int32(0)), template: 3, live: 3, scaled: 0,
			standing: 3},
		"zero is asked for once": {wanted: new(int32(0)), template: 3, live: 0, requested: "0",
			scaled: -1, standing: 3},
		"a user scaled it up again, which stays": {wanted: new(int32(0)), template: 3, live: 5, requested: "0",
			scaled: -1, standing: 3},
		"back from zero to what the template says": {wanted: new(int32(3)), template: 3, live: 0, requested: "0",
			scaled: 3, standing: 3},
		"on to another number": {wanted: new(int32(4)), template: 3, live: 3, requested: "3",
			scaled: 4, standing: 4},
		"never below the minimum in the template": {wanted: new(int32(1)), minimum: new(int32(2)), template: 2,
			live: 2, scaled: 1, standing: 2},
		"where an adapter is to be, nothing is asked for": {wanted: new(int32(9)), adapter: true, template: 1, live: 4,
			scaled: -1, standing: 1},
		"an unset number is one": {template: 1, live: 1, scaled: -1, standing: 1},
		"a live object that others scaled is left alone": {wanted: new(int32(2)), template: 2, live: 7, scaled: -1,
			standing: 2},
		"a recreated object has to be switched off again": {wanted: new(int32(0)), template: 3, live: 3, scaled: 0,
			standing: 3},
	} {
		for _, multinode := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				component := &v1beta1.ComponentSpec{Name: "A", Replicas: c.wanted, MinAvailable: c.minimum}
				if c.adapter {
					component.ScalingAdapter = &v1beta1.ScalingAdapter{}
				}
				standing := standingOf(component, multinode, c.template, c.live, c.requested)
				scaled := int32(-1)
				for _, scaling := range standing.Scalings() {
					scaled = scaling.Replicas
				}
				assert.Equal(t, c.scaled, scaled)
				assert.Equal(t, c.standing, templateOf(t, standing))
			})
		}
	}
}

func standingOf(
	component *v1beta1.ComponentSpec, multinode bool, template, live int32, requested string,
) grove.Standing {
	component.PodTemplate.Spec.Containers = mainContainer()
	meta := metav1.ObjectMeta{}
	if requested != "" {
		meta.Annotations = map[string]string{v1beta1.AnnotationRequestedReplicas: requested}
	}
	set := &grovev1alpha1.PodCliqueSet{}
	standing := grove.Standing{PodCliqueSet: set}
	if multinode {
		component.Multinode = &v1beta1.Multinode{NodeCount: 2}
		set.Spec.Template.PodCliqueScalingGroups = []grovev1alpha1.PodCliqueScalingGroupConfig{
			{Name: "a", Replicas: &template},
		}
		group := &grovev1alpha1.PodCliqueScalingGroup{ObjectMeta: meta,
			Spec: grovev1alpha1.PodCliqueScalingGroupSpec{Replicas: live}}
		standing.Groups = map[string]*grovev1alpha1.PodCliqueScalingGroup{"A": group}
	} else {
		set.Spec.Template.Cliques = []grovev1alpha1.PodCliqueTemplateSpec{
			{Name: "a", Spec: grovev1alpha1.PodCliqueSpec{Replicas: template}},
		}
		clique := &grovev1alpha1.PodClique{ObjectMeta: meta, Spec: grovev1alpha1.PodCliqueSpec{Replicas: live}}
		standing.Cliques = map[string]*grovev1alpha1.PodClique{"A": clique}
	}
	standing.Deployment = deployment([]v1beta1.ComponentSpec{*component})
	return standing
}

func templateOf(t *testing.T, standing grove.Standing) int32 {
	t.Helper()
	for _, object := range objects(t)(standing.Objects(nil)) {
		if set, ok := object.(*grovev1alpha1.PodCliqueSet); ok {
			if groups := set.Spec.Template.PodCliqueScalingGroups; len(groups) > 0 {
				return *groups[0].Replicas
			}
			return set.Spec.Template.Cliques[0].Spec.Replicas
		}
	}
	t.Fatal("no PodCliqueSet")
	return 0
}
