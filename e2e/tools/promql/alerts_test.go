package main

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
)

// story are the samples of Prometheus, one a minute for two hours, in the format of promtool's tests of rules. JOB is
// the chart's name.
type story struct{ bad, good string }

const leads = `leader_election_master_status{job="JOB", pod="a"} 0x120
leader_election_master_status{job="JOB", pod="b"} `

// stories have for each alert a case in which it has to fire, and one in which it must not.
var stories = map[string]story{
	"PacktreeComponentDown": {
		bad:  `up{job="JOB", pod="a"} 0x120`,
		good: "up{job=\"JOB\", pod=\"a\"} 0x120\nup{job=\"JOB\", pod=\"b\"} 1x120",
	},
	"PacktreeNoLeader": {bad: leads + "0x120", good: leads + "1x120"},
	"PacktreeRequestsRefused": {
		bad: `rest_client_requests_total{job="JOB", method="GET", code="403"} 0+1x120`,
		good: "rest_client_requests_total{job=\"JOB\", method=\"GET\", code=\"403\"} " +
			"5x120\nrest_client_requests_total{job=\"JOB\", method=\"GET\", code=\"200\"} 0+9x120",
	},
	// One object that fails is tried again every quarter of an hour; a short failure must not fire.
	"PacktreeReconcileErrors": {
		bad:  `controller_runtime_reconcile_errors_total{job="JOB", controller="c"} 0x15 1x15 2x15 3x15 4x15 5x15 6x15 7x7`,
		good: `controller_runtime_reconcile_errors_total{job="JOB", controller="c"} 0x95 9x24`,
	},
	"PacktreeQueueBehind": {
		bad: `workqueue_queue_duration_seconds_bucket{job="JOB", name="c", le="10"} 0x120` + "\n" +
			`workqueue_queue_duration_seconds_bucket{job="JOB", name="c", le="100"} 0+5x120` + "\n" +
			`workqueue_queue_duration_seconds_bucket{job="JOB", name="c", le="+Inf"} 0+5x120`,
		good: `workqueue_queue_duration_seconds_bucket{job="JOB", name="c", le="10"} 0+5x120` + "\n" +
			`workqueue_queue_duration_seconds_bucket{job="JOB", name="c", le="100"} 0+5x120` + "\n" +
			`workqueue_queue_duration_seconds_bucket{job="JOB", name="c", le="+Inf"} 0+5x120`,
	},
	// A review that refuses is an answer, with code 200.
	"PacktreeWebhookFails": {
		bad: `controller_runtime_webhook_requests_total{job="JOB", webhook="/w", code="500"} 0+1x120`,
		good: "controller_runtime_webhook_requests_total{job=\"JOB\", webhook=\"/w\", " +
			"code=\"500\"} 0x120\ncontroller_runtime_webhook_requests_total{job=\"JOB\", webhook=\"/w\", code=\"200\"} 0+9x120",
	},
	"PacktreeDynamoDeploymentsStuck": {
		bad:  `packtree_dynamo_deployments{job="JOB", reason="NotInstalled"} 1x120`,
		good: `packtree_dynamo_deployments{job="JOB", reason="ServicesNotReady"} 4x120`,
	},
	"PacktreeDynamoConstraintsNotEnforced": {
		bad: `packtree_dynamo_topology_constraints_enforced{job="JOB", status="False"} 2x120`,
		good: "packtree_dynamo_topology_constraints_enforced{job=\"JOB\", status=\"False\"} " +
			"0x120\npacktree_dynamo_topology_constraints_enforced{job=\"JOB\", status=\"Unknown\"} 2x120",
	},
	"PacktreeGroveSetsFail": {
		bad:  `packtree_grove_podcliquesets{job="JOB", reason="ReconcileFailed"} 1x120`,
		good: `packtree_grove_podcliquesets{job="JOB", reason="GangsWaiting"} 1x120`,
	},
	"PacktreeGroveLevelsUnavailable": {
		bad:  `packtree_grove_podcliquesets_topology_levels{job="JOB", reason="ClusterTopologyNotFound"} 1x120`,
		good: `packtree_grove_podcliquesets_topology_levels{job="JOB", reason="AllClusterTopologyLevelsAvailable"} 7x120`,
	},
	"PacktreeGroveGangsTerminated": {
		bad: `packtree_grove_events_total{job="JOB", reason="GangTerminated"} 0x70 0+1x49`,
		good: "packtree_grove_events_total{job=\"JOB\", reason=\"GangTerminated\"} 0x90 " +
			"1x29\npacktree_grove_events_total{job=\"JOB\", reason=\"ScaledIn\"} 0+9x120",
	},
	"PacktreePodsNotGrouped": {
		bad:  `packtree_podgrouper_warnings_total{job="JOB", reason="OwnerCycle"} 0x100 1x19`,
		good: `packtree_podgrouper_warnings_total{job="JOB", reason="OwnerCycle"} 3x120`,
	},
	"PacktreePodGroupsInvalid": {
		bad:  `packtree_podgrouper_podgroups{job="JOB", reason="InvalidOwner"} 1x120`,
		good: `packtree_podgrouper_podgroups{job="JOB", reason="Accepted"} 9x120`,
	},
	"PacktreeGangsInfeasible":   waiting("Infeasible", "Waiting"),
	"PacktreeGangsUnknown":      waiting("Unknown", "Infeasible"),
	"PacktreeGangsIncomplete":   waiting("Incomplete", "Infeasible"),
	"PacktreeGangsInvalid":      waiting("Invalid", "Incomplete"),
	"PacktreeGangsBelowMinimum": waiting("BelowMinimum", "Waiting"),
	"PacktreeRelationsBroken": {
		bad: "packtree_scheduler_relations{job=\"JOB\", requirement=\"required\", holds=\"false\"} 1x120",
		good: "packtree_scheduler_relations{job=\"JOB\", requirement=\"required\", " +
			"holds=\"false\"} 0x120\npacktree_scheduler_relations{job=\"JOB\", requirement=\"preferred\", " +
			"holds=\"false\"} 4x120",
	},
	"PacktreePlansBroken": {
		bad: "packtree_scheduler_plan_invalidations_total{job=\"JOB\", reason=\"NodeRefused\"} " +
			"0+2x120\npacktree_scheduler_gangs_let_go_total{job=\"JOB\"} 0x120",
		good: "packtree_scheduler_plan_invalidations_total{job=\"JOB\", reason=\"NodeRefused\"} " +
			"0+1x120\npacktree_scheduler_gangs_let_go_total{job=\"JOB\"} 0+5x120",
	},
	"PacktreeDecisionsSlow": {
		bad:  decisionsWithin("1.6384"),
		good: decisionsWithin("0.0512"),
	},
}

func waiting(reason, otherwise string) story {
	return story{
		bad: `packtree_scheduler_gangs_waiting{job="JOB", reason="` + reason + `"} 1x120`,
		good: "packtree_scheduler_gangs_waiting{job=\"JOB\", reason=\"" + reason +
			"\"} 0x120\npacktree_scheduler_gangs_waiting{job=\"JOB\", reason=\"" + otherwise + "\"} 3x120",
	}
}

// decisionsWithin are decisions that all took between half of a bucket's bound and the bound.
func decisionsWithin(bound string) string {
	var lines []string
	below := true
	for _, le := range []string{"0.0256", "0.0512", "0.8192", "1.6384", "+Inf"} {
		if le == bound {
			below = false
		}
		values := "0+3x120"
		if below {
			values = "0x120"
		}
		lines = append(lines,
			`packtree_scheduler_decision_duration_seconds_bucket{job="JOB", verdict="Placed", le="`+le+`"} `+values)
	}
	return strings.Join(lines, "\n")
}

func TestAlertsFireForWhatTheyAreForAndForNothingElse(t *testing.T) {
	files, err := chartsWith(charts, "alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name := range stories {
		if alertNames(t)[name] == 0 {
			t.Errorf("there is no alert %s", name)
		}
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1000, Timeout: time.Minute, Parser: language})
	for _, file := range files {
		rules, err := readAlerts(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range rules {
			t.Run(chartOf(file)+"/"+rule.Alert, func(t *testing.T) {
				story, known := stories[rule.Alert]
				if !known {
					t.Fatal("no story says when it fires")
				}
				for series, want := range map[string]bool{story.bad: true, story.good: false} {
					scraped := loaded(t, strings.ReplaceAll(series, "JOB", chartOf(file)))
					if fires := firesAfterTwoHours(t, engine, scraped, rule.Expr,
						time.Duration(rule.For)); fires != want {
						t.Errorf("fires: %v, want %v; scraped\n%s", fires, want, series)
					}
				}
			})
		}
	}
}

// firesAfterTwoHours reports whether an alert has been pending for its time by then: its expression had a result every
// minute.
func firesAfterTwoHours(
	t *testing.T, engine *promql.Engine, scraped storage.Queryable, expr string, pending time.Duration,
) bool {
	t.Helper()
	end := time.Unix(0, 0).Add(2 * time.Hour)
	for at := end.Add(-pending); !at.After(end); at = at.Add(time.Minute) {
		asked, err := engine.NewInstantQuery(t.Context(), scraped, nil, expr, at)
		if err != nil {
			t.Fatal(err)
		}
		vector, err := asked.Exec(t.Context()).Vector()
		if err != nil {
			t.Fatal(err)
		}
		none := len(vector) == 0
		asked.Close()
		if none {
			return false
		}
	}
	return true
}

// loaded returns a storage with these series, as promtool reads them.
func loaded(t *testing.T, series string) storage.Queryable {
	t.Helper()
	samples := promqltest.LoadedStorage(t, "load 1m\n  "+strings.ReplaceAll(series, "\n", "\n  "))
	t.Cleanup(func() { samples.Close() })
	return samples
}
