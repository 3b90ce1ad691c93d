package rights_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"packtree.dev/e2e/suites/internal/suite"
)

// foreign are the kinds of others that may own pods. The suite installs them without a schema: only their names matter
// here.
var foreign = map[schema.GroupVersion][]string{
	{Group: "jobset.x-k8s.io", Version: "v1alpha2"}:    {"JobSet"},
	{Group: "leaderworkerset.x-k8s.io", Version: "v1"}: {"LeaderWorkerSet"},
	{Group: "kubeflow.org", Version: "v1"}: {"MPIJob", "PyTorchJob", "TFJob", "XGBoostJob", "JAXJob",
		"PaddleJob", "Notebook"},
	{Group: "trainer.kubeflow.org", Version: "v1alpha1"}: {"TrainJob"},
	{Group: "ray.io", Version: "v1"}:                     {"RayCluster", "RayJob", "RayService"},
	{Group: "sparkoperator.k8s.io", Version: "v1beta2"}:  {"SparkApplication", "ScheduledSparkApplication"},
	{Group: "argoproj.io", Version: "v1alpha1"}:          {"Workflow", "CronWorkflow"},
	{Group: "serving.knative.dev", Version: "v1"}:        {"Service", "Configuration", "Revision"},
}

// native are the kinds that the cluster has anyway.
var native = map[schema.GroupVersion][]string{
	{Group: "batch", Version: "v1"}:           {"Job", "CronJob"},
	{Group: "apps", Version: "v1"}:            {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"},
	{Version: "v1"}:                           {"ReplicationController", "Pod"},
	{Group: "grove.io", Version: "v1alpha1"}:  {"PodCliqueSet", "PodClique", "PodCliqueScalingGroup"},
	{Group: "nvidia.com", Version: "v1beta1"}: {"DynamoGraphDeployment"},
}

// ownersOfEveryKind makes pods with an owner of each kind. The owner does not exist (any more), so the pod grouper
// looks for it in its cache, and then once more live. The garbage collector looks for it too, and deletes the pod; if
// it is first the pod grouper finds nothing, so the step is repeated.
func (w *world) ownersOfEveryKind(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	for version, kinds := range foreign {
		for _, kind := range kinds {
			w.Must(ctx, t, cluster.Apply(ctx, definition(t, version.WithKind(kind))))
		}
	}
	all := map[schema.GroupVersion][]string{}
	var wanted []string
	for _, some := range []map[schema.GroupVersion][]string{foreign, native} {
		for version, kinds := range some {
			all[version] = kinds
			for _, kind := range kinds {
				wanted = append(wanted, "ClusterRole podgrouper: get "+resourceOf(version.WithKind(kind)),
					"ClusterRole podgrouper: list "+resourceOf(version.WithKind(kind)))
			}
		}
	}
	return w.untilNeeded(func(ctx context.Context, t *testing.T, attempt int) {
		// At most as often as the pod grouper looks for unknown kinds.
		if attempt%25 != 0 {
			return
		}
		for version, kinds := range all {
			for _, kind := range kinds {
				w.Must(ctx, t, cluster.Create(ctx, w.orphan(version.WithKind(kind))))
			}
		}
	}, wanted...)(ctx, t, config)
}

func resourceOf(kind schema.GroupVersionKind) string {
	resource := strings.ToLower(kind.Kind) + "s"
	if kind.Group != "" {
		resource += "." + kind.Group
	}
	return resource
}

// orphan is a pod with an owner that does not exist.
func (w *world) orphan(owner schema.GroupVersionKind) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "of-" + strings.ToLower(owner.Kind) + "-", Namespace: w.Name,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: owner.GroupVersion().String(), Kind: owner.Kind, Name: "nobody",
				UID:        types.UID("0-" + owner.Kind),
				Controller: new(true),
			}},
		},
		Spec: corev1.PodSpec{SchedulerName: "kai-scheduler",
			Containers: []corev1.Container{{Name: "main", Image: "engine:1"}}},
	}
}

// asksForWhatIsNot is a Job with an annotation that cannot be followed, and another one later.
func (w *world) asksForWhatIsNot(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	const annotation = "kai.scheduler/topology-required-placement="
	return suite.AllOf(
		w.Applies("wrong.yaml"), w.HasEvent("Job", "wrong", "InvalidGrouping"),
		w.Kubectl("annotate", "--overwrite", "job", "wrong", annotation+"another"),
		w.untilNeeded(func(context.Context, *testing.T, int) {}, "ClusterRole podgrouper: patch events"),
	)(ctx, t, config)
}

// definition defines a kind that accepts any object.
func definition(t *testing.T, kind schema.GroupVersionKind) *unstructured.Unstructured {
	t.Helper()
	singular := strings.ToLower(kind.Kind)
	made := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta: metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(),
			Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: resourceOf(kind),
			Annotations: map[string]string{"api-approved.kubernetes.io": "unapproved, for a test"}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind.Kind, ListKind: kind.Kind + "List",
				Plural: singular + "s", Singular: singular},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(made)
	require.NoError(t, err)
	delete(fields, "status")
	return &unstructured.Unstructured{Object: fields}
}
