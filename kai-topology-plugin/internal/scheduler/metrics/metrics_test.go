package metrics_test

import (
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/component-base/metrics/legacyregistry"

	"packtree.dev/kai-topology-plugin/internal/scheduler/capacity"
	"packtree.dev/kai-topology-plugin/internal/scheduler/metrics"
	"packtree.dev/kai-topology-plugin/internal/scheduler/relationstatus"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
)

// value reads one of our metrics from the registry of kube-scheduler; of a histogram its sum. It is -1 if there is
// none.
func value(t *testing.T, name string, labels model.LabelSet) float64 {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() != "packtree_scheduler_"+name {
			continue
		}
		for _, metric := range family.Metric {
			matching := 0
			for _, label := range metric.Label {
				if labels[model.LabelName(label.GetName())] == model.LabelValue(label.GetValue()) {
					matching++
				}
			}
			if matching == len(labels) {
				return metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + metric.GetHistogram().GetSampleSum()
			}
		}
	}
	return -1
}

func expect(t *testing.T, want float64, name string, labels model.LabelSet) {
	t.Helper()
	if got := value(t, name, labels); got != want {
		t.Errorf("%s%v is %v, want %v", name, labels, got, want)
	}
}

func TestTheBudgetIsTheEnginesOwnUnlessGiven(t *testing.T) {
	metrics.Register()
	metrics.Register() // A profile each.
	metrics.Decided("Placed", packing.DefaultBudget/4, 0, time.Second)
	expect(t, 0.25, "search_budget_used_ratio", nil)
	metrics.Decided("Unknown", 30, 20, time.Second)
	expect(t, 1.25, "search_budget_used_ratio", nil)
	expect(t, 1, "decisions_total", model.LabelSet{"verdict": "Unknown"})
	expect(t, 1, "decision_duration_seconds", model.LabelSet{"verdict": "Placed"})
}

func TestAGangWaitsForOneReasonAtATime(t *testing.T) {
	metrics.Register()
	for range 2 {
		metrics.GangWaits("", "Infeasible")
	}
	metrics.GangWaits("Infeasible", "Infeasible")
	expect(t, 2, "gangs_waiting", model.LabelSet{"reason": "Infeasible"})
	metrics.GangWaits("Infeasible", "Unknown")
	metrics.GangWaits("Infeasible", "")
	expect(t, 0, "gangs_waiting", model.LabelSet{"reason": "Infeasible"})
	expect(t, 1, "gangs_waiting", model.LabelSet{"reason": "Unknown"})
}

func TestHowLongAGangTookToBeBound(t *testing.T) {
	metrics.Register()
	metrics.GangBound(1500 * time.Millisecond)
	expect(t, 1.5, "gang_complete_to_bound_seconds", nil)
}

func TestGangsPlaced(t *testing.T) {
	metrics.Register()
	expect(t, 0, "gangs_placed_total", model.LabelSet{"fewest": "NotProved"})
	metrics.GangPlaced(&scheduling.PlacementStatus{Domains: 1, Fewest: scheduling.FewestYes})
	expect(t, 1, "gangs_placed_total", model.LabelSet{"fewest": "Yes"})
	expect(t, 0, "gangs_placed_total", model.LabelSet{"fewest": "NotProved"})
}

func TestMadeRoom(t *testing.T) {
	metrics.Register()
	metrics.MadeRoom(3, 0)
	metrics.MadeRoom(8, 1)
	expect(t, 1, "preemptions_total", model.LabelSet{"victims": "Pods"})
	expect(t, 1, "preemptions_total", model.LabelSet{"victims": "Gangs"})
	expect(t, 11, "preempted_pods_total", nil)
}

func TestALevelOfManyDomainsHasTotalsOnly(t *testing.T) {
	metrics.Register()
	var nodes []capacity.Node
	for i := range 300 {
		name := string(rune('a'+i/26)) + string(rune('a'+i%26))
		nodes = append(nodes, capacity.Node{
			Labels: map[string]string{"rack": "r", "host": name}, Usable: true, Allocatable: packing.Resources{"cpu": int64(1000 * i)},
		})
	}
	metrics.ServeDomains(counted{nodes: nodes, slots: []capacity.LevelSlots{
		{Shape: "s", Topology: "t", Key: "rack", Slots: 7, Domains: []capacity.DomainSlots{{Path: packing.Path{"r"}, Slots: 7}}},
		{Shape: "s", Topology: "t", Key: "host", Slots: 4},
	}, t: t})
	defer metrics.ServeDomains(counted{t: t})
	expect(t, 44850, "domain_free", model.LabelSet{"level": "rack", "domain": "r", "resource": "cpu"})
	expect(t, -1, "domain_free", model.LabelSet{"level": "host"})
	expect(t, 300, "level_domains", model.LabelSet{"level": "host"})
	expect(t, 299, "level_largest_free", model.LabelSet{"level": "host", "resource": "cpu"})
	expect(t, 7, "domain_slots", model.LabelSet{"shape": "s", "topology": "t", "level": "rack", "domain": "r"})
	expect(t, -1, "domain_slots", model.LabelSet{"level": "host"})
	expect(t, 4, "level_slots", model.LabelSet{"shape": "s", "topology": "t", "level": "host"})
}

// counted is what a scheduler counts, of a topology of racks and hosts.
type counted struct {
	t         *testing.T
	nodes     []capacity.Node
	slots     []capacity.LevelSlots
	relations relationstatus.Tally
}

func (c counted) Capacity(bounds capacity.Bounds) ([]capacity.Level, []capacity.LevelSlots) {
	assert.Equal(c.t, 256, bounds.PerLevel, "the bounds are %+v", bounds)
	assert.Equal(c.t, 2048, bounds.InAll, "the bounds are %+v", bounds)
	return capacity.Report(map[string][]string{"t": {"rack", "host"}}, c.nodes, bounds), c.slots
}

func (c counted) Relations() relationstatus.Tally { return c.relations }

func TestRelationsAreCountedByWhetherTheyHold(t *testing.T) {
	metrics.Register()
	var tally relationstatus.Tally
	for _, relation := range []relationstatus.Relation{{Required: true}, {Required: true}, {Required: true, Lacks: 1}, {Lacks: 4}} {
		tally.Add(relation)
	}
	metrics.ServeDomains(counted{relations: tally, t: t})
	defer metrics.ServeDomains(counted{t: t})
	expect(t, 2, "relations", model.LabelSet{"requirement": "required", "holds": "true"})
	expect(t, 1, "relations", model.LabelSet{"requirement": "required", "holds": "false"})
	expect(t, 0, "relations", model.LabelSet{"requirement": "preferred", "holds": "true"})
	expect(t, 1, "relations", model.LabelSet{"requirement": "preferred", "holds": "false"})
}
