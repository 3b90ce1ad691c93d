package grove

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/dynamo-operator/internal/admission"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

func TestWhatIsSaidOfAPodCliqueSetIsSaidOfTheDeployment(t *testing.T) {
	deployment := &v1beta1.DynamoGraphDeployment{
		Spec: v1beta1.DynamoGraphDeploymentSpec{Components: []v1beta1.ComponentSpec{
			{Name: "Frontend"}, {Name: "Decode", Multinode: &v1beta1.Multinode{NodeCount: 2}},
		}}}
	set := &grovev1alpha1.PodCliqueSet{}
	set.Name = "d"
	for _, component := range []string{"Frontend", "Decode", "Decode"} {
		set.Spec.Template.Cliques = append(set.Spec.Template.Cliques,
			grovev1alpha1.PodCliqueTemplateSpec{Labels: map[string]string{v1beta1.LabelComponent: component}})
	}
	set.Spec.Template.PodCliqueScalingGroups = []grovev1alpha1.PodCliqueScalingGroupConfig{{Name: "decode"}}
	for said, want := range map[string]admission.Finding{
		"spec.template.topologyConstraint: no node": {Component: -1, Field: "topologyConstraint", Message: "no node"},
		"spec.template.topologyConstraint and 2 more: no node carries label a/b of level rack: they wait": {
			Component: -1, Field: "topologyConstraint",
			Message: "no node carries label a/b of level rack: they wait (here and 2 more)",
		},
		"spec.template.cliques[0].topologyConstraint: no node": {Component: 0, Field: "topologyConstraint",
			Message: "no node"},
		"spec.template.podCliqueScalingGroups[0].topologyConstraint: no node": {Component: 1,
			Field:   "topologyConstraint",
			Message: "no node"},
		"spec.template.cliques[2].spec.podSpec.restartPolicy: acts like Always": {Component: 1,
			Field: "podSpec.restartPolicy", Message: "acts like Always"},
		"spec.template.cliques[0].spec.podSpec.containers[0].image: is too long": {Component: 0,
			Field: "podSpec.containers[0].image", Message: "is too long"},
		"spec.template.cliques[9].name: no such thing": {Component: -1,
			Message: "of PodCliqueSet d, spec.template.cliques[9].name: no such thing"},
		"spec.template.clusterTopologyName: gone": {Component: -1,
			Field: "clusterTopologyName", Message: "gone"},
		"spec.template.terminationDelay: too short": {Component: -1,
			Message: "of PodCliqueSet d, spec.template.terminationDelay: too short"},
		"metadata.annotations[packtree.dev/missing-topology-level]: none of them": {Component: -1,
			Message: "of PodCliqueSet d, metadata.annotations[packtree.dev/missing-topology-level]: none of them"},
		"somebody else's policy: no": {Component: -1, Message: "somebody else's policy: no"},
	} {
		assert.Empty(t, cmp.Diff(want, findingOf(deployment, set, said)), "%s (-want +got)", said)
	}
}

func TestWhatIsAReasonToRefuseADeployment(t *testing.T) {
	resource := schema.GroupResource{Group: "grove.io", Resource: "podcliquesets"}
	path := field.NewPath("spec", "template", "cliques").Index(0).Child("name")
	for name, c := range map[string]struct {
		answer  error
		refused []string
		passes  bool
	}{
		"nothing is wrong": {},
		"each field that is wrong": {
			answer: apierrors.NewInvalid(schema.GroupKind{}, "d",
				field.ErrorList{field.Invalid(path, "x", "no"), field.Required(path, "yes")}),
			refused: []string{`spec.template.cliques[0].name: Invalid value: "x": no`,
				"spec.template.cliques[0].name: Required value: yes"},
		},
		"a quota or a policy": {answer: apierrors.NewForbidden(resource, "d", errors.New("exceeded quota")),
			refused: []string{`podcliquesets.grove.io "d" is forbidden: exceeded quota`}},
		"what cannot be read": {answer: apierrors.NewBadRequest("strict decoding error"),
			refused: []string{"strict decoding error"}},
		"the kind is gone":            {answer: apierrors.NewNotFound(resource, "d"), refused: []string{missing}},
		"one of the name that stands": {answer: apierrors.NewAlreadyExists(resource, "d")},
		"somebody who cannot be tried": {answer: apierrors.NewBadRequest(
			`admission webhook "x" does not support dry run`),
			passes: true},
		"a webhook that does not answer": {answer: apierrors.NewInternalError(errors.New("failed calling webhook")),
			passes: true},
		"an answer that takes too long": {answer: context.DeadlineExceeded, passes: true},
	} {
		t.Run(name, func(t *testing.T) {
			refused, err := reasons(c.answer)
			assert.Empty(t, cmp.Diff(c.refused, refused), "refused (-want +got)")
			assert.Equal(t, c.passes, err != nil, "refused (-want +got)")
		})
	}
}
