package preemption_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/decide/preemption"
	"packtree.dev/shared/packing"
)

// hall is 5,000 nodes in 714 racks of seven nodes with eight GPUs each, full of gangs. Each rack has one gang of whole
// nodes, two of halves of nodes with a pod above their minimum, or a dozen pods without a gang.
func hall(pods int, tied bool) *scene {
	s := &scene{pods: pods, minimum: pods, gpus: 8, tied: tied, priority: 10}
	for r := range 714 {
		s.racks = append(s.racks, []int64{8, 8, 8, 8, 8, 8, 8})
		priority := int32(r*7%5) + 1
		switch r % 3 {
		case 0:
			s.workloads = append(s.workloads, block(fmt.Sprintf("whole-%d", r), r, priority, 7, 8))
		case 1:
			s.workloads = append(s.workloads, block(fmt.Sprintf("left-%d", r), r, priority, 6, 4),
				block(fmt.Sprintf("right-%d", r), r, priority, 6, 4))
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

// floor is a question about a gang with half as many groups as there are racks of 16 nodes, each group in a rack, with
// pods of that many kinds. Every node has pods that can be victims.
func floor(racks, kinds int) preemption.Question {
	q := preemption.Question{
		Priority: 10, Levels: map[string][]string{"t": {"rack"}},
		Gang: &packing.Gang{},
	}
	for r := range racks {
		for n := range 16 {
			name := nodeName(r, n)
			q.Nodes = append(q.Nodes, name)
			q.Workloads = append(q.Workloads, single("a-"+name, int32(r%5), name, 5), single("b-"+name, int32(n%5), name, 2))
		}
	}
	slices.Sort(q.Nodes)
	for g := range racks / 2 {
		group := packing.Group{Name: fmt.Sprint("group-", g), Constraint: packing.Constraint{Topology: "t", Required: "rack"}}
		for k := range kinds {
			pods := packing.Pods{
				Shape: packing.Shape{Key: fmt.Sprint("kind-", k),
					Requests: packing.Resources{gpu: int64(k%4 + 1), "cpu": int64(8 - k)}},
			}
			for i := range 4 {
				pods.Names = append(pods.Names, fmt.Sprintf("%d-%d-%d", g, k, i))
			}
			group.Pending = append(group.Pending, pods)
			group.MinMember += len(pods.Names)
		}
		q.Gang.Root.Children = append(q.Gang.Root.Children, group)
	}
	return q
}

// fill is the cluster of such a floor.
func fill(racks int, workloads []preemption.Workload) *packing.Cluster {
	cluster := packing.NewCluster()
	if err := cluster.SetTopology("t", []string{"rack"}); err != nil {
		panic(err)
	}
	for r := range racks {
		for n := range 16 {
			cluster.SetNode(packing.Node{
				Name: nodeName(r, n), Labels: map[string]string{"rack": fmt.Sprint("r", r)},
				Allocatable: packing.Resources{gpu: 8, "cpu": 16},
			})
		}
	}
	for _, w := range workloads {
		for _, p := range w.Pods {
			cluster.Assign(packing.Pod{ID: p.ID, Node: p.Node, Requests: p.Requests})
		}
	}
	return cluster
}

// BenchmarkChooseForManyKinds is about 1,024 nodes and a gang of 32 groups.
func BenchmarkChooseForManyKinds(b *testing.B) {
	for _, kinds := range []int{1, 4, 8} {
		b.Run(fmt.Sprint("kinds=", kinds), func(b *testing.B) {
			q := floor(64, kinds)
			q.Cluster = fill(64, q.Workloads)
			var answer *preemption.Answer
			for b.Loop() {
				answer = preemption.Choose(q)
			}
			if answer != nil {
				b.ReportMetric(float64(answer.Trials), "what-ifs")
				b.ReportMetric(float64(len(answer.Victims)), "victims")
			}
		})
	}
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
			require.NotNil(b, answer, "no victims")
			b.ReportMetric(float64(answer.Trials), "what-ifs")
			b.ReportMetric(float64(len(answer.Victims)), "victims")
		})
	}
}
