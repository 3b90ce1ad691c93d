package catalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"

	"packtree.dev/podgrouper/internal/grouping"
)

func network(topology string) (podgrouptree.Hierarchy, bool) {
	return podgrouptree.Hierarchy{
		{Key: "zone", Alias: "z"}, {Key: "block", Alias: "twice"}, {Key: "rack", Alias: "twice"},
		{Key: "kubernetes.io/hostname"}, {Key: "example.com/socket", Alias: "numa"},
	}, topology == "network"
}

func annotated(kind, name string, annotations map[string]string) grouping.Owner {
	return grouping.Owner{
		Object: &metav1.ObjectMeta{Name: name, Annotations: annotations},
		Kind:   schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: kind},
	}
}

func TestFromAnnotations(t *testing.T) {
	cases := map[string]struct {
		annotations map[string]string
		want        *scheduling.TopologyConstraint
		problems    []string
		doubts      []string
	}{
		"nothing said is no constraint": {},
		"all three": {
			annotations: map[string]string{
				kai.AnnotationTopology: "network", kai.AnnotationTopologyRequired: "zone",
				kai.AnnotationTopologyPreferred: "rack",
			},
			want: &scheduling.TopologyConstraint{Topology: "network", RequiredTopologyLevel: "zone",
				PreferredTopologyLevel: "rack"},
		},
		"a level without a topology is kept, so that the gang waits": {
			annotations: map[string]string{kai.AnnotationTopologyRequired: "zone"},
			want:        &scheduling.TopologyConstraint{RequiredTopologyLevel: "zone"},
			problems: []string{
				`metadata.annotations[kai.scheduler/topology]: Required value: a level needs the name of the Topology that it belongs to`,
			},
		},
		"empty values are reported once each": {
			annotations: map[string]string{kai.AnnotationTopology: "", kai.AnnotationTopologyRequired: "zone",
				kai.AnnotationTopologyPreferred: ""},
			want: &scheduling.TopologyConstraint{RequiredTopologyLevel: "zone"},
			problems: []string{
				`metadata.annotations[kai.scheduler/topology]: Required value: must not be empty: give it a value or remove it`,
				`metadata.annotations[kai.scheduler/topology-preferred-placement]: Required value: must not be empty: give it a value or remove it`,
			},
		},
		"an unknown topology": {
			annotations: map[string]string{kai.AnnotationTopology: "nowhere", kai.AnnotationTopologyRequired: "zone"},
			want:        &scheduling.TopologyConstraint{Topology: "nowhere", RequiredTopologyLevel: "zone"},
			doubts: []string{
				`metadata.annotations[kai.scheduler/topology]: Invalid value: "nowhere": no Topology has this name: create it, or name another`,
			},
		},
		"an unknown level": {
			annotations: map[string]string{kai.AnnotationTopology: "network", kai.AnnotationTopologyRequired: "blok"},
			want:        &scheduling.TopologyConstraint{Topology: "network", RequiredTopologyLevel: "blok"},
			doubts: []string{
				`metadata.annotations[kai.scheduler/topology-required-placement]: Invalid value: "blok": Topology "network" has no such level, its levels are: zone (z), block (twice), rack (twice), kubernetes.io/hostname, example.com/socket (numa); did you mean block?`,
			},
		},
		"the name alone of a level": {
			annotations: map[string]string{kai.AnnotationTopology: "network",
				kai.AnnotationTopologyRequired: "hostname"},
			want: &scheduling.TopologyConstraint{Topology: "network", RequiredTopologyLevel: "hostname"},
			doubts: []string{`metadata.annotations[kai.scheduler/topology-required-placement]: Invalid value: "hostname": ` +
				`Topology "network" has no such level, its levels are: zone (z), block (twice), rack (twice), kubernetes.io/hostname, example.com/socket (numa); did you mean kubernetes.io/hostname?`},
		},
		"a required level below the preferred one": {
			annotations: map[string]string{
				kai.AnnotationTopology: "network", kai.AnnotationTopologyRequired: "rack",
				kai.AnnotationTopologyPreferred: "zone",
			},
			want: &scheduling.TopologyConstraint{Topology: "network", RequiredTopologyLevel: "rack",
				PreferredTopologyLevel: "zone"},
			doubts: []string{
				`metadata.annotations[kai.scheduler/topology-preferred-placement]: Invalid value: "zone": is broader than the required level rack, which implies it: name a narrower level, or remove it`,
			},
		},
		"a topology alone constrains nothing": {
			annotations: map[string]string{kai.AnnotationTopology: "nowhere"},
			want:        &scheduling.TopologyConstraint{Topology: "nowhere"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			constraint, problems := grouping.FromOwners(
				grouping.Workload{Owner: annotated("Fleet", "north", c.annotations)})
			group := grouping.Group{Constraint: constraint}
			assert.Empty(t, cmp.Diff(c.want, group.PodGroupSpec().TopologyConstraint), "constraint (-want +got)")
			assert.Empty(t, cmp.Diff(c.problems, lines(problems)), "problems (-want +got)")
			assert.Empty(t, cmp.Diff(c.doubts, lines(group.Check(network))), "doubts (-want +got)")
		})
	}
}

func TestTheNearestOwnerWithAnAnnotationDecides(t *testing.T) {
	w := grouping.Workload{
		Owner: annotated("Job", "lower", nil),
		Above: []grouping.Owner{
			annotated("CronJob", "middle", map[string]string{kai.AnnotationTopologyRequired: "rack"}),
			annotated("Fleet", "upper",
				map[string]string{kai.AnnotationTopology: "network", kai.AnnotationTopologyRequired: "zone"}),
		},
	}
	constraint, problems := grouping.FromOwners(w)
	assert.Equal(t, "rack", constraint.Required.Value, "got %+v", constraint)
	assert.Empty(t, constraint.Topology.Value, "got %+v", constraint)
	want := []string{
		`metadata.annotations[kai.scheduler/topology]: Required value: a level needs the name of the Topology that it belongs to (in CronJob middle)`,
	}
	assert.Empty(t, cmp.Diff(want, lines(problems)), "problems (-want +got)")
}

func TestForWhichWorkloadsAnnotationsAreMeant(t *testing.T) {
	rayCluster, job := schema.GroupKind{Group: "ray.io", Kind: "RayCluster"},
		schema.GroupKind{Group: "batch", Kind: "Job"}
	for name, c := range map[string]struct {
		above, workload schema.GroupKind
		want            string
	}{
		"a RayJob does not mean its submitter": {schema.GroupKind{Group: "ray.io", Kind: "RayJob"}, job, ""},
		"a RayJob means its cluster":           {schema.GroupKind{Group: "ray.io", Kind: "RayJob"}, rayCluster, "zone"},
		"a RayService means each of its clusters": {schema.GroupKind{Group: "ray.io", Kind: "RayService"}, rayCluster,
			"zone"},
		"a CronJob means its Jobs":               {schema.GroupKind{Group: "batch", Kind: "CronJob"}, job, "zone"},
		"a RayCluster does not mean its cleanup": {rayCluster, job, ""},
	} {
		t.Run(name, func(t *testing.T) {
			above := annotated(c.above.Kind, "upper",
				map[string]string{kai.AnnotationTopology: "network", kai.AnnotationTopologyRequired: "zone"})
			workload := annotated(c.workload.Kind, "lower", nil)
			above.Kind.Group, workload.Kind.Group = c.above.Group, c.workload.Group
			got, _ := grouping.FromOwners(grouping.Workload{Owner: workload, Above: []grouping.Owner{above}})
			assert.Equal(t, c.want, got.Required.Value, "the required level")
		})
	}
}

func TestGroupsBelowOthers(t *testing.T) {
	wish := func(value, path string) grouping.Wish {
		return grouping.Wish{Value: value, Path: field.NewPath(path)}
	}
	constraint := func(name, topology, required, preferred string) grouping.Constraint {
		return grouping.Constraint{
			Topology: wish(topology, name+".topology"), Required: wish(required, name+".required"),
			Preferred: wish(preferred, name+".preferred"),
		}
	}
	group := func(name, parent, topology, required, preferred string) grouping.SubGroup {
		return grouping.SubGroup{Name: name, Parent: parent, Constraint: constraint(name, topology,
			required, preferred)}
	}
	for name, c := range map[string]struct {
		root   grouping.Constraint
		groups []grouping.SubGroup
		want   []string
	}{
		"narrower towards the leaves": {
			root: constraint("root", "network", "zone", "block"),
			groups: []grouping.SubGroup{group("a", "", "network", "block", ""),
				group("b", "a", "network", "rack", "rack")},
		},
		"broader than the group above and than all": {
			root:   constraint("root", "network", "block", ""),
			groups: []grouping.SubGroup{group("a", "", "network", "rack", ""), group("b", "a", "network", "zone", "")},
			want: []string{
				`b.required: Invalid value: "zone": is broader than rack at a.required, which implies it: name a narrower level, or remove it`,
			},
		},
		"a preferred level broader than that of all": {
			root:   constraint("root", "network", "", "rack"),
			groups: []grouping.SubGroup{group("a", "", "network", "", "block")},
			want: []string{
				`a.preferred: Invalid value: "block": is broader than rack at root.preferred, which implies it: name a narrower level, or remove it`,
			},
		},
		"levels of two topologies have no order": {
			root:   constraint("root", "other", "rack", ""),
			groups: []grouping.SubGroup{group("a", "", "network", "zone", "")},
			want:   []string{`root.topology: Invalid value: "other": no Topology has this name: create it, or name another`},
		},
		"groups from one template are reported once": {
			groups: []grouping.SubGroup{
				{Name: "a-0", Constraint: constraint("template", "nowhere", "rack", "")},
				{Name: "a-1", Constraint: constraint("template", "nowhere", "rack", "")},
			},
			want: []string{`template.topology: Invalid value: "nowhere": no Topology has this name: create it, or name another`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := lines(grouping.Group{Constraint: c.root, SubGroups: c.groups}.Check(network))
			assert.Empty(t, cmp.Diff(c.want, got), "findings (-want +got)")
		})
	}
}

func lines(errs field.ErrorList) []string {
	var lines []string
	for _, err := range errs {
		lines = append(lines, err.Error())
	}
	return lines
}

func TestALevelCanBeCalledByItsAlias(t *testing.T) {
	for name, c := range map[string]struct {
		annotations map[string]string
		want        *scheduling.TopologyConstraint
		doubts      []string
	}{
		"by alias and by label": {
			annotations: map[string]string{kai.AnnotationTopology: "network", kai.AnnotationTopologyRequired: "z",
				kai.AnnotationTopologyPreferred: "rack"},
			want: &scheduling.TopologyConstraint{Topology: "network", RequiredTopologyLevel: "zone",
				PreferredTopologyLevel: "rack"},
		},
		"NUMA zones, whose label no node carries": {
			annotations: map[string]string{kai.AnnotationTopology: "network", kai.AnnotationTopologyRequired: "numa",
				kai.AnnotationTopologyPreferred: "example.com/socket"},
			want: &scheduling.TopologyConstraint{Topology: "network", RequiredTopologyLevel: "example.com/socket",
				PreferredTopologyLevel: "example.com/socket"},
		},
		"an alias of a broader level than the required one": {
			annotations: map[string]string{kai.AnnotationTopology: "network", kai.AnnotationTopologyRequired: "rack",
				kai.AnnotationTopologyPreferred: "z"},
			want: &scheduling.TopologyConstraint{Topology: "network", RequiredTopologyLevel: "rack",
				PreferredTopologyLevel: "zone"},
			doubts: []string{`metadata.annotations[kai.scheduler/topology-preferred-placement]: Invalid value: "z": ` +
				"is broader than the required level rack, which implies it: name a narrower level, or remove it"},
		},
		"an alias that is two levels": {
			annotations: map[string]string{kai.AnnotationTopology: "network", kai.AnnotationTopologyRequired: "twice"},
			want:        &scheduling.TopologyConstraint{Topology: "network", RequiredTopologyLevel: "twice"},
			doubts: []string{`metadata.annotations[kai.scheduler/topology-required-placement]: Invalid value: "twice": ` +
				`is the alias of 2 levels of Topology "network", block and rack: name the one that is meant by its label, or give it another alias`},
		},
		"an alias of a Topology that is not known": {
			annotations: map[string]string{kai.AnnotationTopology: "elsewhere", kai.AnnotationTopologyRequired: "z"},
			want:        &scheduling.TopologyConstraint{Topology: "elsewhere", RequiredTopologyLevel: "z"},
			doubts: []string{
				`metadata.annotations[kai.scheduler/topology]: Invalid value: "elsewhere": no Topology has this name: create it, or name another`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			constraint, problems := grouping.FromAnnotations(c.annotations, field.NewPath("metadata", "annotations"))
			group := grouping.Group{Constraint: constraint,
				SubGroups: []grouping.SubGroup{{Name: "part", Constraint: constraint}}}
			require.Empty(t, problems)
			assert.Empty(t, cmp.Diff(
				c.doubts, lines(append(group.Check(network), group.Ambiguous(network)...))), "doubts (-want +got)")
			spec := group.WithKeys(network).PodGroupSpec()
			assert.Empty(t, cmp.Diff([]*scheduling.TopologyConstraint{c.want, c.want},
				[]*scheduling.TopologyConstraint{spec.TopologyConstraint,
					spec.SubGroups[0].TopologyConstraint}), "constraints (-want +got)")
			asWritten := group.PodGroupSpec().TopologyConstraint
			assert.Equal(t, c.annotations[kai.AnnotationTopologyRequired], asWritten.RequiredTopologyLevel,
				"the group that was asked has changed")
		})
	}
}
