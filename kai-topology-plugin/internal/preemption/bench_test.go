package preemption_test

import (
	"fmt"
	"testing"

	"packtree.dev/kai-topology-plugin/internal/preemption"
)

// hall is 5,000 nodes in 714 racks of seven nodes with eight GPUs each, full of gangs. Each rack has one gang of whole nodes,
// two of halves of nodes with a pod above their minimum, or a dozen pods without a gang.
func hall(pods int, tied bool) *scene {
	s := &scene{pods: pods, minimum: pods, gpus: 8, tied: tied, priority: 10}
	for r := range 714 {
		s.racks = append(s.racks, []int64{8, 8, 8, 8, 8, 8, 8})
		priority := int32(r*7%5) + 1
		switch r % 3 {
		case 0:
			s.workloads = append(s.workloads, block(fmt.Sprintf("whole-%d", r), r, priority, 7, 8))
		case 1:
			s.workloads = append(s.workloads, block(fmt.Sprintf("left-%d", r), r, priority, 6, 4), block(fmt.Sprintf("right-%d", r), r, priority, 6, 4))
		default:
			for n := range 7 {
				s.workloads = append(s.workloads, single(fmt.Sprintf("a-%d-%d", r, n), priority, nodeName(r, n), 6))
				s.workloads = append(s.workloads, single(fmt.Sprintf("b-%d-%d", r, n), priority, nodeName(r, n), 2))
			}
		}
	}
	return s
}

func block(name string, rack int, priority, minimum int32, gpus int64) preemption.Workload {
	w := preemption.Workload{Gang: true, Tree: flat(minimum), Priority: priority}
	for n := range 7 {
		w.Pods = append(w.Pods, standing(fmt.Sprintf("%s-%d", name, n), "", nodeName(rack, n), gpus))
	}
	return w
}

func BenchmarkChoose(b *testing.B) {
	for name, s := range map[string]*scene{
		"a rack of 714":     hall(7, true),
		"half a rack":       hall(4, true),
		"any seven nodes":   hall(7, false),
		"any hundred nodes": hall(100, false),
	} {
		b.Run(name, func(b *testing.B) {
			q := s.question()
			var answer *preemption.Answer
			for b.Loop() {
				answer = preemption.Choose(q)
			}
			if answer == nil {
				b.Fatal("no victims")
			}
			b.ReportMetric(float64(answer.Trials), "what-ifs")
			b.ReportMetric(float64(len(answer.Victims)), "victims")
		})
	}
}
