package packing_test

import (
	"fmt"
	"math/rand/v2"

	"packtree.dev/shared/packing"
)

// maxPods is the most pods that a hostile gang has.
const maxPods = 4_096

// hostileCase says how to make a cluster and a gang that are hard to decide.
type hostileCase struct {
	// Seed is for all that is drawn.
	Seed uint64 `json:"seed"`
	// Racks have Width nodes each, and blocks Racks racks.
	Nodes int `json:"nodes"`
	Width int `json:"width"`
	Racks int `json:"racks"`
	// Devices and CPU are the most that is free on a node; Spread is the percentage
	// by which nodes have less, and Empty that of nodes without devices.
	Devices int64 `json:"devices"`
	CPU     int64 `json:"cpu"`
	Spread  int   `json:"spread"`
	Empty   int   `json:"empty"`

	// Kinds are how many kinds of pods there are, of up to Large devices and Heavy CPU.
	Kinds int   `json:"kinds"`
	Large int64 `json:"large"`
	Heavy int64 `json:"heavy"`
	// Filter says what filters do: "", "one" for all kinds, "own" for each, which
	// excludes Excluded of 100 nodes, or "pinned" to Pinned nodes.
	Filter   string `json:"filter,omitempty"`
	Excluded int    `json:"excluded,omitempty"`
	Pinned   int    `json:"pinned,omitempty"`

	// Groups are the subgroups, 0 for none, with Inner subgroups each.
	Groups int `json:"groups,omitempty"`
	Inner  int `json:"inner,omitempty"`
	// Pods are those of the whole gang. Each leaf has pods of up to Mix kinds.
	Pods int `json:"pods"`
	Mix  int `json:"mix"`
	// Minimum is the percentage of the pods of a leaf, and of the subgroups of a
	// parent, that must be placed.
	Minimum     int `json:"minimum"`
	MinSubgroup int `json:"minSubgroup"`
	// Running is how many pods run for 100 that wait, where the required levels let
	// them stand.
	Running int `json:"running,omitempty"`
	// Root, Middle and Leaf are levels, by number: 0 none, 1 block, 2 rack, 3 host,
	// required or, plus 4, preferred.
	Root   int `json:"root,omitempty"`
	Middle int `json:"middle,omitempty"`
	Leaf   int `json:"leaf,omitempty"`
}

// hostileLevels are those of the cluster's topology, "t".
var hostileLevels = []string{"block", "rack", "host"}

// Cluster makes the cluster.
func (c hostileCase) Cluster() *packing.Cluster {
	cluster := packing.NewCluster()
	if err := cluster.SetTopology("t", hostileLevels); err != nil {
		panic(err)
	}
	for _, node := range c.NodeList() {
		cluster.SetNode(node)
	}
	return cluster
}

// NodeList makes the nodes of the cluster.
func (c hostileCase) NodeList() []packing.Node {
	b := &hostileBuilder{hostileCase: c, random: rand.New(rand.NewPCG(c.Seed, 0))}
	nodes := make([]packing.Node, c.Nodes)
	for i := range nodes {
		nodes[i] = b.node(i)
	}
	return nodes
}

// Gang makes the gang.
func (c hostileCase) Gang() *packing.Gang {
	b := &hostileBuilder{hostileCase: c, random: rand.New(rand.NewPCG(c.Seed, 1)), home: stretch{0, c.Nodes}}
	for k := range c.Kinds {
		b.kinds = append(b.kinds, b.kind(k))
	}
	return &packing.Gang{Root: b.root()}
}

type hostileBuilder struct {
	hostileCase
	random *rand.Rand
	kinds  []packing.Shape
	// pods and running are how many wait and run so far.
	pods, running int
	// home is where the running pods of a group stand: nodes that are one after the other.
	home stretch
}

// stretch are nodes that are one after the other.
type stretch struct{ from, to int }

// within narrows where pods run to a domain of a level if that is required.
func (b *hostileBuilder) within(level int) (before stretch) {
	before = b.home
	if level%4 == 0 || level > 4 {
		return before
	}
	size := []int{b.Width * b.Racks, b.Width, 1}[level-1]
	node := b.home.draw(b.random)
	from := node - node%size
	b.home = stretch{max(from, before.from), min(from+size, before.to)}
	return before
}

func (n stretch) draw(random *rand.Rand) int { return n.from + random.IntN(n.to-n.from) }

func hostileNode(i int) string { return fmt.Sprintf("node-%05d", i) }

func (b *hostileBuilder) node(i int) packing.Node {
	name, rack := hostileNode(i), i/b.Width
	n := packing.Node{
		Name:        name,
		Labels:      map[string]string{"block": fmt.Sprint(rack / b.Racks), "rack": fmt.Sprint(rack), "host": name},
		Allocatable: packing.Resources{"device": b.less(b.Devices), "cpu": b.less(b.CPU)},
	}
	if b.random.IntN(100) < b.Empty {
		n.Allocatable["device"] = 0
	}
	return n
}

// less draws an amount that falls short of the given one by up to Spread percent.
func (b *hostileBuilder) less(amount int64) int64 {
	return amount - b.random.Int64N(amount*int64(b.Spread)/100+1)
}

func (b *hostileBuilder) kind(k int) packing.Shape {
	s := packing.Shape{Key: fmt.Sprint("kind-", k), Requests: packing.Resources{
		"device": 1 + b.random.Int64N(b.Large), "cpu": 1 + b.random.Int64N(b.Heavy),
	}}
	switch b.Filter {
	case "one":
		s.Filter, s.Excluded = "one", b.excluding(0)
	case "own":
		s.Excluded = b.excluding(uint64(k))
	case "pinned":
		s.Only = []string{}
		for range b.Pinned {
			s.Only = append(s.Only, hostileNode(b.random.IntN(b.Nodes)))
		}
	}
	return s
}

// excluding keeps pods off some nodes, depending on the names of these.
func (b *hostileBuilder) excluding(of uint64) func(node string) string {
	excluded := uint64(b.Excluded)
	return func(node string) string {
		h := of*0x9e3779b97f4a7c15 + 1
		for i := range len(node) {
			h = (h ^ uint64(node[i])) * 0x100000001b3
		}
		if h>>32%100 < excluded {
			return "a taint"
		}
		return ""
	}
}

func (b *hostileBuilder) root() packing.Group {
	if b.Groups == 0 {
		return b.leaf("gang", b.Pods, b.Root)
	}
	root := packing.Group{Name: "gang", Constraint: hostileConstraint(b.Root)}
	b.within(b.Root)
	for i := range b.Groups {
		name := fmt.Sprint("group-", i)
		if b.Inner == 0 {
			root.Children = append(root.Children, b.leaf(name, max(1, b.Pods/b.Groups), b.Leaf))
			continue
		}
		middle := packing.Group{Name: name, Constraint: hostileConstraint(b.Middle)}
		home := b.within(b.Middle)
		for k := range b.Inner {
			middle.Children = append(middle.Children, b.leaf(fmt.Sprint(name, "-", k), max(1, b.Pods/b.Groups/b.Inner), b.Leaf))
		}
		b.home = home
		b.minimum(&middle)
		root.Children = append(root.Children, middle)
	}
	b.minimum(&root)
	return root
}

func (b *hostileBuilder) minimum(g *packing.Group) {
	least := (len(g.Children)*b.MinSubgroup + 99) / 100
	g.MinSubGroups = &least
}

func (b *hostileBuilder) leaf(name string, pods, level int) packing.Group {
	g := packing.Group{Name: name, Constraint: hostileConstraint(level)}
	pods = min(pods, maxPods-b.pods)
	b.pods += pods
	g.MinMember = (pods*b.Minimum + 99) / 100
	for left, mix := pods, min(b.Mix, pods); left > 0; mix-- {
		n := left
		if mix > 1 {
			n = max(1, left/mix)
		}
		left -= n
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprint(name, "-", mix, "-", i)
		}
		g.Pending = append(g.Pending, packing.Pods{Shape: b.kinds[b.random.IntN(len(b.kinds))], Names: names})
	}
	if b.Running == 0 {
		return g
	}
	home := b.within(level)
	for range min(max(1, pods*b.Running/100), maxPods-b.running) {
		b.running++
		g.Running = append(g.Running, hostileNode(b.home.draw(b.random)))
	}
	b.home = home
	return g
}

func hostileConstraint(level int) packing.Constraint {
	switch {
	case level%4 == 0:
		return packing.Constraint{}
	case level < 4:
		return packing.Constraint{Topology: "t", Required: hostileLevels[level-1]}
	default:
		return packing.Constraint{Topology: "t", Preferred: hostileLevels[level-5]}
	}
}
