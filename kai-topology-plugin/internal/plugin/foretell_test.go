package plugin

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/repair"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestWorkRestsSoThatItTakesItsShare(t *testing.T) {
	moment := time.Unix(0, 0)
	var rests []time.Duration
	work := &pace{share: 10, now: func() time.Time { return moment }, rest: func(length time.Duration) {
		rests = append(rests, length)
		moment = moment.Add(length)
	}}
	work.begin()
	for _, millis := range []int{5, 5, 5, 5, 1, 100, 19} {
		moment = moment.Add(time.Duration(millis) * time.Millisecond)
		work.step()
	}
	if want := []time.Duration{180 * time.Millisecond, 909 * time.Millisecond}; !slices.Equal(rests, want) {
		t.Errorf("it rests for %v, want %v", rests, want)
	}
	if want := 140 * time.Millisecond; work.end() != want {
		t.Errorf("it has worked for %s, want %s", work.end(), want)
	}
}

func TestOneProfileForetellsAndTellsAll(t *testing.T) {
	var all profiles
	if all.now().every != 0 || all.claimForecasts() != 0 {
		t.Error("nobody has asked for forecasts")
	}
	for _, interval := range []time.Duration{0, time.Hour, time.Minute, 0, time.Hour} {
		all.foretellEvery(interval)
	}
	if every := all.claimForecasts(); every != time.Minute || all.now().every != time.Minute {
		t.Errorf("the first to claim them foretells every %s", every)
	}
	if every := all.claimForecasts(); every != 0 {
		t.Errorf("the second foretells every %s", every)
	}
	informed := 0
	for range 2 {
		all.listen(func(round map[gang.Key]gangstate.Repairability) { informed += len(round) })
	}
	for _, listener := range all.now().listeners {
		listener(map[gang.Key]gangstate.Repairability{{Name: "a"}: {}})
	}
	if informed != 2 {
		t.Errorf("%d of two profiles were informed", informed)
	}
}

func TestAGangIsToldOfTheNarrowestFailure(t *testing.T) {
	cluster := inventory.New()
	for _, name := range []string{"mended", "lost", "with-node", "waits"} {
		podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		cluster.PodGroups = append(cluster.PodGroups, podGroup)
	}
	got := repairabilities(cluster, []*repair.Forecast{
		{Failure: repair.Failure{Level: "rack", Domain: "r"}, Lost: []string{"ns/lost", "ns/with-node"},
			MendedInPlace: []string{"ns/mended"}},
		{Failure: repair.Failure{Level: corev1.LabelHostname, Domain: "r/m", Nodes: []string{"m"}},
			MendedInPlace: []string{"ns/lost"}},
		{Failure: repair.Failure{Level: corev1.LabelHostname, Domain: "r/n", Nodes: []string{"n"}},
			Lost: []string{"ns/with-node"}},
	})
	want := map[string]gangstate.Repairability{
		"mended": {}, "lost": {LostWith: "r (rack)"}, "with-node": {LostWith: "node n", Node: true},
	}
	for name, repairability := range want {
		if found := got[gang.Key{Namespace: "ns", Name: name}]; found != repairability {
			t.Errorf("%s: %+v, want %+v", name, found, repairability)
		}
	}
	if len(got) != len(want) {
		t.Errorf("something is said of %d gangs, want %d: %v", len(got), len(want), got)
	}
}
