package simulate_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/offline/simulate"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
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
	return testsupport.Inventory(t, text+strings.Join(more, ""))
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

// run simulates a stream up to a second, or to its end if that is 0.
func run(t testing.TB, on *inventory.Inventory, lines string, until float64) *simulate.Result {
	t.Helper()
	stream, err := simulate.Read("jobs", strings.NewReader(lines), on)
	require.NoError(t, err)
	options := simulate.Options{}
	if until > 0 {
		options.Until = &until
	}
	result, err := simulate.Run(t.Context(), on, stream, options)
	require.NoError(t, err)
	return result
}

// whole is a line with manifests: a gang of pods of eight devices each that needs some of them. More is of the spec of
// each pod.
func whole(at float64, name string, duration float64, needs, pods int, more string) string {
	var manifests []string
	for i := range pods {
		manifests = append(manifests, fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "%s-pod-%d"}, "spec": {"containers": [{"name": "c", "image": "c", `+
			`"resources": {"limits": {"example.com/gpu": "8"}}}]%s}}`, name, i, more))
	}
	return fmt.Sprintf(`{"at": %v, "name": %q, "duration": %v, "podGroup": {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", `+
		`"metadata": {"name": %[2]q}, "spec": {"minMember": %[4]d, "topologyConstraint": {"topology": "net", "preferredTopologyLevel": "l/rack"}}}, "pods": [%[5]s]}`+"\n",
		at, name, duration, needs, strings.Join(manifests, ", "))
}

func down(at float64, node string, is bool) string {
	return fmt.Sprintf(`{"at": %v, "node": %q, "down": %t}`+"\n", at, node, is)
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
		"a gang larger than the cluster holds up nobody": {1, 2, job(0, "a", 10, 3, "", 9) + job(1, "b", 5, 2, "", 0), 0,
			[]string{"a Infeasible", "b Ended from 1 to 6"}},
		"a gang of more pods than there is memory for": {1, 2, job(0, "a", 10, math.MaxInt32, "l/rack", 0), 0, []string{"a Infeasible"}},
		"a resource that no node has":                  {1, 1, `{"at": 0, "name": "a", "pods": 1, "requests": {"example.com/none": "1"}}`, 0, []string{"a Infeasible"}},
		"a resource of which no node has enough":       {1, 2, `{"at": 0, "name": "a", "pods": 1, "requests": {"example.com/gpu": "9"}}`, 0, []string{"a Infeasible"}},
		"amounts as numbers, and pods that ask for nothing": {1, 1, `{"at": 0, "name": "a", "duration": 1, "pods": 2, "requests": {"example.com/gpu": 4}}` + "\n" +
			`{"at": 0, "name": "b", "duration": 1, "pods": 3, "requests": {}}`, 0, []string{"a Ended from 0 to 1", "b Ended from 0 to 1"}},
		"a preferred level is left where it must be": {2, 2, job(0, "a", 10, 1, "", 0) +
			`{"at": 1, "name": "b", "duration": 5, "pods": 3, "requests": {"example.com/gpu": "8"}, "topology": "net", "preferred": "l/rack"}`, 0,
			[]string{"a Ended from 0 to 10", "b Ended from 1 to 6"}},
		"a gang that can go on without some of its pods is joined by them later": {1, 2, job(0, "a", 10, 1, "", 0) + whole(1, "b", 30, 1, 2, ""), 0,
			[]string{"a Ended from 0 to 10", "b Ended from 1 to 31"}},
		"pods beyond the minimum leave for higher priority": {1, 2, whole(0, "a", 30, 1, 2, "") + job(1, "b", 10, 1, "", 9), 0,
			[]string{"a Ended from 0 to 30, preempted 1", "b Ended from 1 to 11"}},
		"a gang whose selector no node matches":                   {1, 2, whole(0, "a", 30, 1, 1, `, "nodeSelector": {"l/rack": "nowhere"}`), 0, []string{"a Infeasible"}},
		"a gang that has fewer pods than it needs waits for them": {1, 4, whole(0, "a", 30, 3, 2, ""), 0, []string{"a Waiting"}},
		"who must not preempt waits":                              {1, 1, job(0, "a", 10, 1, "", 0) + whole(1, "b", 5, 1, 1, `, "priority": 9, "preemptionPolicy": "Never"`), 0, []string{"a Ended from 0 to 10", "b Ended from 10 to 15"}},
		"all at one moment, and by name": {1, 1, job(0, "b", 0, 1, "", 0) + job(0, "a", 0, 1, "", 0) + job(0, "c", 2, 1, "", 1), 0,
			[]string{"b Ended from 2 to 2", "a Ended from 2 to 2", "c Ended from 0 to 2"}},
		"a node fails and returns in one moment": {1, 1, job(0, "a", 10, 1, "", 0) + down(4, "r0-n0", true) + down(4, "r0-n0", false), 0,
			[]string{"a Ended from 0 to 10, moved 1"}},
		"a node fails when a gang ends there": {1, 1, job(0, "a", 4, 1, "", 0) + down(4, "r0-n0", true), 0, []string{"a Ended from 0 to 4"}},
		"a node that is well is well again":   {1, 1, down(1, "r0-n0", false) + job(2, "a", 4, 1, "", 0), 0, []string{"a Ended from 2 to 6"}},
		"all nodes fail":                      {1, 2, job(0, "a", 4, 2, "", 0) + down(1, "r0-n0", true) + down(1, "r0-n1", true), 0, []string{"a Waiting from 0"}},
		"a pod that is lost is not missed": {1, 2, whole(0, "a", 10, 1, 2, "") + down(4, "r0-n0", true), 0,
			[]string{"a Ended from 0 to 10"}},
		"what arrives after the end is not told of": {1, 1, job(0, "a", 1, 1, "", 0) + job(9, "b", 1, 1, "", 0), 5, []string{"a Ended from 0 to 1"}},
		"what ends in the last second has ended":    {1, 1, job(0, "a", 5, 1, "", 0), 5, []string{"a Ended from 0 to 5"}},
		"two gangs with pods of one name":           {1, 2, strings.ReplaceAll(whole(0, "a", 5, 1, 1, "")+whole(0, "b", 5, 1, 1, ""), "b-pod", "a-pod"), 0, []string{"a Ended from 0 to 5", "b Ended from 0 to 5"}},
		"nothing happens":                           {1, 1, "", 0, nil},
		"a node that is down fails once more": {1, 1, `{"at": 1, "node": "r0-n0", "down": true}` + "\n" + `{"at": 2, "node": "r0-n0", "down": true}` + "\n" +
			job(3, "a", 1, 1, "", 0), 5, []string{"a Waiting"}},
	} {
		t.Run(name, func(t *testing.T) {
			result := run(t, cluster(t, test.racks, test.nodes), test.lines, test.until)
			assert.Empty(t, cmp.Diff(test.want, told(result)), "(-want +got)")
		})
	}
}

// Room is reserved for a gang that eight others have overtaken.
func TestNoGangIsStarved(t *testing.T) {
	lines := job(0, "first", 10, 1, "", 0) + job(1, "wide", 10, 2, "l/rack", 0)
	for i := range 30 {
		lines += job(2+float64(i)*5, fmt.Sprintf("small-%d", i), 9, 1, "", 0)
	}
	result := run(t, cluster(t, 1, 2), lines, 0)
	if wide := result.Gangs[1]; wide.Started == nil || *wide.Started > 60 {
		t.Errorf("the wide gang started at %v: %v", wide.Started, told(result))
	}
}

// Room that a waiting gang could not use is not reserved for it: what stands in its way does not end.
func TestNothingIsReservedThatDoesNotHelp(t *testing.T) {
	more := func(at float64, name string, duration float64, pods int, devices, cpu int) string {
		return fmt.Sprintf(`{"at": %v, "name": %q, "duration": %v, "pods": %d, "requests": {"example.com/gpu": "%d", "cpu": "%d"}}`+"\n", at, name, duration, pods, devices, cpu)
	}
	nodes := ""
	for i := range 2 {
		nodes += fmt.Sprintf("---\n"+`{apiVersion: v1, kind: Node, metadata: {name: n%d}, status: {allocatable: {example.com/gpu: "8", cpu: "64", pods: "110"}}}`+"\n", i)
	}
	// Enough is free of the devices in all, but not on one node.
	lines := more(0, "first", 1000, 2, 5, 1) + more(1, "wide", 10, 1, 4, 1)
	for i := range 20 {
		lines += more(float64(2+i), fmt.Sprint("small-", i), 5, 1, 1, 1)
	}
	result := run(t, cluster(t, 0, 0, nodes), lines, 900)
	for _, gang := range result.Gangs {
		waits := gang.Name == "wide"
		assert.NotEqual(t, waits, gang.Started != nil && *gang.Started == gang.Arrived,
			"%s, which arrived at %v, started at %v", gang.Name, gang.Arrived, gang.Started)
	}
}

// Pods of the cluster stay whatever gangs arrive, and come back together with their node.
func TestPodsOfTheClusterStay(t *testing.T) {
	standing := "---\n" + `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: r0-n0, containers: [{name: c, image: c, resources: {limits: {example.com/gpu: "8"}}}]}}` + "\n"
	result := run(t, cluster(t, 1, 2, standing), job(0, "a", 10, 2, "", 9)+job(1, "b", 10, 1, "", 9)+down(2, "r0-n0", true)+down(5, "r0-n0", false)+job(6, "c", 1, 1, "", 9), 20)
	assert.Empty(t, cmp.Diff([]string{"a Infeasible", "b Ended from 1 to 11", "c Ended from 11 to 12"}, told(result)),
		"(-want +got)")
	var used []float64
	for _, sample := range result.Series {
		used = append(used, sample.Used["example.com/gpu"])
	}
	assert.Empty(t, cmp.Diff([]float64{8, 16, 8, 16, 16, 16, 8, 8}, used), "in use (-want +got)")
}

// A node without labels is in no domain, and neither are the pods on it.
func TestDomainsAreCountedWhereThereAreAny(t *testing.T) {
	bare := "---\n" + `{apiVersion: v1, kind: Node, metadata: {name: bare}, status: {allocatable: {example.com/gpu: "16"}}}` + "\n"
	for name, lines := range map[string]string{
		"numbers":   `{"at": 1, "name": "a", "duration": 5, "pods": 6, "requests": {"example.com/gpu": "8"}, "topology": "net", "preferred": "l/rack"}`,
		"manifests": whole(1, "a", 5, 6, 6, ""),
	} {
		t.Run(name, func(t *testing.T) {
			gang := run(t, cluster(t, 2, 2, bare), lines, 0).Gangs[0]
			want := map[string]int{"l/zone": 1, "l/rack": 2}
			assert.Empty(t, cmp.Diff(want, gang.Domains), "on %v, domains (-want +got)", gang.Nodes)
			assert.Equal(t, 2, gang.Nodes["bare"], "on %v", gang.Nodes)
			assert.Empty(t, cmp.Diff(want, gang.LeastDomains), "fewest (-want +got)")
		})
	}
	gang := run(t, cluster(t, 0, 0, bare), whole(1, "b", 5, 3, 3, ""), 2).Gangs[0]
	assert.Equal(t, "Infeasible", gang.State, "a gang of three on a node for two: %+v", gang)
	assert.Zero(t, gang.LeastDomains["l/rack"], "a gang of three on a node for two: %+v", gang)
}

func TestWhatIsPrinted(t *testing.T) {
	lines := `{"at": 2, "name": "a", "duration": 3, "pods": 2, "requests": {"example.com/gpu": "8"}, "topology": "net", "preferred": "l/rack"}` + "\n" +
		`{"at": 3, "name": "b", "pods": 2, "requests": {"example.com/gpu": "8"}, "topology": "net", "required": "l/rack"}`
	want := `{"gangs":[` +
		`{"name":"a","arrived":2,"started":2,"ended":5,"state":"Ended","nodes":{"r0-n0":1,"r0-n1":1},"domains":{"l/rack":1,"l/zone":1},"leastDomains":{"l/rack":1,"l/zone":1},"preemptions":0,"moves":0},` +
		`{"name":"b","arrived":3,"started":5,"ended":null,"state":"Running","nodes":{"r0-n0":1,"r0-n1":1},"domains":{"l/rack":1,"l/zone":1},"leastDomains":{"l/rack":1,"l/zone":1},"preemptions":0,"moves":0}],` +
		`"capacity":{"example.com/gpu":16,"pods":220},"series":[{"at":0,"used":{"example.com/gpu":0,"pods":0},"waiting":0,"running":0},` +
		`{"at":2,"used":{"example.com/gpu":16,"pods":2},"waiting":0,"running":1},{"at":3,"used":{"example.com/gpu":16,"pods":2},"waiting":1,"running":1},` +
		`{"at":5,"used":{"example.com/gpu":16,"pods":2},"waiting":0,"running":1},{"at":6.5,"used":{"example.com/gpu":16,"pods":2},"waiting":0,"running":1}]}` + "\n"
	var printed bytes.Buffer
	require.NoError(t, run(t, cluster(t, 1, 2), lines, 6.5).JSON(&printed))
	assert.Empty(t, cmp.Diff(want, printed.String()), "(-want +got)")
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
		if rapid.IntRange(0, 2).Draw(t, "unlike") == 0 {
			lines.WriteString(unlike(t, at, fmt.Sprint("g", i)))
			continue
		}
		level := rapid.SampledFrom([]string{"", "l/rack", "l/zone"}).Draw(t, "level")
		lines.WriteString(job(at, fmt.Sprint("g", i), float64(rapid.IntRange(0, 20).Draw(t, "duration")), rapid.IntRange(1, 3).Draw(t, "pods"), level, rapid.IntRange(0, 2).Draw(t, "priority")))
	}
	return lines.String()
}

func TestTheSameStreamGivesTheSameBytes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		lines := drawn(r)
		var first, second bytes.Buffer
		for _, to := range []*bytes.Buffer{&first, &second} {
			result := run(t, cluster(t, 3, 2), lines, 60)
			for _, err := range []error{result.JSON(to), result.CSV(to), result.Summary(to)} {
				require.NoError(r, err)
			}
		}
		require.True(r, bytes.Equal(first.Bytes(), second.Bytes()), "once %s and once %s", &first, &second)
	})
}

func TestBrokenStreamsAreNamedByLine(t *testing.T) {
	good := job(5, "good", 1, 1, "", 0)
	for line, want := range map[string]string{
		`{"name": "a"`: "line: unexpected end of JSON input",
		`{"name": "a", "duration": 1, "pods": 1, "requests": {"cpu": "1"}}`: "at: is missing",
		`{"at": -1, "name": "a"}`:                                                     "at: must be from 0 to 1e+11 seconds, and is -1",
		`{"at": 1, "name": "a", "pods": 1, "requests": {"cpu": "1"}}`:                 "at: is 1, before 5 of an earlier line",
		`{"at": "soon", "name": "a"}`:                                                 "at: must be a number",
		`{"at": 6, "nam": "a"}`:                                                       `nam: unknown field, did you mean "name"?`,
		`{"at": 6, "name": "good", "pods": 1, "requests": {"cpu": "1"}}`:              `name: gang "good" is in line 1, too`,
		`{"at": 6, "name": "a", "duration": -3, "pods": 1, "requests": {"cpu": "1"}}`: "duration: must be from 0 to 1e+11 seconds, and is -3",
		`{"at": 6, "name": "a", "pods": 0, "requests": {"cpu": "1"}}`:                 "pods: must be how many pods",
		`{"at": 6, "name": "a", "pods": 1} {}`:                                        "line: invalid character",
		`no JSON`:                                                                     "line: invalid character",
		`[]`:                                                                          "line: must be an object",
		`{"at": 6, "name": "a", "priority": 3000000000}`:                              "priority: must be a whole number from -2147483648 to 2147483647, not 3000000000",
		`{"at": 1e999, "name": "a"}`:                                                  "at: ",
		`{"at": 6, "name": "a", "pods": "many", "requests": {"cpu": "1"}}`:            "pods: must be how many pods",
		`{"at": 6, "name": "a", "pods": 99999999999, "requests": {"cpu": "1"}}`:       "pods: must be how many pods",
		`{"at": 6, "name": "a", "pods": 1, "requests": {"cpu": "-1"}}`:                "requests[cpu]: must not be negative, and is -1",
		`{"at": 6, "name": "a", "pods": 1, "requests": {"example.com/gpu": "0.5"}}`:   "requests[example.com/gpu]: must be a whole number, and is 0.5",
		`{"at": 6, "name": "a", "pods": 1, "requests": {"": "1"}}`:                    "requests[]: is no name of a resource",
		`{"at": 6, "node": "", "down": true}`:                                         "node: is missing",
		whole(6, "good", 1, 1, 1, ""):                                                 `name: gang "good" is in line 1, too`,
		strings.Replace(whole(6, "a", 1, 1, 1, ""), `"metadata": {"name": "a"}`, `"metadata": {"name": "good"}`, 1): "podGroup.metadata.name: the gang in line 1 has the PodGroup default/good, too",
		strings.Replace(whole(6, "a", 1, 1, 1, ""), `"net"`, `"nit"`, 1):                                            "podGroup.spec.topologyConstraint.topology: ",
		strings.Replace(whole(6, "a", 1, 1, 2, ""), "a-pod-1", "a-pod-0", 1):                                        "pods[1]",
		whole(6, "a", 1, 1, 1, `, "nodeName": "r0-n0"`):                                                             "pods[0].spec.nodeName: must be empty",
		`{"at": 6, "name": "a", "podGroup": {"kind": "Pod"}, "pods": [{}]}`:                                         "podGroup.kind: must be PodGroup",
		strings.Replace(whole(6, "a", 1, 1, 1, ""), "scheduling.run.ai/", "kai/", 1):                                `podGroup.apiVersion: must be scheduling.run.ai/v2alpha2, not "kai/v2alpha2"`,
		strings.Replace(whole(6, "a", 1, 1, 1, ""), `"v1", "kind": "Pod"`, `"x/v1", "kind": "Pod"`, 1):              "pods: must be Pods of apiVersion v1",
		`{"at": 6, "name": "a", "pods": 1}`:                                                                         "requests: is missing",
		`{"at": 6, "name": "a", "pods": 1, "requests": {"cpu": "many"}}`:                                            `requests[cpu]: "many" is no quantity`,
		`{"at": 6, "name": "a", "pods": 1, "requests": {"cpu": "1"}, "required": "l/rack"}`:                         "topology: is missing",
		`{"at": 6, "name": "a", "pods": 1, "requests": {"cpu": "1"}, "topology": "nit"}`:                            `topology: Invalid value: "nit": no Topology has this name`,
		`{"at": 6, "name": "a", "pods": 1, "requests": {"cpu": "1"}, "topology": "net", "required": "l/row"}`:       "required: ",
		`{"at": 6, "node": "r0-n9", "down": true}`:                                                                  `node: the cluster has no node "r0-n9", did you mean "r0-n0"?`,
		`{"at": 6, "node": "r0-n0"}`:                                                                                "down: is missing",
		`{"at": 6, "node": "r0-n0", "down": true, "name": "a"}`:                                                     "node: a line is about a node or about a gang",
		`{"at": 6, "name": "a", "podGroup": {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": {"name": "a"}, "spec": {"minMember": 1}}, "pods": 1}`:                                                                                                                                                              "pods: must be a list of Pods",
		`{"at": 6, "name": "a", "podGroup": {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": {"name": "a"}, "spec": {"minMembr": 1}}, "pods": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": {"pod-group-name": "a"}}, "spec": {"containers": [{"name": "c", "image": "c"}]}}]}`: "podGroup.spec.minMembr: unknown field",
	} {
		line = strings.TrimSpace(line)
		_, err := simulate.Read("jobs", strings.NewReader(good+line+"\n"), cluster(t, 1, 1))
		if err == nil || !strings.HasPrefix(err.Error(), "jobs:2: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

func TestAMarkBeforeAStreamIsNoMistake(t *testing.T) {
	line := "\ufeff" + `{"at": 0, "name": "g", "pods": 1, "requests": {"cpu": "1"}}` + "\r\n"
	if stream, err := simulate.Read("jobs", strings.NewReader(line), cluster(t, 1, 1)); err != nil || len(stream) != 1 {
		t.Errorf("%d lines, error %v", len(stream), err)
	}
}

func TestOneWrongLineAmongMany(t *testing.T) {
	var lines strings.Builder
	for i := range 20000 {
		if i == 12344 {
			lines.WriteString("{\n")
		}
		lines.WriteString(job(float64(i), fmt.Sprint("g", i), 1, 1, "", 0))
	}
	_, err := simulate.Read("jobs", strings.NewReader(lines.String()), cluster(t, 1, 1))
	require.EqualError(t, err, "jobs:12345: line: unexpected end of JSON input")
	_, err = simulate.Read("jobs", strings.NewReader(strings.Repeat("{}\n", 250)), cluster(t, 1, 1))
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 100 || !strings.HasPrefix(lines[99], "jobs:100: at: ") {
		t.Errorf("%d lines, of which the last is %q", len(lines), lines[len(lines)-1])
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
	result := run(t, cluster(t, 1, servers), lines.String(), 0)
	waited := make([]float64, 0, gangs)
	for _, gang := range result.Gangs {
		waited = append(waited, *gang.Started-gang.Arrived)
	}
	mean, interval := batchMeans(waited, 20)
	want := erlangC(servers, servers*load) / (servers * (1 - load))
	assert.LessOrEqual(t, math.Abs(mean-want), interval,
		"gangs waited %.3f ± %.3f, theory says %.3f", mean, interval, want)
}
