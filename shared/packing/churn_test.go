package packing_test

import (
	"container/heap"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing"
)

var churnOut = flag.String("churn.svg", "", "simulate 6,000 gangs, and draw the utilisation over time into this file")

// The yard of the simulation: 4 blocks of 16 racks of 16 nodes of 8 devices.
const (
	churnNodes   = 1024
	churnBlock   = 256
	churnDevices = churnNodes * podsPerNode
)

// order is a gang to be placed: subgroups of pods of some devices each, every
// subgroup in one rack, all in one block.
type order struct {
	id     int
	size   int64
	groups []int
	stays  float64
}

func drawOrder(random *rand.Rand, id int) order {
	o := order{id: id, size: []int64{1, 1, 2, 4, 8}[random.IntN(5)], stays: random.ExpFloat64() * 100}
	for range 1 + random.IntN(6) {
		o.groups = append(o.groups, 1+random.IntN(int(48/o.size)))
	}
	return o
}

func (o order) devices() int64 {
	sum := int64(0)
	for _, pods := range o.groups {
		sum += int64(pods) * o.size
	}
	return sum
}

func (o order) gang() *packing.Gang {
	gang := &packing.Gang{Root: packing.Group{Constraint: in("block")}}
	s := packing.Shape{Key: fmt.Sprint("size-", o.size), Requests: packing.Resources{"nvidia.com/gpu": o.size}}
	for i, pods := range o.groups {
		gang.Root.Children = append(gang.Root.Children, packing.Group{
			Constraint: in("rack"), MinMember: pods, Pending: []packing.Pods{{Shape: s, Names: podNames(fmt.Sprint(o.id, "/", i),
				pods)}},
		})
	}
	return gang
}

// floor is the cluster as the simple policies see it: free devices by node.
type floor [churnNodes]int64

// policy gives the node of each pod of an order, or nil.
type policy func(f *floor, o order) []int

// firstFit takes the first block, rack and node that fit, subgroup by subgroup.
func firstFit(f *floor, o order) []int {
	return siblingBySibling(f, o, func(int64, int64) bool { return false })
}

// bestFit takes the tightest block, rack and node, subgroup by subgroup.
func bestFit(f *floor, o order) []int {
	return siblingBySibling(f, o, func(room, best int64) bool { return room < best })
}

// siblingBySibling is what schedulers do that never take back the place of a
// sibling.
func siblingBySibling(f *floor, o order, better func(room, best int64) bool) []int {
	tried := map[int]bool{}
	for {
		block, best := -1, int64(0)
		for b := 0; b < churnNodes; b += churnBlock {
			room := f.room(b, churnBlock, o.size)
			if !tried[b] && room*o.size >= o.devices() && (block < 0 || better(room, best)) {
				block, best = b, room
			}
		}
		if block < 0 {
			return nil
		}
		tried[block] = true
		copied := *f
		if nodes := copied.inBlock(block, o, better); nodes != nil {
			return nodes
		}
	}
}

func (f *floor) room(from, nodes int, size int64) int64 {
	room := int64(0)
	for _, free := range f[from : from+nodes] {
		room += free / size
	}
	return room
}

func (f *floor) inBlock(block int, o order, better func(room, best int64) bool) []int {
	var nodes []int
	for _, pods := range o.groups {
		rack, best := -1, int64(0)
		for r := block; r < block+churnBlock; r += nodesPerRack {
			room := f.room(r, nodesPerRack, o.size)
			if room >= int64(pods) && (rack < 0 || better(room, best)) {
				rack, best = r, room
			}
		}
		if rack < 0 {
			return nil
		}
		for range pods {
			node := -1
			for n := rack; n < rack+nodesPerRack; n++ {
				if f[n] >= o.size && (node < 0 || better(f[n], f[node])) {
					node = n
				}
			}
			f[node] -= o.size
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// leaving is a gang that stands; the heap has the one that leaves first on top.
type leaving struct {
	at    float64
	order order
	nodes []int
}

type departures []leaving

func (d departures) Len() int           { return len(d) }
func (d departures) Less(i, j int) bool { return d[i].at < d[j].at }
func (d departures) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *departures) Push(x any)        { *d = append(*d, x.(leaving)) }
func (d *departures) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}

// churned is the outcome of a simulation.
type churned struct {
	placed, refused, wronged int
	used, racks              float64
	curve                    []float64
}

// churn lets gangs come and go. A gang that a policy refuses is lost; it was
// wronged when the engine finds room for it in the very same cluster.
func churn(tb testing.TB, gangs int, place policy) churned {
	random := rand.New(rand.NewPCG(7, 7))
	c := newYardOf(tb, churnNodes)
	var f floor
	for i := range f {
		f[i] = podsPerNode
	}
	now, used := 0.0, int64(0)
	result := churned{}
	var standing departures
	for id := range gangs {
		now += random.ExpFloat64() * 0.85
		for len(standing) > 0 && standing[0].at < now {
			gone := heap.Pop(&standing).(leaving)
			used += move(c, &f, gone.order, gone.nodes, -1)
		}
		o := drawOrder(random, id)
		d := c.Decide(o.gang(), packing.Options{})
		nodes := nodesOf(d)
		if place != nil {
			nodes = place(&f, o)
		}
		if nodes == nil {
			result.refused++
			if d.Verdict == packing.Placed {
				result.wronged++
			}
		} else {
			used += move(c, &f, o, nodes, 1)
			heap.Push(&standing, leaving{now + o.stays, o, nodes})
			result.placed++
			result.racks += float64(racksOf(nodes))
		}
		result.used += float64(used) / churnDevices / float64(gangs)
		result.curve = append(result.curve, float64(used)/churnDevices)
	}
	result.racks /= float64(result.placed)
	return result
}

func newYardOf(tb testing.TB, n int) *packing.Cluster {
	tb.Helper()
	c := packing.NewCluster()
	require.NoError(tb, c.SetTopology("yard", yardLevels))
	for i := range n {
		node := yardNode(i)
		node.Labels["block"] = fmt.Sprint("b", i/churnBlock)
		node.Labels["rack"] = fmt.Sprintf("r%02d", i%churnBlock/nodesPerRack)
		c.SetNode(node)
	}
	return c
}

func nodesOf(d packing.Decision) []int {
	var nodes []int
	for _, a := range d.Assignments {
		var n int
		if _, err := fmt.Sscanf(a.Node, "node-%06d", &n); err != nil {
			panic(err)
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// move puts a gang on its nodes, or takes it away with sign -1.
func move(c *packing.Cluster, f *floor, o order, nodes []int, sign int64) int64 {
	for i, n := range nodes {
		f[n] -= sign * o.size
		if f[n] < 0 {
			panic("a node has more pods than room")
		}
		id := fmt.Sprintf("%d-%d", o.id, i)
		if sign > 0 {
			c.Assign(packing.Pod{ID: id, Node: yardNodeName(n), Requests: packing.Resources{"nvidia.com/gpu": o.size}})
		} else {
			c.Release(id)
		}
	}
	return sign * o.devices()
}

func racksOf(nodes []int) int {
	racks := map[int]bool{}
	for _, n := range nodes {
		racks[n/nodesPerRack] = true
	}
	return len(racks)
}

func TestChurnLosesNoGangThatFits(t *testing.T) {
	gangs := 600
	if *churnOut != "" {
		gangs = 6000
	}
	names := []string{"packtree", "best-fit", "first-fit"}
	results := map[string]churned{}
	for i, p := range []policy{nil, bestFit, firstFit} {
		results[names[i]] = churn(t, gangs, p)
		r := results[names[i]]
		t.Logf("| %s | %.1f %% | %d | %d | %.2f |", names[i], r.used*100, r.refused, r.wronged, r.racks)
	}
	ours := results["packtree"]
	assert.Zero(t, ours.wronged, "gangs refused although they fit")
	best := results["best-fit"]
	assert.GreaterOrEqual(t, ours.used, best.used-0.02, "utilisation %.3f, below best-fit's %.3f", ours.used, best.used)
	if *churnOut != "" {
		require.NoError(t, os.WriteFile(*churnOut, []byte(plot(names, results)), 0o644))
	}
}

// plot draws the utilisation over time as SVG, averaged over 50 arrivals.
func plot(names []string, results map[string]churned) string {
	colours := map[string]string{"packtree": "#1a7f37", "best-fit": "#9a6700", "first-fit": "#cf222e"}
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 320" font-family="sans-serif" font-size="12">` + "\n")
	b.WriteString(`<rect width="760" height="320" fill="white"/>` + "\n")
	for percent := 60; percent <= 100; percent += 10 {
		y := 290 - float64(percent-60)*6.5
		fmt.Fprintf(&b, `<line x1="50" x2="740" y1="%.0f" y2="%.0f" stroke="#ddd"/><text x="10" y="%.0f">%d %%</text>`+"\n",
			y, y, y+4, percent)
	}
	for i, name := range names {
		curve := results[name].curve
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="1.5" points="`, colours[name])
		for k := 0; k+50 <= len(curve); k += 50 {
			mean := 0.0
			for _, used := range curve[k : k+50] {
				mean += used / 50
			}
			fmt.Fprintf(&b, "%.1f,%.1f ", 50+690*float64(k)/float64(len(curve)), min(300, 290-(mean*100-60)*6.5))
		}
		fmt.Fprintf(&b, `"/><text x="%d" y="312" fill="%s">%s</text>`+"\n", 300+i*100, colours[name], name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
