package admission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation/field"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/rollout"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// cluster has the default topology with zone, block, rack, host and the topology "gb" with zone, rack.
func cluster() admission.Cluster {
	return admission.Cluster{TopologyAware: true, Lookup: fixture.Lookup(
		fixture.Topology(grovev1alpha1.DefaultClusterTopologyName, "zone", "block", "rack", "host"),
		fixture.Topology("gb", "zone", "rack"),
	)}
}

// validated are the warnings and the errors of a set that is created, or of one that is changed from what it was.
func validated(within admission.Cluster, old, set *grovev1alpha1.PodCliqueSet, scheduled int32) ([]string, field.ErrorList) {
	if old == nil {
		return admission.ValidateCreate(set, within)
	}
	return admission.ValidateUpdate(old, set, within, scheduled)
}

// messages are errors as users read them.
func messages(errs field.ErrorList) []string {
	var all []string
	for _, err := range errs {
		all = append(all, err.Error())
	}
	return all
}

// summary is each error as "path: Type".
func summary(errs field.ErrorList) []string {
	var lines []string
	for _, err := range errs {
		lines = append(lines, err.Field+": "+string(err.Type))
	}
	return lines
}

const (
	invalid   = string(field.ErrorTypeInvalid)
	forbidden = string(field.ErrorTypeForbidden)
	duplicate = string(field.ErrorTypeDuplicate)
	required  = string(field.ErrorTypeRequired)
)

// one is a clique with a name and further fields of its spec.
func one(name, spec string) string {
	return "{name: " + name + ", spec: {podSpec: {containers: [{name: main}]}, " + spec + "}}"
}

func constrained(name, constraint string) string {
	return "{name: " + name + ", topologyConstraint: " + constraint + ", spec: {podSpec: {containers: [{name: main}]}}}"
}

func manifest(name, template string) string {
	return "metadata: {name: " + name + "}\nspec: {replicas: 1, template: {" + template + "}}"
}

// TestValidateCreate has a row for every rule, with the path that its errors name.
func TestValidateCreate(t *testing.T) {
	const clique, group = "spec.template.cliques[0]", "spec.template.podCliqueScalingGroups[0]"
	for name, c := range map[string]struct {
		set, template string
		// alone is a cluster without a default topology.
		alone bool
		want  []string
	}{
		"as many pods as a set may have": {
			template: "cliques: [" + one("a", "replicas: 10000") + "," + one("b", "replicas: 10000") +
				"], podCliqueScalingGroups: [{name: g, cliqueNames: [a], replicas: 9}]",
		},
		"one copy more than a set may have": {
			template: "cliques: [" + one("a", "replicas: 100") + "," + one("b", "replicas: 10000") +
				"], podCliqueScalingGroups: [{name: g, cliqueNames: [a], replicas: 901}]",
			want: []string{group + ".replicas: " + invalid},
		},
		"a clique whose pods are too many": {
			template: "cliques: [" + one("a", "") + "," + one("b", "replicas: 2000000000") +
				"], podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 2000000000, minAvailable: 2000000000}]",
			want: []string{"spec.template.cliques[1].spec.replicas: " + invalid},
		},
		"a plain set is fine": {template: "cliques: [" + one("a", "") + "]"},
		"at least one clique": {template: "cliques: []",
			want: []string{"spec.template.cliques: " + required}},
		"names are DNS labels": {template: "cliques: [" + one("A_b", "roleName: r") + "]",
			want: []string{clique + ".name: " + invalid}},
		"the set's name is that of Services": {set: "1st", template: "cliques: [" + one("a", "") + "]",
			want: []string{"metadata.name: " + invalid}},
		"the set's name is that of a ServiceAccount": {set: "default", template: "cliques: [" + one("a", "") + "]",
			want: []string{"metadata.name: " + invalid}},
		"names are unique": {
			template: "cliques: [" + one("a", "") + "," + one("a", "roleName: r") + "]",
			want:     []string{"spec.template.cliques[1].name: " + duplicate},
		},
		"roleNames are unique": {
			template: "cliques: [" + one("a", "roleName: r") + "," + one("b", "roleName: r") + "]",
			want:     []string{"spec.template.cliques[1].spec.roleName: " + duplicate},
		},
		"46 characters are one too many": {
			set: strings.Repeat("s", 40), template: "cliques: [" + one("abcdef", "") + "]",
			want: []string{clique + ".name: " + invalid},
		},
		"45 characters are fine": {set: strings.Repeat("s", 40), template: "cliques: [" + one("abcde", "") + "]"},
		"the group's name counts for its cliques": {
			set:      strings.Repeat("s", 38),
			template: "cliques: [" + one("abcd", "") + "], podCliqueScalingGroups: [{name: wxyz, cliqueNames: [abcd]}]",
			want:     []string{clique + ".name: " + invalid},
		},
		"a group that leaves no room for cliques": {
			set:      strings.Repeat("s", 41),
			template: "cliques: [" + one("a", "") + "], podCliqueScalingGroups: [{name: wxyz, cliqueNames: [a]}]",
			want:     []string{clique + ".name: " + invalid, group + ".name: " + invalid},
		},
		"replicas above 0": {
			template: "cliques: [" + one("a", "replicas: -1, minAvailable: 1") + "]",
			want:     []string{clique + ".spec.replicas: " + invalid},
		},
		"minAvailable above 0": {
			template: "cliques: [" + one("a", "replicas: 2, minAvailable: 0") + "]",
			want:     []string{clique + ".spec.minAvailable: " + invalid},
		},
		"minAvailable at most replicas": {
			template: "cliques: [" + one("a", "replicas: 2, minAvailable: 3") + "]",
			want:     []string{clique + ".spec.minAvailable: " + invalid},
		},
		"the same for groups": {
			template: "cliques: [" + one("a", "") +
				"], podCliqueScalingGroups: [{name: g, cliqueNames: [a], replicas: 0, minAvailable: 0}]",
			want: []string{group + ".replicas: " + invalid, group + ".minAvailable: " + invalid},
		},
		"startsAfter: unknown, itself, twice": {
			template: "cliques: [" + one("a", "startsAfter: [a, x, b, b]") + "," + one("b", "") + "]",
			want: []string{
				clique + ".spec.startsAfter: " + invalid, clique + ".spec.startsAfter: " + invalid,
				clique + ".spec.startsAfter: " + duplicate,
			},
		},
		"names that the operator needs in pods that wait": {
			template: "cliqueStartupType: CliqueStartupTypeInOrder, cliques: [{name: a, spec: {podSpec: {containers: [{name: " +
				"grove-startup}]}}}, {name: b, spec: {podSpec: {" +
				"containers: [{name: grove-startup}], initContainers: [{name: x}, {name: grove-startup}], volumes: [{name: " +
				"grove-startup-access}]}}}]",
			want: []string{
				"spec.template.cliques[1].spec.podSpec.initContainers[1].name: " + invalid,
				"spec.template.cliques[1].spec.podSpec.containers[0].name: " + invalid,
				"spec.template.cliques[1].spec.podSpec.volumes[0].name: " + invalid,
			},
		},
		"startsAfter: each cycle once": {
			template: "cliques: [" + strings.Join([]string{
				one("a", "startsAfter: [b]"), one("b", "startsAfter: [c]"), one("c", "startsAfter: [a]"),
				one("d", "startsAfter: [e, a]"), one("e", "startsAfter: [d]"), one("f", "startsAfter: [a, d]"),
			}, ",") + "]",
			want: []string{clique + ".spec.startsAfter: " + invalid, "spec.template.cliques[3].spec.startsAfter: " +
				invalid},
		},
		"autoscaling within bounds": {
			template: "cliques: [" +
				one("a", "replicas: 3, minAvailable: 2, autoScalingConfig: {minReplicas: 2, maxReplicas: 3}") + "]",
		},
		"autoscaling out of bounds": {
			template: "cliques: [" +
				one("a", "replicas: 3, minAvailable: 2, autoScalingConfig: {minReplicas: 1, maxReplicas: 0}") + "]",
			want: []string{
				clique + ".spec.autoScalingConfig.minReplicas: " + invalid,
				clique + ".spec.autoScalingConfig.maxReplicas: " + invalid,
				clique + ".spec.autoScalingConfig.maxReplicas: " + invalid,
			},
		},
		"a clique in a group does not scale alone": {
			template: "cliques: [" + one("a", "autoScalingConfig: {maxReplicas: 3}") +
				"], podCliqueScalingGroups: [{name: g, cliqueNames: [a]}]",
			want: []string{clique + ".spec.autoScalingConfig: " + forbidden},
		},
		"a group's autoscaling out of bounds": {
			template: "cliques: [" + one("a", "") +
				"], podCliqueScalingGroups: [{name: g, cliqueNames: [a], replicas: 2, minAvailable: 2, scaleConfig: " +
				"{minReplicas: 1, maxReplicas: 1}}]",
			want: []string{group + ".scaleConfig.minReplicas: " + invalid, group +
				".scaleConfig.maxReplicas: " + invalid},
		},
		"two autoscalers of one name": {
			template: "cliques: [" + one("a", "autoScalingConfig: {maxReplicas: 3}") + ", " + one("b", "") +
				"], podCliqueScalingGroups: [{name: a, cliqueNames: [b], scaleConfig: {maxReplicas: 2}}]",
			want: []string{group + ".scaleConfig: " + forbidden},
		},
		"two PodCliques of one name": {
			template: "cliques: [" + one("g-1-a", "") + ", " + one("a", "") +
				"], podCliqueScalingGroups: [{name: g, cliqueNames: [a]}]",
			want: []string{group + ".name: " + invalid},
		},
		"two PodCliques of one name, in copies of two groups": {
			template: "cliques: [" + one("b-0-c", "") + ", " + one("c", "") + "], podCliqueScalingGroups: [" +
				"{name: g, cliqueNames: [b-0-c]}, {name: g-1-b, cliqueNames: [c]}]",
			want: []string{group + ".name: " + invalid},
		},
		"two PodCliques of one name, in copies of a group that is named like a copy": {
			template: "cliques: [" + one("0-c", "") + ", " + one("c", "") + "], podCliqueScalingGroups: [" +
				"{name: g, cliqueNames: [0-c]}, {name: g-1, cliqueNames: [c]}]",
			want: []string{group + ".name: " + invalid},
		},
		"copies of groups with names that are alike, and not the same": {
			template: "cliques: [" + one("b-0-c", "") + ", " + one("c", "") + ", " + one("b-1-d", "") + ", " +
				one("e", "") + "], podCliqueScalingGroups: [{name: g, cliqueNames: [b-0-c, b-1-d]}, " +
				"{name: g-01-b, cliqueNames: [c]}, {name: g-b, cliqueNames: [e]}]",
		},
		"names that are alike, and not the same": {
			template: "cliques: [" + one("g-01-a", "") + ", " + one("g--1-a", "") + ", " + one("g-a", "") + ", " +
				one("a", "") + ", " + one("g-1-b", "") + ", " + one("b", "") +
				"], podCliqueScalingGroups: [{name: g, cliqueNames: [a, g-1-b]}]",
		},
		"a clique and a group of one name, one of which scales": {
			template: "cliques: [" + one("a", "autoScalingConfig: {maxReplicas: 3}") + ", " + one("b", "") +
				"], podCliqueScalingGroups: [{name: a, cliqueNames: [b]}]",
		},
		"group members exist": {
			template: "cliques: [" + one("a", "") + "], podCliqueScalingGroups: [{name: g, cliqueNames: [a, b]}]",
			want:     []string{group + ".cliqueNames: " + invalid},
		},
		"a clique is in one group at most, and once": {
			template: "cliques: [" + one("a", "") +
				"], podCliqueScalingGroups: [{name: g, cliqueNames: [a, a]}, {name: h, cliqueNames: [a]}]",
			want: []string{group + ".cliqueNames: " + duplicate,
				"spec.template.podCliqueScalingGroups[1].cliqueNames: " + invalid},
		},
		"group names are unique": {
			template: "cliques: [" + one("a", "") + "," + one("b", "") +
				"], podCliqueScalingGroups: [{name: g, cliqueNames: [a]}, {name: g, cliqueNames: [b]}]",
			want: []string{"spec.template.podCliqueScalingGroups[1].name: " + duplicate},
		},
		"podSpec: what the scheduler decides": {
			template: "cliques: [{name: a, spec: {podSpec: {nodeName: n1, topologySpreadConstraints: [{maxSkew: 1, " +
				"topologyKey: k, whenUnsatisfiable: DoNotSchedule}], containers: [{name: main}]}}}]",
			want: []string{clique + ".spec.podSpec.nodeName: " + forbidden,
				clique + ".spec.podSpec.topologySpreadConstraints: " + forbidden},
		},
		"podSpec: a container": {
			template: "cliques: [{name: a, spec: {podSpec: {containers: []}}}]",
			want:     []string{clique + ".spec.podSpec.containers: " + required},
		},
		"unknown domains: one error per constraint, and the hierarchy is not judged": {
			template: "topologyConstraint: {packDomain: numa}, cliques: [" +
				constrained("a", "{packDomain: zone}") + "," +
				constrained("b", "{pack: {required: region, preferred: numa}}") + "]",
			want: []string{"spec.template.topologyConstraint: " + invalid,
				"spec.template.cliques[1].topologyConstraint: " + invalid},
		},
		"a domain that is none at all": {
			template: "topologyConstraint: {packDomain: aisle}, cliques: [" + one("a", "") + "]",
			want:     []string{"spec.template.topologyConstraint: " + invalid},
		},
		"hierarchy: one error per violating pair, at the parent": {
			template: "topologyConstraint: {packDomain: rack}, cliques: [" + constrained("a", "{packDomain: block}") +
				"," +
				one("b", "") + "]," +
				"podCliqueScalingGroups: [{name: g, cliqueNames: [a], topologyConstraint: {packDomain: host}}, {name: h, " +
				"cliqueNames: [b], topologyConstraint: {packDomain: zone}}]",
			want: []string{
				"spec.template.topologyConstraint: " + invalid, "spec.template.topologyConstraint: " + invalid,
				group + ".topologyConstraint: " + invalid,
			},
		},
		"hierarchy: equal is fine, and each form is compared with its like": {
			template: "topologyConstraint: {pack: {required: rack}}, cliques: [" +
				constrained("a", "{packDomain: rack}") + "," +
				constrained("b", "{pack: {preferred: zone}}") + "]",
		},
		"hierarchy: preferred against preferred": {
			template: "topologyConstraint: {pack: {preferred: rack}}, cliques: [" +
				constrained("a", "{pack: {preferred: block}}") + "]",
			want: []string{"spec.template.topologyConstraint: " + invalid},
		},
		"preferred is not broader than required": {
			template: "cliques: [" + constrained("a", "{pack: {required: rack, preferred: zone}}") + "]",
			want:     []string{clique + ".topologyConstraint: " + invalid},
		},
		"packDomain and pack.required at once": {
			template: "cliques: [" + constrained("a", "{packDomain: rack, pack: {required: rack}}") + "]",
			want:     []string{clique + ".topologyConstraint: " + invalid},
		},
		"a constraint without a domain": {
			template: "cliques: [" + constrained("a", "{pack: {}}") + "]",
			want:     []string{clique + ".topologyConstraint: " + required},
		},
		"clusterTopologyName: exists": {
			template: "clusterTopologyName: gx, topologyConstraint: {packDomain: rack}, cliques: [" +
				one("a", "") + "]",
			want: []string{"spec.template.clusterTopologyName: " + invalid},
		},
		"clusterTopologyName: not without a constraint": {
			template: "clusterTopologyName: gb, cliques: [" + one("a", "") + "]",
			want:     []string{"spec.template.clusterTopologyName: " + forbidden},
		},
		"a constraint without a name while there is no default topology is reported at each place": {
			alone: true,
			template: "topologyConstraint: {packDomain: zone}, cliques: [" +
				constrained("a", "{packDomain: rack}") + "]",
			want: []string{"spec.template.topologyConstraint: " + invalid, clique +
				".topologyConstraint: " + invalid},
		},
		"domains are those of the named topology": {
			template: "clusterTopologyName: gb, topologyConstraint: {packDomain: host}, cliques: [" +
				one("a", "") + "]",
			want: []string{"spec.template.topologyConstraint: " + invalid},
		},
		"topologyName: equals clusterTopologyName": {
			template: "clusterTopologyName: gb, cliques: [" +
				constrained("a", "{packDomain: rack, topologyName: other}") + "]",
			want: []string{clique + ".topologyConstraint.topologyName: " + invalid},
		},
		"topologyName: the same in the whole set": {
			template: "topologyConstraint: {packDomain: zone, topologyName: gb}, cliques: [" +
				constrained("a", "{packDomain: rack, topologyName: other}") + "]",
			want: []string{clique + ".topologyConstraint.topologyName: " + invalid},
		},
		"topologyName: exists": {
			template: "cliques: [" + constrained("a", "{packDomain: rack, topologyName: gx}") + "]",
			want:     []string{clique + ".topologyConstraint.topologyName: " + invalid},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.set == "" {
				c.set = "s"
			}
			set := fixture.Set(t, manifest(c.set, c.template))
			within := cluster()
			if c.alone {
				within.Lookup = fixture.Lookup(fixture.Topology("gb", "zone", "rack"))
			}
			_, errs := admission.ValidateCreate(set, within)
			assert.Empty(t, cmp.Diff(c.want, summary(errs)), "errors (-want +got)")
		})
	}
}

func TestConstraintsAreRefusedWhileTopologyAwarenessIsOff(t *testing.T) {
	set := fixture.Set(t,
		manifest("s",
			"clusterTopologyName: gb, topologyConstraint: {packDomain: zone}, cliques: ["+
				constrained("a", "{packDomain: rack}")+"],"+
				"podCliqueScalingGroups: [{name: g, cliqueNames: [a], topologyConstraint: {packDomain: numa}}]"))
	warnings, errs := admission.ValidateCreate(set, admission.Cluster{Lookup: cluster().Lookup})
	want := []string{
		"spec.template.clusterTopologyName: " + forbidden, "spec.template.topologyConstraint: " + forbidden,
		"spec.template.cliques[0].topologyConstraint: " + forbidden,
		"spec.template.podCliqueScalingGroups[0].topologyConstraint: " + forbidden,
	}
	assert.Empty(t, warnings, "warnings about what is refused")
	assert.Empty(t, cmp.Diff(want, summary(errs)), "errors (-want +got)")
}

func TestMessagesSayWhatWouldBeRight(t *testing.T) {
	set := fixture.Set(t,
		manifest("s", "topologyConstraint: {packDomain: numa}, cliques: ["+one("worker", "")+
			"], podCliqueScalingGroups: [{name: g, cliqueNames: [wroker]}]"))
	_, errs := admission.ValidateCreate(set, cluster())
	text := errs.ToAggregate().Error()
	for _, want := range []string{`did you mean "worker"?`, "available domains: zone, block, rack, host"} {
		assert.Contains(t, text, want)
	}
}

// twoSchedulers is a set of two cliques, each with its scheduler; none if that is empty.
func twoSchedulers(t *testing.T, a, b string) *grovev1alpha1.PodCliqueSet {
	t.Helper()
	set := fixture.Set(t, manifest("s", "cliques: ["+one("a", "")+","+one("b", "")+"]"))
	set.Spec.Template.Cliques[0].Spec.PodSpec.SchedulerName, set.Spec.Template.Cliques[1].Spec.PodSpec.SchedulerName = a, b
	return set
}

func TestOneSchedulerPlacesAllPodsOfASet(t *testing.T) {
	const byDefault, path = "kai-scheduler", "spec.template.cliques[1].spec.podSpec.schedulerName: "
	within := cluster()
	for name, c := range map[string]struct {
		byDefault, a, b string
		want            []string
	}{
		"none is named":                        {byDefault: byDefault},
		"one is":                               {byDefault: byDefault, a: "volcano", b: "volcano"},
		"the default's name":                   {byDefault: byDefault, b: byDefault},
		"the cluster's own, without a default": {b: "default-scheduler"},
		"two": {byDefault: byDefault, a: "volcano", b: "kai-scheduler",
			want: []string{path + invalid}},
		"another than the default for one":       {byDefault: byDefault, b: "volcano", want: []string{path + invalid}},
		"another than the cluster's own for one": {b: "volcano", want: []string{path + invalid}},
	} {
		t.Run(name, func(t *testing.T) {
			within.DefaultScheduler = c.byDefault
			set := twoSchedulers(t, c.a, c.b)
			_, errs := admission.ValidateCreate(set, within)
			assert.Empty(t, cmp.Diff(c.want, summary(errs)), "a new set (-want +got)")
			_, errs = admission.ValidateUpdate(twoSchedulers(t, "", ""), set, within, 0)
			assert.Empty(t, cmp.Diff(c.want, summary(errs)), "a changed one (-want +got)")
			changed := set.DeepCopy()
			changed.Spec.Replicas++
			_, errs = admission.ValidateUpdate(set, changed, within, 0)
			assert.Empty(t, errs, "one that an older operator took cannot be scaled any more")
		})
	}
}

func TestAStrategyThatIsNotDefinedYetIsTakenWithAWarning(t *testing.T) {
	set := fixture.Set(t, manifest("s", "cliques: ["+one("a", "")+"]"))
	set.Spec.UpdateStrategy = &grovev1alpha1.PodCliqueSetUpdateStrategy{Type: grovev1alpha1.Coherent}
	warnings, errs := admission.ValidateCreate(set, cluster())
	want := []string{
		"spec.updateStrategy.type: Coherent is announced and not defined yet: pods are replaced as with RollingRecreate",
	}
	assert.Empty(t, cmp.Diff(want, warnings), "warnings (-want +got)")
	assert.Empty(t, errs)
	assert.Equal(t, grovev1alpha1.RollingRecreate, rollout.StrategyOf(set))
}

func TestWarnings(t *testing.T) {
	set := fixture.Set(t, manifest("s", "cliqueStartupType: CliqueStartupTypeInOrder, cliques: ["+
		"{name: a, spec: {podSpec: {restartPolicy: Never, containers: [{name: main}]}}}, {name: b, spec: {startsAfter: "+
		"[a], podSpec: {containers: [{name: main}]}}}]"))
	warnings, errs := admission.ValidateCreate(set, cluster())
	assert.Empty(t, errs)
	require.Len(t, warnings, 2)
	require.True(t, strings.HasPrefix(warnings[0], "spec.template.cliques[1].spec.startsAfter: "))
	assert.True(t, strings.HasPrefix(warnings[1], "spec.template.cliques[0].spec.podSpec.restartPolicy: "))
}

func TestSetDefaults(t *testing.T) {
	set := fixture.Raw(t,
		manifest("s",
			"cliques: [{name: a, spec: {replicas: 3, podSpec: {containers: [{name: main}]}, autoScalingConfig: {maxReplicas: "+
				"5}}}], podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 2, scaleConfig: {maxReplicas: 4}}]"))
	admission.SetDefaults(set)
	template := &set.Spec.Template
	clique, group := &template.Cliques[0].Spec, &template.PodCliqueScalingGroups[0]
	got := []any{
		set.Spec.UpdateStrategy.Type, template.CliqueStartupType,
		*template.HeadlessServiceConfig.PublishNotReadyAddresses,
		template.TerminationDelay.Duration.String(), clique.RoleName, *clique.MinAvailable,
		*clique.AutoScalingConfig.MinReplicas,
		*group.Replicas, *group.MinAvailable, *group.ScaleConfig.MinReplicas,
	}
	want := []any{
		grovev1alpha1.RollingRecreate, grovev1alpha1.CliqueStartupTypeAnyOrder, true, "4h0m0s", "a", int32(3), int32(3),
		int32(2), int32(1), int32(2),
	}
	assert.Empty(t, cmp.Diff(want, got), "defaults (-want +got)")
}

func TestASetHasABoundedNumberOfPods(t *testing.T) {
	set := fixture.Set(t, manifest("s", "cliques: ["+one("a", "replicas: 11")+"]"))
	set.Spec.Replicas = 10000
	_, errs := admission.ValidateCreate(set, cluster())
	assert.Empty(t, cmp.Diff([]string{"spec.replicas: " + invalid}, summary(errs)), "errors (-want +got)")
	assert.Equal(t, "10000 replicas of 11 pods are more than the 100000 pods that a set may have", errs[0].Detail)
}

func TestATerminationDelayOfOnesOwnIsAccepted(t *testing.T) {
	for _, delay := range []string{"30m", "4h", "0s"} {
		set := fixture.Set(t, manifest("s", "terminationDelay: "+delay+", cliques: ["+one("a", "")+"]"))
		warnings, errs := admission.ValidateCreate(set, cluster())
		assert.Empty(t, errs, delay)
		assert.Empty(t, warnings, delay)
	}
}
