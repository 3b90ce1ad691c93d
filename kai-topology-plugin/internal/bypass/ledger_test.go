package bypass_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/kai-topology-plugin/internal/bypass"
	"packtree.dev/kai-topology-plugin/internal/gang"
)

var (
	big    = bypass.Claim{Rank: rank("big", 0, 100), Ground: bypass.Ground{Levels: []string{"zone", "rack"}}, Scarce: []string{"gpu"}}
	inRack = map[string]string{"zone": "z1", "rack": "r1"}
)

func rank(name string, priority int32, since int64) gang.Rank {
	return gang.Rank{Priority: priority, Since: time.Unix(since, 0), Gang: gang.Key{Namespace: "ns", Name: name}}
}

func taking(by gang.Rank, resource string, nodes ...map[string]string) bypass.Taking {
	return bypass.Taking{Rank: by, Asks: func(asked string) bool { return asked == resource }, Nodes: nodes}
}

func always(bypass.Closure) bool { return true }

func domains(closed []bypass.Closure) []string {
	var names []string
	for _, closure := range closed {
		names = append(names, closure.For.Name+" "+closure.Domain)
	}
	return names
}

func TestADomainIsClosedToThoseWhoPassedOftenEnough(t *testing.T) {
	younger := rank("younger", 0, 200)
	for name, c := range map[string]struct {
		times  int
		taking bypass.Taking
		asking gang.Rank
		holds  func(bypass.Closure) bool
		want   []string
	}{
		"at the bound":                  {bypass.Bound, taking(younger, "gpu", inRack, inRack), younger, always, []string{"big z1/r1"}},
		"not before":                    {bypass.Bound - 1, taking(younger, "gpu", inRack), younger, always, nil},
		"not to those who rank higher":  {bypass.Bound, taking(younger, "gpu", inRack), rank("older", 0, 50), always, nil},
		"not to the gang itself":        {bypass.Bound, taking(younger, "gpu", inRack), big.Rank, always, nil},
		"not for those who rank higher": {bypass.Bound, taking(rank("urgent", 9, 200), "gpu", inRack), younger, always, nil},
		"not for what is not scarce":    {bypass.Bound, taking(younger, "cpu", inRack), younger, always, nil},
		"not for nodes without a rack":  {bypass.Bound, taking(younger, "gpu", map[string]string{"zone": "z1"}), younger, always, nil},
		"not if it could not hold it":   {bypass.Bound, taking(younger, "gpu", inRack), younger, func(bypass.Closure) bool { return false }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			ledger := bypass.New()
			ledger.Wait(big, 0)
			for range c.times {
				ledger.Take(c.taking)
			}
			if diff := cmp.Diff(c.want, domains(ledger.Closed(c.asking, c.holds))); diff != "" {
				t.Errorf("closed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAGangWithoutALevelWaitsForTheCluster(t *testing.T) {
	ledger := bypass.New()
	claim := big
	claim.Ground = bypass.Ground{}
	ledger.Wait(claim, 0)
	for i := range bypass.Bound {
		ledger.Take(taking(rank("small", 0, 200), "gpu", map[string]string{"zone": string(rune('a' + i))}))
	}
	closed := ledger.Closed(rank("small", 0, 200), always)
	if diff := cmp.Diff([]string{"big "}, domains(closed)); diff != "" {
		t.Fatalf("closed (-want +got):\n%s", diff)
	}
	if !closed[0].Keeps(nil) {
		t.Error("a node is not part of the cluster")
	}
}

func TestThoseKeptOutAreCalledWhenItOpens(t *testing.T) {
	ledger := bypass.New()
	ledger.Wait(big, 0)
	small := rank("small", 0, 200)
	if ledger.Closed(small, always); len(ledger.Done(big.Rank.Gang)) > 0 {
		t.Error("somebody is called although nothing was closed")
	}
	ledger.Wait(big, 0)
	for range bypass.Bound {
		ledger.Take(taking(small, "gpu", inRack))
	}
	ledger.Closed(small, always)
	if diff := cmp.Diff([]gang.Key{small.Gang}, ledger.Done(big.Rank.Gang)); diff != "" {
		t.Errorf("called (-want +got):\n%s", diff)
	}
	if closed := ledger.Closed(small, always); len(closed) > 0 || ledger.Waits(big.Rank.Gang) {
		t.Errorf("still closed: %v", domains(closed))
	}
}

// To try again and fail again is no new wait, but another level is another question.
func TestTheCountOutlivesAttempts(t *testing.T) {
	ledger := bypass.New()
	ledger.Wait(big, 0)
	small := rank("small", 0, 200)
	for range bypass.Bound {
		ledger.Take(taking(small, "gpu", inRack))
	}
	if first, _ := ledger.Wait(big, 0); first || len(ledger.Closed(small, always)) != 1 {
		t.Error("forgotten with another attempt")
	}
	other := big
	other.Ground = bypass.Ground{Levels: []string{"zone"}}
	ledger.Wait(other, 0)
	if len(ledger.Closed(small, always)) != 0 {
		t.Error("racks are closed for a gang that wants a zone")
	}
}

func TestAfterARestartThoseWhoStillStandAreCounted(t *testing.T) {
	var standing []bypass.Taking
	for range bypass.Bound {
		standing = append(standing, taking(rank("small", 0, 200), "gpu", inRack))
	}
	ledger := bypass.New()
	ledger.Wait(big, 0)
	ledger.Recount(big, standing)
	if diff := cmp.Diff([]string{"big z1/r1"}, domains(ledger.Closed(rank("another", 0, 300), always))); diff != "" {
		t.Errorf("closed (-want +got):\n%s", diff)
	}
}

func TestWhoRanksHigherIsTriedFirst(t *testing.T) {
	ledger := bypass.New()
	older := big
	older.Rank = rank("older", 0, 50)
	ledger.Wait(big, 1)
	ledger.Wait(older, 1)
	small := taking(rank("small", 0, 200), "gpu", inRack)
	if _, ok := ledger.Ahead(small, 1); ok {
		t.Error("both have been tried since room became free")
	}
	if first, _ := ledger.Ahead(small, 2); first != older.Rank.Gang {
		t.Errorf("first is %s", first)
	}
	ledger.Tried(older.Rank.Gang, 2)
	if second, _ := ledger.Ahead(small, 2); second != big.Rank.Gang {
		t.Errorf("second is %s", second)
	}
	if _, ok := ledger.Ahead(taking(small.Rank, "cpu", inRack), 2); ok {
		t.Error("what is not scarce is not theirs")
	}
}

func TestWhoWasKeptOutIsCalledWhenTheGangWaitsForSomethingElse(t *testing.T) {
	elsewhere, changed, other := big, big, big
	elsewhere.Ground = bypass.Ground{Levels: []string{"zone"}}
	changed.Version = 2
	other.Scarce = []string{"cpu"}
	younger := rank("younger", 0, 200)
	for name, test := range map[string]struct {
		now  bypass.Claim
		want []gang.Key
	}{
		"nothing has changed":     {big, nil},
		"for other domains":       {elsewhere, []gang.Key{younger.Gang}},
		"with another spec":       {changed, []gang.Key{younger.Gang}},
		"short of something else": {other, []gang.Key{younger.Gang}},
	} {
		t.Run(name, func(t *testing.T) {
			ledger := bypass.New()
			ledger.Wait(big, 0)
			for range bypass.Bound {
				ledger.Take(taking(younger, "gpu", inRack))
			}
			ledger.Closed(younger, always)
			if !ledger.MayKeepFrom(younger.Gang) || ledger.MayKeepFrom(big.Rank.Gang) {
				t.Error("it is not known who was kept out")
			}
			_, again := ledger.Wait(test.now, 1)
			if diff := cmp.Diff(test.want, again); diff != "" {
				t.Errorf("called (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAbove(t *testing.T) {
	ledger := bypass.New()
	for name, priority := range map[string]int32{"low": 1, "high": 9} {
		ledger.Wait(bypass.Claim{Rank: rank(name, priority, 100)}, 0)
	}
	if diff := cmp.Diff([]gang.Key{rank("high", 9, 0).Gang}, ledger.Above(1)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
