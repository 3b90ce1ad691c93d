package exact

import (
	"flag"
	"os"
	"slices"
	"testing"

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

// level of the racks that groups need.
const rack = 0

// drawTight makes a handful of nodes and groups that barely fit, or barely not.
func drawTight(t *rapid.T) *Instance {
	in := &Instance{Domains: []Domain{{Level: None}}}
	for r := range rapid.IntRange(1, 3).Draw(t, "racks") {
		d := Domain{Level: rack}
		for range rapid.IntRange(1, 2).Draw(t, "nodes") {
			d.Nodes = append(d.Nodes, len(in.Free))
			in.Free = append(in.Free, []int64{rapid.SampledFrom([]int64{3, 4, 5}).Draw(t, "gpu"), rapid.SampledFrom([]int64{3,
				6}).Draw(t, "cpu")})
		}
		d.All = d.Nodes
		in.Domains = append(in.Domains, d)
		in.Domains[0].Children = append(in.Domains[0].Children, r+1)
		in.Domains[0].All = append(in.Domains[0].All, d.All...)
	}
	in.Classes = rapid.IntRange(1, 2).Draw(t, "classes")
	for range in.Classes {
		class := Item{Level: None, Requests: []int64{rapid.Int64Range(1, 3).Draw(t, "gpu"), rapid.Int64Range(1, 2).Draw(t,
			"cpu")}}
		for range in.Free {
			class.Allowed = append(class.Allowed, rapid.IntRange(0, 7).Draw(t, "allowed") > 0)
		}
		in.Items = append(in.Items, class)
	}
	in.drawGroups(t)
	return in
}

// drawGroups adds up to four groups of up to nine pods, most of which need a rack.
func (in *Instance) drawGroups(t *rapid.T) {
	groups := rapid.IntRange(1, 4).Draw(t, "groups")
	in.Total = make(Counts, in.Classes+groups)
	pods := 0
	for range groups {
		content := make(Counts, in.Classes+groups)
		for k := range in.Classes {
			content[k] = min(rapid.IntRange(0, 3).Draw(t, "pods"), 9-pods)
			pods += content[k]
		}
		if rapid.IntRange(0, 3).Draw(t, "rack") > 0 && !empty(content) {
			in.Items = append(in.Items, Item{Level: rack, Content: content})
			in.Total[len(in.Items)-1] = 1
			continue
		}
		for k := range in.Classes {
			in.Total[k] += content[k]
		}
	}
	in.Total = in.Total[:len(in.Items)]
	for i := range in.Items {
		if in.Items[i].Content != nil {
			in.Items[i].Content = in.Items[i].Content[:len(in.Items)]
		}
	}
}

// tight tries every place of every pod.
type tight struct {
	*Instance
	free [][]int64
}

func (s *tight) fits() bool {
	for _, free := range s.Free {
		s.free = append(s.free, slices.Clone(free))
	}
	everywhere := s.Domains[0].All
	return s.group(s.Classes, func() bool {
		return s.pods(slices.Clone(s.Total[:s.Classes]), everywhere,
			func() bool { return true })
	})
}

// group places the groups from one on, each in one rack, and then goes on.
func (s *tight) group(i int, then func() bool) bool {
	if i == len(s.Items) {
		return then()
	}
	for _, d := range s.Domains[0].Children {
		if s.pods(slices.Clone(s.Items[i].Content[:s.Classes]), s.Domains[d].All, func() bool { return s.group(i+1, then) }) {
			return true
		}
	}
	return false
}

// pods places pods on some nodes, and then goes on.
func (s *tight) pods(left Counts, nodes []int, then func() bool) bool {
	class := slices.IndexFunc(left, func(n int) bool { return n > 0 })
	if class < 0 {
		return then()
	}
	left[class]--
	defer func() { left[class]++ }()
	for _, node := range nodes {
		if !s.Items[class].Allowed[node] {
			continue
		}
		s.take(node, class, 1)
		if s.free[node][0] >= 0 && s.free[node][1] >= 0 && s.pods(left, nodes, then) {
			s.take(node, class, -1)
			return true
		}
		s.take(node, class, -1)
	}
	return false
}

func (s *tight) take(node, class int, times int64) {
	for r, amount := range s.Items[class].Requests {
		s.free[node][r] -= times * amount
	}
}

// The complete search must be right by itself: in decisions, bounds and
// shortcuts leave it little to do.
func TestTheCompleteSearchAloneIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawTight(t)
		want := (&tight{Instance: in}).fits()
		for _, thorough := range []bool{true, false} {
			budget := &problem.Budget{Limit: 1 << 30}
			s := newSolver(in, budget)
			s.thorough = thorough
			root := s.solve()
			if (root != nil) != want {
				t.Fatalf("thorough %v: found %v, feasible %v", thorough, root != nil, want)
			}
			if root != nil {
				checkPacking(t, in, root)
			}
		}
	})
}

// checkPacking judges a packing of everything.
func checkPacking(t *rapid.T, in *Instance, root *Packing) {
	free := make([][]int64, len(in.Free))
	for n := range free {
		free[n] = slices.Clone(in.Free[n])
	}
	checkDomain(t, in, root, slices.Clone(in.Total), free)
	for n := range free {
		for r, left := range free[n] {
			if left < 0 {
				t.Fatalf("node %d lacks %d of resource %d", n, -left, r)
			}
		}
	}
}

// checkDomain wants a domain to have just these items, in it or in bins within.
func checkDomain(t *rapid.T, in *Instance, p *Packing, items Counts, free [][]int64) {
	d := &in.Domains[p.Domain]
	for i := len(items) - 1; i >= in.Classes; i-- {
		if in.Items[i].Level <= d.Level {
			for k, n := range in.Items[i].Content {
				items[k] += n * items[i]
			}
			items[i] = 0
		}
	}
	for _, part := range p.Parts {
		for i, n := range part.Counts {
			items[i] -= n
		}
		if part.Inner != nil {
			if !slices.Contains(d.Children, part.Inner.Domain) {
				t.Fatalf("domain %d is not directly in domain %d", part.Inner.Domain, p.Domain)
			}
			checkDomain(t, in, part.Inner, append(slices.Clone(part.Counts), make(Counts, len(in.Items)-len(part.Counts))...),
				free)
			continue
		}
		for i, n := range part.Counts {
			if n > 0 && (i >= in.Classes || !in.Items[i].Allowed[part.Node] || !slices.Contains(d.All, part.Node)) {
				t.Fatalf("node %d has item %d, which it may not", part.Node, i)
			}
			for r := 0; n > 0 && r < len(free[part.Node]); r++ {
				free[part.Node][r] -= int64(n) * in.Items[i].Requests[r]
			}
		}
	}
	for i, n := range items {
		if n != 0 {
			t.Fatalf("%d of item %d are missing in domain %d", n, i, p.Domain)
		}
	}
}
