package eligibility_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// onHost has a node bear the name of another host than its own.
func onHost(host string) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Labels[corev1.LabelHostname] = host }
}

// requiring gives a pod required node affinity with several terms, each a list of rules.
func requiring(terms ...[]corev1.NodeSelectorRequirement) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		selector := &corev1.NodeSelector{}
		for _, rules := range terms {
			selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, corev1.NodeSelectorTerm{MatchExpressions: rules})
		}
		pod.Spec.Affinity = &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: selector},
		}
	}
}

func rule(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values}
}

func named(pod *corev1.Pod) {
	pod.Spec.Affinity = &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{
				{MatchFields: []corev1.NodeSelectorRequirement{rule("metadata.name", corev1.NodeSelectorOpIn, "c")}},
			},
		}}}
}

// Of nodes that Only does not name none takes the pod, and where it names few, thousands of nodes need not be looked
// at.
func TestTheNodesThatAPodIsPinnedToAreNamed(t *testing.T) {
	const host, zone = corev1.LabelHostname, corev1.LabelTopologyZone
	in, notIn := corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn
	nodes := []*corev1.Node{node("a"), node("b"), node("c"), node("d", onHost("c")), node("e", tainted)}
	for name, test := range map[string]struct {
		pod *corev1.Pod
		// want is nil where all nodes have to be looked at.
		want []string
	}{
		"a pod that asks for no host": {pod: pod("p")},
		"one that selects its host":   {pod: pod("p", selecting(host, "b")), want: []string{"b"}},
		"a host of two nodes":         {pod: pod("p", selecting(host, "c")), want: []string{"c", "d"}},
		"a host that is not there":    {pod: pod("p", selecting(host, "z")), want: []string{}},
		"a host with a taint":         {pod: pod("p", selecting(host, "e")), want: []string{"e"}},
		"one that selects a zone":     {pod: pod("p", selecting(zone, "z"))},
		"one that requires hosts": {pod: pod("p", requiring([]corev1.NodeSelectorRequirement{rule(host, in, "a", "b")})),
			want: []string{"a", "b"}},
		"hosts, each with something else": {
			pod: pod("p", requiring(
				[]corev1.NodeSelectorRequirement{rule(zone, in, "z"), rule(host, in, "a")},
				[]corev1.NodeSelectorRequirement{rule(host, in, "b")},
			)),
			want: []string{"a", "b"},
		},
		"a host or a zone": {
			pod: pod("p", requiring([]corev1.NodeSelectorRequirement{rule(host, in, "a")},
				[]corev1.NodeSelectorRequirement{rule(zone, in, "z")})),
		},
		"any host but one":   {pod: pod("p", requiring([]corev1.NodeSelectorRequirement{rule(host, notIn, "a")}))},
		"a node by its name": {pod: pod("p", named), want: []string{"c"}},
		"a host, and another one": {
			pod:  pod("p", selecting(host, "a"), requiring([]corev1.NodeSelectorRequirement{rule(host, in, "b")})),
			want: []string{"a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			shape, err := try(t, nodes).Shape(t.Context(), test.pod)
			require.NoError(t, err)
			slices.Sort(shape.Only)
			assert.Empty(t, cmp.Diff(test.want, shape.Only), "nodes that may take the pod (-want +got)")
			for _, node := range nodes {
				if test.want != nil && !slices.Contains(shape.Only, node.Name) && shape.Excluded(node.Name) == "" {
					t.Errorf("%s takes the pod and is not named", node.Name)
				}
			}
		})
	}
}

func TestPodsThatDifferInTheirRequestsAloneShareAFilter(t *testing.T) {
	trial := try(t, []*corev1.Node{node("n")}, pod("other", on("n"), apart))
	filter := func(pod *corev1.Pod) string {
		t.Helper()
		shape, err := trial.Shape(t.Context(), pod)
		require.NoError(t, err)
		return shape.Filter
	}
	stranger := func(pod *corev1.Pod) { pod.Labels = nil }
	if one, other := filter(pod("p", stranger)), filter(pod("q", stranger, big)); one == "" || one != other {
		t.Errorf("the filters are %q and %q", one, other)
	}
	one, other := filter(pod("p", stranger)), filter(pod("q", stranger, selecting("a", "b")))
	assert.NotEqual(t, other, one, "pods that select other nodes share a filter")
	// What other pods have to say may change although no node does.
	assert.Empty(t, filter(pod("p", apart)), "a pod with rules about others has a filter")
}
