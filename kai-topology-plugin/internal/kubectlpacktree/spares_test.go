package kubectlpacktree

import (
	"fmt"
	"strings"
	"testing"

	"packtree.dev/kai-topology-plugin/internal/drawing"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/overview"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// What the scheduler would refuse is not said to fit: rooms that successors are awaited in, and nodes that are kept for
// repair.
func TestWhatIfRespectsSeatsAndSpares(t *testing.T) {
	const seat = `{"seats": [{"nodes": ["n2"], "priority": 0, "requests": {"nvidia.com/gpu": "4"}, "until": "2026-01-01T00:01:00Z"}]}`
	for name, c := range map[string]struct {
		change func(*inventory.Inventory)
		want   string
	}{
		"nothing is kept": {func(*inventory.Inventory) {}, "Placed"},
		"a seat": {func(read *inventory.Inventory) {
			read.PodGroups = append(read.PodGroups, seated(t, seat))
		}, "Infeasible"},
		"a spare": {func(read *inventory.Inventory) {
			read.Topologies["racks"].Annotations = map[string]string{kai.AnnotationSpares: `[{"level":"example.com/rack","nodes":1}]`}
		}, "Infeasible"},
	} {
		t.Run(name, func(t *testing.T) {
			s := shown(t)
			read := s.read.Load()
			read.PodGroups, read.Pods = nil, read.Pods[1:] // Without the gang that waits.
			c.change(read.Inventory)
			said, err := s.whatIf(t.Context(), "gang.yaml", []byte(fmt.Sprintf(asked, "")))
			if err != nil {
				t.Fatal(err)
			}
			if got := said.PodGroups[0]; got.Verdict != c.want {
				t.Errorf("%s: %s, want %s", got.Verdict, got.Message, c.want)
			}
		})
	}
}

// seated is a PodGroup with a status.
func seated(t *testing.T, status string) *scheduling.PodGroup {
	t.Helper()
	read := testsupport.Inventory(t,
		`{"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": {"name": "left"}, "spec": {"minMember": 1}, "status": `+status+`}`)
	return read.PodGroups[0]
}

func TestTheTreeTellsOfSpares(t *testing.T) {
	for nodes, want := range map[int]string{1: "1 spare kept", 2: "1 of 2 spares there"} {
		read := shown(t).read.Load()
		read.Topologies["racks"].Annotations = map[string]string{
			kai.AnnotationSpares: fmt.Sprintf(`[{"level":"example.com/rack","nodes":%d}]`, nodes),
		}
		seen, err := overview.Of(t.Context(), read.Inventory, overview.Question{})
		if err != nil {
			t.Fatal(err)
		}
		rack := seen.Topologies[0].Cluster.Domains[0]
		if rack.Spares == nil || rack.Spares.Wanted != nodes || rack.Spares.There != 1 {
			t.Errorf("the overview has %+v of %d", rack.Spares, nodes)
		}
		if drawn := drawTree(&drawing.Pen{}, seen, ""); !strings.Contains(drawn, want) {
			t.Errorf("%q is not in\n%s", want, drawn)
		}
	}
	read := shown(t).read.Load()
	read.Topologies["racks"].Annotations = map[string]string{kai.AnnotationSpares: "two"}
	seen, err := overview.Of(t.Context(), read.Inventory, overview.Question{})
	if err != nil || len(seen.Notes) != 1 || !strings.HasPrefix(seen.Notes[0], "Topology racks keeps no spares: ") {
		t.Errorf("%v: %v", err, seen.Notes)
	}
}
