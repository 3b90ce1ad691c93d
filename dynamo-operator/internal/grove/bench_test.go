package grove_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/dynamo-operator/internal/grove"
	"packtree.dev/shared/api/dynamo/v1beta1"
	"packtree.dev/shared/apply"
)

// BenchmarkTwentyFiveServices translates as many services as a deployment may have, each over four nodes and with a
// command that gets flags.
func BenchmarkTwentyFiveServices(b *testing.B) {
	for _, framework := range []v1beta1.BackendFramework{"vllm", "sglang", "trtllm"} {
		made := largest(framework)
		b.Run("translated/"+string(framework), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				translate(b, made)
			}
		})
		b.Run("written as manifests/"+string(framework), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, object := range translate(b, made) {
					if _, err := apply.Manifest(object); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func largest(framework v1beta1.BackendFramework) *v1beta1.DynamoGraphDeployment {
	var components []v1beta1.ComponentSpec
	for i := range 25 {
		pod := template()
		main := &pod.Spec.Containers[0]
		main.Command = []string{"python3", "-m", "dynamo." + string(framework)}
		main.Args = []string{"--model", "deepseek-ai/DeepSeek-R1", "--tensor-parallel-size", "32",
			"--config", `{"a": "b"}`}
		main.Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8"),
			"rdma/ib": resource.MustParse("8")}
		main.EnvFrom = []corev1.EnvFromSource{
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "hf"}}},
		}
		for j := range 20 {
			main.Env = append(main.Env, corev1.EnvVar{Name: fmt.Sprintf("OPTION_%d", j), Value: "some value"})
		}
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}}
		components = append(components, v1beta1.ComponentSpec{
			Name: fmt.Sprintf("Worker%d", i), Type: "worker", PodTemplate: pod,
			Multinode:          &v1beta1.Multinode{NodeCount: 4},
			TopologyConstraint: &v1beta1.TopologyConstraint{PackDomain: "rack"},
		})
	}
	return deployment(components)
}

type fatal interface {
	Helper()
	Fatalf(string, ...any)
}

// translate translates a deployment without existing objects.
func translate(t fatal, deployment *v1beta1.DynamoGraphDeployment) []client.Object {
	t.Helper()
	return objects(t)(grove.Translate(deployment, grove.Options{Pools: true}, grove.Live{}))
}

// objects are those of a translation that succeeds.
func objects(t fatal) func([]client.Object, error) []client.Object {
	return func(made []client.Object, err error) []client.Object {
		t.Helper()
		if err != nil {
			t.Fatalf("translating: %v", err)
		}
		return made
	}
}
