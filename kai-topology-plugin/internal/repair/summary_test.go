package repair_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/repair"
)

func all(t testing.TB, cluster *inventory.Inventory) []*repair.Forecast {
	t.Helper()
	forecasts, _, err := repair.All(t.Context(), cluster, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	return forecasts
}

func failureOf(level, domain string) repair.Failure {
	return repair.Failure{Level: level, Domain: domain}
}

func TestLevelsHaveTheirWorstFailure(t *testing.T) {
	forecasts := []*repair.Forecast{
		{Failure: failureOf("zone", "a"), Lost: []string{"x", "y"}},
		{Failure: failureOf("rack", "a/1"), MendedInPlace: []string{"x", "y", "z"}},
		{Failure: failureOf("rack", "a/2"), MendedInPlace: []string{"x"}, MendedByMoving: []repair.Move{{Gang: "y", SubGroup: "s"}, {Gang: "y", SubGroup: "t"}}},
		{Failure: failureOf("rack", "a/3"), Lost: []string{"x"}},
		{Failure: failureOf("rack", "a/4"), Lost: []string{"x"}, MendedInPlace: []string{"z"}},
		{Failure: failureOf("rack", "a/5"), MendedByMoving: []repair.Move{{Gang: "x"}, {Gang: "y"}}},
		{Failure: failureOf("host", "a/5/n"), MendedInPlace: []string{"x"}},
		{Failure: failureOf("host", "a/5/m")},
	}
	want := []*repair.Level{
		{Key: "zone", Worst: repair.Count{Lost: 2}, Losing: 1, Harmful: forecasts[:1]},
		{Key: "rack", Worst: repair.Count{Lost: 1, InPlace: 1}, InPlace: 1, Moving: 2, Losing: 2, Harmful: forecasts[2:6]},
		{Key: "host", Worst: repair.Count{InPlace: 1}, InPlace: 1, Idle: 1},
	}
	if diff := cmp.Diff(want, repair.Levels(forecasts)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := forecasts[2].Count(); got != (repair.Count{InPlace: 1, Moving: 1}) {
		t.Errorf("a gang of which two groups move counts as %+v", got)
	}
}

func TestLossesHaveTheNarrowestLevelFirst(t *testing.T) {
	forecasts := []*repair.Forecast{
		{Failure: failureOf("zone", "a"), Lost: []string{"x"}, MendedInPlace: []string{"y"}},
		{Failure: failureOf("rack", "a/1"), Lost: []string{"x"}},
		{Failure: failureOf("rack", "a/2"), Lost: []string{"x"}, MendedByMoving: []repair.Move{{Gang: "z"}}},
		{Failure: failureOf("host", "a/1/n"), MendedInPlace: []string{"x"}},
	}
	want := map[string][]repair.Failure{
		"x": {failureOf("rack", "a/1"), failureOf("rack", "a/2"), failureOf("zone", "a")}, "y": {}, "z": {},
	}
	if diff := cmp.Diff(want, repair.Losses(forecasts)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCompare(t *testing.T) {
	before := []*repair.Forecast{
		{Failure: failureOf("rack", "1"), MendedInPlace: []string{"worse"}, Lost: []string{"better", "gone", "lost"}},
		{Failure: failureOf("rack", "2"), MendedByMoving: []repair.Move{{Gang: "worse"}}},
	}
	after := []*repair.Forecast{
		{Failure: failureOf("rack", "1"), MendedByMoving: []repair.Move{{Gang: "better"}}, Lost: []string{"worse", "new", "lost"}},
		{Failure: failureOf("rack", "2"), Lost: []string{"worse"}, MendedInPlace: []string{"safe"}},
	}
	want := repair.Comparison{
		Worse:  []repair.Exposure{{Gang: "worse", Failures: []repair.Failure{failureOf("rack", "1"), failureOf("rack", "2")}}},
		Better: []repair.Exposure{{Gang: "better", Failures: []repair.Failure{failureOf("rack", "1")}}},
		New:    []repair.Exposure{{Gang: "new", Failures: []repair.Failure{failureOf("rack", "1")}}},
	}
	if diff := cmp.Diff(want, repair.Compare(before, after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	none := repair.Comparison{Worse: []repair.Exposure{}, Better: []repair.Exposure{}, New: []repair.Exposure{}}
	if diff := cmp.Diff(none, repair.Compare(after, after)); diff != "" {
		t.Errorf("nothing has changed (-want +got):\n%s", diff)
	}
}

// What a gang that comes takes from others is what all ways to place pods say of the cluster without it and with it.
func TestAComparisonIsRight(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawPuzzle(r)
		if len(p.on[0]) == 0 || len(p.on[1]) == 0 {
			r.Skip("a subgroup without pods needs none")
		}
		taker := rapid.SampledFrom(p.nodes).Draw(r, "node of the gang that comes")
		if p.free[taker] == 0 {
			r.Skip("there is no room for it")
		}
		before := all(t, read(t, p.manifests()))
		with := *p
		with.free = map[string]int{}
		for node, amount := range p.free {
			with.free[node] = amount
		}
		with.free[taker] = 0
		comes := podGroup("taker", "minMember: 1") + pods("taker", "", p.free[taker], taker)
		compared := repair.Compare(before, all(t, read(t, p.manifests()+comes)))
		var want []string
		for _, forecast := range before {
			// Of one that hits both, the gang that comes may take the room that this one would get.
			if slices.Contains(forecast.Nodes, taker) {
				continue
			}
			_, was := p.leastMoved(forecast.Nodes)
			if _, is := with.leastMoved(forecast.Nodes); was && !is {
				want = append(want, forecast.String())
			}
		}
		var got []string
		for _, exposed := range compared.Worse {
			for _, failure := range exposed.Failures {
				if !slices.Contains(failure.Nodes, taker) {
					got = append(got, failure.String())
				}
			}
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))); diff != "" {
			r.Fatalf("(-want +got):\n%s\n%s", diff, p.manifests()+comes)
		}
	})
}

func TestAFailureInWords(t *testing.T) {
	for want, failure := range map[string]repair.Failure{
		"node n1":         {Level: corev1.LabelHostname, Domain: "z/r/n1", Nodes: []string{"n1"}},
		"z/r1 (l/rack)":   {Level: "l/rack", Domain: "z/r1", Nodes: []string{"n1"}},
		"z/r1/h (l/host)": {Level: "l/host", Domain: "z/r1/h", Nodes: []string{"n1"}},
		"h (" + corev1.LabelHostname + ")": {
			Level: corev1.LabelHostname, Domain: "h", Nodes: []string{"two", "nodes of one label"},
		},
	} {
		if got := failure.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWhoGivesUpIsNotForetoldFurther(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	told := 0
	_, _, err := repair.All(ctx, read(t, topology+nodes(4, "z-r1-n1", "z-r1-n2")), func(int) { told++; cancel() })
	if !errors.Is(err, context.Canceled) || told != 1 {
		t.Errorf("told of %d failures, error %v", told, err)
	}
}
