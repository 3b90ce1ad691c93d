package placement_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"packtree.dev/e2e/examples"
	"packtree.dev/e2e/placement"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"
)

// claimLines are the claims of an example, as "group: level of pods".
func claimLines(workload placement.Workload) []string {
	var lines []string
	for _, claim := range workload.Claims {
		wish := "one "
		switch {
		case claim.Items != nil:
			wish = fmt.Sprintf("at most %d per ", claim.Most)
		case claim.Preferred:
			wish = "few "
		}
		lines = append(lines, claim.Group+": "+wish+claim.Level.Called)
	}
	return lines
}

func TestRead(t *testing.T) {
	type read struct {
		Pods   int
		Claims []string
	}
	for name, want := range map[string]read{
		"dgd-zone":  {Pods: 5, Claims: []string{": one zone"}},
		"dgd-block": {Pods: 11, Claims: []string{": one zone", "Decode 0: one block", "Decode 1: one block"}},
		"dgd-rack":  {Pods: 13, Claims: []string{"Decode 0: one rack", "Decode 1: one rack", "Prefill 0: one rack"}},
		"dgd-side-by-side": {Pods: 13, Claims: []string{
			"pair 0: one rack", "pair 1: one rack", "pair 2: one rack", "pair: at most 1 per rack",
		}},
		"job-topology-aware": {Pods: 8, Claims: []string{
			": one topology.kubernetes.io/zone", ": few topology.packtree.dev/rack",
		}},
		"podgroup-sample2": {Pods: 9, Claims: []string{
			": one topology/zone", "workers: one topology/block", "prefill: one topology/rack",
			"decode: one topology/rack",
		}},
		"podcliqueset-hierarchical-inference": {Pods: 36, Claims: []string{
			"replica 0: one zone",
			"replica 0 prefill 0: one block", "replica 0 prefill 0 p-leader: one host",
			"replica 0 prefill 1: one block", "replica 0 prefill 1 p-leader: one host",
			"replica 0 prefill 2: one block", "replica 0 prefill 2 p-leader: one host",
			"replica 1: one zone",
			"replica 1 prefill 0: one block", "replica 1 prefill 0 p-leader: one host",
			"replica 1 prefill 1: one block", "replica 1 prefill 1 p-leader: one host",
			"replica 1 prefill 2: one block", "replica 1 prefill 2 p-leader: one host",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			workload := readExample(t, name)
			got := read{Pods: workload.Pods, Claims: claimLines(workload)}
			assert.Empty(t, cmp.Diff(want, got), "claims (-want +got)")
		})
	}
}

// The pods of a copy are held together; those of services without a group by themselves.
func TestReadComponentGroups(t *testing.T) {
	deployment := &unstructured.Unstructured{}
	require.NoError(t,
		yaml.Unmarshal([]byte(`
kind: DynamoGraphDeployment
metadata: {name: d, namespace: ns}
spec:
  topologyConstraint: {clusterTopologyName: t, packDomain: zone}
  components: [{name: F}, {name: P, replicas: 2}, {name: D, multinode: {nodeCount: 3}}]
  experimental:
    componentGroups: [{name: Serve, replicas: 2, topologyConstraint: {packDomain: rack}, components: [{name: P}, {name: D}]}]
`), deployment))
	topologies := placement.Topologies{"t": {Keys: []string{"zone", "rack"}, Domains: []string{"zone", "rack"}}}
	workload, _, err := placement.Read(deployment, topologies)
	if err != nil || workload.Pods != 11 {
		t.Errorf("%d pods, want 1 and twice 5 (%v)", workload.Pods, err)
	}
	assert.Empty(t, cmp.Diff([]string{": one zone", "Serve 0: one rack", "Serve 1: one rack"},
		claimLines(workload)), "claims (-want +got)")
	member := pod("p", "a1", map[string]string{
		grovev1alpha1.LabelPodCliqueScalingGroup:             "d-0-serve",
		grovev1alpha1.LabelPodCliqueScalingGroupReplicaIndex: "1",
	})
	member.Namespace = "ns"
	if last := workload.Claims[2]; last.Pods != 5 || !last.Selects(&member) || workload.Claims[1].Selects(&member) {
		t.Errorf("%d pods in a copy", last.Pods)
	}
}

func TestJudge(t *testing.T) {
	nodes := []corev1.Node{
		node("a1", map[string]string{"zone": "a", "rack": "1"}),
		node("a2", map[string]string{"zone": "a", "rack": "1"}),
		node("b1", map[string]string{"zone": "b", "rack": "1"}),
		node("a-rackless", map[string]string{"zone": "a"}),
		node("rack-without-zone", map[string]string{"rack": "1"}),
	}
	type verdict struct {
		Held    bool
		Domains []string
		Outside int
	}
	for name, test := range map[string]struct {
		on        []string
		preferred bool
		want      verdict
	}{
		"pods in one rack hold": {on: []string{"a1", "a2"},
			want: verdict{Held: true, Domains: []string{"a/1"}}},
		"two racks of one name in two zones are two": {on: []string{"a1", "b1"},
			want: verdict{Domains: []string{"a/1", "b/1"}}},
		"a node without the level's label is in no domain": {on: []string{"a1", "a-rackless"},
			want: verdict{Domains: []string{"a/1"}, Outside: 1}},
		"a node without the label of a level above is in no domain": {on: []string{"rack-without-zone",
			"rack-without-zone"},
			want: verdict{Outside: 2}},
		"a pod that is not bound breaks the claim": {on: []string{"a1", ""}, want: verdict{Domains: []string{"a/1"}}},
		"a pod too few breaks the claim":           {on: []string{"a1"}, want: verdict{Domains: []string{"a/1"}}},
		"a preferred level may be spread": {on: []string{"a1", "b1"}, preferred: true,
			want: verdict{Held: true, Domains: []string{"a/1", "b/1"}}},
		"a preferred level still wants every pod bound": {on: []string{"a1", ""}, preferred: true,
			want: verdict{Domains: []string{"a/1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			workload := placement.Workload{Claims: []placement.Claim{{
				Level:     placement.Level{Called: "rack", Path: []string{"zone", "rack"}},
				Preferred: test.preferred, Pods: 2,
				Selects: func(pod *corev1.Pod) bool { return pod.Labels["mine"] == "yes" },
			}}}
			pods := []corev1.Pod{pod("foreign", "b1", map[string]string{"mine": "no"})}
			for i, on := range test.on {
				pods = append(pods, pod("mine-"+string(rune('a'+i)), on, map[string]string{"mine": "yes"}))
			}
			finding := workload.Judge(pods, nodes)[0]
			got := verdict{Held: finding.Held(), Domains: finding.Domains, Outside: len(finding.Outside)}
			assert.Empty(t, cmp.Diff(test.want, got), "%s\nverdict (-want +got)", finding)
		})
	}
}

// Two copies of a group of two services, by the nodes of the pods of each copy.
func TestJudgeCopiesApart(t *testing.T) {
	nodes := []corev1.Node{
		node("a", map[string]string{"zone": "z", "rack": "a"}), node("b", map[string]string{"zone": "z", "rack": "b"}),
		node("nowhere", map[string]string{"zone": "z"}),
	}
	topologies := placement.Topologies{
		placement.DefaultTopology: {Keys: []string{"zone", "rack"}, Domains: []string{"zone", "rack"}},
	}
	for name, c := range map[string]struct {
		first, second string
		most          int
		crowded       []string
		held          bool
	}{
		"one in each":                         {first: "a a", second: "b b", most: 1, held: true},
		"both in one":                         {first: "a a", second: "a a", most: 1, crowded: []string{"z/a"}},
		"both in one, which may have two":     {first: "a a", second: "a a", most: 2, held: true},
		"one that spans two racks is in both": {first: "a b", second: "b b", most: 1, crowded: []string{"z/b"}},
		"one in no rack":                      {first: "a a", second: "b nowhere", most: 1},
		"one that is not bound":               {first: "a a", second: "b", most: 1},
	} {
		t.Run(name, func(t *testing.T) {
			deployment := &unstructured.Unstructured{}
			require.NoError(t, yaml.Unmarshal(fmt.Appendf(nil, `
kind: DynamoGraphDeployment
metadata: {name: x, namespace: ns}
spec:
  components: [{name: F}, {name: P}, {name: D}]
  experimental: {componentGroups: [{name: Pair, replicas: 2, components: [{name: P}, {name: D}],
    topologySpread: [{domain: rack, maxPerDomain: %d}]}]}
`, c.most), deployment))
			workload, _, err := placement.Read(deployment, topologies)
			require.NoError(t, err)
			var pods []corev1.Pod
			for index, on := range map[string]string{"0": c.first, "1": c.second} {
				for i, name := range strings.Fields(on) {
					made := pod(fmt.Sprintf("%s-%d", index, i), name, map[string]string{
						grovev1alpha1.LabelPodCliqueScalingGroup:             "x-0-pair",
						grovev1alpha1.LabelPodCliqueScalingGroupReplicaIndex: index,
					})
					made.Namespace = "ns"
					pods = append(pods, made)
				}
			}
			findings := workload.Judge(pods, nodes)
			if len(findings) != 1 {
				t.Fatalf("%d findings", len(findings))
			}
			if diff := cmp.Diff(c.crowded, findings[0].Crowded); diff != "" || findings[0].Held() != c.held {
				t.Errorf("%s\nheld %v, crowded (-want +got):\n%s", findings[0], findings[0].Held(), diff)
			}
		})
	}
}

// The claims of a real set must select the pods that the operator labels, and no others.
func TestClaimsSelectTheGroupsPods(t *testing.T) {
	workload := readExample(t, "podcliqueset-disaggregated-inference")
	labels := map[string]string{
		grovev1alpha1.LabelPartOf:                            "disaggregated-inference",
		grovev1alpha1.LabelPodCliqueSetReplicaIndex:          "0",
		grovev1alpha1.LabelPodCliqueScalingGroup:             "disaggregated-inference-0-decode",
		grovev1alpha1.LabelPodCliqueScalingGroupReplicaIndex: "1",
		grovev1alpha1.LabelPodClique:                         "disaggregated-inference-0-decode-1-d-worker",
		grovev1alpha1.LabelBasePodGang:                       "disaggregated-inference-0",
	}
	scaled := pod("scaled", "n", labels)
	scaled.Namespace = "default"
	var selecting []string
	for _, claim := range workload.Claims {
		if claim.Selects(&scaled) {
			selecting = append(selecting, claim.Group)
		}
	}
	want := []string{"replica 0", "replica 0 decode 1", "replica 0 decode 1 d-worker"}
	assert.Empty(t, cmp.Diff(want, selecting), "claims on a pod of a scaled gang (-want +got)")
}

func node(name string, labels map[string]string) corev1.Node {
	return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func pod(name, on string, labels map[string]string) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: corev1.PodSpec{NodeName: on}}
}

// readExample reads the last workload of an example with the topologies that the examples bring.
func readExample(t *testing.T, name string) placement.Workload {
	t.Helper()
	directory, err := examples.Directory()
	require.NoError(t, err)
	defaultTopology, err := examples.Objects(filepath.Join(directory, examples.DefaultTopology), "")
	require.NoError(t, err)
	objects, err := examples.Objects(filepath.Join(directory, name+".yaml"), "default")
	require.NoError(t, err)
	topologies, found := placement.Topologies{}, placement.Workload{}
	for _, object := range append(defaultTopology, objects...) {
		switch object.GetKind() {
		case "ClusterTopology":
			var topology grovev1alpha1.ClusterTopology
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &topology))
			topologies.AddClusterTopology(&topology)
		case "Topology":
			var topology kaiv1alpha1.Topology
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &topology))
			topologies.AddTopology(&topology)
		}
		workload, is, err := placement.Read(object, topologies)
		require.NoError(t, err)
		if is {
			found = workload
		}
	}
	return found
}
