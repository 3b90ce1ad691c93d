package kubectlpacktree

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/cli/drawing"
	"packtree.dev/kai-topology-plugin/internal/cli/overview"
)

// drawn are the lines that a part of the tree has.
func drawn[Row any](draw func(*strings.Builder, *drawing.Pen, []Row), rows []Row) []string {
	var b strings.Builder
	draw(&b, &drawing.Pen{}, rows)
	return strings.Split(b.String(), "\n")
}

func TestDrawReservations(t *testing.T) {
	until := metav1.Unix(1000, 0)
	kept := overview.Reservation{
		Namespace: "n", Gang: "big", Reason: "Overtaken", Nodes: []string{"n1"}, Until: &until,
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
		"because it was overtaken, and because others leave": {
			kept: []overview.Reservation{
				kept, {Namespace: "n", Gang: "wide", Reason: "Overtaken", Nodes: []string{"n1", "n2"}},
				{Namespace: "n", Gang: "hot", Reason: "Preempting", Nodes: []string{"n1", "n2"}},
			},
			want: []string{
				"Reservations",
				"  n/big  room for 1 pod on n1, because other gangs have overtaken it, until 1970-01-01T00:16:40Z",
				"  n/wide  room for 2 pods on n1, n2, because other gangs have overtaken it",
				"  n/hot  room for 2 pods on n1, n2, which others leave for it", "", "",
			},
		},
	} {
		assert.Empty(t, cmp.Diff(c.want, drawn(drawReservations, c.kept)), "%s (-want +got)", name)
	}
	if lines := drawn(drawReservations, many); len(lines) != maxLines+4 || lines[maxLines+1] != "  … and 3 more" {
		t.Errorf("of many are drawn %d lines: %q", len(lines), lines[len(lines)-3:])
	}
}
