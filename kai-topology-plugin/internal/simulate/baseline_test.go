package simulate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/simulate"
)

// nodesOf are manifests of nodes with devices in racks, named n0 and so on.
func nodesOf(devices ...int) (text string) {
	for i, count := range devices {
		text += fmt.Sprintf("---\n"+`{apiVersion: v1, kind: Node, metadata: {name: n%d, labels: {l/zone: z, l/rack: r%d}}, `+
			`status: {allocatable: {example.com/gpu: "%d", pods: "110"}}}`+"\n", i, i/2, count)
	}
	return text
}

// decidedBy simulates a stream as the command does with a built-in decider, on a cluster in a file.
func decidedBy(t fatal, folder, decider, nodes, lines string) *report {
	cluster, jobs := filepath.Join(folder, "cluster.yaml"), filepath.Join(folder, "jobs.jsonl")
	for file, text := range map[string]string{cluster: topology + nodes, jobs: lines} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	command := simulate.Command()
	command.SetOut(&out)
	command.SetErr(&errs)
	command.SetArgs([]string{"-f", cluster, "--jobs", jobs, "--decider", decider, "--until", "100"})
	if err := command.Execute(); err != nil {
		t.Fatal(err, errs.String())
	}
	read := &report{}
	if err := json.Unmarshal(out.Bytes(), read); err != nil {
		t.Fatal(err)
	}
	return read
}

type fatal interface{ Fatal(args ...any) }

// members are lines of a gang whose pods ask for so many devices each, in subgroups of so many pods of which each needs
// a rack.
func members(name string, subgroups int, devices ...int) string {
	var pods, groups []string
	for i, count := range devices {
		label := ""
		if subgroups > 0 {
			label = fmt.Sprintf(`, "labels": {"kai.scheduler/subgroup-name": "g%d"}`, i*subgroups/len(devices))
		}
		pods = append(pods, fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "%s-%d"%s}, "spec": {"containers": [`+
			`{"name": "c", "image": "c", "resources": {"limits": {"example.com/gpu": "%d"}}}]}}`, name, i, label, count))
	}
	spec := fmt.Sprintf(`"minMember": %d`, len(devices))
	for i := range subgroups {
		groups = append(groups, fmt.Sprintf(`{"name": "g%d", "minMember": %d, "topologyConstraint": {"topology": "net", `+
			`"requiredTopologyLevel": "l/rack"}}`, i, len(devices)/subgroups))
	}
	if subgroups > 0 {
		spec = `"subGroups": [` + strings.Join(groups, ", ") + `]`
	}
	return fmt.Sprintf(`{"at": 0, "name": %q, "duration": 10, "podGroup": {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", `+
		`"metadata": {"name": %[1]q}, "spec": {%s}}, "pods": [%s]}`+"\n", name, spec, strings.Join(pods, ", "))
}

// inRacks has each pod of a line select a rack.
func inRacks(line string, racks ...int) string {
	for _, rack := range racks {
		line = strings.Replace(line, `"spec": {"containers"`, fmt.Sprintf(`"spec": {"nodeSelector": {"l/rack": "r%d"}, "containers"`, rack), 1)
	}
	return line
}

func TestBaselines(t *testing.T) {
	folder := t.TempDir()
	busy := job(0, "busy", 100, 1, "", 0)
	for name, test := range map[string]struct {
		nodes, lines string
		// first and best are where the last gang stands, "" if it is refused, and misjudged how many gangs each refused
		// though they fitted.
		first, best                   string
		misjudgedFirst, misjudgedBest float64
	}{
		"the first node with room, and the one with least":   {nodesOf(8, 4), members("a", 0, 4), "n0=1", "n1=1", 0, 0},
		"nodes in pieces are the fullest":                    {nodesOf(8, 8), members("a", 0, 3) + members("b", 0, 2), "n0=1", "n0=1", 0, 0},
		"a rack of its own":                                  {nodesOf(8, 8, 8, 8), busy + job(1, "a", 9, 2, "l/rack", 0), "n2=1 n3=1", "n2=1 n3=1", 0, 0},
		"the first rack that has room, and the tightest one": {nodesOf(8, 8, 8, 0), job(0, "a", 9, 1, "l/rack", 0), "n0=1", "n2=1", 0, 0},
		"each subgroup in a rack": {nodesOf(8, 8, 8, 8), members("a", 2, 8, 8, 8, 8), "n0=1 n1=1 n2=1 n3=1",
			"n0=1 n1=1 n2=1 n3=1", 0, 0},
		// 3+3 go onto the first node, and 5+5 do not fit any more; 3+5 on each would.
		"who does not look ahead refuses what fits": {nodesOf(8, 8), members("a", 0, 3, 3, 5, 5), "", "", 1, 1},
		"what does not fit is rightly refused":      {nodesOf(8, 8), members("a", 0, 5, 5, 5), "", "", 0, 0},
		"pods stay off tainted nodes": {strings.Replace(nodesOf(8, 8), `status`, `spec: {taints: [{key: k, effect: NoSchedule}]}, status`, 1),
			members("a", 0, 4), "n1=1", "n1=1", 0, 0},
		"pods that ask for the same select other nodes": {nodesOf(8, 8, 8, 8),
			inRacks(members("a", 0, 4, 4), 1, 0), "n0=1 n2=1", "n0=1 n2=1", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for decider, want := range map[string]struct {
				nodes     string
				misjudged float64
			}{simulate.FirstFit: {test.first, test.misjudgedFirst}, simulate.BestFit: {test.best, test.misjudgedBest}} {
				result := decidedBy(t, folder, decider, test.nodes, test.lines)
				var stood []string
				last := result.Gangs[len(result.Gangs)-1]
				for i := range 8 {
					if count := last.Nodes[fmt.Sprint("n", i)]; count > 0 {
						stood = append(stood, fmt.Sprintf("n%d=%d", i, count))
					}
				}
				if diff := cmp.Diff(want.nodes, strings.Join(stood, " ")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", decider, diff)
				}
				if got := result.Metrics["refusedThoughFits"]; got != want.misjudged {
					t.Errorf("%s: %v gangs were refused though they fitted, want %v", decider, got, want.misjudged)
				}
			}
		})
	}
}

// Whoever decides, devices add up, and gangs of equal pods stand in the domains that they require, and as a whole. Such
// a gang is never refused though it fits, and the scheduler refuses none at all.
func TestWhoeverDecidesNothingIsLostOrInvented(t *testing.T) {
	folder := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		decider := rapid.SampledFrom([]string{simulate.FirstFit, simulate.BestFit, ""}).Draw(r, "decider")
		lines := strings.NewReplacer("r0-n0", "n0", "r0-n1", "n1", "r1-n0", "n2", "r1-n1", "n3", "r2-n0", "n4", "r2-n1", "n5").
			Replace(drawn(r))
		result := decidedBy(r, folder, decider, nodesOf(8, 8, 8, 8, 8, 8), lines)
		sharesAddUp(r, result.Metrics)
		alike := !strings.Contains(lines, "podGroup")
		if misjudged := result.Metrics["refusedThoughFits"]; misjudged != 0 && (alike || decider == "") {
			r.Fatalf("%v gangs were refused though they fitted", misjudged)
		}
		for _, gang := range result.Gangs {
			pods := 0
			for line := range strings.Lines(lines) {
				var written struct {
					Name     string
					Pods     int
					Required string
				}
				if json.Unmarshal([]byte(line), &written) == nil && written.Name == gang.Name {
					pods = written.Pods
					if written.Required != "" && gang.Domains[written.Required] > 1 {
						r.Fatalf("gang %s, which requires one %s, stands in %d", gang.Name, written.Required, gang.Domains[written.Required])
					}
				}
			}
			if standing := sum(gang.Nodes); standing != 0 && standing != pods && pods > 0 {
				r.Fatalf("%d of the %d pods of gang %s stand", standing, pods, gang.Name)
			}
		}
	})
}
