package certificate_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"packtree.dev/shared/packing/certificate"
)

// A random proof, unlike any that a search for proofs makes, is never accepted for an input that has a placement.
func TestNoProofAtRandomIsOneOfWhatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		m := maker{rand.New(rand.NewPCG(seed, 0))}
		in := m.input()
		feasible := newOracle(in).placement()
		if feasible == nil {
			return
		}
		for range 60 {
			proof := m.proof(in)
			if completed, err := certificate.Complete(in, proof); err == nil {
				question, _ := json.MarshalIndent(in, "", " ")
				written, _ := json.MarshalIndent(completed, "", " ")
				t.Fatalf("it fits: %v\n%s\nand this passes: %s", feasible, question, written)
			}
		}
	})
}

// The same proofs prove something of many inputs that have none, so that the test above is of use.
func TestProofsAtRandomProveSomething(t *testing.T) {
	accepted, refuted := map[string]int{}, 0
	for seed := range uint64(800) {
		m := maker{rand.New(rand.NewPCG(seed, 0))}
		in := m.input()
		if newOracle(in).placement() != nil {
			continue
		}
		refuted++
		for range 60 {
			completed, err := certificate.Complete(in, m.proof(in))
			if err != nil {
				continue
			}
			for i := range completed.Rules {
				accepted[ruleOf(&completed.Rules[i])]++
			}
		}
	}
	for _, rule := range []string{"deficit", "cut", "branch", "without"} {
		assert.GreaterOrEqual(t, accepted[rule], 10,
			"of %d inputs %d rules %s prove something", refuted, accepted[rule], rule)
	}
}

func ruleOf(r *certificate.Rule) string {
	switch {
	case r.Deficit != nil:
		return "deficit"
	case r.Cut != nil:
		return "cut"
	case r.Branch != nil:
		return "branch"
	}
	return "without"
}

// maker makes inputs and proofs at random.
type maker struct{ *rand.Rand }

// one of so many.
func (m maker) one(of int) bool { return m.IntN(of) == 0 }

// input is small, and many of its groups differ in their names only.
func (m maker) input() *certificate.Input {
	in := &certificate.Input{Topologies: []certificate.Topology{{Name: "net", Levels: []string{"zone", "rack"}},
		{Name: "power", Levels: []string{"rail"}}}}
	for i := range 1 + m.IntN(4) {
		n := certificate.Node{Name: fmt.Sprint("n", i),
			Free:    map[string]int64{"gpu": m.Int64N(5), "cpu": 1 + m.Int64N(4)},
			Domains: map[string][]string{}}
		n.Domains["net"] = []string{fmt.Sprint("z", m.IntN(2)*m.IntN(2)), fmt.Sprint("r", m.IntN(3))}
		n.Domains["power"] = []string{fmt.Sprint("p", m.IntN(2))}
		for topology, path := range n.Domains {
			if m.one(8) {
				n.Domains[topology] = path[:len(path)-1]
			}
		}
		in.Nodes = append(in.Nodes, n)
	}
	for range 1 + m.IntN(2) {
		kind := certificate.Kind{Requests: map[string]int64{"gpu": 1 + m.Int64N(2), "cpu": m.Int64N(3)}}
		if m.one(4) {
			kind.Barred = make([]bool, len(in.Nodes))
			kind.Barred[m.IntN(len(in.Nodes))] = true
		}
		in.Kinds = append(in.Kinds, kind)
	}
	m.groups(in)
	for i := range m.IntN(3) {
		m.relation(in, fmt.Sprint("relation-", i))
	}
	return in
}

// groups are a root with copies of one or two subtrees, of at most six pods.
func (m maker) groups(in *certificate.Input) {
	in.Groups = []certificate.Group{{Name: "all", Parent: -1}}
	m.require(&in.Groups[0], 4)
	pods, children := 0, 0
	for range 1 + m.IntN(2) {
		pattern := m.subtree(in)
		size := 0
		for i := range pattern {
			for _, p := range pattern[i].Pending {
				size += len(p.Names)
			}
		}
		for range 1 + m.IntN(3) {
			if pods+size > 6 {
				break
			}
			children++
			offset := len(in.Groups)
			for i, g := range pattern {
				g.Name = fmt.Sprint("g", offset+i)
				if g.Parent++; g.Parent > 0 {
					g.Parent += offset - 1
				}
				g.Pending = slices.Clone(g.Pending)
				for k := range g.Pending {
					g.Pending[k].Names = slices.Clone(g.Pending[k].Names)
					for n := range g.Pending[k].Names {
						g.Pending[k].Names[n] = fmt.Sprint("p", pods)
						pods++
					}
				}
				if len(g.Running) > 0 {
					g.Running = m.nodes(in, len(g.Running))
				}
				in.Groups = append(in.Groups, g)
			}
		}
	}
	in.Groups[0].MinSubGroups = max(0, children-m.IntN(2))
}

// subtree is a leaf, or a group with leaves; parents count from 0 for its own root.
func (m maker) subtree(in *certificate.Input) []certificate.Group {
	top := certificate.Group{Parent: -1}
	m.require(&top, 2)
	if !m.one(3) {
		return []certificate.Group{m.leaf(in, top)}
	}
	groups := []certificate.Group{top}
	leaves := 1 + m.IntN(2)
	for range leaves {
		leaf := certificate.Group{Parent: 0}
		m.require(&leaf, 3)
		groups = append(groups, m.leaf(in, leaf))
	}
	groups[0].MinSubGroups = leaves - m.IntN(2)
	return groups
}

func (m maker) leaf(in *certificate.Input, g certificate.Group) certificate.Group {
	total := 0
	for kind := range in.Kinds {
		n := m.IntN(3)
		total += n
		g.Pending = append(g.Pending, certificate.Pods{Kind: kind, Names: make([]string, n)})
	}
	if m.one(3) {
		g.Running = []string{""} // The nodes of each copy are its own.
	}
	g.MinMember = max(0, total+len(g.Running)-m.IntN(2))
	return g
}

// require has one of so many groups require a level or follow others.
func (m maker) require(g *certificate.Group, of int) {
	switch {
	case m.one(of):
		g.Topology, g.Required = "net", []string{"zone", "rack"}[m.IntN(2)]
	case m.one(3 * of):
		g.Topology, g.Required = "power", "rail"
	case m.one(5 * of):
		g.Follow = []certificate.Anchor{{Topology: "net", Level: "zone", Nodes: []string{"n0"}}}
	}
}

func (m maker) nodes(in *certificate.Input, count int) []string {
	var names []string
	for range count {
		names = append(names, fmt.Sprint("n", m.IntN(len(in.Nodes)+1)))
	}
	return names
}

func (m maker) relation(in *certificate.Input, name string) {
	r := certificate.Relation{Name: name, Topology: "net", Level: []string{"zone", "rack"}[m.IntN(2)],
		Max:    1 + m.IntN(2),
		PerPod: m.one(3)}
	if m.one(4) {
		r.Topology, r.Level = "power", "rail"
	}
	if m.one(5) {
		r.Near, r.PerPod = m.nodes(in, 2), false
	}
	for range m.IntN(3) {
		if r.Near == nil {
			r.Others = append(r.Others, m.nodes(in, 1))
		}
	}
	depth, items := m.IntN(3), 0
	for group := range in.Groups {
		level := 0
		for up := in.Groups[group].Parent; up >= 0; up = in.Groups[up].Parent {
			level++
		}
		if level == depth && !m.one(4) {
			items++
			in.Groups[group].Relations = append(in.Groups[group].Relations, name)
		}
	}
	if items == 1 && !r.PerPod && m.one(3) {
		r.Joined = m.nodes(in, 1)
	}
	in.Relations = append(in.Relations, r)
}

// proof has a few rules that refer to later ones.
func (m maker) proof(in *certificate.Input) *certificate.Proof {
	count := 1 + m.IntN(6)
	proof := &certificate.Proof{Start: []int{0}, Unfiltered: m.one(8)}
	for i := range count {
		proof.Rules = append(proof.Rules, m.rule(in, i, count))
	}
	return proof
}

func (m maker) rule(in *certificate.Input, i, count int) certificate.Rule {
	later := func() []int {
		var rules []int
		for range 1 + m.IntN(3) {
			rules = append(rules, i+1+m.IntN(count-i-1))
		}
		return rules
	}
	group := m.IntN(len(in.Groups))
	kind := m.IntN(10)
	if i == count-1 {
		kind += 4
	}
	switch {
	case kind < 2:
		b := &certificate.Branch{Each: later(), None: later()}
		b.Group, b.Topology, b.Level = in.Groups[group].Name, "net", []string{"zone", "rack"}[m.IntN(2)]
		if up := around(in, group); up >= 0 {
			b.Topology = in.Groups[up].Topology
			if b.Level = in.Groups[up].Required; b.Level == "rack" && m.one(3) {
				b.Level = "zone"
			}
		}
		return certificate.Rule{Branch: b}
	case kind < 4:
		w := &certificate.Without{Each: later(), Then: later()}
		for i := 1; i < len(in.Groups); i++ {
			if !m.one(3) {
				w.Groups = append(w.Groups, in.Groups[i].Name)
			}
		}
		m.Shuffle(len(w.Groups), func(a, b int) { w.Groups[a], w.Groups[b] = w.Groups[b], w.Groups[a] })
		return certificate.Rule{Without: w}
	case kind < 8:
		return cut(m.measure(in, 2))
	default:
		return deficit()
	}
}

// around is the innermost group around one, or that one, that requires a level; -1 if none does.
func around(in *certificate.Input, group int) int {
	for group >= 0 && in.Groups[group].Required == "" {
		group = in.Groups[group].Parent
	}
	return group
}

func (m maker) measure(in *certificate.Input, depth int) certificate.Measure {
	kind := m.IntN(5)
	switch {
	case kind == 0 && len(in.Relations) > 0:
		return certificate.Measure{Relation: in.Relations[m.IntN(len(in.Relations))].Name}
	case kind <= 2 && depth > 0:
		return m.groupMeasure(in, depth)
	}
	measure := certificate.Measure{Resource: []string{"gpu", "cpu"}[m.IntN(2)]}
	if m.one(2) {
		measure = certificate.Measure{Pods: map[string]int64{}}
		for pod := range 6 {
			if m.one(2) {
				measure.Pods[fmt.Sprint("p", pod)] = m.Int64N(3)
			}
		}
	}
	for i := range in.Groups {
		if m.one(8) {
			measure.Of = append(measure.Of, in.Groups[i].Name)
		}
	}
	return measure
}

// groupMeasure weighs some groups that stand in one domain each and do not contain each other.
func (m maker) groupMeasure(in *certificate.Input, depth int) certificate.Measure {
	measure := certificate.Measure{Topology: "net", Level: []string{"zone", "rack"}[m.IntN(2)],
		Groups: map[string]int64{}}
	if m.one(4) {
		measure.Topology, measure.Level = "power", "rail"
	}
	inside := make([]bool, len(in.Groups))
	for i := range in.Groups {
		if parent := in.Groups[i].Parent; parent >= 0 && inside[parent] {
			inside[i] = true
			continue
		}
		for up := i; up >= 0; up = in.Groups[up].Parent {
			if g := &in.Groups[up]; g.Topology == measure.Topology && (g.Required == measure.Level || g.Required == "rack") && !m.one(5) {
				measure.Groups[in.Groups[i].Name], inside[i] = 1+m.Int64N(5)/4, true
				break
			}
		}
	}
	for range m.IntN(3) {
		measure.By = append(measure.By, m.measure(in, depth-1))
	}
	return measure
}
