package oracle

import (
	"fmt"

	"packtree.dev/shared/packing"
)

// Source gives the numbers that an instance is drawn by, from low to high.
type Source interface {
	Int(label string, low, high int) int
}

// Size bounds what is drawn.
type Size struct {
	// Nodes and Kinds are the most of them; Pods is the most pending pods.
	Nodes, Kinds, Pods int
	// Ways is the most ways to place the pods that the oracle has to try.
	Ways int
	// Useless is the most nodes that no pod can use.
	Useless int
}

// Small is for thousands of instances in a test.
var Small = Size{Nodes: 5, Kinds: 2, Pods: 7, Ways: 20_000}

// Varied is for many seeds: more nodes, each pod of a kind of its own if need be.
var Varied = Size{Nodes: 12, Kinds: 6, Pods: 10, Ways: 4_000, Useless: 2_600}

type drawing struct {
	Source
	size   Size
	scene  *Scene
	shapes []packing.Shape
	pods   int
	groups int
	ways   int
}

// Draw makes an instance.
func Draw(source Source, size Size) *Scene {
	d := &drawing{Source: source, size: size, ways: 1}
	d.scene = &Scene{Topologies: map[string][]string{"a": {"zone", "rack", "host"}},
		Excluded: map[string]map[string]bool{}}
	if d.Int("second topology", 0, 3) == 0 {
		d.scene.Topologies["b"] = []string{"fabric", "rail"}
	}
	for i := range d.Int("nodes", 1, size.Nodes) {
		d.scene.Nodes = append(d.scene.Nodes, DrawNode(d, i))
	}
	if size.Useless > 0 && d.Int("useless nodes", 0, 50) == 0 {
		d.scene.Useless = d.Int("number of useless nodes", 0, size.Useless)
	}
	d.drawShapes()
	d.scene.Gang.Root = d.group(0)
	d.relations()
	return d.scene
}

func (d *drawing) one(label string, of []string) string { return of[d.Int(label, 0, len(of)-1)] }

// DrawNode makes a node of a scene.
func DrawNode(d Source, i int) packing.Node {
	labels := map[string]string{}
	for _, key := range []string{"zone", "rack", "host", "fabric", "rail"} {
		if v := d.Int(key, 0, 11); v > 0 {
			labels[key] = fmt.Sprint(v % 2)
		}
		if _, ok := labels["host"]; ok && key == "host" {
			labels[key] = fmt.Sprint(i)
		}
	}
	return packing.Node{
		Name:        fmt.Sprintf("node-%d", i),
		Labels:      labels,
		Allocatable: packing.Resources{"gpu": int64(d.Int("gpu", 0, 4)), "cpu": int64(d.Int("cpu", 1, 6))},
	}
}

// drawShapes makes kinds, and sometimes shapes that only their names tell apart.
func (d *drawing) drawShapes() {
	for i := range d.Int("shapes", 1, d.size.Kinds) {
		key := fmt.Sprintf("shape-%d", i)
		excluded := map[string]bool{}
		d.scene.Excluded[key] = excluded
		shape := packing.Shape{Key: key, Excluded: func(node string) string {
			if excluded[node] {
				return "a taint"
			}
			return ""
		}}
		if i > 0 && d.Int("twin", 0, 3) == 0 {
			twin := d.shapes[d.Int("of", 0, i-1)]
			for node := range d.scene.Excluded[twin.Key] {
				excluded[node] = true
			}
			shape.Requests = twin.Requests
		} else {
			for _, n := range d.scene.Nodes {
				if d.Int("excluded", 0, 5) == 0 {
					excluded[n.Name] = true
				}
			}
			shape.Requests = packing.Resources{"gpu": int64(d.Int("gpu", 0, 3)), "cpu": int64(d.Int("cpu", 1, 2))}
		}
		d.shapes = append(d.shapes, shape)
	}
}

func (d *drawing) group(depth int) packing.Group {
	d.groups++
	g := packing.Group{Name: fmt.Sprintf("group-%d", d.groups), Constraint: d.constraint()}
	if d.Int("follows", 0, 11) == 0 {
		g.Follow = []packing.Anchor{{Topology: "a", Level: d.one("level", []string{"zone", "rack"}),
			Nodes: []string{d.node()}}}
	}
	for range max(0, d.Int("beside", -8, 2)) {
		g.Beside = append(g.Beside, d.node())
	}
	if depth < 3 && d.groups < 6 && d.Int("parent", 0, 3) > 0 {
		for range d.Int("children", 1, 3) {
			g.Children = append(g.Children, d.group(depth+1))
		}
		if d.Int("minSubGroups set", 0, 1) == 1 {
			least := d.Int("minSubGroups", 0, len(g.Children))
			g.MinSubGroups = &least
		}
		return g
	}
	d.leaf(&g)
	return g
}

func (d *drawing) leaf(g *packing.Group) {
	total := 0
	for _, shape := range d.shapes {
		if len(d.shapes) > 2 && d.Int("without", 0, 1) == 1 {
			continue
		}
		n := d.afford(min(d.Int("pods", 0, 3), d.size.Pods-d.pods))
		d.pods += n
		total += n
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("%s-%s-%d", g.Name, shape.Key, i)
		}
		g.Pending = append(g.Pending, packing.Pods{Shape: shape, Names: names})
	}
	for range max(0, d.Int("running", -4, 2)) {
		g.Running = append(g.Running, d.node())
	}
	g.MinMember = d.Int("minMember", 0, total+len(g.Running))
}

// afford gives as many of n pods as the oracle can try.
func (d *drawing) afford(n int) int {
	for ; n > 0; n-- {
		ways := d.ways
		for k := range n {
			ways = ways * (len(d.scene.Nodes) + 1 + k) / (k + 1)
		}
		if ways <= d.size.Ways {
			d.ways = ways
			return n
		}
	}
	return 0
}

func (d *drawing) node() string {
	return d.scene.Nodes[d.Int("node", 0, len(d.scene.Nodes)-1)].Name
}

func (d *drawing) constraint() packing.Constraint {
	name := "a"
	if len(d.scene.Topologies) > 1 && d.Int("other topology", 0, 1) == 1 {
		name = "b"
	}
	levels := append([]string{"", ""}, d.scene.Topologies[name]...)
	c := packing.Constraint{Topology: name, Required: d.one("required", levels), Preferred: d.one("preferred", levels)}
	if c.Required == "" && c.Preferred == "" {
		return packing.Constraint{}
	}
	return c
}
