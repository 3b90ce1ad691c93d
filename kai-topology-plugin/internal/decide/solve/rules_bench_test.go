package solve_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// BenchmarkThousand is the first decision about a gang of 1,000 pods on 2,000 nodes that have room for eight each.
func BenchmarkThousand(b *testing.B) {
	const size = 1000
	var racks []string
	for rack := range 125 {
		racks = append(racks, fmt.Sprintf("z%d/r%d*16", rack/64, rack))
	}
	site := nodes(8, racks...)
	pinned := leafPods("", size)
	for i, pod := range pinned {
		pod.Spec.NodeSelector = map[string]string{hostname: site[i].Name}
	}
	for name, asking := range map[string][]*corev1.Pod{
		"plain":                   leafPods("", size),
		"spread over nodes":       leafPods("", size, spread("", hostname, 1)),
		"spread over racks":       leafPods("", size, spread("", rack, 1)),
		"apart on nodes":          leafPods("", size, apartFrom("", hostname)),
		"each pinned to its host": pinned,
	} {
		b.Run(name, func(b *testing.B) {
			asked := scenario{nodes: site, spec: scheduling.PodGroupSpec{MinMember: ptr.To(int32(size))}, pods: asking}
			for b.Loop() {
				b.StopTimer()
				question := asked.question(b)
				b.StartTimer()
				answer, err := solve.Solve(b.Context(), question)
				if err != nil || len(answer.Nodes) != size {
					b.Fatalf("%v: %d pods have a node: %s", err, len(answer.Nodes), answer.Message)
				}
			}
		})
	}
}
