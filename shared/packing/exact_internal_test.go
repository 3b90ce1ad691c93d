package packing

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// tight is a handful of nodes and groups that barely fit, or barely not.
type tight struct {
	racks  [][]Resources
	shapes []Resources
	// groups have a number of pods of each shape; those in rack need a rack.
	groups [][]int
	inRack []bool
}

func drawTight(t *rapid.T) *tight {
	s := &tight{}
	for range rapid.IntRange(1, 3).Draw(t, "racks") {
		var rack []Resources
		for range rapid.IntRange(1, 2).Draw(t, "nodes") {
			rack = append(rack, Resources{"gpu": rapid.SampledFrom([]int64{3, 4, 5}).Draw(t, "gpu"), "cpu": rapid.SampledFrom([]int64{3, 6}).Draw(t, "cpu")})
		}
		s.racks = append(s.racks, rack)
	}
	for range rapid.IntRange(1, 2).Draw(t, "shapes") {
		s.shapes = append(s.shapes, Resources{"gpu": rapid.Int64Range(1, 3).Draw(t, "gpu"), "cpu": rapid.Int64Range(1, 2).Draw(t, "cpu")})
	}
	pods := 0
	for range rapid.IntRange(1, 4).Draw(t, "groups") {
		group := make([]int, len(s.shapes))
		for k := range group {
			group[k] = min(rapid.IntRange(0, 3).Draw(t, "pods"), 9-pods)
			pods += group[k]
		}
		s.groups = append(s.groups, group)
		s.inRack = append(s.inRack, rapid.IntRange(0, 3).Draw(t, "rack") > 0)
	}
	return s
}

func (s *tight) cluster() *Cluster {
	c := NewCluster()
	if err := c.SetTopology("t", []string{"rack"}); err != nil {
		panic(err)
	}
	for r, rack := range s.racks {
		for n, free := range rack {
			c.SetNode(Node{Name: fmt.Sprint(r, "-", n), Labels: map[string]string{"rack": fmt.Sprint(r)}, Allocatable: free})
		}
	}
	return c
}

func (s *tight) gang() *Gang {
	gang := &Gang{}
	for i, group := range s.groups {
		g := Group{}
		if s.inRack[i] {
			g.Constraint = Constraint{Topology: "t", Required: "rack"}
		}
		for k, n := range group {
			g.MinMember += n
			g.Pending = append(g.Pending, Pods{Shape: Shape{Key: fmt.Sprint(k), Requests: s.shapes[k]}, Names: make([]string, n)})
		}
		gang.Root.Children = append(gang.Root.Children, g)
	}
	return gang
}

// fits tries every place of every pod.
func (s *tight) fits() bool {
	var free [][]Resources
	for _, rack := range s.racks {
		var copied []Resources
		for _, node := range rack {
			copied = append(copied, Resources{"gpu": node["gpu"], "cpu": node["cpu"]})
		}
		free = append(free, copied)
	}
	return s.try(free, 0, 0, 0, -1)
}

// try places the pods from the given one on; a group in a rack is in that one.
func (s *tight) try(free [][]Resources, group, shape, pod, in int) bool {
	switch {
	case group == len(s.groups):
		return true
	case shape == len(s.shapes):
		return s.try(free, group+1, 0, 0, -1)
	case pod == s.groups[group][shape]:
		return s.try(free, group, shape+1, 0, in)
	}
	for r := range free {
		if s.inRack[group] && in >= 0 && in != r {
			continue
		}
		for _, node := range free[r] {
			if node["gpu"] < s.shapes[shape]["gpu"] || node["cpu"] < s.shapes[shape]["cpu"] {
				continue
			}
			node["gpu"] -= s.shapes[shape]["gpu"]
			node["cpu"] -= s.shapes[shape]["cpu"]
			ok := s.try(free, group, shape, pod+1, r)
			node["gpu"] += s.shapes[shape]["gpu"]
			node["cpu"] += s.shapes[shape]["cpu"]
			if ok {
				return true
			}
		}
	}
	return false
}

// The complete search must be right by itself: in decisions, bounds and
// shortcuts leave it little to do.
func TestTheCompleteSearchAloneIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawTight(t)
		want := s.fits()
		for _, thorough := range []bool{true, false} {
			p, err := newProblem(s.cluster(), s.gang())
			if err != nil {
				t.Fatal(err)
			}
			slot, levels := p.mainSlot()
			e := newExact(&trial{p: p, budget: 1 << 30}, newCargo(newSnapshot(p, slot, levels), p.full(), slot, nil))
			e.thorough = thorough
			root := e.solve()
			if (root != nil) != want {
				t.Fatalf("thorough %v: found %v, feasible %v", thorough, root != nil, want)
			}
			if root != nil {
				pods := 0
				for _, pl := range e.realise(root) {
					pods += int(pl.pods)
				}
				if pods != p.total(p.pending, 0) {
					t.Fatalf("%d of %d pods placed", pods, p.total(p.pending, 0))
				}
			}
		}
	})
}
