package exact

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/shared/packing/internal/problem"
)

func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": "3000", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	flag.Parse()
	os.Exit(m.Run())
}

// unlimited is a budget that no instance here exhausts.
func unlimited() *problem.Budget { return &problem.Budget{Limit: 1 << 30} }

// The complete search must be right by itself: in decisions, bounds and
// shortcuts leave it little to do.
func TestTheCompleteSearchAloneIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawTight(t)
		want := possible(in, 0, in.Total)
		for _, thorough := range []bool{true, false} {
			budget := &problem.Budget{Limit: 1 << 30}
			s := newSolver(in, budget)
			s.thorough = thorough
			root := s.solve()
			require.Equal(t, want, root != nil, "thorough %v: found %v, feasible %v", thorough, root != nil, want)
			if root != nil {
				checkPacking(t, in, root)
			}
		}
	})
}

// Groups in groups, nodes at each level and groups that are alike: both searches find what there is.
func TestTreesOfGroupsArePackedExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDeep(t)
		want := possible(in, 0, in.Total)
		for _, thorough := range []bool{true, false} {
			s := newSolver(in, unlimited())
			s.thorough = thorough
			root := s.solve()
			require.Equal(t, want, root != nil, "thorough %v: found %v, feasible %v", thorough, root != nil, want)
			if root != nil {
				checkPacking(t, in, root)
			}
		}
	})
}

// One domain of the tree may be asked about alone, by any number of items.
func TestEachDomainIsPackedExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDeep(t)
		domain := rapid.IntRange(0, len(in.Domains)-1).Draw(t, "domain")
		c := drawSome(t, in.Total)
		s := newSolver(in, unlimited())
		s.thorough, s.effort = rapid.Bool().Draw(t, "thorough"), 1<<20
		p := s.fit(domain, c)
		want := possible(in, domain, c)
		require.Equal(t, want, p != nil, "%v in domain %d: found %v, feasible %v", c, domain, p != nil, want)
		if p != nil {
			require.Equal(t, domain, p.Domain, "asked about domain %d, packed domain %d", domain, p.Domain)
			here := *in
			here.Total = c
			checkPacking(t, &here, p)
		}
	})
}

// More nodes than are searched without the local search, and pods that fill them.
func TestCrowdedNodesArePackedExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawCrowded(t, easy-1, easy+1)
		budget := &problem.Budget{Limit: 1 << 10}
		root := Solve(in, budget)
		switch {
		case root != nil:
			checkPacking(t, in, root)
		case !budget.Exhausted() && placeable(in):
			t.Fatalf("%v is refuted after %d steps, and fits", in.Total, budget.Steps)
		}
	})
}

// Racks that groups fill are packed by either search.
func TestFullRacksArePacked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawFull(t)
		budget := &problem.Budget{Limit: 1 << 12}
		root := Solve(in, budget)
		if root == nil && !budget.Exhausted() {
			t.Fatalf("refuted after %d steps, and it fits", budget.Steps)
		}
		if root != nil {
			checkPacking(t, in, root)
		}
	})
}

// A search repeats itself to the step: verdicts at the end of a budget would differ otherwise.
func TestASearchIsRepeatedToTheStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDeep(t)
		limit := rapid.IntRange(1, 400).Draw(t, "limit")
		first, second := &problem.Budget{Limit: limit}, &problem.Budget{Limit: limit}
		a, b := Solve(in, first), Solve(in, second)
		if *first != *second || (a == nil) != (b == nil) {
			t.Fatalf("%d and %d steps, found %v and %v", first.Steps, second.Steps, a != nil, b != nil)
		}
		if a != nil && a.text() != b.text() {
			t.Fatalf("%s and %s", a.text(), b.text())
		}
	})
}

// text writes a packing as the counts of its parts, domain by domain.
func (p *Packing) text() string {
	var parts []string
	for _, part := range p.Parts {
		if part.Inner != nil {
			parts = append(parts, fmt.Sprint(part.Counts, part.Inner.text()))
			continue
		}
		parts = append(parts, fmt.Sprint(part.Node, part.Counts))
	}
	return fmt.Sprintf("%d(%s)", p.Domain, strings.Join(parts, " "))
}

// A question is not changed by being answered.
func TestAnInstanceIsOnlyRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDeep(t)
		before := fmt.Sprintf("%+v", in)
		Solve(in, &problem.Budget{Limit: 1 << 14})
		after := fmt.Sprintf("%+v", in)
		require.Equal(t, before, after, "%s\nbecame\n%s", before, after)
	})
}

// What the caller's limit was, it is afterwards: efforts within are not left behind.
func TestTheLimitOfABudgetIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDeep(t)
		limit := rapid.IntRange(1, 2000).Draw(t, "limit")
		budget := &problem.Budget{Limit: limit}
		root := Solve(in, budget)
		require.Equal(t, limit, budget.Limit, "the limit was %d and is %d", limit, budget.Limit)
		if root == nil && !budget.Exhausted() && possible(in, 0, in.Total) {
			t.Fatalf("refuted after %d steps of %d, and it fits", budget.Steps, limit)
		}
	})
}

// The order of nodes and racks does not change whether items fit, and more room never makes them fit no more.
func TestAnswersDependOnNothingButRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawTight(t)
		fits := Solve(in, unlimited()) != nil
		other := *in
		other.Domains = slices.Clone(in.Domains)
		other.Domains[0].Children = slices.Clone(in.Domains[0].Children)
		slices.Reverse(other.Domains[0].Children)
		require.Equal(t, fits, Solve(&other, unlimited()) != nil,
			"fits %v, and the other way round with racks in another order", fits)
		other.Free = slices.Clone(in.Free)
		node := rapid.IntRange(0, len(in.Free)-1).Draw(t, "node")
		other.Free[node] = []int64{in.Free[node][0] + 1, in.Free[node][1] + 1}
		require.False(t, fits && Solve(&other, unlimited()) == nil, "does not fit any more with more room on node %d", node)
	})
}

// A search ends when its budget does: what it has found then is right, and that it found nothing proves nothing.
func TestASearchKeepsToItsBudget(t *testing.T) {
	const over = 64 // what one step of the search may count at once
	rapid.Check(t, func(t *rapid.T) {
		in := drawTight(t)
		budget := &problem.Budget{Limit: rapid.IntRange(0, 300).Draw(t, "steps")}
		root := Solve(in, budget)
		switch {
		case budget.Steps > budget.Limit+over:
			t.Fatalf("%d steps of %d", budget.Steps, budget.Limit)
		case root != nil:
			checkPacking(t, in, root)
		case !budget.Exhausted() && possible(in, 0, in.Total):
			t.Fatalf("given up after %d steps of %d, and it fits", budget.Steps, budget.Limit)
		}
	})
}

// A budget ends a search of thousands of pods as it ends one of a few: beyond the limit are at most a few steps for
// each bin, which give up the patterns that were listed.
func TestTheNumberOfPodsExceedsNoBudget(t *testing.T) {
	for _, n := range []int{10, 100, 1000, 10000} {
		in := onNodes([]Item{pod(7), pod(5), pod(3)}, []int{n, n, n}, nodes{{8*int64(n) + 1}, {7*int64(n) - 1}})
		for _, limit := range []int{20, 200, 2000} {
			s := newSolver(in, &problem.Budget{Limit: limit})
			s.thorough = true
			root := s.solve()
			assert.LessOrEqual(t, s.budget.Steps, limit+(1+chunk)*len(in.Free), "steps of %d for %d pods", limit, 3*n)
			assert.False(t, root == nil && !s.budget.Exhausted(), "%d pods are refuted, and they fit", 3*n)
		}
	}
}

// A budget ends the choice among many nodes, too.
func TestTheNumberOfNodesExceedsNoBudget(t *testing.T) {
	in := onNodes([]Item{pod(2)}, []int{3}, slices.Repeat(nodes{{3}}, 256))
	for limit, found := range map[int]bool{1: false, 3: false, 5: false, 20: true} {
		budget := &problem.Budget{Limit: limit}
		if root := Solve(in, budget); (root != nil) != found || budget.Exhausted() == found {
			t.Errorf("found %v after %d steps of %d", root != nil, budget.Steps, limit)
		}
	}
}
