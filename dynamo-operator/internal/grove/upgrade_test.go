package grove_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/dynamo-operator/internal/grove"
	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// life is a deployment of the components A and B, and the set that versions of the operator have made of it. The pods
// of a version can be recognized by its NATS address.
type life struct {
	*testing.T

	deployment *v1beta1.DynamoGraphDeployment
	set        *grovev1alpha1.PodCliqueSet
}

func newLife(t *testing.T) *life {
	l := &life{T: t, deployment: deployment([]v1beta1.ComponentSpec{
		{Name: "A", PodTemplate: template()}, {Name: "B", PodTemplate: template()},
	})}
	l.deployment.Generation = 1
	return l
}

// change is made by the user: the deployment has another generation, which no status has observed yet.
func (l *life) change(change func(*v1beta1.DynamoGraphDeploymentSpec)) {
	change(&l.deployment.Spec)
	l.deployment.Generation++
}

// pass reconciles the deployment with a version of the operator, and returns the NATS addresses of the pods of a and b.
func (l *life) pass(version, nats string, restarted ...string) [2]string {
	l.Helper()
	standing := grove.Standing{
		Deployment: l.deployment, PodCliqueSet: l.set, Version: version,
		Options: grove.Options{Infrastructure: pods.Infrastructure{NATSAddress: nats}},
	}
	l.set = podCliqueSet(l, objects(l)(standing.Objects(restarted)))
	l.deployment.Status.ObservedGeneration = l.deployment.Generation
	var told [2]string
	for i := range told {
		for _, variable := range l.set.Spec.Template.Cliques[i].Spec.PodSpec.Containers[0].Env {
			if variable.Name == "NATS_SERVER" {
				told[i] = variable.Value
			}
		}
	}
	return told
}

func (l *life) expect(when string, got [2]string, a, b string) {
	l.Helper()
	if want := [2]string{a, b}; got != want {
		l.Errorf("%s the pods are those of %q, want %q", when, got, want)
	}
}

func TestAnUpgradeReplacesNoPods(t *testing.T) {
	l := newLife(t)
	l.expect("at first", l.pass("v1", "one"), "one", "one")
	l.expect("after an upgrade", l.pass("v2", "two"), "one", "one")
	l.expect("in every later pass", l.pass("v2", "two"), "one", "one")
	l.expect("after the next upgrade", l.pass("v3", "three"), "one", "one")

	l.change(func(spec *v1beta1.DynamoGraphDeploymentSpec) { spec.Components[0].Replicas = new(int32(7)) })
	l.expect("with more replicas", l.pass("v3", "three"), "one", "one")
	l.change(func(spec *v1beta1.DynamoGraphDeploymentSpec) {
		spec.Components[0].PodTemplate.Spec.Containers[0].Image = "newer"
	})
	l.expect("with another image", l.pass("v3", "three"), "three", "one")
	l.expect("after one more upgrade", l.pass("v4", "four"), "three", "one")
	l.change(func(spec *v1beta1.DynamoGraphDeploymentSpec) { spec.Restart = &v1beta1.Restart{ID: "again"} })
	l.expect("after a restart of b", l.pass("v4", "four", "B"), "three", "four")
	l.expect("after a restart of both", l.pass("v4", "four", "A", "B"), "four", "four")
}

func TestTheSameVersionReplacesPodsThatAreToBeOthers(t *testing.T) {
	l := newLife(t)
	l.expect("at first", l.pass("v1", "one"), "one", "one")
	l.expect("given another address", l.pass("v1", "two"), "two", "two")
	l.set.Spec.Template.Cliques[0].Labels = maps.Clone(l.set.Spec.Template.Cliques[0].Labels)
	l.set.Spec.Template.Cliques[0].Labels["somebody"] = "was here"
	l.pass("v1", "two")
	_, there := l.set.Spec.Template.Cliques[0].Labels["somebody"]
	assert.False(t, there, "what somebody else wrote stays")
}

func TestAChangeDuringAnUpgradeCounts(t *testing.T) {
	l := newLife(t)
	l.pass("v1", "one")
	l.change(func(spec *v1beta1.DynamoGraphDeploymentSpec) {
		spec.Components[1].PodTemplate.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "MORE", Value: "x"}}
	})
	l.expect("with a change that the version before has not seen", l.pass("v2", "two"), "two", "two")
}

// fails has a pass write nothing, for a reason that the status says.
func (l *life) fails(version, nats, reason string) {
	l.Helper()
	before := l.set
	l.pass(version, nats)
	l.set = before
	meta.SetStatusCondition(&l.deployment.Status.Conditions, metav1.Condition{
		Type: v1beta1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: "m",
	})
}

func TestAChangeThatWasNeverWrittenCountsAfterAnUpgrade(t *testing.T) {
	for _, reason := range []string{v1beta1.ReasonRejected, v1beta1.ReasonNotYetWritten} {
		for _, notes := range []bool{true, false} {
			l := newLife(t)
			l.pass("v1", "one")
			if !notes {
				delete(l.set.Annotations, v1beta1.AnnotationPodTemplates)
			}
			l.change(func(spec *v1beta1.DynamoGraphDeploymentSpec) { spec.Components[1].Replicas = new(int32(7)) })
			l.fails("v1", "one", reason)
			l.expect(reason, l.pass("v2", "two"), "two", "two")
		}
	}
}

func TestAPassOfAnUpgradeThatWroteNothingReplacesNoPods(t *testing.T) {
	l := newLife(t)
	l.pass("v1", "one")
	l.fails("v2", "two", v1beta1.ReasonNotYetWritten)
	l.expect("in the next pass", l.pass("v2", "two"), "one", "one")
}

func TestARestartGoesOnThroughAnUpgrade(t *testing.T) {
	l := newLife(t)
	l.pass("v1", "one")
	l.change(func(spec *v1beta1.DynamoGraphDeploymentSpec) { spec.Restart = &v1beta1.Restart{ID: "again"} })
	l.expect("after a restart of a", l.pass("v1", "one", "A"), "one", "one")
	l.expect("when an upgrade restarts b", l.pass("v2", "two", "A", "B"), "one", "two")
	for _, clique := range l.set.Spec.Template.Cliques {
		assert.Equal(t, "again", clique.Annotations[v1beta1.AnnotationRestart],
			"the pods of %s are made by restart", clique.Name)
	}
	l.expect("in every later pass", l.pass("v2", "two", "A", "B"), "one", "two")
}

// Once an upgrade took a restart for its own change, and noted that the pods are kept.
func TestARestartThatAnUpgradeLostGoesOn(t *testing.T) {
	l := newLife(t)
	l.pass("v1", "one")
	l.change(func(spec *v1beta1.DynamoGraphDeploymentSpec) { spec.Restart = &v1beta1.Restart{ID: "again"} })
	before := l.set.Spec.Template.Cliques[1]
	l.pass("v2", "two", "A", "B")
	l.set.Spec.Template.Cliques[1] = before
	noted := l.set.Annotations[v1beta1.AnnotationPodTemplates]
	at := strings.Index(noted, `"b":{"hash":"`)
	l.set.Annotations[v1beta1.AnnotationPodTemplates] = noted[:at] +
		strings.Replace(noted[at:], `"}`, `","kept":true}`, 1)
	l.expect("in the next pass", l.pass("v2", "two", "A", "B"), "two", "two")
}

// The first version wrote no annotation.
func TestPodsOfAVersionThatNotedNothingAreKept(t *testing.T) {
	l := newLife(t)
	l.pass("v1", "one")
	delete(l.set.Annotations, v1beta1.AnnotationPodTemplates)
	l.expect("after the upgrade", l.pass("v2", "two"), "one", "one")
	l.change(func(spec *v1beta1.DynamoGraphDeploymentSpec) {
		spec.Components = append(spec.Components, v1beta1.ComponentSpec{Name: "C", PodTemplate: template()})
	})
	l.expect("with a further component", l.pass("v2", "two"), "one", "one")
	assert.NotEmpty(t, l.set.Spec.Template.Cliques[2].Spec.PodSpec.Containers[0].Env,
		"the new component gets nothing")
}

func TestANoteThatCannotBeReadIsSaidToBeSo(t *testing.T) {
	l := newLife(t)
	l.pass("v1", "one")
	l.set.Annotations[v1beta1.AnnotationPodTemplates] = "{"
	_, err := grove.Standing{Deployment: l.deployment, PodCliqueSet: l.set, Version: "v2"}.Objects(nil)
	assert.ErrorContains(t, err, "reading annotation packtree.dev/pod-templates of PodCliqueSet d: ")
}

// TestANewImageChangesNothingElse: with packtree.dev/image-update a pod may keep its place only if just its image
// differs.
func TestANewImageChangesNothingElse(t *testing.T) {
	l := newLife(t)
	l.deployment.Spec.Annotations = map[string]string{
		grovev1alpha1.AnnotationImageUpdate: grovev1alpha1.ImageUpdateInPlace,
	}
	l.pass("v1", "one")
	before := l.set.DeepCopy()
	l.change(func(spec *v1beta1.DynamoGraphDeploymentSpec) {
		spec.Components[0].PodTemplate.Spec.Containers[0].Image = "newer"
	})
	l.pass("v1", "one")
	assert.Equal(t, grovev1alpha1.ImageUpdateInPlace, l.set.Annotations[grovev1alpha1.AnnotationImageUpdate])
	before.Spec.Template.Cliques[0].Spec.PodSpec.Containers[0].Image = "newer"
	assert.Empty(t, cmp.Diff(before.Spec, l.set.Spec), "the image has changed, and with it (-before +after)")
}
