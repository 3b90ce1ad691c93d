package repair

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/turns"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Forecasts are those of every single failure, of a cluster that changes. What was foretold is kept as long as nothing
// changes that it was made of. The zero value has none. It has one user at a time.
type Forecasts struct {
	forecaster *Forecaster
	observer   clusterview.Observer
	rooms      *rooms
	topologies map[string]*kai.Topology
	failures   []Failure
	known      map[[2]string]*foretold
	// round counts the rounds, and next is the failure that is looked at next in this one.
	round, next int
}

// foretold is a forecast and what it was made of.
type foretold struct {
	*Forecast
	ground *ground
	// round is the one in which it was made, and stale is set if something else might be foretold now.
	round int
	stale bool
}

// Begin begins a round on a table.
func (f *Forecasts) Begin(table *turns.Table) error {
	f.round++
	f.next = 0
	return f.follow(table)
}

// Next foretells the next failure of which is not known what it would do, or not any more, on the table as it is by
// now. It reports false if there is none: the round is over. No failure is foretold twice in a round, however much
// happens meanwhile.
func (f *Forecasts) Next(ctx context.Context, table *turns.Table) (bool, error) {
	if err := f.follow(table); err != nil {
		return false, err
	}
	for ; f.next < len(f.failures); f.next++ {
		failure := f.failures[f.next]
		if known := f.known[failure.key()]; known != nil && (!known.stale || known.round == f.round) {
			continue
		}
		made := &foretold{round: f.round, ground: newGround(f.rooms)}
		f.forecaster.ground = made.ground
		var err error
		if made.Forecast, err = f.forecaster.Foretell(ctx, failure); err != nil {
			return false, err
		}
		f.known[failure.key()] = made
		return true, nil
	}
	return false, nil
}

// All returns what is known of every failure, in the order of Failures.
func (f *Forecasts) All() (all []*Forecast) {
	for i := range f.failures {
		if known := f.known[f.failures[i].key()]; known != nil {
			all = append(all, known.Forecast)
		}
	}
	return all
}

func (f *Failure) key() [2]string { return [2]string{f.Level, f.Domain} }

// follow finds out of which failures something else might be foretold now.
func (f *Forecasts) follow(table *turns.Table) error {
	if f.forecaster != nil && f.forecaster.table == table {
		return nil
	}
	if err := f.compare(table); err != nil {
		*f = Forecasts{round: f.round} // What has changed is forgotten now, so that all has to be.
		return err
	}
	return nil
}

func (f *Forecasts) compare(table *turns.Table) error {
	var past []turns.Turn
	if f.forecaster != nil {
		past = f.forecaster.standing
	}
	changed, all := f.observer.Look(table.Nodes())
	all = all || !maps.EqualFunc(f.topologies, table.Inventory().Topologies, sameLevels)
	if f.forecaster == nil || all || slices.ContainsFunc(changed, relabelled) {
		f.locate(table)
	} else {
		f.rooms.use(table)
		f.rooms.count(changed)
	}
	f.forecaster = forecasterOn(table)
	on, around := nodesOfOthers(past, f.forecaster.standing), f.rooms.changesOf(changed)
	for _, known := range f.known {
		known.ground.rooms = f.rooms
		reached, err := known.ground.reaches(around)
		if err != nil {
			return err
		}
		known.stale = known.stale || all || reached || on.HasAny(known.Nodes...)
	}
	f.rooms.forget(f.known)
	return nil
}

// locate reads anew which failures there are, and where nodes stand.
func (f *Forecasts) locate(table *turns.Table) {
	requests := map[string]*request{}
	if f.rooms != nil {
		requests = f.rooms.requests
	}
	f.topologies, f.rooms = maps.Clone(table.Inventory().Topologies), newRooms(table, &f.observer, requests)
	f.failures, f.next = Failures(table.Inventory()), 0
	known := map[[2]string]*foretold{}
	for i := range f.failures {
		failure := &f.failures[i]
		if same := f.known[failure.key()]; same != nil {
			known[failure.key()] = same
			same.stale = same.stale || !slices.Equal(same.Nodes, failure.Nodes)
		}
	}
	f.known = known
}

func sameLevels(a, b *kai.Topology) bool {
	return a == b || equality.Semantic.DeepEqual(a.Spec, b.Spec)
}

func relabelled(node clusterview.Changed) bool {
	return node.Before == nil || node.Now == nil || !maps.Equal(node.Before, node.Now)
}

// nodesOfOthers returns the nodes of gangs that are not as they were, before and now.
func nodesOfOthers(before, now []turns.Turn) sets.Set[string] {
	nodes := sets.New[string]()
	known := make(map[gang.Key]turns.Turn, len(before))
	for _, turn := range before {
		known[turn.Rank.Gang] = turn
	}
	for _, turn := range now {
		past, stood := known[turn.Rank.Gang]
		delete(known, turn.Rank.Gang)
		if stood && sameGang(past, turn) {
			continue
		}
		nodes.Insert(gang.NodesOf(turn.Gang.Standing)...)
		if stood {
			nodes.Insert(gang.NodesOf(past.Gang.Standing)...)
		}
	}
	for _, turn := range known {
		nodes.Insert(gang.NodesOf(turn.Gang.Standing)...)
	}
	return nodes
}

// sameGang reports whether nothing has changed of a gang that forecasts read. They do not read its status, nor those
// of its pods, but for which of them stand.
func sameGang(a, b turns.Turn) bool {
	return a.Rank.Compare(b.Rank) == 0 && samePodGroup(a.Gang.PodGroup, b.Gang.PodGroup) &&
		slices.EqualFunc(a.Gang.Standing, b.Gang.Standing, samePod)
}

func samePodGroup(a, b *scheduling.PodGroup) bool {
	return a == b || a.UID == b.UID && maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) &&
		equality.Semantic.DeepEqual(a.Spec, b.Spec)
}

func samePod(a, b *corev1.Pod) bool {
	return a == b || a.UID == b.UID && maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) &&
		equality.Semantic.DeepEqual(a.Spec, b.Spec)
}
