package preemption_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/preemption"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
)

// scene is a cluster of racks with nodes of some GPUs, the workloads that run there, and a gang that does not fit.
type scene struct {
	racks     [][]int64 // the GPUs of each node of each rack
	workloads []preemption.Workload
	budgets   []int
	begun     []string
	leaving   []string
	// The gang is of pods with gpus each, in one rack if tied.
	pods, minimum int
	gpus          int64
	tied          bool
	running       []string
	priority      int32
}

const gpu = "example.com/gpu"

func nodeName(rack, node int) string { return fmt.Sprintf("r%d-n%d", rack, node) }

func rackOf(node string) string { return strings.Split(node, "-")[0] }

func (s *scene) nodes() []string {
	var names []string
	for r, rack := range s.racks {
		for n := range rack {
			names = append(names, nodeName(r, n))
		}
	}
	slices.Sort(names)
	return names
}

func (s *scene) cluster() *packing.Cluster {
	cluster := packing.NewCluster()
	if err := cluster.SetTopology("t", []string{"rack"}); err != nil {
		panic(err)
	}
	for r, rack := range s.racks {
		for n, gpus := range rack {
			name := nodeName(r, n)
			cluster.SetNode(packing.Node{Name: name, Labels: map[string]string{"rack": rackOf(name)},
				Allocatable: packing.Resources{gpu: gpus}})
		}
	}
	for _, w := range s.workloads {
		for _, p := range w.Pods {
			cluster.Assign(packing.Pod{ID: p.ID, Node: p.Node, Requests: p.Requests})
		}
	}
	return cluster
}

func (s *scene) gang() *packing.Gang {
	names := make([]string, s.pods)
	for i := range names {
		names[i] = fmt.Sprintf("new-%d", i)
	}
	root := packing.Group{MinMember: s.minimum, Running: s.running, Pending: []packing.Pods{{
		Shape: packing.Shape{Key: "shape", Requests: packing.Resources{gpu: s.gpus}}, Names: names,
	}}}
	if s.tied {
		root.Constraint = packing.Constraint{Topology: "t", Required: "rack"}
	}
	return &packing.Gang{Root: root}
}

func (s *scene) question() preemption.Question {
	var leaving []packing.Pod
	for _, id := range s.leaving {
		leaving = append(leaving, packing.Pod{ID: id})
	}
	return preemption.Question{
		Cluster: s.cluster(), Gang: s.gang(), Priority: s.priority, Levels: map[string][]string{"t": {"rack"}},
		Nodes: s.nodes(), Workloads: s.workloads, Budgets: s.budgets, Begun: s.begun, Leaving: leaving,
	}
}

// choose also checks that the cluster is as before.
func (s *scene) choose(t interface{ Fatalf(string, ...any) }) *preemption.Answer {
	q := s.question()
	before := free(q.Cluster, s.nodes())
	answer := preemption.Choose(q)
	if after := free(q.Cluster, s.nodes()); !slices.Equal(before, after) {
		t.Fatalf("the cluster was changed: free %v, then %v", before, after)
	}
	return answer
}

func free(cluster *packing.Cluster, nodes []string) []int64 {
	amounts := make([]int64, len(nodes))
	for i, node := range nodes {
		amounts[i] = cluster.Free(node, gpu)
	}
	return amounts
}

func tree(spec scheduling.PodGroupSpec) *podgrouptree.Tree {
	made, errs := podgrouptree.New(&spec)
	if len(errs) > 0 {
		panic(errs.ToAggregate())
	}
	return made
}

// flat is a gang without subgroups.
func flat(minimum int32) *podgrouptree.Tree {
	return tree(scheduling.PodGroupSpec{MinMember: ptr.To(minimum)})
}

// replicas is a gang of count subgroups named s0, s1 and so on; needed of them are needed.
func replicas(count int, needed, minimum int32) *podgrouptree.Tree {
	spec := scheduling.PodGroupSpec{MinSubGroup: ptr.To(needed)}
	for i := range count {
		spec.SubGroups = append(spec.SubGroups, scheduling.SubGroup{Name: fmt.Sprintf("s%d", i), MinMember: ptr.To(minimum)})
	}
	return tree(spec)
}

func standing(name, leaf, node string, gpus int64) preemption.Pod {
	return preemption.Pod{ID: name, Leaf: leaf, Node: node, Requests: packing.Resources{gpu: gpus},
		Since: time.Unix(int64(len(name)), 0)}
}

// gangOn is a gang with a pod of one GPU on each of the nodes.
func gangOn(name string, priority, minimum int32, nodes ...string) preemption.Workload {
	w := preemption.Workload{Gang: true, Tree: flat(minimum), Priority: priority}
	for i, node := range nodes {
		w.Pods = append(w.Pods, standing(fmt.Sprintf("%s-%d", name, i), "", node, 1))
	}
	return w
}

func single(name string, priority int32, node string, gpus int64) preemption.Workload {
	return preemption.Workload{Priority: priority, Pods: []preemption.Pod{standing(name, "", node, gpus)}}
}

// names are the victims of an answer.
func (s *scene) names(answer *preemption.Answer) []string {
	if answer == nil {
		return nil
	}
	names := []string{}
	for _, victim := range answer.Victims {
		names = append(names, s.workloads[victim.Workload].Pods[victim.Pod].ID)
	}
	return names
}
