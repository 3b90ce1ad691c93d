package simulate_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/kai-topology-plugin/internal/inventory"
	kai "packtree.dev/shared/api/kai/v1alpha1"
)

// keepingOne has each rack of a cluster keep a node empty.
func keepingOne(cluster *inventory.Inventory) *inventory.Inventory {
	cluster.Topologies["net"].Annotations = map[string]string{kai.AnnotationSpares: `[{"level":"l/rack","nodes":1}]`}
	return cluster
}

func TestSparesAreKeptInAStream(t *testing.T) {
	for name, test := range map[string]struct {
		nodes int
		lines string
		want  []string
	}{
		"a gang never starts on them": {2, job(0, "a", 10, 2, "", 0), []string{"a Infeasible"}},
		"one after the other beside them": {2, job(0, "a", 10, 1, "", 0) + job(1, "b", 5, 1, "", 0),
			[]string{"a Ended from 0 to 10", "b Ended from 10 to 15"}},
		"who yields stands there": {2, job(0, "a", 10, 1, "", 0) + job(1, "low", 5, 1, "", -1),
			[]string{"a Ended from 0 to 10", "low Ended from 1 to 6"}},
		"what another of its shape but higher priority was refused, who yields may have": {
			2, job(0, "a", 10, 1, "", 0) + job(1, "b", 5, 1, "", 0) + job(1, "low", 5, 1, "", -1),
			[]string{"a Ended from 0 to 10", "b Ended from 10 to 15", "low Ended from 1 to 6"}},
		"a gang that loses a node is mended there": {3, job(0, "a", 10, 2, "l/rack", 0) + down(4, "r0-n2", true),
			[]string{"a Ended from 0 to 10, moved 1"}},
		"and who yields leaves for it": {
			3, job(0, "a", 10, 2, "l/rack", 0) + job(1, "low", 5, 1, "", -1) + down(4, "r0-n2", true),
			[]string{"a Ended from 0 to 10, moved 1", "low Ended from 1 to 12, preempted 1"}},
		"but not for one that comes": {2, job(0, "a", 10, 1, "", 0) + job(1, "low", 20, 1, "", -1) + job(2, "b", 5, 1, "", 0),
			[]string{"a Ended from 0 to 10", "low Ended from 1 to 21", "b Ended from 10 to 15"}},
	} {
		t.Run(name, func(t *testing.T) {
			result := run(t, keepingOne(cluster(t, 1, test.nodes)), test.lines, 0)
			if diff := cmp.Diff(test.want, told(result)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A rack that could hold the gang which is overtaken there, but not beside its spares, is not kept for it.
func TestNoRackIsKeptForAGangThatItCannotHoldBesideItsSpares(t *testing.T) {
	narrow := ""
	for node := range 2 {
		narrow += fmt.Sprintf("---\n"+`{apiVersion: v1, kind: Node, `+
			`metadata: {name: r9-n%d, labels: {l/zone: z, l/rack: r9}}, `+
			`status: {allocatable: {example.com/gpu: "8", pods: "110"}}}`+"\n", node)
	}
	lines := job(0, "first", 200, 2, "l/rack", 0) + job(1, "wide", 10, 2, "l/rack", 0)
	for i := range 30 {
		lines += job(2+float64(i)*5, fmt.Sprint("small-", i), 4, 1, "", 0)
	}
	result := run(t, keepingOne(cluster(t, 1, 3, narrow)), lines, 0)
	for _, gang := range result.Gangs {
		started := gang.Arrived
		if gang.Name == "wide" {
			started = 200
		}
		if gang.Started == nil || *gang.Started != started {
			t.Errorf("%s does not start at %v: %v", gang.Name, started, told(result))
		}
	}
}
