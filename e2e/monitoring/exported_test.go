package monitoring

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	dynamo "packtree.dev/shared/api/dynamo/v1beta1"
	grove "packtree.dev/shared/api/grove/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/apiservertest"

	"packtree.dev/e2e/examples"
)

// words are values of labels that appear only after events which this test cannot cause at once.
var words = map[string][]string{
	"packtree_scheduler_gangs_waiting": {
		scheduling.ReasonInfeasible, scheduling.ReasonUnknown, scheduling.ReasonIncomplete, scheduling.ReasonInvalid,
		scheduling.ReasonBelowMinimum, scheduling.ReasonWaiting,
	},
}

// counts are the numbers of objects in this test: the deployment becomes a PodCliqueSet too, each set a PodGang, and
// each of these a PodGroup, as do both pods without a workload. No pods run.
var counts = []struct {
	chart, metric, label, value string
	want                        float64
}{
	{"dynamo-operator", "packtree_dynamo_deployments", "reason", dynamo.ReasonServicesNotReady, 1},
	{"dynamo-operator", "packtree_dynamo_deployments", "reason", dynamo.ReasonAllServicesReady, 0},
	{"grove-operator", "packtree_grove_podcliquesets", "reason", grove.ReasonAllReplicasAvailable, 0},
	{"grove-operator", "packtree_grove_podcliquesets_topology_levels", "reason",
		grove.ReasonAllClusterTopologyLevelsAvailable, 2},
	{"grove-operator", "packtree_grove_events_total", "reason", "PodsCreated", 2},
	{"grove-operator", "packtree_grove_podgangs", "phase", "Running", 0},
	{"podgrouper", "packtree_podgrouper_podgroups", "reason", scheduling.ReasonAccepted, 4},
	{"kai-topology-plugin", "packtree_scheduler_gangs_waiting", "reason", scheduling.ReasonInfeasible, 1},
	{"kai-topology-plugin", "packtree_scheduler_gangs_waiting", "reason", scheduling.ReasonIncomplete, 1},
}

// A panel of a metric that is not exported is empty, and its alert never fires, which would go unnoticed. So all
// programs run, get work to do, and are scraped.
func TestEveryMetricOfTheDashboardsAndAlertsIsExported(t *testing.T) {
	directory, err := examples.Directory()
	require.NoError(t, err)
	root := filepath.Join(directory, "..", "..")
	asked := uses(t, root)

	server, err := apiservertest.Start(envtest.WebhookInstallOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, server.Stop())
	})
	credentials := kubeconfig(t, server.Environment)
	programs := map[string]*program{
		"dynamo-operator":     startOperator(t, root, credentials, "dynamo-operator"),
		"podgrouper":          startOperator(t, root, credentials, "podgrouper"),
		"grove-operator":      startGroveOperator(t, root, credentials),
		"kai-topology-plugin": startScheduler(t, root, credentials),
	}
	create(t, server.Config)

	var lacks []string
	err = wait.PollUntilContextTimeout(t.Context(), time.Second, 3*time.Minute, true,
		func(ctx context.Context) (bool, error) {
			found := lacking(ctx, asked, programs)
			if ctx.Err() == nil { // Otherwise no program could answer, and the earlier result stands.
				lacks = found
			}
			return len(found) == 0, nil
		})
	if err != nil {
		t.Errorf("dashboards and alerts ask for what is not exported:\n%s", strings.Join(lacks, "\n"))
	}
}

// lacking compares the used metrics with the exported ones.
func lacking(ctx context.Context, asked []use, programs map[string]*program) []string {
	exported := map[string]families{}
	var lacks []string
	for chart, program := range programs {
		scraped, err := program.scrape(ctx)
		if err != nil {
			lacks = append(lacks, fmt.Sprintf("%s: %v", chart, err))
			continue
		}
		exported[chart] = scraped
		if served := scraped["controller_runtime_webhook_requests_total"]; served != nil {
			for _, path := range slices.Compact(slices.Sorted(slices.Values(valuesOf(served, "webhook")))) {
				program.review(ctx, path)
			}
		}
	}
	for _, count := range counts {
		if scraped, ok := exported[count.chart]; ok &&
			total(scraped[count.metric], count.label, count.value) != count.want {
			lacks = append(lacks,
				fmt.Sprintf("%s: %s with %s %q is not %v", count.chart, count.metric, count.label,
					count.value, count.want))
		}
	}
	for _, use := range asked {
		scraped, ok := exported[use.Chart]
		if !ok && programs[use.Chart] != nil {
			continue
		}
		if what := missing(use, scraped, words); what != "" {
			lacks = append(lacks, fmt.Sprintf("%s, %s: %s: %s", use.Chart, use.Place, use.Metric, what))
		}
	}
	return lacks
}

// create gives every controller and the scheduler something to do: a deployment, a PodCliqueSet, a gang that fits, one
// that does not, and one that lacks a pod. Without kubelets and without kube-controller-manager nothing runs, but
// everything is decided.
func create(t *testing.T, config *rest.Config) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, dynamo.AddToScheme, grove.AddToScheme,
		kai.AddToScheme, scheduling.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	api, err := crclient.New(config, crclient.Options{Scheme: scheme})
	require.NoError(t, err)
	objects := []crclient.Object{
		&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "n",
				Labels: map[string]string{"example.com/rack": "r", "kubernetes.io/hostname": "n"}},
			Status: corev1.NodeStatus{
				Allocatable: corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("8Gi"),
					"pods": resource.MustParse("20")},
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		},
		&kai.Topology{
			ObjectMeta: metav1.ObjectMeta{Name: "t"},
			Spec: kai.TopologySpec{
				Levels: []kai.TopologyLevel{{NodeLabel: "example.com/rack"}, {NodeLabel: "kubernetes.io/hostname"}},
			},
		},
		&dynamo.DynamoGraphDeployment{
			ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "default"},
			Spec: dynamo.DynamoGraphDeploymentSpec{BackendFramework: "vllm", Components: []dynamo.ComponentSpec{{
				Name: "Frontend", Type: "frontend", PodTemplate: corev1.PodTemplateSpec{Spec: pod("x", "").Spec},
			}}},
		},
		&grove.PodCliqueSet{
			ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default"},
			Spec: grove.PodCliqueSetSpec{Replicas: 1,
				Template: grove.PodCliqueSetTemplateSpec{Cliques: []grove.PodCliqueTemplateSpec{{
					Name: "c", Spec: grove.PodCliqueSpec{RoleName: "c", Replicas: 1, PodSpec: pod("x", "").Spec},
				}}}},
		},
	}
	for name, cpu := range map[string]string{"fits": "1", "large": "100"} {
		objects = append(objects, pod(name, cpu))
	}
	objects = append(objects, &scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Name: "incomplete", Namespace: "default"},
		Spec:       scheduling.PodGroupSpec{MinMember: new(int32(2))},
	})
	for _, object := range objects {
		status := object.DeepCopyObject().(crclient.Object)
		if err := api.Create(t.Context(), object); err != nil {
			t.Fatalf("creating %T: %v", object, err)
		}
		if node, ok := status.(*corev1.Node); ok {
			node.ResourceVersion = object.GetResourceVersion()
			require.NoError(t, api.Status().Update(t.Context(), node))
			node.Spec.Taints = nil // The API server taints new nodes as not ready.
			require.NoError(t, api.Update(t.Context(), node))
		}
	}
}

func pod(name, cpu string) *corev1.Pod {
	made := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: corev1.PodSpec{
			SchedulerName: "kai-scheduler",
			Containers:    []corev1.Container{{Name: "main", Image: "x"}},
		},
	}
	if cpu != "" {
		made.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse(cpu)}
	}
	return made
}
