package nativegroups_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"packtree.dev/kai-topology-plugin/internal/model/nativegroups"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// group reads a group of namespace ns from what follows its apiVersion.
func group(t *testing.T, kind, version, rest string) *nativegroups.Group {
	t.Helper()
	object := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte("{kind: "+kind+", apiVersion: scheduling.k8s.io/"+version+", "+rest+"}"),
		&object.Object))
	object.SetNamespace("ns")
	object.SetGeneration(2)
	read, err := nativegroups.Read(object)
	require.NoError(t, err)
	return read
}

func member(group string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}
	pod.Labels = map[string]string{kai.LabelSubGroupName: "of the user", "a": "b"}
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	return pod
}

const above = "parentCompositePodGroupName: serve, "

// serve are the groups of a tree, the leaves first.
func serve(t *testing.T) []*nativegroups.Group {
	t.Helper()
	return []*nativegroups.Group{
		group(t, "PodGroup", "v1beta1", `metadata: {name: prefill, annotations: {
			kai.scheduler/topology-preferred-placement: rack}},
			spec: {`+above+`schedulingPolicy: {gang: {minCount: 3}}}`),
		group(t, "PodGroup", "v1beta1", `metadata: {name: decode},
			spec: {parentCompositePodGroupName: inner, schedulingPolicy: {basic: {}},
			schedulingConstraints: {topology: [{key: rack}]}}`),
		group(t, "CompositePodGroup", "v1alpha3", `metadata: {name: inner}, spec: {`+above+`schedulingPolicy: {basic: {}}}`),
		group(t, "CompositePodGroup", "v1alpha3", `metadata: {name: serve, uid: u},
			spec: {priorityClassName: high, schedulingPolicy: {gang: {minGroupCount: 2}},
			schedulingConstraints: {topology: [{key: zone}]}}`),
	}
}

func topologies(key string) []string {
	return map[string][]string{"rack": {"net"}, "zone": {"net"}, "host": {"net", "other"}}[key]
}

func TestATreeIsOnePodGroup(t *testing.T) {
	forest := &nativegroups.Forest{}
	for _, one := range serve(t) {
		forest.Set(one)
	}
	roots := forest.Roots()
	require.Len(t, roots, 1)
	gang := forest.Gang(roots[0], topologies)
	if gang.Name != "compositepodgroup.scheduling.k8s.io/serve" || gang.Generation != 8 || gang.UID != "u" {
		t.Errorf("it is %s of generation %d, UID %s", gang.Name, gang.Generation, gang.UID)
	}
	want := scheduling.PodGroupSpec{
		PriorityClassName: "high", SchedulingBackoff: new(scheduling.NoSchedulingBackoff), MinSubGroup: new(int32(2)),
		TopologyConstraint: &scheduling.TopologyConstraint{Topology: "net", RequiredTopologyLevel: "zone"},
		SubGroups: []scheduling.SubGroup{
			{Name: "composite_inner", MinSubGroup: new(int32(1))},
			{Name: "decode", Parent: new("composite_inner"), MinMember: new(int32(1)),
				TopologyConstraint: &scheduling.TopologyConstraint{Topology: "net", RequiredTopologyLevel: "rack"}},
			{Name: "prefill", MinMember: new(int32(3)),
				TopologyConstraint: &scheduling.TopologyConstraint{Topology: "net", PreferredTopologyLevel: "rack"}},
		},
	}
	assert.Empty(t, cmp.Diff(want, gang.Spec), "spec (-want +got)")
}

func TestAPodIsAMemberOfTheOutermostGroup(t *testing.T) {
	forest := &nativegroups.Forest{}
	said := func(group string) string {
		pod := member(group)
		joined := forest.Join(pod)
		if pod.Annotations != nil || pod.Labels[kai.LabelSubGroupName] != "of the user" || joined.Labels["a"] != "b" {
			t.Error("the pod itself is changed, or its labels are lost")
		}
		return strings.TrimSuffix(joined.Annotations[scheduling.AnnotationPodGroupName]+" "+
			joined.Labels[kai.LabelSubGroupName], " ")
	}
	got := []string{said("decode")}
	groups := serve(t)
	for _, one := range groups {
		forest.Set(one)
		got = append(got, said("decode"))
	}
	want := []string{
		"podgroup.scheduling.k8s.io/decode", "podgroup.scheduling.k8s.io/decode",
		"compositepodgroup.scheduling.k8s.io/inner decode", "compositepodgroup.scheduling.k8s.io/serve decode",
		"compositepodgroup.scheduling.k8s.io/serve decode",
	}
	assert.Empty(t, cmp.Diff(want, got), "as groups become known (-want +got)")
	plain := &corev1.Pod{}
	assert.Same(t, plain, forest.Join(plain), "a pod without a group is changed")
	for _, one := range groups {
		forest.Remove(one.Ref())
	}
	assert.Equal(t, want[0], said("decode"))
	assert.Empty(t, forest.Roots())
}

func TestGroupsAboveEachOtherHaveNoGang(t *testing.T) {
	forest := &nativegroups.Forest{}
	forest.Set(group(t, "CompositePodGroup", "v1alpha3", "metadata: {name: a}, spec: {parentCompositePodGroupName: b}"))
	forest.Set(group(t, "CompositePodGroup", "v1alpha3", "metadata: {name: b}, spec: {parentCompositePodGroupName: a}"))
	root := forest.Root(nativegroups.Ref{Kind: "CompositePodGroup", Namespace: "ns", Name: "a"})
	assert.Nil(t, forest.Gang(root, topologies))
	assert.Empty(t, forest.Roots())
}

func TestLongNamesAreToldApart(t *testing.T) {
	forest := &nativegroups.Forest{}
	forest.Set(group(t, "CompositePodGroup", "v1alpha3", "metadata: {name: serve}, spec: {}"))
	long := strings.Repeat("x", 100)
	for _, name := range []string{long + "1", long + "2"} {
		forest.Set(group(t, "PodGroup", "v1beta1", "metadata: {name: "+name+"}, spec: {"+above+"}"))
	}
	subs := forest.Gang(forest.Roots()[0], topologies).Spec.SubGroups
	if len(subs[0].Name) != 63 || subs[0].Name == subs[1].Name ||
		forest.Join(member(long + "1")).Labels[kai.LabelSubGroupName] != subs[0].Name {
		t.Errorf("groups %q and %q", subs[0].Name, subs[1].Name)
	}
}

func TestTheTopologyOfAKey(t *testing.T) {
	for name, c := range map[string]struct {
		annotations, key, want string
	}{
		"that of the only one with the level": {"", "rack", "net rack "},
		"none of several":                     {"", "host", " host "},
		"none":                                {"", "nothing", " nothing "},
		"the one that is named":               {"kai.scheduler/topology: other", "host", "other host "},
		"of a preferred level alone":          {"kai.scheduler/topology-preferred-placement: rack", "", "net  rack"},
	} {
		t.Run(name, func(t *testing.T) {
			keys := ""
			if c.key != "" {
				keys = "schedulingConstraints: {topology: [{key: " + c.key + "}]}"
			}
			forest := &nativegroups.Forest{}
			forest.Set(group(t, "PodGroup", "v1alpha2",
				"metadata: {name: g, annotations: {"+c.annotations+"}}, spec: {"+keys+"}"))
			got := forest.Gang(forest.Roots()[0], topologies).Spec.TopologyConstraint
			assert.Equal(t, c.want, got.Topology+" "+got.RequiredTopologyLevel+" "+got.PreferredTopologyLevel)
		})
	}
}

func TestWhatTheStatusSaysIsReadBack(t *testing.T) {
	for name, c := range map[string]struct {
		version, kind, present string
		desired                metav1.Condition
		want, read             string
	}{
		"placed": {"v1alpha2", "PodGroup", "", metav1.Condition{Status: "True", Reason: "Placed", Message: "m"},
			"PodGroupScheduled True Scheduled m 2", "True Placed m 2"},
		"refused": {"v1beta1", "PodGroup", "", metav1.Condition{Status: "False", Reason: "Infeasible", Message: "a: b"},
			"PodGroupInitiallyScheduled False Unschedulable Infeasible: a: b 2", "False Infeasible a: b 2"},
		"a tree": {"v1alpha3", "CompositePodGroup", "", metav1.Condition{Status: "True", Reason: "Placed"},
			"CompositePodGroupInitiallyScheduled True Scheduled  2", "True Placed  2"},
		"not tried yet": {"v1alpha2", "PodGroup", "",
			metav1.Condition{Status: "False", Reason: "Incomplete", Message: "m"}, "", ""},
		"tried, and waiting again": {"v1alpha2", "PodGroup", "{type: PodGroupScheduled, status: 'False'}",
			metav1.Condition{Status: "False", Reason: "Waiting", Message: "m"},
			"PodGroupScheduled False Unschedulable Waiting: m 2", "False Waiting m 2"},
		"lost": {"v1beta1", "PodGroup", "{type: PodGroupInitiallyScheduled, status: 'True'}",
			metav1.Condition{Status: "False", Reason: "BelowMinimum", Message: "m"}, "", ""},
		"said by another scheduler": {"v1alpha2", "PodGroup",
			"{type: PodGroupScheduled, status: 'False', reason: Unschedulable, message: 0/3 nodes}",
			metav1.Condition{Status: "True", Reason: "Placed"}, "PodGroupScheduled True Scheduled  2", "True Placed  2"},
	} {
		t.Run(name, func(t *testing.T) {
			with := func(conditions string) *nativegroups.Group {
				return group(t, c.kind, c.version, "metadata: {name: g}, status: {conditions: ["+conditions+"]}")
			}
			c.desired.Type, c.desired.ObservedGeneration = scheduling.ConditionScheduled, 2
			written := with(c.present).Condition(c.desired)
			require.Equal(t, c.want == "", written == nil, "written is %v", written)
			if written == nil {
				return
			}
			assert.Equal(t, c.want, written.Type+" "+said(*written))
			text, err := yaml.Marshal(written)
			require.NoError(t, err)
			json, err := yaml.YAMLToJSON(text)
			require.NoError(t, err)
			forest, again := &nativegroups.Forest{}, with(string(json))
			forest.Set(again)
			assert.Equal(t, c.read, said(forest.Gang(again.Ref(), topologies).Status.Conditions[0]))
			assert.Nil(t, again.Condition(c.desired), "it is written once more")
		})
	}
}

func TestWhatHasNoEffectIsSaid(t *testing.T) {
	for name, c := range map[string]struct{ spec, status, message, want string }{
		"of one that is placed":  {"resourceClaims: [{name: a}]", "True", "", "without effect: spec.resourceClaims"},
		"of one that is refused": {"resourceClaims: [{name: a}]", "False", "m", "Infeasible: m; without effect: spec.resourceClaims"},
		"of a second level":      {"schedulingConstraints: {topology: [{key: a}, {key: b}]}", "True", "", "without effect: spec.schedulingConstraints.topology[1]"},
		"nothing of one level":   {"schedulingConstraints: {topology: [{key: a}]}", "True", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			written := group(t, "PodGroup", "v1alpha2", "metadata: {name: g}, spec: {"+c.spec+"}").Condition(
				metav1.Condition{Status: metav1.ConditionStatus(c.status), Reason: "Infeasible", Message: c.message})
			assert.Equal(t, c.want, written.Message)
		})
	}
}

func TestAGroupThatCannotBeReadNamesTheField(t *testing.T) {
	for want, gang := range map[string]map[string]any{
		"PodGroup: spec.schedulingPolicy.gang.minCount: is a string, and must be a value of type int32":        {"minCount": "two"},
		"PodGroup: spec.schedulingPolicy.gang.minCount: Invalid value: -1: must not be negative":               {"minCount": int64(-1)},
		"CompositePodGroup: spec.schedulingPolicy.gang.minGroupCount: Invalid value: -2: must not be negative": {"minGroupCount": int64(-2)},
	} {
		kind, message, _ := strings.Cut(want, ": ")
		_, err := nativegroups.Read(&unstructured.Unstructured{Object: map[string]any{"kind": kind,
			"metadata": map[string]any{"name": "g", "namespace": "ns"},
			"spec":     map[string]any{"schedulingPolicy": map[string]any{"gang": gang}}}})
		want := "reading " + kind + " ns/g: " + message
		assert.EqualError(t, err, want)
	}
}

func said(condition metav1.Condition) string {
	return strings.Join([]string{string(condition.Status), condition.Reason, condition.Message,
		string(rune('0' + condition.ObservedGeneration))}, " ")
}

// A pod is read while the status of its group is written: it does not leave its gang for a moment.
func TestAGroupIsReplacedAtOnce(t *testing.T) {
	var forest nativegroups.Forest
	groups := serve(t)
	for _, each := range groups {
		forest.Set(each)
	}
	leaf := groups[0]
	want := forest.Root(leaf.Ref())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 10_000 {
			forest.Set(leaf)
		}
	}()
	for {
		require.Equal(t, want, forest.Root(leaf.Ref()), "the root")
		select {
		case <-done:
			return
		default:
		}
	}
}

func TestGroupsAboveEachOtherAreNoGang(t *testing.T) {
	forest := &nativegroups.Forest{}
	for _, one := range []*nativegroups.Group{
		group(t, "CompositePodGroup", "v1alpha3", `metadata: {name: a}, spec: {parentCompositePodGroupName: b}`),
		group(t, "CompositePodGroup", "v1alpha3", `metadata: {name: b}, spec: {parentCompositePodGroupName: a}`),
		group(t, "PodGroup", "v1beta1", `metadata: {name: c}, spec: {parentCompositePodGroupName: a}`),
	} {
		forest.Set(one)
		root := forest.Root(one.Ref())
		if gang, groups := forest.Gang(root, topologies), forest.Groups(root); gang != nil || len(groups) > 0 {
			t.Errorf("%v is a gang %v of %d groups", root, gang, len(groups))
		}
	}
}
