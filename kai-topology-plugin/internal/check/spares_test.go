package check_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// site is a small cluster whose racks or blocks have spares, and a gang of alike pods that waits.
type site struct {
	nodes []siteNode
	level string
	// spares is how many each domain of the level is to have.
	spares int
	// pods of the gang each need so much of the 2 of a node, in one domain of a level, empty for anywhere; lost says
	// that another pod of it stands alone.
	pods, each int
	required   string
	lost       bool
	priority   int
}

type siteNode struct {
	block, rack string
	// used is what pods take that do not yield, and yielding what a pod of priority -1 takes.
	used, yielding int
	cordoned       bool
}

func (s site) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, `
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: net, annotations: {packtree.dev/spares: '[{"level":"example.com/%s","nodes":%d}]'}}
spec: {levels: [{nodeLabel: example.com/block}, {nodeLabel: example.com/rack}]}
`, s.level, s.spares)
	pod := func(name, node, gang string, amount, priority int) {
		fmt.Fprintf(&b, `---
apiVersion: v1
kind: Pod
metadata: {name: %q, annotations: {%s}}
spec: {nodeName: %q, priority: %d, schedulerName: kai-scheduler, containers: [{name: c, image: c, resources: {requests: {example.com/gpu: "%d"}}}]}
`, name, gang, node, priority, amount)
	}
	for i, node := range s.nodes {
		fmt.Fprintf(&b, `---
apiVersion: v1
kind: Node
metadata: {name: n%d, labels: {example.com/block: %s, example.com/rack: %s, kubernetes.io/hostname: n%d}}
spec: {unschedulable: %t}
status: {allocatable: {example.com/gpu: "2"}}
`, i, node.block, node.rack, i, node.cordoned)
		if node.used > 0 {
			pod(fmt.Sprintf("used-%d", i), fmt.Sprintf("n%d", i), "", node.used, 0)
		}
		if node.yielding > 0 {
			pod(fmt.Sprintf("yielding-%d", i), fmt.Sprintf("n%d", i), "", node.yielding, -1)
		}
	}
	minimum := s.pods
	if s.lost {
		minimum++
		pod("stands", "n0", "pod-group-name: g", 0, s.priority)
	}
	constraint := ""
	if s.required != "" {
		constraint = fmt.Sprintf(", topologyConstraint: {topology: net, requiredTopologyLevel: example.com/%s}", s.required)
	}
	fmt.Fprintf(&b, `---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: g, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {minMember: %d%s}
`, minimum, constraint)
	for i := range s.pods {
		pod(fmt.Sprintf("g-%d", i), "", "pod-group-name: g", s.each, s.priority)
	}
	return b.String()
}

// free reports whether a node is free for repair.
func (n siteNode) free() bool { return n.used == 0 && !n.cordoned }

func (n siteNode) in(level string) string {
	switch level {
	case "block":
		return n.block
	case "rack":
		return n.block + "/" + n.rack
	}
	return ""
}

// fits is the oracle: it tries all numbers of pods on each node.
func (s site) fits() bool {
	var try func(at, left int, on []int) bool
	try = func(at, left int, on []int) bool {
		if at == len(s.nodes) {
			return left == 0 && s.allows(on)
		}
		node := s.nodes[at]
		for count := 0; count <= left && (count == 0 || !node.cordoned && node.used+node.yielding+count*s.each <= 2); count++ {
			if try(at+1, left-count, append(slices.Clip(on), count)) {
				return true
			}
		}
		return false
	}
	return try(0, s.pods, nil)
}

// allows reports whether so many pods on each node are in one domain, and leave what has to stay empty.
func (s site) allows(on []int) bool {
	domains := map[string]bool{}
	there, left := map[string]int{}, map[string]int{}
	for i, node := range s.nodes {
		if on[i] > 0 || s.lost && i == 0 {
			domains[node.in(s.required)] = true
		}
		if node.free() && (!s.lost || i > 0) {
			there[node.in(s.level)]++
			if on[i] == 0 {
				left[node.in(s.level)]++
			}
		}
	}
	if len(domains) > 1 {
		return false
	}
	for domain := range there {
		if !s.lost && s.priority >= 0 && left[domain] < min(s.spares, there[domain]) {
			return false
		}
	}
	return true
}

func randomSite(t *rapid.T) site {
	s := site{
		level: rapid.SampledFrom([]string{"rack", "block"}).Draw(t, "level"), spares: rapid.IntRange(1, 3).Draw(t, "spares"),
		pods: rapid.IntRange(1, 4).Draw(t, "pods"), each: rapid.IntRange(1, 2).Draw(t, "each"),
		required: rapid.SampledFrom([]string{"", "rack", "block"}).Draw(t, "required"),
		lost:     rapid.IntRange(0, 3).Draw(t, "lost") == 0,
		priority: rapid.SampledFrom([]int{-1, 0, 0, 0}).Draw(t, "priority"),
	}
	for range rapid.IntRange(1, 7).Draw(t, "nodes") {
		s.nodes = append(s.nodes, siteNode{
			block: rapid.SampledFrom([]string{"b1", "b2"}).Draw(t, "block"), rack: rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "rack"),
			used:     rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "used"),
			cordoned: rapid.IntRange(0, 9).Draw(t, "cordoned") == 0,
		})
		if node := &s.nodes[len(s.nodes)-1]; node.used < 2 && rapid.IntRange(0, 4).Draw(t, "yielding") == 0 {
			node.yielding = 1
		}
	}
	return s
}

// Gangs go where domains keep their spares, or are refused where none of these places exists; and check says the same
// of what place says. Where nodes that differ could be kept instead of others, place may know neither.
func TestSparesAgainstAnOracle(t *testing.T) {
	verdicts := map[string]int{}
	rapid.Check(t, func(r *rapid.T) {
		s := randomSite(r)
		file := saved(t, s.String())
		answer := answered(t, file)
		verdict := field(answer, "podGroups", 0, "verdict").(string)
		verdicts[verdict]++
		switch fits := s.fits(); {
		case verdict == "Placed" && !fits, verdict == "Infeasible" && fits:
			r.Fatalf("place says %s (%s):\n%s", verdict, field(answer, "podGroups", 0, "message"), s)
		case verdict == "Unknown" && s.level == "rack" && !s.yields():
			r.Fatalf("of racks with alike nodes place knows:\n%s", s)
		case verdict == "Placed":
			on := make([]int, len(s.nodes))
			for _, node := range field(answer, "podGroups", 0, "assignments").(map[string]any) {
				var at int
				if _, err := fmt.Sscanf(node.(string), "n%d", &at); err != nil {
					r.Fatal(err)
				}
				on[at]++
			}
			if !s.allows(on) {
				r.Fatalf("the pods stand on %v:\n%s", on, s)
			}
		}
		if got := checked(t, answer, file); got.code != 0 || got.stdout != "" {
			r.Fatalf("check exits with %d: %s%s\nof %s for\n%s", got.code, got.stdout, got.stderr, verdict, s)
		}
	})
	for _, verdict := range []string{"Placed", "Infeasible"} {
		if verdicts[verdict] == 0 {
			t.Errorf("no case was %s: %v", verdict, slices.Collect(maps.Keys(verdicts)))
		}
	}
	t.Log(verdicts)
}

func (s site) yields() bool {
	return slices.ContainsFunc(s.nodes, func(node siteNode) bool { return node.yielding > 0 })
}

// rack is a rack of so many empty nodes of which two are spares, and a gang of so many pods that each need a node.
func rackOf(nodes, pods int) site {
	s := site{level: "rack", spares: 2, pods: pods, each: 2, required: "rack"}
	for range nodes {
		s.nodes = append(s.nodes, siteNode{block: "b1", rack: "r1"})
	}
	return s
}

func TestARefusalSaysThatSparesAreKept(t *testing.T) {
	answer := answered(t, saved(t, rackOf(4, 3).String()))
	got := field(answer, "podGroups", 0).(map[string]any)
	if message := got["message"].(string); got["verdict"] != "Infeasible" ||
		!strings.HasSuffix(message, "; kept as spares: 2 of 4 nodes in example.com/rack b1/r1") {
		t.Errorf("%s: %s", got["verdict"], message)
	}
	tooLarge := field(answered(t, saved(t, rackOf(4, 5).String())), "podGroups", 0, "message").(string)
	if strings.Contains(tooLarge, "spares") {
		t.Errorf("a gang that is too large for the rack anyway is told of spares: %s", tooLarge)
	}
}

func TestAPlacementOnSparesIsNamed(t *testing.T) {
	file := saved(t, rackOf(4, 2).String())
	answer := answered(t, file)
	field(answer, "podGroups", 0, "assignments").(map[string]any)["g-0"] = "n0"
	if got := checked(t, answer, file); got.code != 0 && got.code != 3 {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	wide := rackOf(4, 3)
	file = saved(t, wide.String())
	refused := field(answered(t, file), "podGroups", 0).(map[string]any)
	refused["verdict"], refused["reason"], refused["message"] = "Placed", "", ""
	refused["assignments"] = map[string]any{"g-0": "n0", "g-1": "n1", "g-2": "n2"}
	delete(refused, "certificate")
	got := checked(t, map[string]any{"podGroups": []any{refused}}, file)
	if !strings.Contains(got.stdout, "PodGroup default/g: its pods stand on nodes that have to stay empty; kept as spares: 2 of 4 nodes") {
		t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
	}
}
