package charts_test

import (
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// podTemplates are those of every object that makes pods.
func podTemplates(t *testing.T, objects []*unstructured.Unstructured) map[string]corev1.PodTemplateSpec {
	t.Helper()
	templates := map[string]corev1.PodTemplateSpec{}
	for _, deployment := range typed[appsv1.Deployment](t, objects, "Deployment") {
		templates[deployment.Name] = deployment.Spec.Template
	}
	for _, job := range typed[batchv1.Job](t, objects, "Job") {
		templates[job.Name] = job.Spec.Template
	}
	for _, kind := range []string{"Pod", "DaemonSet", "StatefulSet", "ReplicaSet", "CronJob"} {
		if names := namesOf(objects, kind); len(names) > 0 {
			t.Errorf("pods of %s %v are not looked at: teach podTemplates the kind", kind, names)
		}
	}
	return templates
}

// TestEveryPodIsRestricted lets the API server validate every pod of every chart under several sets of values, in a
// namespace that enforces the restricted Pod Security Standard. It also checks what the standard does not require.
func TestEveryPodIsRestricted(t *testing.T) {
	cluster := emptyCluster(t)
	for chart, want := range charts {
		for name, arguments := range map[string][]string{
			"the defaults":      nil,
			"two of each":       {"--values", filepath.Join(chartPath(t, chart), "values-ha.yaml")},
			"with cert-manager": {"--set", forEach(chart, "webhook.certMode=cert-manager", withWebhooks)},
			"with more of everything": {"--set", forEach(chart, "podLabels.a=b,podAnnotations.a=b,image.digest="+digest+
				",imagePullSecrets[0].name=registry,networkPolicy.enabled=true", charts["packtree"].deployments)},
		} {
			t.Run(chart+"/"+name, func(t *testing.T) {
				arguments = append(arguments, "--set", strings.Join(noKinds(chart), ","))
				templates := podTemplates(t, renderedBy(t, chart, arguments...))
				if len(templates) != len(want.deployments) {
					t.Errorf("%d of %d programs make pods", len(templates), len(want.deployments))
				}
				for name, template := range templates {
					cluster.judges(t, name, template)
					checkContainers(t, name, template.Spec)
				}
			})
		}
	}
}

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// forEach are values for a chart; in the umbrella, for each of the charts that have them.
func forEach(chart, values string, of []string) string {
	var all []string
	for _, one := range of {
		for value := range strings.SplitSeq(values, ",") {
			switch chart {
			case "packtree":
				all = append(all, one+"."+value)
			case one:
				all = append(all, value)
			}
		}
	}
	return strings.Join(all, ",")
}

func (i installation) judges(t *testing.T, name string, template corev1.PodTemplateSpec) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	pod.Name, pod.Namespace = name+"-trial", namespace
	// Service accounts are not tested here, and do not exist.
	pod.Spec.ServiceAccountName = "default"
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: namespace}}
	if err := i.client.Create(t.Context(), account); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	if err := i.client.Create(t.Context(), pod, client.DryRunAll); err != nil {
		t.Errorf("a pod of %s is not admitted: %v", name, err)
	}
}

// checkContainers checks for a read-only root file system, bounded memory, and probes, which the standard does not
// require.
func checkContainers(t *testing.T, name string, pod corev1.PodSpec) {
	t.Helper()
	if pod.HostNetwork || pod.HostPID || pod.HostIPC {
		t.Errorf("%s: a pod in the host's namespaces", name)
	}
	for index, container := range append(append([]corev1.Container{}, pod.Containers...), pod.InitContainers...) {
		context := container.SecurityContext
		if context == nil || context.ReadOnlyRootFilesystem == nil || !*context.ReadOnlyRootFilesystem {
			t.Errorf("%s: container %s can write its root file system", name, container.Name)
		}
		if container.Resources.Limits.Memory().IsZero() || container.Resources.Requests.Cpu().IsZero() {
			t.Errorf("%s: container %s has resources %v", name, container.Name, container.Resources)
		}
		if index < len(pod.Containers) && (container.LivenessProbe == nil || container.ReadinessProbe == nil) {
			t.Errorf("%s: container %s is not probed", name, container.Name)
		}
	}
}
