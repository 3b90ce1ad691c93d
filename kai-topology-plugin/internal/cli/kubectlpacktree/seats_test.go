package kubectlpacktree

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/cli/overview"
)

func TestDrawSeats(t *testing.T) {
	at := func(minute int) *metav1.Time {
		moment := metav1.NewTime(time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC))
		return &moment
	}
	var many []overview.Seat
	for i := range maxLines + 2 {
		many = append(many, overview.Seat{Namespace: "n", Gang: fmt.Sprintf("g%02d", i), Node: "n1"})
	}
	for name, c := range map[string]struct {
		seats []overview.Seat
		want  []string
	}{
		"none": {want: []string{""}},
		"a line for each gang": {
			seats: []overview.Seat{
				{Namespace: "a", Gang: "g", Node: "n1", Until: at(1)}, {Namespace: "a", Gang: "g", Node: "n2", Until: at(2)},
				{Namespace: "b", Gang: "g", Node: "n1"},
			},
			want: []string{
				"Seats", "  a/g  2 seats for successors on n1, n2, until 2026-01-01T00:02:00Z",
				"  b/g  1 seat for successors on n1, while their pods are on their way out", "", "",
			},
		},
	} {
		assert.Empty(t, cmp.Diff(c.want, drawn(drawSeats, c.seats)), "%s (-want +got)", name)
	}
	if lines := drawn(drawSeats, many); len(lines) != maxLines+4 || lines[maxLines+1] != "  … and 2 more seats" {
		t.Errorf("of many are drawn %d lines: %q", len(lines), lines[len(lines)-3:])
	}
}
