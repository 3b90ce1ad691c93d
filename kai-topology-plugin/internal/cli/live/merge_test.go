package live_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/cli/live"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// made is the metadata of an object of a version, which its label tells: that of the cluster, or that which is applied.
func made(name, version string, seconds int64) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "ns", Name: name, Labels: map[string]string{"version": version},
		CreationTimestamp: metav1.Unix(seconds, 0),
	}
}

func podOf(gang, name, version string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: made(name, version, 5)}
	if gang != "" {
		pod.Annotations = map[string]string{scheduling.AnnotationPodGroupName: gang}
	}
	return pod
}

func told[T metav1.Object](objects []T) (all []string) {
	for _, object := range objects {
		age := object.GetCreationTimestamp().Sub(time.Unix(0, 0)) / time.Second
		all = append(all, fmt.Sprint(object.GetName(), " ", object.GetLabels()["version"], " ", int(age)))
	}
	return all
}

func TestWhatIsAppliedReplacesWhatThereIs(t *testing.T) {
	present := &live.Cluster{Inventory: inventory.New()}
	present.Nodes = []*corev1.Node{{ObjectMeta: made("a", "live", 1)}, {ObjectMeta: made("b", "live", 2)}}
	present.PodGroups = []*scheduling.PodGroup{
		{ObjectMeta: made("old", "live", 3)}, {ObjectMeta: made("both", "live", 4)},
	}
	present.Pods = []*corev1.Pod{
		podOf("both", "both-x", "live"), podOf("old", "old-0", "live"),
		podOf("", "alone", "live"), podOf("", "stays", "live"),
	}
	present.Topologies = map[string]*kai.Topology{"t": {ObjectMeta: made("t", "live", 1)}, "u": {}}
	asked := inventory.New()
	present.Zones.Set(&zones.Node{Name: "a", Policy: "restricted"})
	present.Zones.Set(&zones.Node{Name: "b", Policy: "none"})
	asked.Zones.Set(&zones.Node{Name: "a", Policy: "none"})
	asked.Zones.Set(&zones.Node{Name: "c", Policy: "restricted"})
	asked.Nodes = []*corev1.Node{{ObjectMeta: made("c", "new", 9)}, {ObjectMeta: made("a", "new", 9)}}
	asked.PodGroups = []*scheduling.PodGroup{
		{ObjectMeta: made("both", "new", 9)}, {ObjectMeta: made("none", "new", 9)},
	}
	asked.Pods = []*corev1.Pod{podOf("both", "both-0", "new"), podOf("", "alone", "new")}
	asked.Topologies = map[string]*kai.Topology{"t": {ObjectMeta: made("t", "new", 1)}}
	merged := present.Merge(asked)
	for name, test := range map[string]struct{ got, want []string }{
		"nodes":                {told(merged.Nodes), []string{"a new 1", "b live 2", "c new 9"}},
		"PodGroups":            {told(merged.PodGroups), []string{"old live 3", "both new 4", "none new 9"}},
		"pods":                 {told(merged.Pods), []string{"old-0 live 5", "alone new 5", "stays live 5", "both-0 new 5"}},
		"the Topology":         {told([]*kai.Topology{merged.Topologies["t"]}), []string{"t new 1"}},
		"nodes of the cluster": {told(present.Nodes), []string{"a live 1", "b live 2"}},
	} {
		assert.Empty(t, cmp.Diff(test.want, test.got), "%s (-want +got)", name)
	}
	var policies []string
	for _, node := range merged.Zones.Nodes() {
		policies = append(policies, fmt.Sprint(node.Name, " ", node.Policy))
	}
	assert.Empty(t, cmp.Diff([]string{"a none", "b none", "c restricted"}, policies), "zones (-want +got)")
	require.Len(t, merged.Topologies, 2)
	assert.Len(t, present.Pods, 4)
}

func TestPodsGetThePriorityOfTheirClass(t *testing.T) {
	class := func(name string, value int32, byDefault bool) *schedulingv1.PriorityClass {
		return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, GlobalDefault: byDefault}
	}
	type classes = []*schedulingv1.PriorityClass
	set := int32(7)
	for name, test := range map[string]struct {
		classes classes
		named   string
		set     *int32
		want    string
		missing bool
	}{
		"that which it names": {
			classes: classes{class("a", 2, false), class("b", 3, true)}, named: "a", want: "2",
		},
		"the default one":                    {classes: classes{class("a", 2, false), class("b", 3, true)}, want: "3"},
		"of default ones the lowest, before": {classes: classes{class("a", 2, true), class("b", 3, true)}, want: "2"},
		"of default ones the lowest, after":  {classes: classes{class("a", 3, true), class("b", 2, true)}, want: "2"},
		"that which it has":                  {classes: classes{class("a", 2, true)}, set: &set, named: "none", want: "7"},
		"none, if there is no default":       {classes: classes{class("a", 2, false)}, want: "none"},
		"none, if it names one that is not": {
			classes: classes{class("a", 2, true)}, named: "none", want: "none", missing: true,
		},
	} {
		present, asked := &live.Cluster{Inventory: inventory.New(), Priorities: test.classes}, inventory.New()
		pod := podOf("", "p", "new")
		pod.Spec.PriorityClassName, pod.Spec.Priority = test.named, test.set
		asked.Pods = []*corev1.Pod{pod}
		missing := present.MissingPriorities(asked.Pods)
		present.Merge(asked)
		got := "none"
		if pod.Spec.Priority != nil {
			got = fmt.Sprint(*pod.Spec.Priority)
		}
		assert.Equal(t, test.want, got, "%s: priority", name)
		assert.Equal(t, test.missing, slices.Equal(missing, []string{test.named}), "%s: missing are %v", name, missing)
		assert.LessOrEqual(t, len(missing), 1, "%s: missing are %v", name, missing)
	}
}
