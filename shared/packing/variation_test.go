package packing_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/certificate"
)

// variation is a gang and a cluster, larger than what the oracle can judge. What is known of it is how its answer changes when one thing does.
type variation struct {
	hostileCase
	random *rand.Rand
}

// draw makes a cluster of some dozens to hundreds of nodes, and a gang of up to 120 pods of up to six kinds.
func draw(seed uint64) variation {
	random := rand.New(rand.NewPCG(seed, 11))
	one := func(of ...int) int { return of[random.IntN(len(of))] }
	return variation{random: random, hostileCase: hostileCase{
		Seed: seed, Nodes: 8 + random.IntN(150), Width: 1 + random.IntN(16), Racks: 1 + random.IntN(8), Devices: int64(1 + random.IntN(8)),
		CPU: 64_000, Spread: one(0, 50, 90), Empty: one(0, 0, 30), Kinds: 1 + random.IntN(6), Large: int64(1 + random.IntN(4)),
		Heavy: int64(one(1, 8_000, 30_000)), Filter: []string{"", "", "one", "own"}[random.IntN(4)], Excluded: one(10, 50),
		Groups: one(0, 1, 4, 12), Inner: one(0, 0, 3), Pods: 1 + random.IntN(120), Mix: one(1, 1, 3),
		Minimum: one(100, 100, 50, 0), MinSubgroup: one(100, 100, 60), Root: one(0, 1, 2, 5, 6), Middle: one(0, 2, 6), Leaf: one(0, 2, 3, 6, 7),
		Running: one(0, 0, 10, 100),
	}}
}

// answered is a decision after the verifier, which shares no code with the engine, has checked its proof or placement.
func answered(t *testing.T, c *packing.Cluster, gang *packing.Gang) packing.Decision {
	t.Helper()
	d := c.Decide(gang, packing.Options{})
	if d.Verdict == packing.Placed {
		nodes := map[string]string{}
		for _, a := range d.Assignments {
			nodes[a.Pod] = a.Node
		}
		for _, err := range certificate.Check(c.Input(gang), nodes) {
			t.Error(err)
		}
	}
	if d.Verdict == packing.Infeasible {
		assert.NoError(t, certificate.Verify(c.Input(gang), d.Certificate))
	}
	return d
}

// cluster makes the nodes of a case in an order, with more of them, each like one that there is, behind.
func (v variation) cluster(order []int, more int) *packing.Cluster {
	c := packing.NewCluster()
	if err := c.SetTopology("t", hostileLevels); err != nil {
		panic(err)
	}
	all := v.NodeList()
	for _, i := range order {
		c.SetNode(all[i])
	}
	for i := range more {
		like := all[v.random.IntN(len(all))]
		name := fmt.Sprint("more-", i)
		labels := map[string]string{"block": like.Labels["block"], "rack": like.Labels["rack"], "host": name}
		c.SetNode(packing.Node{Name: name, Labels: labels, Allocatable: like.Allocatable})
	}
	return c
}

// shuffled is the gang with children, kinds and names in another order.
func shuffled(g packing.Group, random *rand.Rand) packing.Group {
	g.Children, g.Pending = slices.Clone(g.Children), slices.Clone(g.Pending)
	for i := range g.Children {
		g.Children[i] = shuffled(g.Children[i], random)
	}
	random.Shuffle(len(g.Children), func(a, b int) { g.Children[a], g.Children[b] = g.Children[b], g.Children[a] })
	random.Shuffle(len(g.Pending), func(a, b int) { g.Pending[a], g.Pending[b] = g.Pending[b], g.Pending[a] })
	return g
}

// settled has the pods of an answer run where they were placed.
func settled(g packing.Group, nodes map[string]string) packing.Group {
	g.Children, g.Running = slices.Clone(g.Children), slices.Clone(g.Running)
	for i := range g.Children {
		g.Children[i] = settled(g.Children[i], nodes)
	}
	var left []packing.Pods
	for _, pods := range g.Pending {
		var names []string
		for _, name := range pods.Names {
			if node, placed := nodes[name]; placed {
				g.Running = append(g.Running, node)
			} else {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			left = append(left, packing.Pods{Shape: pods.Shape, Names: names})
		}
	}
	g.Pending = left
	return g
}

// used counts the domains of a level with pods of an answer.
func (v variation) used(d *packing.Decision, level string) int {
	domains, in := map[string]bool{}, map[string]string{}
	for _, n := range v.NodeList() {
		in[n.Name] = n.Labels[level]
	}
	for _, a := range d.Assignments {
		domains[in[a.Node]] = true
	}
	return len(domains)
}

func TestAnswersVaryAsTheirQuestionsDo(t *testing.T) {
	verdicts, best := map[packing.Verdict]int{}, 0
	for seed := range uint64(300) {
		v := draw(seed)
		gang, nodes := v.Gang(), make([]int, v.Nodes)
		for i := range nodes {
			nodes[i] = i
		}
		c := v.cluster(nodes, 0)
		first := answered(t, c, gang)
		verdicts[first.Verdict]++

		// In another order the same is asked.
		v.random.Shuffle(len(nodes), func(a, b int) { nodes[a], nodes[b] = nodes[b], nodes[a] })
		again := answered(t, v.cluster(nodes, 0), &packing.Gang{Root: shuffled(gang.Root, v.random)})
		if known := first.Verdict != packing.Unknown && again.Verdict != packing.Unknown; known && first.Verdict != again.Verdict {
			t.Errorf("seed %d: %s, and in another order %s", seed, first.Verdict, again.Verdict)
		}
		if first.Optimal && again.Optimal && first.Verdict == packing.Placed {
			best++
			assert.Len(t, first.Assignments, len(again.Assignments),
				"seed %d: %d and %d pods are placed, both at most", seed, len(first.Assignments), len(again.Assignments))
			if rootAlone := v.Root > 4 && v.Middle <= 4 && v.Leaf <= 4; rootAlone {
				level := hostileLevels[v.Root-5]
				a, b := v.used(&first, level), v.used(&again, level)
				assert.Equal(t, b, a, "seed %d: %d and %d %ss are used, both the fewest", seed, a, b, level)
			}
		}

		// More nodes never keep a gang out, and all pods that had room have it still.
		richer := answered(t, v.cluster(nodes, 1+v.random.IntN(20)), gang)
		assert.False(t, first.Verdict == packing.Placed && richer.Verdict == packing.Infeasible,
			"seed %d: it fits, but not with more nodes: %s", seed, richer.Message())
		assert.False(t, first.Verdict == packing.Placed && richer.Optimal && len(richer.Assignments) < len(first.Assignments),
			"seed %d: %d pods are placed, and at most %d with more nodes", seed, len(first.Assignments), len(richer.Assignments))

		// What was placed runs, and the rest asks once more: nothing is wrong with it now, and where no more had room no more has.
		if first.Verdict != packing.Placed {
			continue
		}
		at := map[string]string{}
		for _, a := range first.Assignments {
			at[a.Pod] = a.Node
		}
		for pod, node := range at {
			c.Assign(packing.Pod{ID: pod, Node: node, Requests: requestsOf(gang.Root, pod)})
		}
		after := answered(t, c, &packing.Gang{Root: settled(gang.Root, at)})
		assert.False(t, after.Verdict != packing.Placed && after.Verdict != packing.Unknown,
			"seed %d: what was placed is %s when it runs: %s", seed, after.Verdict, after.Message())
		if more := len(after.Assignments); first.Optimal && more > 0 {
			t.Errorf("seed %d: %d pods at most were placed, and then %d more", seed, len(at), more)
		}
	}
	t.Logf("%v, %d both ways the best", verdicts, best)
	if verdicts[packing.Placed] < 50 || verdicts[packing.Infeasible] < 50 || best < 30 || verdicts[packing.Unknown] > 6 {
		t.Errorf("%v, %d both ways the best", verdicts, best)
	}
}

// requestsOf is what a pod of a group asks for.
func requestsOf(g packing.Group, pod string) packing.Resources {
	for _, pods := range g.Pending {
		if slices.Contains(pods.Names, pod) {
			return pods.Shape.Requests
		}
	}
	for i := range g.Children {
		if strings.HasPrefix(pod, g.Children[i].Name+"-") {
			if found := requestsOf(g.Children[i], pod); found != nil {
				return found
			}
		}
	}
	return nil
}
