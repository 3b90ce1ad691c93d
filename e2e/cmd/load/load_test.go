package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestGangsOfAWorkloadAreWholeAndNested(t *testing.T) {
	for name, test := range map[string]struct {
		gang, pods            int
		gangs, made, ofGroups int
	}{
		"small ones":                     {4, 8, 2, 8, 2},
		"the last one is not cut":        {64, 100, 2, 128, 2},
		"large ones have many groups":    {1000, 1000, 1, 1000, 10},
		"an odd one has unequal groups":  {5, 5, 1, 5, 2},
		"a group is not beyond its rack": {512, 512, 1, 512, 6},
	} {
		t.Run(name, func(t *testing.T) {
			groups, pods := gangs(test.gang, test.pods).objects("w", "s")
			if len(groups) != test.gangs || len(pods) != test.made || len(groups[0].Spec.SubGroups) != test.ofGroups {
				t.Errorf("%d gangs of %d groups with %d pods", len(groups), len(groups[0].Spec.SubGroups), len(pods))
			}
			if diff := cmp.Diff(minima(groups), members(pods)); diff != "" {
				t.Errorf("pods (-wanted +made):\n%s", diff)
			}
		})
	}
}

func minima(groups []*scheduling.PodGroup) map[string]int {
	found := map[string]int{}
	for _, group := range groups {
		for _, sub := range group.Spec.SubGroups {
			found[group.Name+"/"+sub.Name] = int(*sub.MinMember)
		}
	}
	return found
}

func members(pods []*corev1.Pod) map[string]int {
	found := map[string]int{}
	for _, pod := range pods {
		found[pod.Annotations[scheduling.AnnotationPodGroupName]+"/"+pod.Labels[kai.LabelSubGroupName]]++
	}
	return found
}

func TestNodesStandInWholeRacks(t *testing.T) {
	racks := map[string]int{}
	for _, node := range nodes(2 * 300) {
		racks[node.Labels[zoneLabel]+"/"+node.Labels[blockLabel]+"/"+node.Labels[rackLabel]]++
	}
	partial := 0
	for _, count := range racks {
		if count != nodesPerRack {
			partial++
		}
	}
	// 300 nodes a zone are 18 racks and a part of one.
	if len(racks) != 2*19 || partial != 2 {
		t.Errorf("%d racks, %d of them not full: %v", len(racks), partial, racks)
	}
}

func parsed(t *testing.T, text string) metrics {
	t.Helper()
	read, err := parseMetrics([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestMetricsAreSummedOverTheLabelsAskedFor(t *testing.T) {
	read := parsed(t, "# HELP a b\na{x=\"1\",y=\"2\"} 3\na{x=\"1\",y=\"3\"} 4.5\nab{x=\"1\"} 100\na 1e1\n")
	for name, test := range map[string]struct {
		labels model.LabelSet
		want   float64
	}{
		"all":       {nil, 17.5},
		"one label": {model.LabelSet{"x": "1"}, 7.5},
		"two":       {model.LabelSet{"x": "1", "y": "2"}, 3},
		"none such": {model.LabelSet{"x": "9"}, 0},
	} {
		if got := read.sum("a", test.labels); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestRequestsAreCountedBetweenTwoReadings(t *testing.T) {
	const bind = `apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="pods",` +
		`scope="resource",subresource="binding",verb="POST",version="v1"} `
	refused, nodes := strings.Replace(bind, "201", "429", 1), strings.Replace(bind, "pods", "nodes", 1)
	got := requests(parsed(t, bind+"5\n"), parsed(t, bind+"25\n"+refused+"12\n"+nodes+"3\n"), 10)
	if diff := cmp.Diff(map[string]int{"POST pods/binding": 20, "POST pods/binding 429": 12}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestReconcilesAreBoundedByTheBucketsOfTheirHistogram(t *testing.T) {
	histogram := func(upTo5ms, upTo100ms, all int) metrics {
		const name = "controller_runtime_reconcile_time_seconds"
		return parsed(t, fmt.Sprintf("# TYPE %[1]s histogram\n%[1]s_bucket{controller=\"c\",le=\"0.005\"} %[2]d\n"+
			"%[1]s_bucket{controller=\"c\",le=\"0.1\"} %[3]d\n%[1]s_bucket{controller=\"c\",le=\"+Inf\"} %[4]d\n"+
			"%[1]s_sum{controller=\"c\"} 1\n%[1]s_count{controller=\"c\"} %[4]d\n", name, upTo5ms, upTo100ms, all))
	}
	before, after := histogram(100, 100, 100), histogram(160, 200, 200)
	if diff := cmp.Diff([]reconciled{{"c", 100, 5, 100}}, reconciles(before, after)); diff != "" {
		t.Errorf("reconciles (-want +got):\n%s", diff)
	}
	if got := reconciles(after, after); len(got) > 0 {
		t.Errorf("a controller that did nothing is reported: %v", got)
	}
}

func TestFlowsAreThoseOfEachSchema(t *testing.T) {
	got := flows(parsed(t, `apiserver_flowcontrol_dispatched_requests_total{flow_schema="b",priority_level="l"} 4
apiserver_flowcontrol_rejected_requests_total{flow_schema="a",priority_level="l",reason="time-out"} 2
apiserver_flowcontrol_rejected_requests_total{flow_schema="a",priority_level="l",reason="queue-full"} 3
# TYPE apiserver_flowcontrol_request_wait_duration_seconds histogram
apiserver_flowcontrol_request_wait_duration_seconds_bucket{execute="true",flow_schema="b",priority_level="l",le="+Inf"} 4
apiserver_flowcontrol_request_wait_duration_seconds_sum{execute="true",flow_schema="b",priority_level="l"} 2
apiserver_flowcontrol_request_wait_duration_seconds_count{execute="true",flow_schema="b",priority_level="l"} 4
`))
	want := []flow{{Schema: "a", Level: "l", Rejected: 5},
		{Schema: "b", Level: "l", Requests: 4, MeanWaitMilliseconds: 500}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flows (-want +got):\n%s", diff)
	}
}

func TestAProcessSaysWhatItUses(t *testing.T) {
	used, err := usageOf(os.Getpid())
	if err != nil || used.resident <= 1 || used.most < used.resident {
		t.Errorf("this process uses %+v, %v", used, err)
	}
}

func TestReportHasMediansAndRatios(t *testing.T) {
	report := &schedulersReport{Machine: "m", Date: "d", Nodes: 7, QPS: 9}
	add := func(by scheduler, scenario, figure string, values ...float64) {
		for _, value := range values {
			report.add(by, scenario, figure, value)
		}
	}
	add(unmodified, "plain pods", podsPerSecond, 90, 100, 500)
	add(ours, "gangs of 4", podsPerSecond, 100, 200)
	add(ours, "a gang of 50", "s", 1, 3, 0.5)
	add(unmodified, "beside 9", "MiB", 100)
	add(ours, "beside 9", "MiB", 120)
	var out bytes.Buffer
	if err := report.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"100     1.00   90 100 500", "150     1.50   100 200", "1       -      1 3 0.5",
		"120     1.20   120"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

func gated(name string) *corev1.Pod {
	pod := podOf("run", name, "nobody")
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "gate"}}
	return pod
}

func TestPodsAreCountedFromTheirAppearanceUntilTheyGo(t *testing.T) {
	counter := podsOfSets()
	counter.objects = map[string]bool{}
	counter.see(gated("a"))
	counter.see(gated("b"))
	counter.see(podOf("run", "a", "nobody"))
	if diff := cmp.Diff(map[string]bool{"a": true, "b": false}, counter.objects); diff != "" {
		t.Errorf("pods that are done (-want +got):\n%s", diff)
	}
	appeared, changed := counter.appeared, counter.changed
	counter.see(podOf("run", "a", "nobody"))
	if counter.appeared != appeared || counter.changed != changed {
		t.Error("a pod that is as it was counts as a change")
	}
	counter.miss(cache.DeletedFinalStateUnknown{Obj: gated("b")})
	if counter.count() != 1 || !counter.changed.After(changed) {
		t.Errorf("%d pods after one of two is gone", counter.count())
	}
}

func TestAProcessThatWasStartedAnewHasCountedFromNothing(t *testing.T) {
	before := reading{process: 1, operatorUse: usage{cpu: 9}, apiServerUse: usage{cpu: 1}}
	for name, test := range map[string]struct {
		process int
		want    float64
	}{"the same": {1, 2}, "another": {2, 11}} {
		after := reading{process: test.process, operatorUse: usage{11, 3, 5}, apiServerUse: usage{cpu: 4}}
		got := cost(before, after)
		if got.CPUSeconds != test.want || got.APIServerCPUSeconds != 3 || got.MiB != 3 || got.MostMiB != 5 {
			t.Errorf("%s: %+v, want %.0f s of the operator", name, got, test.want)
		}
	}
}

func TestStepsAreShownWithWhatWasWritten(t *testing.T) {
	report := operatorReport{Machine: "m", Date: "d", Steps: []step{{
		Name: "scaled", Pods: 7, Seconds: 1.5, Settled: 2.5, Writes: map[string]int{"POST pods": 12},
		Reconciles: []reconciled{{Controller: "podclique", Count: 3, Median: 5, P99: 10}},
	}}}
	var out bytes.Buffer
	if err := report.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"scaled  7", "1.5", "2.5", "scaled  podclique   3           ≤ 5        ≤ 10",
		"POST pods  12"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}
