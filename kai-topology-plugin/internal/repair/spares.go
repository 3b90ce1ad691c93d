package repair

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/inventory"
)

// Spares returns nodes that have to stay empty for the failure of any one node to be mended as it would be today, as
// long as nodes with pods keep what is free on them: nobody is lost, and no more pods move. None of them can be done
// without; where all smaller sets can be tried, there is none.
func (f *Forecaster) Spares(ctx context.Context, failures []Failure) ([]string, error) {
	s := &spares{forecaster: f, chosen: sets.New[string]()}
	for _, failure := range failures {
		if len(failure.Nodes) != 1 {
			continue
		}
		forecast, takes, err := f.foretell(ctx, failure, nil)
		if err != nil {
			return nil, err
		}
		if takes = f.emptyAmong(takes); len(takes) > 0 {
			s.needs = append(s.needs, &need{failure: failure, bad: badness(forecast), takes: takes})
		}
	}
	if err := s.grow(ctx); err != nil {
		return nil, err
	}
	if err := s.prune(ctx); err != nil {
		return nil, err
	}
	return s.least(ctx)
}

// spares is a set of empty nodes under way.
type spares struct {
	forecaster *Forecaster
	needs      []*need
	chosen     sets.Set[string]
}

// need is a failure that takes empty nodes when it is mended.
type need struct {
	failure Failure
	bad     [2]int
	takes   []string
}

// badness is how bad a forecast is: gangs that are lost, and then pods that move.
func badness(forecast *Forecast) [2]int {
	bad := [2]int{len(forecast.Lost), 0}
	for _, move := range forecast.MendedByMoving {
		bad[1] += move.Pods
	}
	return bad
}

func (f *Forecaster) emptyAmong(nodes []string) []string {
	return slices.DeleteFunc(nodes, func(node string) bool { return !slices.Contains(f.empty, node) })
}

// enough reports whether a failure is mended as well with no empty nodes but some, and which of them it then takes.
func (s *spares) enough(ctx context.Context, need *need, kept sets.Set[string]) (takes []string, ok bool, err error) {
	absent := slices.DeleteFunc(slices.Clone(s.forecaster.empty), kept.Has)
	forecast, takes, err := s.forecaster.foretell(ctx, need.failure, absent)
	if err != nil {
		return nil, false, err
	}
	bad := badness(forecast)
	return s.forecaster.emptyAmong(takes), slices.Compare(bad[:], need.bad[:]) <= 0, nil
}

// keep reports whether all failures are mended as well with these empty nodes and no others, and if so, chooses them.
// Of fewer than those chosen before only failures are asked about that take others.
func (s *spares) keep(ctx context.Context, kept sets.Set[string]) (bool, error) {
	changed := map[*need][]string{}
	for _, need := range s.needs {
		if kept.HasAll(need.takes...) {
			continue
		}
		takes, ok, err := s.enough(ctx, need, kept)
		if err != nil || !ok {
			return false, err
		}
		changed[need] = takes
	}
	for need, takes := range changed {
		need.takes = takes
	}
	s.chosen = kept
	return true, nil
}

// grow chooses what failures take, those that take most first, unless what is chosen will do.
func (s *spares) grow(ctx context.Context) error {
	slices.SortStableFunc(s.needs, func(a, b *need) int { return cmp.Compare(len(b.takes), len(a.takes)) })
	for _, need := range s.needs {
		takes, ok, err := s.enough(ctx, need, s.chosen)
		switch {
		case err != nil:
			return err
		case ok:
			need.takes = takes
		default:
			s.chosen.Insert(need.takes...)
		}
	}
	return nil
}

// prune gives up each node that none of the failures needs.
func (s *spares) prune(ctx context.Context) error {
	for _, node := range sets.List(s.chosen) {
		if _, err := s.keep(ctx, s.chosen.Clone().Delete(node)); err != nil {
			return err
		}
	}
	return nil
}

// maxSets bounds how many sets of nodes are tried.
const maxSets = 512

// least looks for smaller sets of empty nodes, as long as they are few.
func (s *spares) least(ctx context.Context) ([]string, error) {
	for size := s.chosen.Len() - 1; size >= 0 && binomial(len(s.forecaster.empty), size) <= maxSets; size-- {
		found, err := subsets(s.forecaster.empty, size, nil, func(some []string) (bool, error) {
			return s.keep(ctx, sets.New(some...))
		})
		if err != nil {
			return nil, err
		}
		if !found {
			break
		}
	}
	return sets.List(s.chosen), nil
}

// binomial is how many sets of k there are of n, or more than maxSets.
func binomial(n, k int) int {
	count := 1
	for i := range min(k, n-k) {
		if count = count * (n - i) / (i + 1); count > maxSets {
			break
		}
	}
	return count
}

// subsets calls try with each set of a size until it is true or fails.
func subsets(all []string, size int, some []string, try func([]string) (bool, error)) (bool, error) {
	if size == 0 {
		return try(some)
	}
	for i := range len(all) - size + 1 {
		if done, err := subsets(all[i+1:], size-1, append(slices.Clip(some), all[i]), try); done || err != nil {
			return done, err
		}
	}
	return false, nil
}

// SparesByDomain counts nodes by level and domain of the Topologies; each node counts in the domains around it.
func SparesByDomain(cluster *inventory.Inventory, nodes []string) map[string]map[string]int {
	counts := map[string]map[string]int{}
	for _, failure := range Failures(cluster) {
		for _, node := range failure.Nodes {
			if !slices.Contains(nodes, node) {
				continue
			}
			if counts[failure.Level] == nil {
				counts[failure.Level] = map[string]int{}
			}
			counts[failure.Level][failure.Domain]++
		}
	}
	return counts
}

// emptyNodes returns the names of the nodes that take pods and have none, sorted.
func emptyNodes(cluster *inventory.Inventory) []string {
	taken := sets.New[string]()
	for _, pod := range inventory.Standing(cluster.Pods) {
		taken.Insert(pod.Spec.NodeName)
	}
	var empty []string
	for _, node := range cluster.Nodes {
		if !taken.Has(node.Name) && !node.Spec.Unschedulable {
			empty = append(empty, node.Name)
		}
	}
	slices.Sort(empty)
	return empty
}
