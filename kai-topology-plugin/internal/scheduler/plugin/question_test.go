package plugin

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	grove "packtree.dev/shared/api/grove/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// In random states of related gangs, the scheduler's request for each gang is the one made of manifests.
func TestTheSchedulerAsksAsManifestsDo(t *testing.T) {
	topology := &kai.Topology{ObjectMeta: metav1.ObjectMeta{Name: "t"}}
	topology.Spec.Levels = []kai.TopologyLevel{{NodeLabel: "rack"}}
	led, related := 0, 0
	for seed := range uint64(25) {
		random := rand.New(rand.NewPCG(seed, 0))
		cluster := inventory.New()
		cluster.Nodes, cluster.Topologies["t"] = newNodes(6), topology
		objects := []kruntime.Object{topology}
		for i, name := range []string{"base", "left", "right"} {
			podGroup := companion(name)
			if random.IntN(2) == 0 {
				podGroup.Annotations[scheduling.AnnotationRelations] =
					`[{"name":"apart","topology":"t","level":"rack","gangs":"all","maxPerDomain":2}]`
			}
			cluster.PodGroups, objects = append(cluster.PodGroups, podGroup), append(objects, podGroup)
			for j := range random.IntN(3) {
				pod := newPod(name, fmt.Sprintf("%s-%d", name, j))
				switch random.IntN(4) {
				case 0:
					pod.Spec.NodeName = fmt.Sprintf("n%d", 2*i+j)
				case 1:
					pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: grove.SchedulingGatePodGangPending}}
				}
				cluster.Pods = append(cluster.Pods, pod)
			}
		}
		bench := newBench(t, cluster.Nodes, cluster.Pods, objects...)
		table, err := turns.Set(t.Context(), cluster)
		if err != nil {
			t.Fatal(err)
		}
		infos, err := bench.SnapshotSharedLister().NodeInfos().List()
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range turns.In(cluster) {
			if turn.Hold != nil {
				continue
			}
			offline, err := table.Request(turn)
			if err != nil {
				t.Fatal(err)
			}
			live, _, err := bench.plugin.reader.ask(bench.read(t, turn.Rank.Gang, nil).Gang, infos)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(comparableOf(&offline), comparableOf(&live)); diff != "" {
				t.Errorf("seed %d, gang %s (-manifests +scheduler):\n%s", seed, turn.Rank.Gang, diff)
			}
			led, related = led+len(live.Followers), related+len(live.Gang.Shared.Others)
		}
	}
	if led == 0 || related == 0 {
		t.Errorf("%d gangs were led and %d related: nothing was compared", led, related)
	}
}

// comparableOf is what two requests for a gang have in common, whatever the cluster is made of.
func comparableOf(request *solve.Request) map[string]any {
	names := func(pods []*corev1.Pod) (names []string) {
		for _, pod := range pods {
			names = append(names, pod.Name+" on "+pod.Spec.NodeName)
		}
		slices.Sort(names)
		return names
	}
	of := func(g *gang.Gang) map[string]any {
		found := map[string]any{"pending": names(g.Pending), "standing": names(g.Standing), "shared": g.Shared}
		for i := range g.Relations {
			found["relation "+g.Relations[i].Name] = g.Relations[i]
		}
		return found
	}
	found := map[string]any{"gang": of(request.Gang), "overdue": len(request.Overdue), "note": request.Note}
	for _, follower := range request.Followers {
		found["follower "+follower.Key().String()] = of(follower)
	}
	for node, pods := range request.Reserved {
		found["reserved on "+node] = names(pods)
	}
	for _, name := range request.Gang.Topologies() {
		found["topology "+name] = request.Topologies[name] != nil
	}
	nodes := []string{}
	for _, node := range request.Nodes {
		nodes = append(nodes, node.Node().Name)
	}
	slices.Sort(nodes)
	found["nodes"] = nodes
	return found
}
