package admission_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/admission"
)

// managed is an object of a kind, with these fields beside those of every managed object.
func managed(t *testing.T, kind, fields string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	require.NoError(t, yaml.Unmarshal([]byte(fields), &object.Object))
	object.SetKind(kind)
	object.SetName("s-0-a")
	labels := map[string]string{"app.kubernetes.io/managed-by": "grove-operator", "app.kubernetes.io/part-of": "s"}
	for key, value := range object.GetLabels() {
		labels[key] = value
	}
	object.SetLabels(labels)
	return object
}

func TestUpdateManaged(t *testing.T) {
	for name, c := range map[string]struct{ kind, before, after, refused string }{
		"what others label": {"Pod", "{}", "metadata: {labels: {team: a}}", ""},
		"what others annotate": {"PodClique", "{}",
			"metadata: {annotations: {packtree.dev/requested-replicas: '3'}}", ""},
		"finalizers of others": {"PodGang", "{}", "metadata: {finalizers: [example.com/hold]}", ""},
		"status":               {"Pod", "{}", "status: {phase: Running}", ""},
		"another version of the same": {"PodClique", "apiVersion: grove.io/v1alpha1",
			"apiVersion: grove.io/v1beta1", ""},
		"replicas, as kubectl scale": {"PodCliqueScalingGroup", "spec: {replicas: 1}", "spec: {replicas: 2}", ""},
		"gates of others come off":   {"Pod", "spec: {schedulingGates: [{name: x}]}", "spec: {}", ""},
		"tokens and pull secrets":    {"ServiceAccount", "{}", "imagePullSecrets: [{name: x}]", ""},
		"the operator's gate": {"Pod",
			"spec: {schedulingGates: [{name: grove.io/podgang-pending-creation}, {name: x}]}",
			"spec: {schedulingGates: [{name: x}]}", "spec.schedulingGates may not be changed"},
		"the label by which pods are found": {"Pod", "metadata: {labels: {grove.io/podclique: s-0-a}}", "{}",
			"metadata.labels[grove.io/podclique]"},
		"no longer managed": {"Service", "{}", "metadata: {labels: {app.kubernetes.io/managed-by: me}}",
			"metadata.labels[app.kubernetes.io/managed-by]"},
		"another owner": {"Pod", "metadata: {ownerReferences: [{uid: a}]}",
			"metadata: {ownerReferences: []}", "metadata.ownerReferences"},
		"the operator's finalizer": {"PodClique", "metadata: {finalizers: [grove.io/podclique.grove.io, x]}",
			"metadata: {finalizers: [x]}", "metadata.finalizers"},
		"the operator's annotation": {"PodClique", "metadata: {annotations: {packtree.dev/generation-hash: a}}",
			"metadata: {annotations: {packtree.dev/generation-hash: b}}",
			"metadata.annotations[packtree.dev/generation-hash]"},
		"what the pods are made from": {"PodClique", "metadata: {annotations: {packtree.dev/pod-template: '{}'}}",
			"metadata: {annotations: {packtree.dev/pod-template: '{\"labels\":{}}'}}",
			"metadata.annotations[packtree.dev/pod-template]"},
		"what autoscalers count": {"Pod", "{}", "metadata: {labels: {packtree.dev/stands-for-copy: 'true'}}",
			"metadata.labels[packtree.dev/stands-for-copy]"},
		"a spec, and the first field is named": {"PodClique", "spec: {podSpec: {b: 1, a: 1}}",
			"spec: {podSpec: {b: 2, a: 2}}", "spec.podSpec.a may not"},
		"replicas of an autoscaler": {"HorizontalPodAutoscaler", "spec: {maxReplicas: 1}", "spec: {maxReplicas: 2}",
			"spec.maxReplicas"},
		"rules of a role": {"Role", "rules: [{verbs: [get]}]", "rules: [{verbs: ['*']}]", "rules may not"},
		"another subject": {"RoleBinding", "subjects: [{name: a}]", "subjects: [{name: b}]", "subjects may not"},
	} {
		t.Run(name, func(t *testing.T) {
			got := admission.UpdateManaged(managed(t, c.kind, c.before), managed(t, c.kind, c.after))
			assert.Equal(t, c.refused == "", got == "", got)
			assert.Contains(t, got, c.refused)
		})
	}
}

func TestDeleteManaged(t *testing.T) {
	assert.Empty(t, admission.DeleteManaged(managed(t, "Pod", "{}")), "a pod may not be deleted")
	const want = `PodClique s-0-a is kept by grove-operator as PodCliqueSet s wants it: it may not be deleted. ` +
		`Change the PodCliqueSet, or set its annotation grove.io/disable-managed-resource-protection to "true" meanwhile`
	assert.Equal(t, want, admission.DeleteManaged(managed(t, "PodClique", "{}")))
}

func TestProtected(t *testing.T) {
	controller := true
	owned := func(apiVersion string) *unstructured.Unstructured {
		object := managed(t, "Pod", "{}")
		object.SetOwnerReferences(
			[]metav1.OwnerReference{{APIVersion: apiVersion, Kind: "K", Name: "n", Controller: &controller}})
		return object
	}
	unlabelled := owned("grove.io/v1alpha1")
	unlabelled.SetLabels(nil)
	for name, c := range map[string]struct {
		object *unstructured.Unstructured
		want   bool
	}{
		"made by the operator":                 {owned("grove.io/v1alpha1"), true},
		"labelled, and another owner's":        {owned("apps/v1"), false},
		"labelled, and nobody's":               {managed(t, "Pod", "{}"), false},
		"owned, and without the label":         {unlabelled, false},
		"an owner that cannot be made out":     {owned("a/b/c"), false},
		"a group whose name ends the same way": {owned("not-grove.io/v1alpha1"), false},
	} {
		assert.Equal(t, c.want, admission.Protected(c.object), name)
	}
}

func TestUnprotected(t *testing.T) {
	now := metav1.Now()
	set := func(annotation string) *grovev1alpha1.PodCliqueSet {
		made := &grovev1alpha1.PodCliqueSet{}
		made.Annotations = map[string]string{grovev1alpha1.AnnotationDisableProtection: annotation}
		return made
	}
	going := set("")
	going.DeletionTimestamp = &now
	for name, c := range map[string]struct {
		set *grovev1alpha1.PodCliqueSet
		off bool
	}{
		"no set": {nil, true}, "a set that goes": {going, true}, "switched off": {set("true"), true},
		"switched on": {set("false"), false}, "not said": {set(""), false},
	} {
		assert.Equal(t, c.off, admission.Unprotected(c.set) != "", name)
	}
}
