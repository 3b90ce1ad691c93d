package charts_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func highlyAvailable(t *testing.T, chart string) []*unstructured.Unstructured {
	t.Helper()
	return renderedBy(t, chart, "--values", filepath.Join(chartPath(t, chart), "values-ha.yaml"), "--set",
		strings.Join(noKinds(chart), ","))
}

// TestTwoOfEachStandApart reads values-ha.yaml of every chart, the umbrella among them.
func TestTwoOfEachStandApart(t *testing.T) {
	for chart, want := range charts {
		t.Run(chart, func(t *testing.T) {
			objects := highlyAvailable(t, chart)
			budgets := map[string]policyv1.PodDisruptionBudget{}
			for _, budget := range typed[policyv1.PodDisruptionBudget](t, objects, "PodDisruptionBudget") {
				budgets[budget.Name] = budget
			}
			assert.Empty(t, cmp.Diff(want.deployments, slices.Sorted(maps.Keys(budgets))),
				"PodDisruptionBudgets (-want +got)")
			for _, deployment := range typed[appsv1.Deployment](t, objects, "Deployment") {
				checkTwo(t, deployment, budgets[deployment.Name])
				if !electsLeader(t, objects, deployment) {
					t.Errorf("%s elects no leader", deployment.Name)
				}
			}
			for _, object := range objects {
				for name, webhook := range webhooks(object) {
					want := "Fail"
					if strings.HasPrefix(name, "warn.") {
						want = "Ignore" // It refuses nothing, so nothing has to wait for it.
					}
					if webhook["failurePolicy"] != want {
						t.Errorf("webhook %s: failurePolicy %v", name, webhook["failurePolicy"])
					}
				}
			}
		})
	}
}

func checkTwo(t *testing.T, deployment appsv1.Deployment, budget policyv1.PodDisruptionBudget) {
	t.Helper()
	if deployment.Spec.Replicas == nil || *deployment.Spec.Replicas != 2 {
		t.Errorf("%s: replicas %v", deployment.Name, deployment.Spec.Replicas)
	}
	if unavailable := budget.Spec.MaxUnavailable; unavailable == nil || unavailable.IntValue() != 1 {
		t.Errorf("%s: pods that may be unavailable: %v", deployment.Name, unavailable)
	}
	assert.Empty(t, cmp.Diff(deployment.Spec.Selector, budget.Spec.Selector),
		"%s: the budget's pods are not the Deployment's (-deployment +budget)", deployment.Name)
	pod := deployment.Spec.Template.Spec
	if pod.PriorityClassName != "system-cluster-critical" {
		t.Errorf("%s: priority class %q", deployment.Name, pod.PriorityClassName)
	}
	// Apart, as long as two nodes take pods; pods of another version do not count.
	spread := func(over string, otherwise corev1.UnsatisfiableConstraintAction) corev1.TopologySpreadConstraint {
		return corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: over, WhenUnsatisfiable: otherwise,
			LabelSelector: deployment.Spec.Selector, NodeTaintsPolicy: new(corev1.NodeInclusionPolicyHonor),
			MatchLabelKeys: []string{appsv1.DefaultDeploymentUniqueLabelKey}}
	}
	want := []corev1.TopologySpreadConstraint{spread(corev1.LabelHostname, corev1.DoNotSchedule),
		spread(corev1.LabelTopologyZone, corev1.ScheduleAnyway)}
	assert.Empty(t, cmp.Diff(want, pod.TopologySpreadConstraints), "%s: spread (-want +got)", deployment.Name)
}

// electsLeader reads each program's setting: a flag, or a field of its configuration file.
func electsLeader(t *testing.T, objects []*unstructured.Unstructured, deployment appsv1.Deployment) bool {
	t.Helper()
	if slices.Contains(deployment.Spec.Template.Spec.Containers[0].Args, "--leader-elect=true") {
		return true
	}
	file := configuration(objects, deployment.Name)
	if file == nil {
		return false
	}
	text, _, _ := unstructured.NestedString(file.Object, "data", "config.yaml")
	var config struct {
		LeaderElection struct {
			Enabled     bool `json:"enabled"`
			LeaderElect bool `json:"leaderElect"`
		} `json:"leaderElection"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(text), &config))
	return config.LeaderElection.Enabled || config.LeaderElection.LeaderElect
}

// The umbrella has a file of its own, since helm does not read those of subcharts.
func TestTheUmbrellasValuesAreThoseOfTheCharts(t *testing.T) {
	var umbrella map[string]any
	require.NoError(t, yaml.Unmarshal(read(t, "packtree", "values-ha.yaml"), &umbrella))
	each := map[string]any{}
	for _, chart := range charts["packtree"].deployments {
		var values any
		require.NoError(t, yaml.Unmarshal(read(t, chart, "values-ha.yaml"), &values))
		each[chart] = values
	}
	assert.Empty(t, cmp.Diff(each, umbrella), "values-ha.yaml (-charts +umbrella)")
}

func TestOneOfEachNeedsNoBudget(t *testing.T) {
	objects := withoutKinds(t, "packtree")
	if names := namesOf(objects, "PodDisruptionBudget"); len(names) > 0 {
		t.Errorf("one pod has a PodDisruptionBudget: %v", names)
	}
	for _, deployment := range typed[appsv1.Deployment](t, objects, "Deployment") {
		if pod := deployment.Spec.Template.Spec; len(pod.TopologySpreadConstraints) > 0 || pod.PriorityClassName != "" {
			t.Errorf("%s: spread %v, priority class %q unasked", deployment.Name, pod.TopologySpreadConstraints,
				pod.PriorityClassName)
		}
	}
}

func TestASelectorOfTheUsersOwnStays(t *testing.T) {
	const constraint = "topologySpreadConstraints[0]."
	objects := withoutKinds(t, "podgrouper", constraint+"maxSkew=2", constraint+"topologyKey=rack",
		constraint+"whenUnsatisfiable=ScheduleAnyway",
		constraint+"labelSelector.matchLabels.a=b")
	got := typed[appsv1.Deployment](t, objects, "Deployment")[0].Spec.Template.Spec.TopologySpreadConstraints
	if len(got) != 1 || got[0].MaxSkew != 2 ||
		!maps.Equal(got[0].LabelSelector.MatchLabels, map[string]string{"a": "b"}) {
		t.Errorf("got %+v", got)
	}
	objects = withoutKinds(t, "podgrouper", constraint+"maxSkew=2", constraint+"topologyKey=rack",
		constraint+"whenUnsatisfiable=ScheduleAnyway",
		constraint+"labelSelector=null")
	got = typed[appsv1.Deployment](t, objects, "Deployment")[0].Spec.Template.Spec.TopologySpreadConstraints
	if len(got) != 1 || got[0].LabelSelector != nil {
		t.Errorf("none: got %+v", got)
	}
}

// Two active replicas would overwrite each other's work.
func TestTwoWithoutALeaderAreRefused(t *testing.T) {
	for _, chart := range charts["packtree"].deployments {
		_, problems, err := helm(t, os.DevNull, "template", "release", chartPath(t, chart), "--set",
			"replicas=2,leaderElection.enabled=false")
		if err == nil || !strings.Contains(problems, chart+": replicas is 2 without leaderElection.enabled") {
			t.Errorf("%s: %v: %s", chart, err, problems)
		}
	}
}
