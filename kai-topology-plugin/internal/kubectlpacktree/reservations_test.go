package kubectlpacktree

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/kai-topology-plugin/internal/drawing"
	"packtree.dev/kai-topology-plugin/internal/overview"
)

// drawn are the lines that a part of the tree has.
func drawn[Row any](draw func(*strings.Builder, *drawing.Pen, []Row), rows []Row) []string {
	var b strings.Builder
	draw(&b, &drawing.Pen{}, rows)
	return strings.Split(b.String(), "\n")
}

func TestDrawReservations(t *testing.T) {
	kept := overview.Reservation{
		Namespace: "n", Gang: "big", Reason: "Overtaken", Level: "example.com/rack", Domain: "z/r1", Resources: []string{"cpu", "gpu"},
	}
	many := make([]overview.Reservation, maxLines+3)
	for i := range many {
		many[i] = kept
	}
	for name, c := range map[string]struct {
		kept []overview.Reservation
		want []string
	}{
		"none": {want: []string{""}},
		"a domain, the cluster, and nodes": {
			kept: []overview.Reservation{
				kept, {Namespace: "n", Gang: "wide", Reason: "Overtaken", Resources: []string{"gpu"}},
				{Namespace: "n", Gang: "hot", Reason: "Preempting", Nodes: []string{"n1", "n2"}},
			},
			want: []string{
				"Reservations", "  n/big  rack z/r1 is kept for it from those that want cpu, gpu: it was overtaken too often",
				"  n/wide  the whole cluster is kept for it from those that want gpu: it was overtaken too often",
				"  n/hot  room for 2 pods on n1, n2, which others leave for it", "", "",
			},
		},
	} {
		if diff := cmp.Diff(c.want, drawn(drawReservations, c.kept)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if lines := drawn(drawReservations, many); len(lines) != maxLines+4 || lines[maxLines+1] != "  … and 3 more" {
		t.Errorf("of many are drawn %d lines: %q", len(lines), lines[len(lines)-3:])
	}
}
