package simulate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/simulate"
	"packtree.dev/shared/manifests"
)

const topology = `
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: net}
spec: {levels: [{nodeLabel: l/zone}, {nodeLabel: l/rack}]}
`

// cluster has racks of nodes with eight devices each, in one zone: r0-n0 and so on.
func cluster(t testing.TB, racks, nodes int, more ...string) *inventory.Inventory {
	t.Helper()
	text := topology
	for rack := range racks {
		for node := range nodes {
			text += fmt.Sprintf("---\n"+`{apiVersion: v1, kind: Node, metadata: {name: r%[1]d-n%[2]d, labels: {l/zone: z, l/rack: r%[1]d}}, `+
				`status: {allocatable: {example.com/gpu: "8", pods: "110"}}}`+"\n", rack, node)
		}
	}
	documents, findings := manifests.Parse("test", []byte(text+strings.Join(more, "")))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	read, findings := inventory.Read(documents)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	return read
}

// job is a line: a gang of pods of eight devices each that needs one domain of a level, "" for none.
func job(at float64, name string, duration float64, pods int, required string, priority int) string {
	topology := "net"
	if required == "" {
		topology = ""
	}
	return fmt.Sprintf(`{"at": %v, "name": %q, "duration": %v, "pods": %d, "requests": {"example.com/gpu": "8"}, "topology": %q, "required": %q, "priority": %d}`+"\n",
		at, name, duration, pods, topology, required, priority)
}

func run(t testing.TB, on *inventory.Inventory, lines string, options simulate.Options) *simulate.Result {
	t.Helper()
	stream, err := simulate.Read("jobs", strings.NewReader(lines), on)
	if err != nil {
		t.Fatal(err)
	}
	result, err := simulate.Run(t.Context(), on, stream, options)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// told is what became of each gang, in words.
func told(result *simulate.Result) (words []string) {
	for _, gang := range result.Gangs {
		said := gang.Name + " " + gang.State
		if gang.Started != nil {
			said += fmt.Sprintf(" from %v", *gang.Started)
		}
		if gang.Ended != nil {
			said += fmt.Sprintf(" to %v", *gang.Ended)
		}
		if gang.Preemptions > 0 {
			said += fmt.Sprintf(", preempted %d", gang.Preemptions)
		}
		if gang.Moves > 0 {
			said += fmt.Sprintf(", moved %d", gang.Moves)
		}
		words = append(words, said)
	}
	return words
}

func TestGangsRunInVirtualTime(t *testing.T) {
	for name, test := range map[string]struct {
		racks, nodes int
		lines        string
		until        float64
		want         []string
	}{
		"one after the other where there is room for one": {1, 2, job(0, "a", 10, 2, "l/rack", 0) + job(1, "b", 5, 2, "l/rack", 0), 0,
			[]string{"a Ended from 0 to 10", "b Ended from 10 to 15"}},
		"side by side where there is room for both": {2, 2, job(0, "a", 10, 2, "l/rack", 0) + job(1, "b", 5, 2, "l/rack", 0), 0,
			[]string{"a Ended from 0 to 10", "b Ended from 1 to 6"}},
		"the smaller one overtakes": {1, 3, job(0, "a", 10, 2, "l/rack", 0) + job(1, "b", 5, 2, "l/rack", 0) + job(2, "c", 3, 1, "", 0), 0,
			[]string{"a Ended from 0 to 10", "b Ended from 10 to 15", "c Ended from 2 to 5"}},
		"the older one goes first": {1, 2, job(0, "a", 10, 2, "", 0) + job(1, "b", 5, 2, "", 0) + job(2, "c", 5, 2, "", 0), 0,
			[]string{"a Ended from 0 to 10", "b Ended from 10 to 15", "c Ended from 15 to 20"}},
		"higher priority has others leave, who run on later": {1, 2, job(0, "a", 10, 2, "", 0) + job(4, "b", 5, 2, "", 9), 0,
			[]string{"a Ended from 0 to 15, preempted 1", "b Ended from 4 to 9"}},
		"a gang too large for any rack": {2, 2, job(0, "a", 10, 3, "l/rack", 0), 0, []string{"a Infeasible"}},
		"what still runs or waits at the end": {1, 1, job(0, "a", 10, 1, "", 0) + job(1, "b", 5, 1, "", 0), 7,
			[]string{"a Running from 0", "b Waiting"}},
		"a gang without an end":     {1, 1, `{"at": 3, "name": "a", "pods": 1, "requests": {"example.com/gpu": "1"}}`, 0, []string{"a Running from 3"}},
		"a gang that takes no time": {1, 1, job(2, "a", 0, 1, "", 0), 0, []string{"a Ended from 2 to 2"}},
		"a node fails and another takes its pod": {1, 2, job(0, "a", 10, 1, "", 0) + `{"at": 4, "node": "r0-n0", "down": true}`, 0,
			[]string{"a Ended from 0 to 10, moved 1"}},
		"a node fails and nobody has room": {1, 2, job(0, "a", 10, 2, "l/rack", 0) + `{"at": 4, "node": "r0-n0", "down": true}` + "\n" + `{"at": 20, "node": "r0-n0", "down": false}`, 0,
			[]string{"a Ended from 0 to 26"}},
		"a node that is down fails once more": {1, 1, `{"at": 1, "node": "r0-n0", "down": true}` + "\n" + `{"at": 2, "node": "r0-n0", "down": true}` + "\n" +
			job(3, "a", 1, 1, "", 0), 5, []string{"a Waiting"}},
	} {
		t.Run(name, func(t *testing.T) {
			result := run(t, cluster(t, test.racks, test.nodes), test.lines, simulate.Options{Until: test.until})
			if diff := cmp.Diff(test.want, told(result)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A gang that eight others have overtaken has a domain kept for it.
func TestNobodyIsStarved(t *testing.T) {
	lines := job(0, "first", 10, 1, "", 0) + job(1, "wide", 10, 2, "l/rack", 0)
	for i := range 30 {
		lines += job(2+float64(i)*5, fmt.Sprintf("small-%d", i), 9, 1, "", 0)
	}
	result := run(t, cluster(t, 1, 2), lines, simulate.Options{})
	if wide := result.Gangs[1]; wide.Started == nil || *wide.Started > 60 {
		t.Errorf("the wide gang started at %v: %v", wide.Started, told(result))
	}
	if result.Idle.Reserved == 0 {
		t.Errorf("nothing was kept for it: %+v", result.Idle)
	}
}

func TestWhatIsIdleIsDividedByWhy(t *testing.T) {
	tainted := "---\n" + `{apiVersion: v1, kind: Node, metadata: {name: odd, labels: {l/zone: z, l/rack: r9}}, spec: {taints: [{key: k, effect: NoSchedule}]}, status: {allocatable: {example.com/gpu: "8", pods: "9"}}}` + "\n"
	standing := "---\n" + `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: r0-n0, containers: [{name: c, image: c, resources: {requests: {example.com/gpu: "8"}, limits: {example.com/gpu: "8"}}}]}}` + "\n"
	for name, test := range map[string]struct {
		on    *inventory.Inventory
		lines string
		want  simulate.Idle
	}{
		"nobody waits":              {cluster(t, 1, 2), job(0, "a", 10, 1, "", 0), simulate.Idle{NoDemand: 80}},
		"a gang that no rack holds": {cluster(t, 2, 2), job(0, "a", 10, 3, "l/rack", 0), simulate.Idle{NoDemand: 80, Unavoidable: 240}},
		"a rack in pieces":          {cluster(t, 2, 2, standing), job(0, "x", 10, 1, "", 0) + job(0, "y", 10, 1, "", 0) + job(0, "z", 10, 2, "l/rack", 0), simulate.Idle{Unavoidable: 80}},
		"nodes that nobody may use": {cluster(t, 1, 1, tainted), job(0, "a", 10, 1, "", 0) + job(0, "b", 10, 1, "", 0), simulate.Idle{Filters: 80}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, run(t, test.on, test.lines, simulate.Options{Until: 10}).Idle); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// drawn is a stream on three racks of two nodes.
func drawn(t *rapid.T) string {
	var lines strings.Builder
	at := 0.0
	for i := range rapid.IntRange(1, 25).Draw(t, "lines") {
		at += float64(rapid.IntRange(0, 4).Draw(t, "later"))
		if rapid.IntRange(0, 5).Draw(t, "what") == 0 {
			node := fmt.Sprintf("r%d-n%d", rapid.IntRange(0, 2).Draw(t, "rack"), rapid.IntRange(0, 1).Draw(t, "node"))
			fmt.Fprintf(&lines, `{"at": %v, "node": %q, "down": %t}`+"\n", at, node, rapid.Bool().Draw(t, "down"))
			continue
		}
		level := rapid.SampledFrom([]string{"", "l/rack", "l/zone"}).Draw(t, "level")
		lines.WriteString(job(at, fmt.Sprint("g", i), float64(rapid.IntRange(0, 20).Draw(t, "duration")), rapid.IntRange(1, 3).Draw(t, "pods"), level, rapid.IntRange(0, 2).Draw(t, "priority")))
	}
	return lines.String()
}

func TestNothingIsLostOrInvented(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		lines := drawn(r)
		result := run(t, cluster(t, 3, 2), lines, simulate.Options{Until: 100})
		idle := result.Idle
		used, offered := 0.0, 0.0
		down := downtime(lines, 100)
		for i, sample := range result.Series {
			until := 100.0
			if i+1 < len(result.Series) {
				until = result.Series[i+1].At
			}
			used += sample.Used["example.com/gpu"] * (until - sample.At)
		}
		offered = 48*(100-result.Series[0].At) - 8*down
		got := used + idle.NoDemand + idle.Filters + idle.Reserved + idle.Unavoidable + idle.Avoidable
		if math.Abs(got-offered) > 1e-6 {
			r.Fatalf("%v used and idle %+v are %v, offered were %v\n%s", used, idle, got, offered, lines)
		}
		for _, gang := range result.Gangs {
			if pods := sum(gang.Nodes); gang.State != "Running" && gang.State != "Ended" && pods > 0 {
				r.Fatalf("gang %s is %s and has %d pods on nodes", gang.Name, gang.State, pods)
			}
			for level, count := range gang.Domains {
				if len(gang.Nodes) > 0 && count < gang.LeastDomains[level] {
					r.Fatalf("gang %s stands in %d domains of %s, and at least %d are needed", gang.Name, count, level, gang.LeastDomains[level])
				}
			}
		}
	})
}

func sum(counts map[string]int) (total int) {
	for _, count := range counts {
		total += count
	}
	return total
}

// downtime is how long nodes were down, together, since the first line.
func downtime(lines string, until float64) (total float64) {
	since := map[string]float64{}
	for line := range strings.Lines(lines) {
		var event struct {
			At   float64 `json:"at"`
			Node string  `json:"node"`
			Down bool    `json:"down"`
		}
		if json.Unmarshal([]byte(line), &event) != nil || event.Node == "" {
			continue
		}
		at, is := since[event.Node]
		if event.Down && !is {
			since[event.Node] = event.At
		}
		if !event.Down && is {
			total += event.At - at
			delete(since, event.Node)
		}
	}
	for _, at := range since {
		total += until - at
	}
	return total
}

func TestTheSameStreamGivesTheSameBytes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		lines := drawn(r)
		var first, second bytes.Buffer
		for _, into := range []*bytes.Buffer{&first, &second} {
			if err := json.NewEncoder(into).Encode(run(t, cluster(t, 3, 2), lines, simulate.Options{Until: 60})); err != nil {
				r.Fatal(err)
			}
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			r.Fatalf("once %s and once %s", first.String(), second.String())
		}
	})
}

func TestBrokenStreamsAreNamedByLine(t *testing.T) {
	good := job(5, "good", 1, 1, "", 0)
	for line, want := range map[string]string{
		`{"name": "a"`: "unexpected end of JSON input",
		`{"name": "a", "duration": 1, "pods": 1, "requests": {"cpu": "1"}}`: "at: is missing",
		`{"at": -1, "name": "a"}`:                                                                             "at: must not be negative, and is -1",
		`{"at": 1, "name": "a", "pods": 1, "requests": {"cpu": "1"}}`:                                         "at: is 1, before 5 of an earlier line",
		`{"at": "soon", "name": "a"}`:                                                                         "at: must be a number",
		`{"at": 6, "nam": "a"}`:                                                                               `nam: unknown field, did you mean "name"?`,
		`{"at": 6, "name": "good", "pods": 1, "requests": {"cpu": "1"}}`:                                      `name: gang "good" is in line 1, too`,
		`{"at": 6, "name": "a", "duration": -3, "pods": 1, "requests": {"cpu": "1"}}`:                         "duration: must not be negative, and is -3",
		`{"at": 6, "name": "a", "pods": 0, "requests": {"cpu": "1"}}`:                                         "pods: must be how many pods",
		`{"at": 6, "name": "a", "pods": 1}`:                                                                   "requests: is missing",
		`{"at": 6, "name": "a", "pods": 1, "requests": {"cpu": "many"}}`:                                      `requests[cpu]: "many" is no quantity`,
		`{"at": 6, "name": "a", "pods": 1, "requests": {"cpu": "1"}, "required": "l/rack"}`:                   "topology: is missing",
		`{"at": 6, "name": "a", "pods": 1, "requests": {"cpu": "1"}, "topology": "nit"}`:                      `topology: there is no Topology "nit", did you mean "net"?`,
		`{"at": 6, "name": "a", "pods": 1, "requests": {"cpu": "1"}, "topology": "net", "required": "l/row"}`: "required: ",
		`{"at": 6, "node": "r0-n9", "down": true}`:                                                            `node: the cluster has no node "r0-n9", did you mean "r0-n0"?`,
		`{"at": 6, "node": "r0-n0"}`:                                                                          "down: is missing",
		`{"at": 6, "node": "r0-n0", "down": true, "name": "a"}`:                                               "node: a line is about a node or about a gang",
		`{"at": 6, "name": "a", "podGroup": {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": {"name": "a"}, "spec": {"minMember": 1}}, "pods": 1}`:                                                                                                                                                              "pods: must be a list of Pods",
		`{"at": 6, "name": "a", "podGroup": {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": {"name": "a"}, "spec": {"minMembr": 1}}, "pods": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": {"pod-group-name": "a"}}, "spec": {"containers": [{"name": "c", "image": "c"}]}}]}`: "podGroup.spec.minMembr: unknown field",
	} {
		_, err := simulate.Read("jobs", strings.NewReader(good+line+"\n"), cluster(t, 1, 1))
		if err == nil || !strings.HasPrefix(err.Error(), "jobs:2: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// Waiting of single pods that arrive and run at random on c nodes is known: Erlang's formula.
func TestQueueingIsThatOfTheory(t *testing.T) {
	const servers, load, gangs = 5, 0.8, 4000
	random := newRandom(7)
	var lines strings.Builder
	at := 0.0
	for i := range gangs {
		at += random.exponential(1 / (servers * load))
		lines.WriteString(job(at, fmt.Sprint("g", i), random.exponential(1), 1, "", 0))
	}
	result := run(t, cluster(t, 1, servers), lines.String(), simulate.Options{})
	waited := make([]float64, 0, gangs)
	for _, gang := range result.Gangs {
		waited = append(waited, *gang.Started-gang.Arrived)
	}
	mean, interval := batchMeans(waited, 20)
	want := erlangC(servers, servers*load) / (servers * (1 - load))
	if math.Abs(mean-want) > interval {
		t.Errorf("gangs waited %.3f ± %.3f, theory says %.3f", mean, interval, want)
	}
}
