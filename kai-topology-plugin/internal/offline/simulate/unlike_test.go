package simulate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/offline/simulate"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// unlike is a line with manifests: a gang of groups with pods that request different numbers of devices. Groups may
// have more pods than they need, and need a domain of their own inside the domain of the gang.
func unlike(t *rapid.T, at float64, name string) string {
	within := func(levels ...string) *scheduling.TopologyConstraint {
		level := rapid.SampledFrom(levels).Draw(t, "level")
		if level == "" {
			return nil
		}
		return &scheduling.TopologyConstraint{Topology: "net", RequiredTopologyLevel: level}
	}
	podGroup := &scheduling.PodGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: scheduling.GroupVersion.String(), Kind: "PodGroup"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}
	podGroup.Spec.TopologyConstraint = within("", "l/zone", "l/rack")
	var pods []*corev1.Pod
	for leaf := range rapid.IntRange(1, 3).Draw(t, "groups") {
		group, devices := fmt.Sprint("group-", leaf), rapid.IntRange(1, 8).Draw(t, "devices")
		least := rapid.IntRange(1, 3).Draw(t, "needs")
		podGroup.Spec.SubGroups = append(podGroup.Spec.SubGroups, scheduling.SubGroup{
			Name: group, MinMember: ptr.To(int32(least)), TopologyConstraint: within("", "l/rack"),
		})
		for i := range least + rapid.IntRange(0, 2).Draw(t, "more") {
			amount := corev1.ResourceList{"example.com/gpu": *resource.NewQuantity(int64(devices), resource.DecimalSI)}
			pods = append(pods, &corev1.Pod{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
				ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprintf("%s-%s-%d", name, group, i), Labels: map[string]string{kai.LabelSubGroupName: group},
				},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "c", Image: "c", Resources: corev1.ResourceRequirements{Requests: amount, Limits: amount},
				}}},
			})
		}
	}
	line, err := json.Marshal(map[string]any{
		"at": at, "name": name, "duration": rapid.IntRange(1, 20).Draw(t, "duration"), "podGroup": podGroup, "pods": pods,
	})
	require.NoError(t, err)
	return string(line) + "\n"
}

// Whatever gangs are like, at each moment a gang stands with all that it needs or not at all, each group in one domain
// where it has to, no node has given more devices than it has, and the result says what is in use.
func TestGangsStandWholeAndWhereTheyMust(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		lines, until := drawn(r), 100.0
		settled := "---\n" + `{apiVersion: v1, kind: Pod, metadata: {name: settled}, spec: {nodeName: r0-n1, ` +
			`containers: [{name: c, image: c, resources: {requests: {example.com/gpu: "3"}, limits: {example.com/gpu: "3"}}}]}}` + "\n"
		on := cluster(t, 3, 2, settled)
		stream, err := simulate.Read("jobs", strings.NewReader(lines), on)
		require.NoError(r, err)
		used := map[float64]float64{}
		result, err := simulate.Watch(t.Context(), on, stream, until, func(at float64, seen *inventory.Inventory) {
			require.Empty(r, misplaced(seen), "second %v\n%s", at, lines)
			used[at] = inUse(seen)
		})
		require.NoError(r, err)
		for _, sample := range result.Series {
			if want, seen := used[sample.At]; seen && sample.Used["example.com/gpu"] != want {
				r.Fatalf("second %v: %v is said to be in use, %v is\n%s", sample.At, sample.Used, want, lines)
			}
		}
		for _, gang := range result.Gangs {
			require.False(r, gang.State != simulate.Running && gang.State != simulate.Ended && len(gang.Nodes) > 0,
				"gang %s is %s and has pods on nodes", gang.Name, gang.State)
			for level, count := range gang.Domains {
				if len(gang.Nodes) > 0 && count < gang.LeastDomains[level] {
					r.Fatalf("gang %s stands in %d domains of %s, and at least %d are needed",
						gang.Name, count, level, gang.LeastDomains[level])
				}
			}
		}
	})
}

// inUse adds up the devices that pods on nodes have.
func inUse(seen *inventory.Inventory) (total float64) {
	for _, pod := range seen.Pods {
		if pod.Spec.NodeName != "" {
			amount := pod.Spec.Containers[0].Resources.Requests["example.com/gpu"]
			total += amount.AsApproximateFloat64()
		}
	}
	return total
}

// misplaced returns what is wrong with where pods stand; empty if nothing is. It reads manifests and nothing else.
func misplaced(seen *inventory.Inventory) string {
	nodes, used := map[string]*corev1.Node{}, map[string]int64{}
	for _, node := range seen.Nodes {
		nodes[node.Name] = node
	}
	standing := map[string]map[string][]*corev1.Node{}
	for _, pod := range seen.Pods {
		at := pod.Spec.NodeName
		if at == "" {
			continue
		}
		if nodes[at] == nil {
			return fmt.Sprintf("pod %s stands on node %s, which is down", pod.Name, at)
		}
		amount := pod.Spec.Containers[0].Resources.Requests["example.com/gpu"]
		if used[at] += amount.Value(); used[at] > 8 {
			return fmt.Sprintf("node %s has given %d devices", at, used[at])
		}
		gang := pod.Annotations[scheduling.AnnotationPodGroupName]
		if standing[gang] == nil {
			standing[gang] = map[string][]*corev1.Node{}
		}
		group := pod.Labels[kai.LabelSubGroupName]
		standing[gang][group] = append(standing[gang][group], nodes[at])
	}
	for _, podGroup := range seen.PodGroups {
		groups := standing[podGroup.Name]
		if groups == nil {
			continue
		}
		var all []*corev1.Node
		for _, at := range groups {
			all = append(all, at...)
		}
		if scattered(all, podGroup.Spec.TopologyConstraint) {
			return fmt.Sprintf("gang %s stands in several domains", podGroup.Name)
		}
		if len(all) < int(ptr.Deref(podGroup.Spec.MinMember, 0)) {
			return fmt.Sprintf("gang %s stands with %d pods", podGroup.Name, len(all))
		}
		for _, group := range podGroup.Spec.SubGroups {
			at := groups[group.Name]
			if len(at) < int(*group.MinMember) || scattered(at, group.TopologyConstraint) {
				return fmt.Sprintf("group %s of gang %s stands with %d of %d pods, or in several domains",
					group.Name, podGroup.Name, len(at), *group.MinMember)
			}
		}
	}
	return ""
}

// scattered reports whether nodes are in several domains of the level that a constraint requires.
func scattered(nodes []*corev1.Node, constraint *scheduling.TopologyConstraint) bool {
	if constraint == nil || constraint.RequiredTopologyLevel == "" {
		return false
	}
	domains := map[string]bool{}
	for _, node := range nodes {
		domains[node.Labels[constraint.RequiredTopologyLevel]] = true
	}
	return len(domains) > 1
}

// The judge of where gangs stand notices each way to be wrong.
func TestMisplacedPodsAreNoticed(t *testing.T) {
	const racks = 2
	at := func(name, gang, group, node string, devices int) string {
		return fmt.Sprintf("---\n{apiVersion: v1, kind: Pod, metadata: {name: %s, annotations: {pod-group-name: %s}, labels: {kai.scheduler/subgroup-name: %q}}, "+
			"spec: {nodeName: %s, containers: [{name: c, image: c, resources: {limits: {example.com/gpu: %d}}}]}}\n", name, gang, group, node, devices)
	}
	const flat = "---\n{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: g}, spec: {minMember: 2, " +
		"topologyConstraint: {topology: net, requiredTopologyLevel: l/rack}}}\n"
	const grouped = "---\n{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: g}, spec: {subGroups: [" +
		"{name: a, minMember: 2, topologyConstraint: {topology: net, requiredTopologyLevel: l/rack}}, {name: b, minMember: 1}]}}\n"
	for name, test := range map[string]struct {
		objects []string
		wrong   bool
	}{
		"nobody stands":           {[]string{flat}, false},
		"whole in one rack":       {[]string{flat, at("p", "g", "", "r0-n0", 4), at("q", "g", "", "r0-n1", 4)}, false},
		"in two racks":            {[]string{flat, at("p", "g", "", "r0-n0", 4), at("q", "g", "", "r1-n1", 4)}, true},
		"one of two":              {[]string{flat, at("p", "g", "", "r0-n0", 4)}, true},
		"more than a node has":    {[]string{flat, at("p", "g", "", "r0-n0", 5), at("q", "g", "", "r0-n0", 4)}, true},
		"groups apart":            {[]string{grouped, at("p", "g", "a", "r0-n0", 4), at("q", "g", "a", "r0-n1", 4), at("s", "g", "b", "r1-n0", 4)}, false},
		"a group in two racks":    {[]string{grouped, at("p", "g", "a", "r0-n0", 4), at("q", "g", "a", "r1-n1", 4), at("s", "g", "b", "r1-n0", 4)}, true},
		"a group without its pod": {[]string{grouped, at("p", "g", "a", "r0-n0", 4), at("q", "g", "a", "r0-n1", 4)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			said := misplaced(cluster(t, racks, 2, test.objects...))
			assert.Equal(t, test.wrong, said != "", "said %q", said)
		})
	}
}
