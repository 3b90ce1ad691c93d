package scheduler_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"packtree.dev/e2e/live"
	"packtree.dev/e2e/suites/internal/suite"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

const (
	// The labels are those of grove-operator's default topology, so that a PodCliqueSet can be constrained by them too.
	zoneLabel  = corev1.LabelTopologyZone
	blockLabel = "topology.packtree.dev/block"
	rackLabel  = "topology.packtree.dev/rack"
)

// world is what one scenario has for itself: besides nodes and a namespace, a Topology of its name.
type world struct {
	suite.World
	// racks are the numbers of nodes of each rack; a node has one GPU, so it holds one pod.
	racks []int
	// zones has each rack in a zone of its own; they are in one otherwise.
	zones bool
}

// newWorld describes a zone with racks of so many nodes each. Its step create makes them.
func newWorld(racks ...int) *world {
	return &world{
		World: suite.World{Cluster: cluster, Name: envconf.RandomName("world", 14), Operator: schedulerProgram,
			Shown: "podgroups.scheduling.run.ai,pods"}, racks: racks,
	}
}

func (w *world) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.Must(ctx, t, cluster.Create(ctx, w.topology()))
	var nodes []*corev1.Node
	for rack, count := range w.racks {
		for i := range count {
			nodes = append(nodes, w.node(rack, i))
		}
	}
	w.Populate(ctx, t, nodes)
	return ctx
}

func (w *world) remove(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.Must(ctx, t, cluster.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(w.Name), client.GracePeriodSeconds(0)))
	w.Depopulate(ctx, t, &scheduling.PodGroup{}, &kai.Topology{})
	return ctx
}

// nodeGoes deletes a node, and waits until the scheduler knows: it hears of nodes and of pods separately, and would bind
// the next pod there.
func (w *world) nodeGoes(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	w.Must(ctx, t, cluster.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	probe := w.probe(name)
	gone := func(ctx context.Context) error {
		return client.IgnoreNotFound(cluster.Delete(ctx, w.probe(name), client.GracePeriodSeconds(0)))
	}
	t.Cleanup(func() { _ = gone(context.WithoutCancel(ctx)) })
	w.Until(ctx, t, "the scheduler knows that node "+name+" is gone", func(ctx context.Context) (bool, string, error) {
		err := cluster.Get(ctx, client.ObjectKeyFromObject(probe), probe)
		if apierrors.IsNotFound(err) {
			probe = w.probe(name)
			return false, "nothing is said of a pod for it", cluster.Create(ctx, probe)
		}
		if err != nil || probe.Spec.NodeName == "" && len(probe.Status.Conditions) == 0 {
			return false, "nothing is said of a pod for it", err
		}
		return probe.Spec.NodeName == "", "a pod was bound to it", gone(ctx)
	})
}

// probe is a pod that asks for nothing but one node. It is in another namespace than what is looked at.
func (w *world) probe(node string) *corev1.Pod {
	only := corev1.NodeSelectorRequirement{
		Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node},
	}
	terms := []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{only}}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: w.Name + "-probe", Namespace: metav1.NamespaceDefault,
			Annotations: map[string]string{kai.AnnotationSkipPodGrouper: "true"},
		},
		Spec: corev1.PodSpec{
			SchedulerName: kai.SchedulerName, Containers: []corev1.Container{{Name: "c", Image: "none"}},
			Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
			}},
		},
	}
}

func (w *world) topology() *kai.Topology {
	return &kai.Topology{
		ObjectMeta: metav1.ObjectMeta{Name: w.Name, Labels: map[string]string{suite.WorldLabel: w.Name}},
		Spec: kai.TopologySpec{
			Levels: []kai.TopologyLevel{{NodeLabel: zoneLabel}, {NodeLabel: rackLabel},
				{NodeLabel: corev1.LabelHostname}},
		},
	}
}

func (w *world) nodeName(rack, i int) string { return fmt.Sprintf("%s-r%d-n%d", w.Name, rack, i) }

// node is simulated by KWOK.
func (w *world) node(rack, i int) *corev1.Node {
	zone := w.Name
	if w.zones {
		zone = fmt.Sprintf("%s-%d", w.Name, rack)
	}
	return live.FakeNode(w.nodeName(rack, i), map[string]string{
		suite.WorldLabel: w.Name, zoneLabel: zone, blockLabel: "block", rackLabel: fmt.Sprintf("rack-%d", rack),
	}, 1)
}
