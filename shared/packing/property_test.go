package packing_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"packtree.dev/shared/packing"
)

// drawScene makes a small random cluster and gang.
func drawScene(t *rapid.T) *scene {
	s := &scene{topologies: map[string][]string{"a": {"zone", "rack", "host"}}, excluded: map[string]map[string]bool{}}
	if rapid.IntRange(0, 3).Draw(t, "second topology") == 0 {
		s.topologies["b"] = []string{"fabric", "rail"}
	}
	nodes := rapid.IntRange(1, 5).Draw(t, "nodes")
	for i := range nodes {
		s.nodes = append(s.nodes, drawNode(t, i))
	}
	shapes := drawShapes(t, s)
	s.gang.Root = drawGroup(t, s, shapes, 0, new(int), new(int))
	return s
}

func drawNode(t *rapid.T, i int) packing.Node {
	labels := map[string]string{}
	for _, key := range []string{"zone", "rack", "host", "fabric", "rail"} {
		if v := rapid.IntRange(0, 11).Draw(t, key); v > 0 {
			labels[key] = fmt.Sprint(v % 2)
		}
		if _, ok := labels["host"]; ok && key == "host" {
			labels[key] = fmt.Sprint(i)
		}
	}
	return packing.Node{
		Name:   fmt.Sprintf("node-%d", i),
		Labels: labels,
		Allocatable: packing.Resources{
			"gpu": rapid.Int64Range(0, 4).Draw(t, "gpu"),
			"cpu": rapid.Int64Range(1, 6).Draw(t, "cpu"),
		},
	}
}

func drawShapes(t *rapid.T, s *scene) []packing.Shape {
	var shapes []packing.Shape
	for i := range rapid.IntRange(1, 2).Draw(t, "shapes") {
		key := fmt.Sprintf("shape-%d", i)
		s.excluded[key] = map[string]bool{}
		for _, n := range s.nodes {
			if rapid.IntRange(0, 5).Draw(t, "excluded") == 0 {
				s.excluded[key][n.Name] = true
			}
		}
		shapes = append(shapes, packing.Shape{
			Key:      key,
			Requests: packing.Resources{"gpu": rapid.Int64Range(0, 3).Draw(t, "gpu"), "cpu": rapid.Int64Range(1, 2).Draw(t, "cpu")},
			Excluded: func(node string) string {
				if s.excluded[key][node] {
					return "a taint"
				}
				return ""
			},
		})
	}
	return shapes
}

// drawGroup makes a group; pods and groups count what there is, to keep it small.
func drawGroup(t *rapid.T, s *scene, shapes []packing.Shape, depth int, pods, groups *int) packing.Group {
	*groups++
	g := packing.Group{Name: fmt.Sprintf("group-%d", *groups), Constraint: drawConstraint(t, s)}
	if rapid.IntRange(0, 11).Draw(t, "follows") == 0 {
		g.Follow = []packing.Anchor{{Topology: "a", Level: rapid.SampledFrom([]string{"zone", "rack"}).Draw(t, "level"), Nodes: []string{drawNodeName(t, s)}}}
	}
	for range max(0, rapid.IntRange(-8, 2).Draw(t, "beside")) {
		g.Beside = append(g.Beside, drawNodeName(t, s))
	}
	if depth < 3 && *groups < 6 && rapid.IntRange(0, 3).Draw(t, "parent") > 0 {
		for range rapid.IntRange(1, 3).Draw(t, "children") {
			g.Children = append(g.Children, drawGroup(t, s, shapes, depth+1, pods, groups))
		}
		if rapid.Bool().Draw(t, "minSubGroups set") {
			least := rapid.IntRange(0, len(g.Children)).Draw(t, "minSubGroups")
			g.MinSubGroups = &least
		}
		return g
	}
	total := 0
	for _, shape := range shapes {
		n := min(rapid.IntRange(0, 3).Draw(t, "pods"), 7-*pods)
		*pods += n
		total += n
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("%s-%s-%d", g.Name, shape.Key, i)
		}
		g.Pending = append(g.Pending, packing.Pods{Shape: shape, Names: names})
	}
	for range max(0, rapid.IntRange(-4, 2).Draw(t, "running")) {
		g.Running = append(g.Running, drawNodeName(t, s))
	}
	g.MinMember = rapid.IntRange(0, total+len(g.Running)).Draw(t, "minMember")
	return g
}

func drawNodeName(t *rapid.T, s *scene) string {
	return s.nodes[rapid.IntRange(0, len(s.nodes)-1).Draw(t, "node")].Name
}

func drawConstraint(t *rapid.T, s *scene) packing.Constraint {
	name := "a"
	if len(s.topologies) > 1 && rapid.Bool().Draw(t, "other topology") {
		name = "b"
	}
	levels := append([]string{"", ""}, s.topologies[name]...)
	c := packing.Constraint{
		Topology:  name,
		Required:  rapid.SampledFrom(levels).Draw(t, "required"),
		Preferred: rapid.SampledFrom(levels).Draw(t, "preferred"),
	}
	if c.Required == "" && c.Preferred == "" {
		return packing.Constraint{}
	}
	return c
}

// scoreDecision judges the assignments of a decision by the oracle's rules.
func scoreDecision(t *rapid.T, s *scene, d packing.Decision) quality {
	o := &oracle{scene: s}
	o.add(&s.gang.Root, -1, 0)
	for _, n := range s.nodes {
		free := map[string]int64{}
		for r, a := range n.Allocatable {
			free[r] = a
		}
		o.free = append(o.free, free)
	}
	byName := map[string]podKind{}
	for _, k := range o.kinds {
		for _, pods := range o.groups[k.leaf].g.Pending {
			if pods.Shape.Key == k.shape.Key {
				for _, name := range pods.Names {
					byName[name] = k
				}
			}
		}
	}
	for _, a := range d.Assignments {
		k, known := byName[a.Pod]
		delete(byName, a.Pod)
		n := o.node(a.Node)
		if !known || n < 0 || !o.takes(n, k.shape) {
			t.Fatalf("pod %s cannot be on node %s", a.Pod, a.Node)
		}
		for r, amount := range k.shape.Requests {
			o.free[n][r] -= amount
		}
		o.stand(k.leaf, n, 1)
	}
	return o.score()
}

func TestDecisionsAreAsGoodAsTheOracles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		want := judge(s)
		d := s.build().Decide(&s.gang, packing.Options{})
		checkAgainst(t, s, d, want)
	})
}

func checkAgainst(t *rapid.T, s *scene, d packing.Decision, want quality) {
	switch d.Verdict {
	case packing.Placed:
		got := scoreDecision(t, s, d)
		if !got.feasible || !want.feasible {
			t.Fatalf("placed %v although feasible is %v, got %+v", d.Assignments, want.feasible, got)
		}
		if want.better(got) {
			t.Fatalf("placed %v\n got %+v\nwant %+v", d.Assignments, got, want)
		}
		if !d.Optimal {
			t.Fatalf("a small gang's placement was not proved optimal")
		}
	case packing.Infeasible, packing.Incomplete:
		if want.feasible {
			t.Fatalf("%s (%s), but the oracle finds %+v", d.Verdict, d.Message(), want)
		}
		if d.Message() == "" {
			t.Fatalf("%s without a reason", d.Verdict)
		}
	default:
		t.Fatalf("verdict %s: %s", d.Verdict, d.Message())
	}
}
