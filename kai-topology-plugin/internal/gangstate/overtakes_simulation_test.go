package gangstate

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/shared/packing"
)

// yard is a cluster of zones, in which a big gang waits for one whole zone and small gangs come and go. Each pod
// takes one device.
type yard struct {
	t       *rapid.T
	cluster *packing.Cluster
	state   *State
	ground  Ground
	zones   map[string]int // devices by zone
	nodes   map[string]map[string]string
	big     int // pods
	placed  bool
	born    int
	// waiting are small gangs in the order of their age; standing are those that have nodes, and the zone of each.
	waiting  []small
	standing map[string]small
	// passes counts the small gangs that took room in each zone since the big one waited.
	passes map[string]int
	// left counts those that left zones which could hold the big one, while it waited.
	left int
}

type small struct {
	rank gang.Rank
	pods int
	// zone is the only one that the gang may use, if it is set, and later the one where it stands.
	zone string
}

const wider = 4 // devices a node

func newYard(t *rapid.T) *yard {
	y := &yard{
		t: t, cluster: packing.NewCluster(), state: New(anyone), ground: Ground{Levels: []string{"zone"}},
		zones: map[string]int{}, nodes: map[string]map[string]string{}, standing: map[string]small{},
		passes: map[string]int{},
	}
	if err := y.cluster.SetTopology("t", []string{"zone"}); err != nil {
		t.Fatal(err)
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "zones") {
		y.add(fmt.Sprintf("z%d", i), rapid.IntRange(2, 4).Draw(t, "nodes"))
	}
	y.add("elsewhere", 1)
	y.big = rapid.IntRange(wider+1, 2*wider).Draw(t, "big")
	return y
}

func (y *yard) add(zone string, nodes int) {
	y.zones[zone] = nodes * wider
	for i := range nodes {
		name := fmt.Sprintf("%s-%d", zone, i)
		y.nodes[name] = map[string]string{"zone": zone}
		y.cluster.SetNode(packing.Node{Name: name, Labels: y.nodes[name], Allocatable: packing.Resources{"device": wider}})
	}
}

// holds reports whether the big gang would fit into the zone if nothing else stood there.
func (y *yard) holds(zone string) bool { return y.zones[zone] >= y.big }

func (y *yard) decide(pods int, zone string, constraint packing.Constraint) packing.Decision {
	names := make([]string, pods)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	shape := packing.Shape{Key: "for " + zone, Requests: packing.Resources{"device": 1},
		Excluded: func(node string) string {
			if zone != "" && y.nodes[node]["zone"] != zone {
				return "node selector"
			}
			return ""
		}}
	return y.cluster.Decide(&packing.Gang{Root: packing.Group{
		Constraint: constraint, MinMember: pods, Pending: []packing.Pods{{Shape: shape, Names: names}},
	}}, packing.Options{})
}

var oneZone = packing.Constraint{Topology: "t", Required: "zone"}

// round gives every gang its turn: the big one first, then the small ones by age.
func (y *yard) round() {
	if !y.placed {
		rank := gang.Rank{Gang: gang.Key{Name: "big"}, Since: time.Unix(100, 0)}
		if decided := y.decide(y.big, "", oneZone); decided.Verdict == packing.Placed {
			y.placed = true
			for i, assignment := range decided.Assignments {
				y.cluster.Assign(packing.Pod{ID: fmt.Sprintf("big %d", i), Node: assignment.Node,
					Requests: packing.Resources{"device": 1}})
			}
			y.state.done(rank.Gang)
		} else {
			y.state.waits(Claim{Rank: rank, Ground: y.ground, Scarce: []string{"device"}}, 0)
		}
	}
	var still []small
	for _, next := range y.waiting {
		if !y.try(next) {
			still = append(still, next)
		}
	}
	y.waiting = still
}

func (y *yard) try(next small) bool {
	free := y.decide(next.pods, next.zone, oneZone)
	checkpoint := y.cluster.Checkpoint()
	for _, domain := range y.state.closedTo(next.rank, func(c KeptDomain) bool { return y.holds(c.Domain) }) {
		for name, labels := range y.nodes {
			if domain.Keeps(labels) {
				y.cluster.Assign(packing.Pod{ID: "filler " + name, Node: name,
					Requests: packing.Resources{"device": y.cluster.Free(name, "device")}})
			}
		}
	}
	decided := y.decide(next.pods, next.zone, oneZone)
	y.cluster.Rollback(checkpoint)
	if next.zone == "elsewhere" && decided.Verdict != free.Verdict {
		y.t.Fatalf("a gang that does not compete is held up: %s", decided.Message())
	}
	if decided.Verdict != packing.Placed {
		return false
	}
	y.stand(next, decided.Assignments)
	return true
}

func (y *yard) stand(next small, assignments []packing.Assignment) {
	taking := Taking{Rank: next.rank, Asks: sets.New("device")}
	for i, assignment := range assignments {
		y.cluster.Assign(packing.Pod{ID: fmt.Sprintf("%s %d", next.rank.Gang.Name, i), Node: assignment.Node,
			Requests: packing.Resources{"device": 1}})
		taking.Nodes = append(taking.Nodes, y.nodes[assignment.Node])
	}
	y.state.take(taking)
	next.zone = y.nodes[assignments[0].Node]["zone"]
	y.standing[next.rank.Gang.Name] = next
	if y.placed || next.rank.Since.Before(time.Unix(100, 0)) {
		return
	}
	y.passes[next.zone]++
	if y.holds(next.zone) && y.passes[next.zone] > MaxOvertakes {
		y.t.Fatalf("%d gangs overtook the big one in %s", y.passes[next.zone], next.zone)
	}
}

// arrive adds a small gang, older or younger than the big one.
func (y *yard) arrive(since int64, zone string) {
	y.born++
	y.waiting = append(y.waiting, small{
		rank: gang.Rank{Gang: gang.Key{Name: fmt.Sprintf("small-%03d", y.born)}, Since: time.Unix(since, 0)},
		pods: rapid.IntRange(1, 3).Draw(y.t, "pods"), zone: zone,
	})
}

func (y *yard) leave(name string) {
	gone := y.standing[name]
	delete(y.standing, name)
	for i := range gone.pods {
		y.cluster.Release(fmt.Sprintf("%s %d", name, i))
	}
	if y.holds(gone.zone) && !y.placed {
		y.left++
	}
}

// A big gang waits in a full cluster. Whenever a small gang leaves, more are there to take its room. However they
// come and go, the big one is placed once as many have left as stood there before it, and as may pass it: Bound in
// every zone.
func TestABigGangIsOvertakenABoundedNumberOfTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y := newYard(t)
		for range 60 {
			y.waiting = nil
			y.arrive(0, "")
			y.placed = true // It does not exist yet.
			y.round()
		}
		y.placed, y.waiting = false, nil
		bound := 0
		for _, standing := range y.standing {
			if y.holds(standing.zone) {
				bound++
			}
		}
		for zone := range y.zones {
			if y.holds(zone) {
				bound += MaxOvertakes
			}
		}
		for !y.placed && y.left <= bound {
			y.arrive(200, rapid.SampledFrom([]string{"", "", "elsewhere"}).Draw(t, "zone"))
			y.arrive(200, "")
			y.round()
			if !y.placed {
				y.leave(rapid.SampledFrom(slices.Sorted(maps.Keys(y.standing))).Draw(t, "leaves"))
			}
		}
		if !y.placed {
			t.Fatalf("the big gang still waits after %d small ones left, more than %d", y.left, bound)
		}
	})
}
