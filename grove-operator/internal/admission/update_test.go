package admission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
	"packtree.dev/grove-operator/internal/topology"
)

const before = "clusterTopologyName: gb, topologyConstraint: {packDomain: zone}, cliqueStartupType: " +
	"CliqueStartupTypeInOrder, cliques: [CLIQUE-A, CLIQUE-B], podCliqueScalingGroups: [{name: g, cliqueNames: [b], " +
	"replicas: 2}]"

// template puts two cliques into a manifest.
func template(text, a, b string) string {
	return strings.NewReplacer("CLIQUE-A", one("a", a), "CLIQUE-B", one("b", b)).Replace(text)
}

func TestValidateUpdate(t *testing.T) {
	const a = "replicas: 3, minAvailable: 2"
	for name, c := range map[string]struct {
		text, a, b string
		scheduled  int32
		want       []string
	}{
		"nothing changed": {text: before, a: a},
		"replicas may change": {text: strings.Replace(before, "replicas: 2", "replicas: 5", 1),
			a: "replicas: 4, minAvailable: 2"},
		"packDomain in other words": {
			text: strings.Replace(before, "{packDomain: zone}", "{pack: {required: zone}}", 1), a: a,
		},
		"another clique": {
			text: strings.Replace(before, "[CLIQUE-A, CLIQUE-B]", "[CLIQUE-A, CLIQUE-B, "+one("c", "")+"]", 1), a: a,
			want: []string{"spec.template.cliques: " + forbidden},
		},
		"another order of cliques that start in order": {
			text: strings.Replace(before, "[CLIQUE-A, CLIQUE-B]", "[CLIQUE-B, CLIQUE-A]", 1), a: a,
			want: []string{"spec.template.cliques: " + forbidden},
		},
		"another startup type": {
			text: strings.Replace(before, "InOrder", "AnyOrder", 1), a: a,
			want: []string{"spec.template.cliqueStartupType: " + forbidden},
		},
		"another role": {text: before, a: a + ", roleName: r",
			want: []string{"spec.template.cliques[0].spec.roleName: " + forbidden}},
		"another minimum": {
			text: before, a: "replicas: 3, minAvailable: 3",
			want: []string{"spec.template.cliques[0].spec.minAvailable: " + forbidden},
		},
		"another start": {
			text: before, a: a, b: "startsAfter: [a]",
			want: []string{"spec.template.cliques[1].spec.startsAfter: " + forbidden},
		},
		"another group": {
			text: strings.Replace(before, "name: g,", "name: h,", 1), a: a,
			want: []string{"spec.template.podCliqueScalingGroups: " + forbidden},
		},
		"other members": {
			text: strings.Replace(before, "[b]", "[a, b]", 1), a: a,
			want: []string{"spec.template.podCliqueScalingGroups[0].cliqueNames: " + forbidden},
		},
		"another minimum of a group": {
			text: strings.Replace(before, "replicas: 2", "replicas: 2, minAvailable: 2", 1), a: a,
			want: []string{"spec.template.podCliqueScalingGroups[0].minAvailable: " + forbidden},
		},
		"a constraint is changed": {
			text: strings.Replace(before, "{packDomain: zone}", "{packDomain: rack}", 1), a: a,
			want: []string{"spec.template.topologyConstraint: " + forbidden},
		},
		"a constraint is removed and another added": {
			text: strings.Replace(strings.Replace(before, "topologyConstraint: {packDomain: zone}, ", "",
				1), "{name: g,", "{name: g, topologyConstraint: {packDomain: rack},", 1), a: a,
			want: []string{"spec.template.topologyConstraint: " + forbidden,
				"spec.template.podCliqueScalingGroups[0].topologyConstraint: " + forbidden},
		},
		"another topology while nothing is scheduled": {
			text: strings.Replace(before, "Name: gb", "Name: grove-topology", 1), a: a,
		},
		"another topology while a pod is scheduled": {
			text: strings.Replace(before, "Name: gb", "Name: grove-topology", 1), a: a, scheduled: 1,
			want: []string{"spec.template.clusterTopologyName: " + forbidden},
		},
		"another topology that does not exist": {
			text: strings.Replace(before, "Name: gb", "Name: gx", 1), a: a,
			want: []string{"spec.template.clusterTopologyName: " + invalid},
		},
		"rules hold on update as well": {
			text: before, a: "replicas: 1, minAvailable: 2",
			want: []string{"spec.template.cliques[0].spec.minAvailable: " + invalid},
		},
	} {
		t.Run(name, func(t *testing.T) {
			old := fixture.Set(t, manifest("s", template(before, a, "")))
			set := fixture.Set(t, manifest("s", template(c.text, c.a, c.b)))
			_, errs := admission.ValidateUpdate(old, set, cluster(), c.scheduled)
			assert.Empty(t, cmp.Diff(c.want, summary(errs)), "errors (-want +got)")
		})
	}
}

func TestWhatIsLeftOpenStaysWhatItWas(t *testing.T) {
	const written = "cliques: [{name: a, spec: {replicas: 3, autoScalingConfig: {maxReplicas: 9}, podSpec: " +
		"{containers: [{name: main}]}}}, {name: b, spec: {replicas: 1, podSpec: {containers: [{name: main}]}}}], " +
		"podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 2, minAvailable: 2, scaleConfig: {maxReplicas: 9}}]"
	old := fixture.Set(t, manifest("s", written))
	for name, c := range map[string]struct {
		replace []string
		want    []string
	}{
		"more pods and copies": {replace: []string{"replicas: 3", "replicas: 5", "replicas: 2,", "replicas: 4,"}},
		"fewer pods than the minimum": {
			replace: []string{"replicas: 3", "replicas: 2"},
			want:    []string{"spec.template.cliques[0].spec.minAvailable: " + invalid},
		},
		"another minimum": {
			replace: []string{"replicas: 3", "replicas: 3, minAvailable: 1"},
			want:    []string{"spec.template.cliques[0].spec.minAvailable: " + forbidden},
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := fixture.Raw(t, manifest("s", strings.NewReplacer(c.replace...).Replace(written)))
			admission.SetDefaultsOnUpdate(old, set)
			_, errs := admission.ValidateUpdate(old, set, cluster(), 0)
			assert.Empty(t, cmp.Diff(c.want, summary(errs)), "errors (-want +got)")
			template := set.Spec.Template
			assert.Equal(t, [2]int32{3, 2}, [2]int32{*template.Cliques[0].Spec.AutoScalingConfig.MinReplicas,
				*template.PodCliqueScalingGroups[0].ScaleConfig.MinReplicas}, "minReplicas of clique and group")
		})
	}
}

func TestATurnIsRefusedWhereItIsWritten(t *testing.T) {
	const named = "cliques: [{name: a, topologyConstraint: {packDomain: rack, topologyName: gb}, spec: {podSpec: " +
		"{containers: [{name: c, image: i}]}}}], topologyConstraint: {packDomain: zone"
	old := fixture.Set(t, manifest("s", named+"}"))
	for name, c := range map[string]struct {
		set       *grovev1alpha1.PodCliqueSet
		scheduled int32
		want      []string
	}{
		"in the constraint that names another topology": {
			set:       fixture.Set(t, manifest("s", strings.Replace(named, "gb", "grove-topology", 1)+"}")),
			scheduled: 2, want: []string{"spec.template.cliques[0].topologyConstraint.topologyName: " + forbidden},
		},
		"in the set's name for it": {
			set: fixture.Set(t,
				manifest("s", "clusterTopologyName: grove-topology, "+strings.Replace(named, "gb",
					"grove-topology", 1)+"}")),
			scheduled: 2, want: []string{"spec.template.clusterTopologyName: " + forbidden},
		},
		"not while nothing is scheduled": {
			set: fixture.Set(t, manifest("s", strings.Replace(named, "gb", "grove-topology", 1)+"}")),
		},
		"not where another constraint names the same": {
			set: fixture.Set(t, manifest("s", named+", topologyName: gb}")), scheduled: 2,
		},
		"nor where the set names what a constraint did": {
			set: fixture.Set(t, manifest("s", "clusterTopologyName: gb, "+named+"}")), scheduled: 2,
		},
		"constraints that disagree": {
			set:  fixture.Set(t, manifest("s", named+", topologyName: grove-topology}")),
			want: []string{"spec.template.cliques[0].topologyConstraint.topologyName: " + invalid},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := admission.ValidateUpdate(old, c.set, cluster(), c.scheduled)
			assert.Empty(t, cmp.Diff(c.want, summary(errs)), "errors (-want +got)")
		})
	}
}

func TestUpdatesThatAreAlwaysAccepted(t *testing.T) {
	// Its level was removed, and today's rules refuse its name.
	old := fixture.Set(t, manifest("1st", "topologyConstraint: {packDomain: numa}, cliques: ["+one("a", "")+"]"))
	labelled := old.DeepCopy()
	labelled.Labels = map[string]string{"a": "b"}
	deleted := old.DeepCopy()
	deleted.Spec.Replicas = 7
	deleted.DeletionTimestamp = &metav1.Time{}
	for name, set := range map[string]*grovev1alpha1.PodCliqueSet{"metadata": labelled,
		"while it is being deleted": deleted} {
		_, errs := admission.ValidateUpdate(old, set, cluster(), 3)
		assert.Empty(t, errs, name)
	}
}

func TestASetWithADriftedTopologyStillScales(t *testing.T) {
	old := fixture.Set(t, manifest("s", "topologyConstraint: {packDomain: numa}, cliques: ["+one("a", "")+"]"))
	set := old.DeepCopy()
	set.Spec.Replicas = 2
	_, errs := admission.ValidateUpdate(old, set, cluster(), 1)
	assert.Empty(t, errs)
}

func TestAChangedTemplateIsFine(t *testing.T) {
	old := fixture.Set(t, manifest("s", "cliques: ["+one("a", "")+"]"))
	set := old.DeepCopy()
	set.Spec.Template.Cliques[0].Spec.PodSpec.Containers[0].Image = "new"
	warnings, errs := admission.ValidateUpdate(old, set, cluster(), 1)
	assert.Empty(t, errs)
	assert.Empty(t, warnings)
}

func TestValidateClusterTopology(t *testing.T) {
	made := fixture.Topology("x", "zone", "rack")
	made.Spec.Levels[1].Key = "no key"
	assert.Empty(t, cmp.Diff([]string{"spec.levels[1].key: " + invalid},
		summary(admission.ValidateClusterTopology(made))), "errors (-want +got)")
	made.Spec.Levels[1].Key = "kubernetes.io/hostname"
	made.Spec.Levels = append(made.Spec.Levels, grovev1alpha1.TopologyLevel{Domain: "host", Key: "example.com/host"})
	assert.Empty(t, cmp.Diff([]string{"spec.levels[1].key: " + invalid},
		summary(admission.ValidateClusterTopology(made))), "errors (-want +got)")
}

func TestTheDefaultTopologyIsTheOperators(t *testing.T) {
	kept, other := fixture.Topology(grovev1alpha1.DefaultClusterTopologyName, "zone", "rack"),
		fixture.Topology("x", "rack")
	changed := fixture.Topology(grovev1alpha1.DefaultClusterTopologyName, "rack")
	for name, c := range map[string]struct {
		found, want []string
	}{
		"its name is reserved": {summary(admission.ValidateReservedName(changed, kept)),
			[]string{"metadata.name: " + forbidden}},
		"also with awareness off": {summary(admission.ValidateReservedName(changed, nil)),
			[]string{"metadata.name: " + forbidden}},
		"but for what the operator would make": {summary(admission.ValidateReservedName(kept.DeepCopy(), kept)), nil},
		"other names are not":                  {summary(admission.ValidateReservedName(other, kept)), nil},
		"its levels are not changed": {summary(admission.ValidateKeptLevels(kept, changed)),
			[]string{"spec.levels: " + forbidden}},
		"they are put right":                       {summary(admission.ValidateKeptLevels(kept, kept.DeepCopy())), nil},
		"those of others are":                      {summary(admission.ValidateKeptLevels(kept, other)), nil},
		"with awareness off it is like the others": {summary(admission.ValidateKeptLevels(nil, changed)), nil},
	} {
		assert.Empty(t, cmp.Diff(c.want, c.found), "%s (-want +got)", name)
	}
	for _, part := range []string{"topologyAwareScheduling.levels", "topologyAwareScheduling.enabled"} {
		assert.Contains(t, admission.Keeps(kept, kept.Name), part)
	}
	assert.Empty(t, admission.Keeps(nil, kept.Name)+admission.Keeps(kept, "x"), "nobody keeps it")
}

func TestValidateLevelChange(t *testing.T) {
	old, changed := topology.Of(fixture.Topology("x", "zone", "rack")), topology.Of(fixture.Topology("x", "zone"))
	users := []admission.ScheduledUser{{Set: "ns/a", Pods: 4}}
	for _, name := range []string{"ns/b", "ns/c", "ns/d", "ns/e", "ns/f"} {
		users = append(users, admission.ScheduledUser{Set: name, Pods: 1})
	}
	assert.Empty(t, admission.ValidateLevelChange(old, changed, nil), "no set has scheduled pods")
	assert.Empty(t, admission.ValidateLevelChange(old, old, users), "the levels did not change")
	binding := fixture.Binding("x", "zone")
	binding.Spec.SchedulerTopologyBindings = []grovev1alpha1.SchedulerTopologyBinding{
		{SchedulerName: "kai-scheduler", TopologyReference: "theirs"},
	}
	errs := admission.ValidateLevelChange(topology.OfBinding(fixture.Binding("x", "zone")),
		topology.OfBinding(binding), users)
	assert.Empty(t, cmp.Diff([]string{"spec.schedulerTopologyBindings: " + forbidden}, summary(errs)),
		"another Topology of the scheduler's (-want +got)")
	errs = admission.ValidateLevelChange(old, changed, users)
	assert.Empty(t, cmp.Diff([]string{"spec.levels: " + forbidden}, summary(errs)), "errors (-want +got)")
	assert.Regexp(t, `scheduled pods: ns/a \(4\), ns/b \(1\), ns/c \(1\), ns/d \(1\), ns/e \(1\) and others$`, errs[0].Detail)
	errs = admission.ValidateLevelChange(old, changed, users[:1])
	assert.Regexp(t, `scheduled pods: ns/a \(4\)$`, errs[0].Detail, "one set")
}
