package scheduler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/yaml"

	"packtree.dev/e2e/live"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// TestLiveDecisionsAreThoseOfTheSimulation creates gangs in a cluster that is nearly full, and single pods that come
// and go. After each of these moments every pod has the node that `simulate` gave it, and the gangs that wait there
// wait here. Gangs stay, because in a cluster their pods do not end at one moment, as they do in a simulation.
// PACKTREE_GANGS is another number of gangs than a hundred.
func TestLiveDecisionsAreThoseOfTheSimulation(t *testing.T) {
	gangs := 100
	if more, err := strconv.Atoi(os.Getenv("PACKTREE_GANGS")); err == nil {
		gangs = more
	}
	a := &agreement{world: newWorld(), random: rand.New(rand.NewPCG(20, 26)), gangs: map[string]*simulated{}}
	cluster.Test(t, features.New("agreement").
		Setup(a.create).
		Assess("gangs are drawn, and their life is simulated",
			func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
				for i := range gangs {
					a.draw(t, i)
				}
				a.simulate(ctx, t)
				t.Logf("of %d gangs %d waited, and %d were whole groups that started", gangs, a.waited, a.groups)
				if a.waited < gangs/10 || a.waited > gangs*9/10 || a.groups < 5 {
					t.Error("that says little")
				}
				return ctx
			}).
		Assess("as it was simulated, so it happens", a.happens).
		Teardown(a.world.remove))
}

// agreement is a stream of gangs, and their lives in a simulation.
type agreement struct {
	world  *world
	random *rand.Rand
	// cluster and stream are the files that are simulated.
	cluster, stream strings.Builder
	gangs           map[string]*simulated
	// waited counts gangs that were not placed when they came, groups counts the ones of several pods that were
	// placed at last.
	waited, groups int
}

// simulated is a gang and its life: the nodes of its pods from Started to Ended, with counts. It may never have
// started, or ended.
type simulated struct {
	*gang
	pods           []*corev1.Pod
	Arrived        float64
	Started, Ended *float64
	Nodes          map[string]int
}

func (s *simulated) standsAt(now float64) bool {
	return s.Started != nil && *s.Started <= now && (s.Ended == nil || now < *s.Ended)
}

// create makes a zone of five racks with three to seven nodes of four GPUs, and writes the nodes to the file.
func (a *agreement) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	var nodes []*corev1.Node
	for rack := range 5 {
		for i := range 3 + rack {
			labels := a.world.node(rack, i).Labels
			nodes = append(nodes, live.FakeNode(a.world.nodeName(rack, i), labels, 4))
		}
	}
	for _, node := range nodes {
		node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
		a.write(t, node)
	}
	topology := a.world.topology()
	topology.SetGroupVersionKind(kai.GroupVersion.WithKind("Topology"))
	a.write(t, topology)
	a.world.Must(ctx, t, cluster.Create(ctx, a.world.topology()))
	a.world.Populate(ctx, t, nodes)
	return ctx
}

func (a *agreement) write(t *testing.T, object any) {
	t.Helper()
	written, err := yaml.Marshal(object)
	require.NoError(t, err)
	fmt.Fprintf(&a.cluster, "---\n%s", written)
}

// draw adds to the stream a single pod, which ends, or from time to time a gang of two to twelve pods that need a rack,
// prefer one, are two groups that need one each, or have no constraint. All arrive at whole seconds, and end between
// them.
func (a *agreement) draw(t *testing.T, number int) {
	t.Helper()
	g := &simulated{gang: a.world.gangNamed(fmt.Sprintf("gang-%03d", number))}
	g.group.SetGroupVersionKind(scheduling.GroupVersion.WithKind("PodGroup"))
	pods, gpus := 1, []string{"1", "2", "4", "4"}[a.random.IntN(4)]
	if number%7 == 6 {
		pods = 2 + a.random.IntN(5)
	}
	inRack := &scheduling.TopologyConstraint{Topology: a.world.Name, RequiredTopologyLevel: rackLabel}
	g.group.Spec = scheduling.PodGroupSpec{MinMember: ptr.To(int32(pods))}
	groups := []string{""}
	switch kind := a.random.IntN(4); {
	case pods == 1 || kind == 0:
	case kind == 1:
		g.group.Spec.TopologyConstraint = inRack
	case kind == 2:
		g.group.Spec.TopologyConstraint = &scheduling.TopologyConstraint{Topology: a.world.Name,
			PreferredTopologyLevel: rackLabel}
	default:
		g.group.Spec = scheduling.PodGroupSpec{}
		groups = []string{"prefill", "decode"}
		for _, name := range groups {
			g.group.Spec.SubGroups = append(g.group.Spec.SubGroups,
				scheduling.SubGroup{Name: name, MinMember: ptr.To(int32(pods)), TopologyConstraint: inRack})
		}
	}
	for _, group := range groups {
		for range pods {
			pod := g.pod(len(g.pods))
			if group != "" {
				pod.Labels[kai.LabelSubGroupName] = group
			}
			amount := corev1.ResourceList{live.GPU: resource.MustParse(gpus),
				corev1.ResourceCPU: resource.MustParse("1")}
			pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: amount, Limits: amount}
			pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
			g.pods = append(g.pods, pod)
		}
	}
	event := map[string]any{"at": number, "name": g.name, "podGroup": g.group, "pods": g.pods}
	if pods == 1 {
		event["duration"] = 20 + float64(a.random.IntN(60_000))/1000 + 0.0005
	}
	line, err := json.Marshal(event)
	require.NoError(t, err)
	fmt.Fprintf(&a.stream, "%s\n", line)
	a.gangs[g.name] = g
}

func (a *agreement) simulate(ctx context.Context, t *testing.T) {
	t.Helper()
	output, err := exec.CommandContext(ctx, filepath.Join(cluster.Machine.Root(), "bin", schedulerProgram), "simulate",
		"-f", a.world.Store(t, "cluster.yaml", a.cluster.String()), "--jobs",
		a.world.Store(t, "stream.jsonl", a.stream.String()), "--reserve-for", reserveFor,
		"-o", "json").Output()
	a.world.Must(ctx, t, err)
	var result struct {
		Gangs []struct {
			Name               string
			Arrived            float64
			Started, Ended     *float64
			Nodes              map[string]int
			Preemptions, Moves int
		}
	}
	a.world.Must(ctx, t, json.Unmarshal(output, &result))
	if len(result.Gangs) != len(a.gangs) {
		t.Fatalf("%d of %d gangs are simulated", len(result.Gangs), len(a.gangs))
	}
	for _, g := range result.Gangs {
		if g.Preemptions+g.Moves > 0 {
			t.Fatalf("gang %s does not stand where it started until it ends: %+v", g.Name, g)
		}
		is := a.gangs[g.Name]
		is.Arrived, is.Started, is.Ended, is.Nodes = g.Arrived, g.Started, g.Ended, g.Nodes
		if !is.standsAt(g.Arrived) {
			a.waited++
		}
		if g.Started != nil && len(is.pods) > 1 {
			a.groups++
		}
	}
}

// happens goes through the moments at which gangs come or go, and waits at each until pods are where they were in the
// simulation.
func (a *agreement) happens(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	t.Helper()
	moments := map[float64]*simulated{}
	for _, g := range a.gangs {
		if moments[g.Arrived] = g; g.Ended != nil {
			moments[*g.Ended] = g
		}
	}
	for _, now := range slices.Sorted(maps.Keys(moments)) {
		g := moments[now]
		if now == g.Arrived {
			a.world.Must(ctx, t, cluster.Create(ctx, g.group.DeepCopy()))
			for _, pod := range g.pods {
				a.world.Must(ctx, t, cluster.Create(ctx, pod.DeepCopy()))
			}
		} else {
			g.goes(ctx, t, config)
		}
		a.world.Until(ctx, t, fmt.Sprintf("at second %v, with %s, all stand as in the simulation", now, g.name),
			func(ctx context.Context) (bool, string, error) {
				differences, err := a.differences(ctx, now)
				return len(differences) == 0, strings.Join(differences, "\n"), err
			})
	}
	return ctx
}

// differences lists the gangs that are not where they were at a moment of the simulation, and the gangs that wait
// without a condition that says so.
func (a *agreement) differences(ctx context.Context, now float64) (differences []string, err error) {
	pods, err := a.world.Pods(ctx)
	if err != nil {
		return nil, err
	}
	var groups scheduling.PodGroupList
	if err := cluster.List(ctx, &groups, client.InNamespace(a.world.Name)); err != nil {
		return nil, err
	}
	stand := map[string]map[string]int{}
	for i := range pods {
		name := pods[i].Annotations[scheduling.AnnotationPodGroupName]
		if node := pods[i].Spec.NodeName; node != "" {
			if stand[name] == nil {
				stand[name] = map[string]int{}
			}
			stand[name][node]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.gangs)) {
		g, want := a.gangs[name], map[string]int{}
		if g.standsAt(now) {
			want = g.Nodes
		}
		if !maps.Equal(stand[name], want) {
			differences = append(differences,
				fmt.Sprintf("%s stands on %v, and on %v in the simulation", name, stand[name], want))
		}
	}
	for i := range groups.Items {
		g := a.gangs[groups.Items[i].Name]
		if !g.standsAt(now) && len(groups.Items[i].Status.Conditions) == 0 {
			differences = append(differences, g.name+" does not know yet that it waits")
		}
	}
	return differences, nil
}
