package admission_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"packtree.dev/dynamo-operator/internal/conversion"
	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// A stored object holds words of v1alpha1; a client of v1beta1 that writes it back must not lose them either.
func TestWordsOfV1Alpha1SurviveAReaderOfV1Beta1(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := throughJSON(t, filled[v1alpha1.DynamoGraphDeployment](t))
		hub, spoke, again := &v1beta1.DynamoGraphDeployment{}, &v1alpha1.DynamoGraphDeployment{},
			&v1beta1.DynamoGraphDeployment{}
		mustConvert(t, conversion.ToHub(before, hub))
		mustConvert(t, conversion.FromHub(hub, spoke))
		mustConvert(t, conversion.ToHub(spoke, again))
		require.Empty(t, cmp.Diff(asJSON(t, hub), asJSON(t, again)), "not stable (-first +second)")
	})
}

func TestAnEditInTheOtherVersionHolds(t *testing.T) {
	written := &v1alpha1.DynamoGraphDeployment{Spec: v1alpha1.DynamoGraphDeploymentSpec{Services: v1alpha1.Services{{
		Name: "Worker", Replicas: new(int32(1)), DynamoNamespace: new("old"),
		GlobalDynamoNamespace: new(true), ModelRef: &v1beta1.ModelReference{Name: "m"},
		Ingress:   &runtime.RawExtension{Raw: []byte(`{"enabled":true}`)},
		Resources: &v1alpha1.Resources{Limits: &v1alpha1.ResourceItem{GPU: "8"}},
		Envs:      []corev1.EnvVar{{Name: "A", Value: "1"}},
	}}}}
	hub := &v1beta1.DynamoGraphDeployment{}
	mustConvert(t, conversion.ToHub(written, hub))

	t.Run("of the replicas, in the same words", func(t *testing.T) {
		edited := hub.DeepCopy()
		edited.Spec.Components[0].Replicas = new(int32(5))
		got := &v1alpha1.DynamoGraphDeployment{}
		mustConvert(t, conversion.FromHub(edited, got))
		want := written.DeepCopy()
		want.Spec.Services[0].Replicas = new(int32(5))
		assert.Empty(t, cmp.Diff(want, got), "(-want +got)")
	})
	t.Run("of the container, with what v1beta1 cannot say kept", func(t *testing.T) {
		edited := hub.DeepCopy()
		edited.Spec.Components[0].PodTemplate.Spec.Containers[0].Env[0].Value = "2"
		got := &v1alpha1.DynamoGraphDeployment{}
		mustConvert(t, conversion.FromHub(edited, got))
		service := got.Spec.Services[0]
		assert.Equal(t, "2", service.ExtraPodSpec.MainContainer.Env[0].Value)
		assert.Empty(t, service.Envs)
		require.NotNil(t, service.DynamoNamespace)
		assert.Equal(t, "old", *service.DynamoNamespace)
		require.NotNil(t, service.GlobalDynamoNamespace)
		require.NotNil(t, service.ModelRef)
		assert.NotNil(t, service.Ingress)
		gpus := service.ExtraPodSpec.MainContainer.Resources.Limits["nvidia.com/gpu"]
		assert.Equal(t, "8", gpus.String())
	})
}

// v1alpha1 describes a frontend by an image, arguments and an environment. This one has more, so v1alpha1 shows a
// container like any other.
func TestAFrontendThatV1Alpha1CannotDescribeStaysOneThroughItsEdits(t *testing.T) {
	written := &v1beta1.DynamoGraphDeployment{Spec: v1beta1.DynamoGraphDeploymentSpec{
		Components: []v1beta1.ComponentSpec{{
			Name: "Worker", FrontendSidecar: new("proxy"),
			PodTemplate: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
				{Name: "main", Image: "engine:1"},
				{Name: "proxy", Image: "proxy:1", Ports: []corev1.ContainerPort{{Name: "admin", ContainerPort: 9000}}},
			}}},
		}},
	}}
	for name, c := range map[string]struct {
		edit func(*v1alpha1.ServiceSpec)
		want *string
	}{
		"of the main container": {func(service *v1alpha1.ServiceSpec) {
			service.ExtraPodSpec.MainContainer.Image = "engine:2"
		}, new("proxy")},
		"which takes the container out": {func(service *v1alpha1.ServiceSpec) {
			service.ExtraPodSpec.Containers = nil
		}, nil},
		"which describes another one": {func(service *v1alpha1.ServiceSpec) {
			service.FrontendSidecar = &v1alpha1.FrontendSidecar{Image: "other:1"}
		}, new(v1beta1.FrontendSidecarContainer)},
	} {
		t.Run(name, func(t *testing.T) {
			shown, got := &v1alpha1.DynamoGraphDeployment{}, &v1beta1.DynamoGraphDeployment{}
			mustConvert(t, conversion.FromHub(written.DeepCopy(), shown))
			c.edit(&shown.Spec.Services[0])
			mustConvert(t, conversion.ToHub(shown, got))
			assert.Empty(t, cmp.Diff(c.want, got.Spec.Components[0].FrontendSidecar), "the frontend (-want +got)")
		})
	}
}

func TestServicesMeanWhatTheirShortFieldsSay(t *testing.T) {
	written := &v1alpha1.DynamoGraphDeployment{Spec: v1alpha1.DynamoGraphDeploymentSpec{Services: v1alpha1.Services{{
		Name: "Prefill", ComponentType: "worker", SubComponentType: "prefill", EnvFromSecret: new("token"),
		Labels: map[string]string{"a": "service", "b": "service"},
		Resources: &v1alpha1.Resources{
			Requests: &v1alpha1.ResourceItem{CPU: "4", Custom: map[string]string{"rdma/ib": "2"}},
			Limits:   &v1alpha1.ResourceItem{CPU: "8", GPU: "2", GPUType: "amd.com/gpu"},
		},
		Envs: []corev1.EnvVar{{Name: "A", Value: "service"}, {Name: "B", Value: "service"}},
		VolumeMounts: []v1alpha1.VolumeMount{
			{Name: "cache", MountPoint: "/cache"}, {Name: "compiled", MountPoint: "/compiled",
				UseAsCompilationCache: new(true)},
		},
		FrontendSidecar: &v1alpha1.FrontendSidecar{Image: "frontend", Args: []string{"-v"},
			EnvFromSecret: new("token")},
		Checkpoint:       &runtime.RawExtension{Raw: []byte(`{"enabled":true}`)},
		Failover:         &runtime.RawExtension{Raw: []byte(`{"enabled":false}`)},
		SharedMemory:     &v1alpha1.SharedMemory{Disabled: true},
		ExtraPodMetadata: &v1alpha1.ExtraPodMetadata{Labels: map[string]string{"a": "pod"}},
		ExtraPodSpec: &v1alpha1.ExtraPodSpec{
			PodSpec: &corev1.PodSpec{Containers: []corev1.Container{{Name: "sidecar"}},
				NodeSelector: map[string]string{"gpu": "h100"}},
			MainContainer: &corev1.Container{
				Image: "image", Env: []corev1.EnvVar{{Name: "A", Value: "container"}},
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("16")}},
			},
		},
	}}}}
	hub := &v1beta1.DynamoGraphDeployment{}
	mustConvert(t, conversion.ToHub(written, hub))
	zero := resource.MustParse("0")
	want := v1beta1.ComponentSpec{
		Name: "Prefill", Type: "prefill", SharedMemorySize: &zero,
		CompilationCache: &v1beta1.CompilationCache{PVCName: "compiled", MountPath: "/compiled"},
		FrontendSidecar:  new("sidecar-frontend"),
		Experimental: &v1beta1.ComponentExperimental{Checkpoint: &runtime.RawExtension{Raw: []byte(
			`{"enabled":true}`)}},
		PodTemplate: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "pod", "b": "service"}},
			Spec: corev1.PodSpec{
				NodeSelector: map[string]string{"gpu": "h100"},
				Volumes: []corev1.Volume{{Name: "cache", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "cache"},
				}}},
				Containers: []corev1.Container{
					{
						Name: "main", Image: "image",
						Env: []corev1.EnvVar{{Name: "B", Value: "service"}, {Name: "A", Value: "container"}},
						EnvFrom: []corev1.EnvFromSource{
							{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "token"}}},
						},
						VolumeMounts: []corev1.VolumeMount{{Name: "cache", MountPath: "/cache"}},
						Resources: corev1.ResourceRequirements{
							Requests: corev1.ResourceList{"cpu": resource.MustParse("4"),
								"rdma/ib": resource.MustParse("2")},
							Limits: corev1.ResourceList{"cpu": resource.MustParse("16"),
								"amd.com/gpu": resource.MustParse("2")},
						},
					},
					{Name: "sidecar"},
					{
						Name: "sidecar-frontend", Image: "frontend", Args: []string{"-v"},
						EnvFrom: []corev1.EnvFromSource{
							{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "token"}}},
						},
					},
				},
			},
		},
	}
	assert.Empty(t, cmp.Diff(asJSON(t, want), asJSON(t, hub.Spec.Components[0])), "(-want +got)")
}

// The type of a worker is one word in v1beta1, and one or two in v1alpha1.
func TestTypesArePromoted(t *testing.T) {
	for name, c := range map[string]struct {
		written, sub, want, back, backSub string
	}{
		"a worker's part is its type":               {"worker", "prefill", "prefill", "worker", "prefill"},
		"a type that is no worker's keeps the part": {"frontend", "prefill", "frontend", "frontend", "prefill"},
		"another part is no type":                   {"worker", "encode", "worker", "worker", "encode"},
		"a type of its own reads back as written":   {"decode", "", "decode", "decode", ""},
		"a worker without a part":                   {"worker", "", "worker", "worker", ""},
	} {
		t.Run(name, func(t *testing.T) {
			written := &v1alpha1.DynamoGraphDeployment{Spec: v1alpha1.DynamoGraphDeploymentSpec{Services: v1alpha1.Services{
				{Name: "A", ComponentType: c.written, SubComponentType: c.sub},
			}}}
			hub, back := &v1beta1.DynamoGraphDeployment{}, &v1alpha1.DynamoGraphDeployment{}
			mustConvert(t, conversion.ToHub(written, hub))
			mustConvert(t, conversion.FromHub(hub, back))
			assert.Equal(t, c.want, hub.Spec.Components[0].Type, "v1beta1 has type")
			got := back.Spec.Services[0]
			assert.Equal(t, c.back, got.ComponentType)
			assert.Equal(t, c.backSub, got.SubComponentType)
			hub.Spec.Components[0].Type = "decode"
			mustConvert(t, conversion.FromHub(hub, back))
			if got := back.Spec.Services[0]; c.want != "decode" &&
				(got.ComponentType != "worker" || got.SubComponentType != "decode") {
				t.Errorf("an edit of the type reads as %q and %q", got.ComponentType, got.SubComponentType)
			}
		})
	}
}

func TestUnreadableKeptWordsAreForgotten(t *testing.T) {
	hub := &v1beta1.DynamoGraphDeployment{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1beta1.AnnotationV1Alpha1: "{"}},
		Spec:       v1beta1.DynamoGraphDeploymentSpec{Components: []v1beta1.ComponentSpec{{Name: "A"}}},
	}
	got := &v1alpha1.DynamoGraphDeployment{}
	mustConvert(t, conversion.FromHub(hub, got))
	assert.Equal(t, "A", got.Spec.Services[0].Name, "got %v", asJSON(t, got))
	assert.Empty(t, got.Annotations[v1beta1.AnnotationV1Alpha1], "got %v", asJSON(t, got))
}

type fatal interface {
	Helper()
	Fatalf(string, ...any)
}

func mustConvert(t fatal, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("converting: %v", err)
	}
}

// throughJSON encodes and decodes an object as an API server does: empty and unset become the same.
func throughJSON[T any](t fatal, object *T) *T {
	t.Helper()
	written, err := json.Marshal(object)
	if err != nil {
		t.Fatalf("writing: %v", err)
	}
	read := new(T)
	if err := json.Unmarshal(written, read); err != nil {
		t.Fatalf("reading: %v", err)
	}
	return read
}

func asJSON(t fatal, object any) any {
	t.Helper()
	written, err := json.Marshal(object)
	if err != nil {
		t.Fatalf("writing: %v", err)
	}
	var fields any
	if err := json.Unmarshal(written, &fields); err != nil {
		t.Fatalf("reading: %v", err)
	}
	return fields
}
