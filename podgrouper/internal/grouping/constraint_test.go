package grouping_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/podgrouper/internal/grouping"
)

func network(topology string) ([]string, bool) {
	return []string{"zone", "block", "rack"}, topology == "network"
}

func owner(kind, name string, annotations map[string]string) grouping.Owner {
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
				kai.AnnotationTopology: "network", kai.AnnotationTopologyRequired: "zone", kai.AnnotationTopologyPreferred: "rack",
			},
			want: &scheduling.TopologyConstraint{Topology: "network", RequiredTopologyLevel: "zone", PreferredTopologyLevel: "rack"},
		},
		"a level without a topology is kept, so that the gang waits": {
			annotations: map[string]string{kai.AnnotationTopologyRequired: "zone"},
			want:        &scheduling.TopologyConstraint{RequiredTopologyLevel: "zone"},
			problems:    []string{`metadata.annotations[kai.scheduler/topology]: Required value: a level needs the name of the Topology that it belongs to`},
		},
		"empty values are reported once each": {
			annotations: map[string]string{kai.AnnotationTopology: "", kai.AnnotationTopologyRequired: "zone", kai.AnnotationTopologyPreferred: ""},
			want:        &scheduling.TopologyConstraint{RequiredTopologyLevel: "zone"},
			problems: []string{
				`metadata.annotations[kai.scheduler/topology]: Required value: must not be empty: give it a value or remove it`,
				`metadata.annotations[kai.scheduler/topology-preferred-placement]: Required value: must not be empty: give it a value or remove it`,
			},
		},
		"an unknown topology": {
			annotations: map[string]string{kai.AnnotationTopology: "nowhere", kai.AnnotationTopologyRequired: "zone"},
			want:        &scheduling.TopologyConstraint{Topology: "nowhere", RequiredTopologyLevel: "zone"},
			doubts:      []string{`metadata.annotations[kai.scheduler/topology]: Invalid value: "nowhere": no Topology has this name: create it, or name another`},
		},
		"an unknown level": {
			annotations: map[string]string{kai.AnnotationTopology: "network", kai.AnnotationTopologyRequired: "blok"},
			want:        &scheduling.TopologyConstraint{Topology: "network", RequiredTopologyLevel: "blok"},
			doubts:      []string{`metadata.annotations[kai.scheduler/topology-required-placement]: Invalid value: "blok": Topology network has no such level, its levels are: zone, block, rack; did you mean block?`},
		},
		"a required level below the preferred one": {
			annotations: map[string]string{
				kai.AnnotationTopology: "network", kai.AnnotationTopologyRequired: "rack", kai.AnnotationTopologyPreferred: "zone",
			},
			want:   &scheduling.TopologyConstraint{Topology: "network", RequiredTopologyLevel: "rack", PreferredTopologyLevel: "zone"},
			doubts: []string{`metadata.annotations[kai.scheduler/topology-preferred-placement]: Invalid value: "zone": is broader than the required level rack, which implies it`},
		},
		"a topology alone constrains nothing": {
			annotations: map[string]string{kai.AnnotationTopology: "nowhere"},
			want:        &scheduling.TopologyConstraint{Topology: "nowhere"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			constraint, problems := grouping.FromOwners(grouping.Workload{Owner: owner("Fleet", "north", c.annotations)})
			group := grouping.Group{Constraint: constraint}
			if diff := cmp.Diff(c.want, group.PodGroupSpec().TopologyConstraint); diff != "" {
				t.Errorf("constraint (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.problems, lines(problems)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.doubts, lines(group.Check(network))); diff != "" {
				t.Errorf("doubts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheNearestOwnerWithAnAnnotationDecides(t *testing.T) {
	w := grouping.Workload{
		Owner: owner("Job", "lower", nil),
		Above: []grouping.Owner{
			owner("CronJob", "middle", map[string]string{kai.AnnotationTopologyRequired: "rack"}),
			owner("Fleet", "upper", map[string]string{kai.AnnotationTopology: "network", kai.AnnotationTopologyRequired: "zone"}),
		},
	}
	constraint, problems := grouping.FromOwners(w)
	if constraint.Required.Value != "rack" || constraint.Topology.Value != "" {
		t.Errorf("got %+v, want what the CronJob says and no more", constraint)
	}
	want := []string{`metadata.annotations[kai.scheduler/topology]: Required value: a level needs the name of the Topology that it belongs to (in CronJob middle)`}
	if diff := cmp.Diff(want, lines(problems)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func lines(errs field.ErrorList) []string {
	var lines []string
	for _, err := range errs {
		lines = append(lines, err.Error())
	}
	return lines
}
