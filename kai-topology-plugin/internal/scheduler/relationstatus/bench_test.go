package relationstatus_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/scheduler/relationstatus"
)

// BenchmarkScrape judges the relations of 1,000 gangs of eight pods on 5,000 nodes in racks of sixteen.
func BenchmarkScrape(b *testing.B) {
	site := func(yield func(*corev1.Node) bool) {
		for i := range 5_000 {
			name, rack := fmt.Sprint("n", i), fmt.Sprint("r", i/16)
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"rack": rack}}}
			if !yield(node) {
				return
			}
		}
	}
	var placed []string
	for i := range 8 {
		placed = append(placed, []string{"x", "y"}[i%2], fmt.Sprint("n", i*100))
	}
	related := assemble(b, `[{"name": "r", "subGroups": ["x", "y"], "level": "rack", "maxPerDomain": 1}]`,
		standing(placed...))
	for b.Loop() {
		domains, err := relationstatus.NewDomains(map[string][]string{"site": {"rack"}}, site)
		require.NoError(b, err)
		for range 1_000 {
			if judged, err := domains.Of(related); err != nil || judged[0].Lacks > 0 {
				b.Fatal(judged, err)
			}
		}
	}
}
