package topology_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	schedulingv2alpha2 "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/grove-operator/internal/topology"
)

func pod(name, topology, node string) *corev1.Pod {
	made := &corev1.Pod{}
	made.Name = name
	made.Labels = map[string]string{grovev1alpha1.LabelPodGang: "s-0"}
	if topology != "" {
		made.Annotations = map[string]string{grovev1alpha1.AnnotationTopologyName: topology}
	}
	made.Spec.NodeName = node
	return made
}

func leaving(made *corev1.Pod) *corev1.Pod {
	now := metav1.NewTime(time.Unix(1, 0))
	made.DeletionTimestamp = &now
	return made
}

func ended(made *corev1.Pod) *corev1.Pod {
	made.Status.Phase = corev1.PodFailed
	return made
}

func gang(podsTopology, kept, olderName string) *schedulerv1alpha1.PodGang {
	made := &schedulerv1alpha1.PodGang{}
	made.Name = "s-0"
	for key, value := range map[string]string{
		schedulingv2alpha2.AnnotationPodsTopology: podsTopology, grovev1alpha1.AnnotationTopologyKept: kept,
		grovev1alpha1.AnnotationTopologyName: olderName,
	} {
		if value != "" {
			metav1.SetMetaDataAnnotation(&made.ObjectMeta, key, value)
		}
	}
	return made
}

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		named    string
		pods     []*corev1.Pod
		gang     *schedulerv1alpha1.PodGang
		want     string
		outdated []string
	}{
		"a set without constraints has no topology": {pods: []*corev1.Pod{pod("p", "a", "n"), pod("q", "a", "")},
			want: ""},
		"without pods the named one counts": {named: "b", want: "b"},
		"pods for the named one stay": {named: "b", pods: []*corev1.Pod{pod("p", "b", "n"), pod("q", "b", "")},
			want: "b"},
		"pods for another that stand nowhere go": {named: "b", pods: []*corev1.Pod{pod("p", "a", ""),
			pod("q", "b", "")},
			want: "b", outdated: []string{"p"}},
		"a pod on a node keeps its topology": {named: "b", pods: []*corev1.Pod{pod("p", "a", "n"), pod("q", "a", "")},
			want: "a"},
		"pods for the named one go while another is kept": {
			named: "b", pods: []*corev1.Pod{pod("p", "a", "n"), pod("q", "b", "")}, want: "a", outdated: []string{"q"},
		},
		"a pod on its way out keeps nothing": {named: "b",
			pods: []*corev1.Pod{leaving(pod("p", "a", "n")), pod("q", "a", "")}, want: "b", outdated: []string{"q"}},
		"a pod on its way out is not deleted": {named: "b", pods: []*corev1.Pod{leaving(pod("p", "a", ""))}, want: "b"},
		"a pod that has ended keeps nothing":  {named: "b", pods: []*corev1.Pod{ended(pod("p", "a", "n"))}, want: "b"},
		"of two topologies the one of most pods is kept": {
			named: "c", pods: []*corev1.Pod{pod("p", "b", "n"), pod("q", "b", "n"), pod("r", "a", "n"),
				pod("s", "a", "")},
			want: "b", outdated: []string{"s"},
		},
		"of as many pods the named one counts": {named: "b", pods: []*corev1.Pod{pod("p", "a", "n"),
			pod("q", "b", "n")},
			want: "b"},
		"of as many pods else the first by name": {named: "c", pods: []*corev1.Pod{pod("p", "b", "n"),
			pod("q", "a", "n")},
			want: "a"},
		"pods of which nobody knows have no part": {named: "b", pods: []*corev1.Pod{pod("p", "", "n"),
			pod("q", "", "")},
			want: "b"},
		"pods that say nothing are of their gang's": {named: "b", pods: []*corev1.Pod{pod("p", "", "n"),
			pod("q", "", "")},
			gang: gang("a", "", ""), want: "a"},
		"so they are under an older operator's gang": {
			named: "b", pods: []*corev1.Pod{pod("q", "", "")}, gang: gang("", "", "a"), want: "b",
			outdated: []string{"q"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			gangs := map[string]*schedulerv1alpha1.PodGang{}
			if c.gang != nil {
				gangs["s-0"] = c.gang
			}
			got := topology.DecideChange(c.named, c.pods, gangs)
			var outdated []string
			for _, pod := range got.Outdated {
				outdated = append(outdated, pod.Name)
			}
			assert.Empty(t, cmp.Diff([]any{c.want, c.outdated}, []any{got.Topology, outdated}),
				"topology, outdated (-want +got)")
		})
	}
}

func TestSettled(t *testing.T) {
	for name, c := range map[string]struct {
		decision topology.Change
		gang     *schedulerv1alpha1.PodGang
		want     bool
	}{
		"without gangs and pods there is nothing to do": {decision: topology.Change{Topology: "b"}, want: true},
		"pods have to go": {
			decision: topology.Change{Topology: "b", Outdated: []*corev1.Pod{pod("p", "a", "")}},
			gang:     gang("b", "", "b"),
		},
		"the gang says it": {decision: topology.Change{Topology: "b"}, gang: gang("b", "", "b"),
			want: true},
		"the gang has to turn":            {decision: topology.Change{Topology: "b"}, gang: gang("a", "", "a")},
		"the gang is an older operator's": {decision: topology.Change{Topology: "b"}, gang: gang("", "", "b")},
		"the gang says that it keeps its own": {decision: topology.Change{Topology: "a"}, gang: gang("a", "b", "a"),
			want: true},
		"the gang has not said so yet":     {decision: topology.Change{Topology: "a"}, gang: gang("a", "", "a")},
		"the gang no longer keeps its own": {decision: topology.Change{Topology: "b"}, gang: gang("b", "b", "b")},
	} {
		t.Run(name, func(t *testing.T) {
			gangs := map[string]*schedulerv1alpha1.PodGang{}
			if c.gang != nil {
				gangs["s-0"] = c.gang
			}
			assert.Equal(t, c.want, topology.Settled("b", c.decision, gangs), "Settled")
		})
	}
}

func TestForNewPods(t *testing.T) {
	for name, c := range map[string]struct {
		named string
		gang  *schedulerv1alpha1.PodGang
		want  string
	}{
		"without a gang the named one":                       {named: "b", want: "b"},
		"before the gang has turned the named one":           {named: "b", gang: gang("a", "", "a"), want: "b"},
		"while the gang keeps its own, that one":             {named: "b", gang: gang("a", "b", "a"), want: "a"},
		"what was kept before a further turn does not count": {named: "c", gang: gang("a", "b", "a"), want: "c"},
		"a set without constraints has none":                 {gang: gang("a", "", "a"), want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, topology.ForNewPods(c.named, c.gang), "ForNewPods")
		})
	}
}

func TestMayOpen(t *testing.T) {
	for name, c := range map[string]struct {
		pod   *corev1.Pod
		named string
		gang  *schedulerv1alpha1.PodGang
		want  bool
	}{
		"a set without constraints": {pod: pod("p", "", ""), gang: gang("", "", ""), want: true},
		"pod, set and gang agree": {pod: pod("p", "a", ""), named: "a",
			gang: gang("a", "", "a"), want: true},
		"the gang has not turned yet":      {pod: pod("p", "b", ""), named: "b", gang: gang("a", "", "a")},
		"the pod is to be replaced":        {pod: pod("p", "a", ""), named: "b", gang: gang("b", "", "b")},
		"the gang and the pod are to turn": {pod: pod("p", "a", ""), named: "b", gang: gang("a", "", "a")},
		"the gang keeps its own": {pod: pod("p", "a", ""), named: "b",
			gang: gang("a", "b", "a"), want: true},
		"the gang keeps its own, not the pod's": {pod: pod("p", "b", ""), named: "b", gang: gang("a", "b", "a")},
		"a gang whose constraints were left out": {pod: pod("p", "a", ""), named: "a",
			gang: gang("a", "", ""), want: true},
		"an older operator's gang, a new pod": {pod: pod("p", "a", ""), named: "a", gang: gang("", "", "a")},
		"an older operator's gang and pod":    {pod: pod("p", "", ""), named: "a", gang: gang("", "", "a")},
		"an older operator's pod": {pod: pod("p", "", ""), named: "a",
			gang: gang("a", "", "a"), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, topology.MayOpenGate(c.pod, c.named, c.gang), "MayOpen")
		})
	}
}
