package charts_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// monitored are the charts with a dashboard and alerts.
var monitored = []string{"dynamo-operator", "grove-operator", "kai-topology-plugin", "podgrouper"}

func named(objects []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	for _, object := range objects {
		if object.GetKind() == kind && object.GetName() == name {
			return object
		}
	}
	return nil
}

// A cluster without the Prometheus operator does not know the kind, so it is made only on request.
func TestDashboardsAndAlertsComeOnRequest(t *testing.T) {
	objects := withoutKinds(t, "packtree")
	for _, chart := range monitored {
		if named(objects, "ConfigMap", chart+"-dashboard") != nil {
			t.Errorf("the dashboard of %s is installed unasked", chart)
		}
	}
	if rules := namesOf(objects, "PrometheusRule"); len(rules) > 0 {
		t.Errorf("alerts %v are installed unasked", rules)
	}
	const on = "monitoring.dashboard.enabled=true,monitoring.alerts.enabled=true," +
		"monitoring.dashboard.labels.shown=yes,monitoring.alerts.labels.release=prometheus"
	asked := withoutKinds(t, "packtree", forEach("packtree", on, monitored))
	assert.Empty(t, cmp.Diff(monitored, namesOf(asked, "PrometheusRule")), "alerts (-want +got)")
	const runbooks = "https://wiki.example.com/runbooks"
	linked := withoutKinds(t, "packtree", forEach("packtree",
		on+",monitoring.alerts.runbooks="+runbooks+"/", monitored))
	for _, chart := range monitored {
		t.Run(chart, func(t *testing.T) {
			checkDashboard(t, chart, named(asked, "ConfigMap", chart+"-dashboard"))
			checkAlerts(t, named(asked, "PrometheusRule", chart), "")
			checkAlerts(t, named(linked, "PrometheusRule", chart), runbooks)
		})
	}
}

func checkDashboard(t *testing.T, chart string, dashboard *unstructured.Unstructured) {
	t.Helper()
	if dashboard == nil {
		t.Fatal("no dashboard")
	}
	if labels := dashboard.GetLabels(); labels["grafana_dashboard"] != "1" || labels["shown"] != "yes" {
		t.Errorf("labels of the dashboard are %v", labels)
	}
	data, _, _ := unstructured.NestedStringMap(dashboard.Object, "data")
	assert.Empty(t, cmp.Diff([]string{chart + ".json"}, slices.Collect(maps.Keys(data))), "files (-want +got)")
	assert.Empty(t, cmp.Diff(strings.TrimSpace(string(read(t, chart, "files/dashboard.json"))),
		strings.TrimSpace(data[chart+".json"])), "the dashboard is changed by the template (-file +rendered)")
}

// checkAlerts checks that each alert links to its page below the address runbooks, and to no page without an address.
func checkAlerts(t *testing.T, alerts *unstructured.Unstructured, runbooks string) {
	t.Helper()
	if alerts == nil {
		t.Fatal("no alerts")
	}
	if labels := alerts.GetLabels(); labels["release"] != "prometheus" {
		t.Errorf("labels of the alerts are %v", labels)
	}
	groups, _, _ := unstructured.NestedSlice(alerts.Object, "spec", "groups")
	count := 0
	for _, group := range groups {
		rules, _, _ := unstructured.NestedSlice(group.(map[string]any), "rules")
		for _, rule := range rules {
			count++
			name, _, _ := unstructured.NestedString(rule.(map[string]any), "alert")
			description, _, _ := unstructured.NestedString(rule.(map[string]any), "annotations", "description")
			url, linked, _ := unstructured.NestedString(rule.(map[string]any), "annotations", "runbook_url")
			if linked != (runbooks != "") || linked && url != runbooks+"/"+name+".md" || description == "" {
				t.Errorf("alert %s has the runbook %q and the description %q", name, url, description)
			}
		}
	}
	if count == 0 {
		t.Error("there is no rule")
	}
}
