package repair

import (
	"cmp"
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/inventory"
)

// All foretells every single failure of a node and of a domain, in the order of Failures. After each it calls done with
// how many there are.
func All(ctx context.Context, cluster *inventory.Inventory, done func(of int)) ([]*Forecast, *Forecaster, error) {
	forecaster, err := New(ctx, cluster)
	if err != nil {
		return nil, nil, err
	}
	failures := Failures(cluster)
	forecasts := make([]*Forecast, 0, len(failures))
	for _, failure := range failures {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		forecast, err := forecaster.Foretell(ctx, failure)
		if err != nil {
			return nil, nil, err
		}
		forecasts = append(forecasts, forecast)
		done(len(failures))
	}
	return forecasts, forecaster, nil
}

// Count is how many gangs a failure hits, by what becomes of them.
type Count struct {
	InPlace, Moving, Lost int
}

// Count counts the gangs of a forecast. One of which several groups move is one.
func (f *Forecast) Count() Count {
	moving := sets.New[string]()
	for _, move := range f.MendedByMoving {
		moving.Insert(move.Gang)
	}
	return Count{InPlace: len(f.MendedInPlace), Moving: moving.Len(), Lost: len(f.Lost)}
}

// worse orders counts by the gangs that are lost, then by those that move, then by those that are mended in place.
func worse(a, b Count) int {
	return cmp.Or(cmp.Compare(a.Lost, b.Lost), cmp.Compare(a.Moving, b.Moving), cmp.Compare(a.InPlace, b.InPlace))
}

// Level sums up the failures of one level.
type Level struct {
	// Key is the node label of the level.
	Key string
	// Worst is what the worst failure of the level does: the one that loses most gangs, of these the one that has most
	// gangs move.
	Worst Count
	// Idle, InPlace, Moving and Losing are how many of the domains would, if they failed, hit no gang, have all gangs
	// mended in place, have some move but none lost, and lose some.
	Idle, InPlace, Moving, Losing int
	// Harmful are the forecasts in which gangs move or are lost.
	Harmful []*Forecast
}

// Levels sums up forecasts by level, in their order.
func Levels(forecasts []*Forecast) []*Level {
	var levels []*Level
	known := map[string]*Level{}
	for _, forecast := range forecasts {
		level := known[forecast.Level]
		if level == nil {
			level = &Level{Key: forecast.Level}
			known[forecast.Level] = level
			levels = append(levels, level)
		}
		level.add(forecast)
	}
	return levels
}

func (l *Level) add(forecast *Forecast) {
	count := forecast.Count()
	if worse(count, l.Worst) > 0 {
		l.Worst = count
	}
	switch {
	case count.Lost > 0:
		l.Losing++
	case count.Moving > 0:
		l.Moving++
	case count.InPlace > 0:
		l.InPlace++
		return
	default:
		l.Idle++
		return
	}
	l.Harmful = append(l.Harmful, forecast)
}

// Losses has, for every gang that forecasts are about, the failures that would lose it, the narrowest level first: none
// for a gang that has a way out of each.
func Losses(forecasts []*Forecast) map[string][]Failure {
	losses := map[string][]Failure{}
	for _, forecast := range narrowestFirst(forecasts) {
		for _, gang := range forecast.hit() {
			if losses[gang] == nil {
				losses[gang] = []Failure{}
			}
		}
		for _, gang := range forecast.Lost {
			losses[gang] = append(losses[gang], forecast.Failure)
		}
	}
	return losses
}

// hit are the gangs of a forecast, some of them more than once.
func (f *Forecast) hit() []string {
	hit := slices.Concat(f.MendedInPlace, f.Lost)
	for _, move := range f.MendedByMoving {
		hit = append(hit, move.Gang)
	}
	return hit
}

// narrowestFirst turns the order of the levels, and leaves that of the domains of each.
func narrowestFirst(forecasts []*Forecast) []*Forecast {
	at := map[string]int{}
	for _, forecast := range forecasts {
		if _, known := at[forecast.Level]; !known {
			at[forecast.Level] = len(at)
		}
	}
	return slices.SortedStableFunc(slices.Values(forecasts), func(a, b *Forecast) int {
		return cmp.Compare(at[b.Level], at[a.Level])
	})
}

// Exposure is a gang, and failures that would lose it.
type Exposure struct {
	// Gang is its namespace/name.
	Gang string `json:"gang"`
	// Failures have the narrowest level first; there is at least one.
	Failures []Failure `json:"failures"`
}

// Comparison is what became of the ways out of gangs between two pictures of a cluster. Gangs are sorted by name.
type Comparison struct {
	// Worse are gangs that stood before, with the failures of which they had a way out then, and have none now.
	Worse []Exposure `json:"worse"`
	// Better are gangs that stand now, with the failures of which they had no way out before, and have one now.
	Better []Exposure `json:"better"`
	// New are gangs that did not stand before, with all failures that would lose them.
	New []Exposure `json:"new"`
}

// Compare compares forecasts for a cluster before and after a change.
func Compare(before, after []*Forecast) Comparison {
	then, now := Losses(before), Losses(after)
	compared := Comparison{Worse: []Exposure{}, Better: []Exposure{}, New: []Exposure{}}
	for _, gang := range slices.Sorted(maps.Keys(now)) {
		past, stood := then[gang]
		if !stood {
			compared.New = expose(compared.New, gang, now[gang])
			continue
		}
		compared.Worse = expose(compared.Worse, gang, except(now[gang], past))
		compared.Better = expose(compared.Better, gang, except(past, now[gang]))
	}
	return compared
}

func expose(exposed []Exposure, gang string, failures []Failure) []Exposure {
	if len(failures) == 0 {
		return exposed
	}
	return append(exposed, Exposure{Gang: gang, Failures: failures})
}

// except returns the failures of domains that others are not about.
func except(failures, others []Failure) []Failure {
	return slices.DeleteFunc(slices.Clone(failures), func(failure Failure) bool {
		return slices.ContainsFunc(others, failure.sameDomain)
	})
}

func (f Failure) sameDomain(other Failure) bool {
	return f.Level == other.Level && f.Domain == other.Domain
}

// Node is the name of the node if the failure is of a single one, named by its host; empty if it is of a domain.
func (f Failure) Node() string {
	if f.Level == corev1.LabelHostname && len(f.Nodes) == 1 {
		return f.Nodes[0]
	}
	return ""
}

// String is the failure in words: "node n1", or "zone-a/r1 (example.com/rack)".
func (f Failure) String() string {
	if node := f.Node(); node != "" {
		return "node " + node
	}
	return f.Domain + " (" + f.Level + ")"
}
