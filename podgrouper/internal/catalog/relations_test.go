package catalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"

	"packtree.dev/podgrouper/internal/grouping"
)

const (
	ofWorkers   = `[{"name":"apart","podsOf":"worker","topology":"t","level":"rack","maxPerDomain":1}]`
	ofTheWhole  = `[{"name":"near","near":"other","topology":"t","level":"rack"}]`
	misspelt    = `[{"name":"apart","podsOf":"worker","level":"rack","maxPerDomains":1}]`
	sayRelation = "[packtree.dev/relations][0]"
)

func related(annotation string) grouping.Owner {
	if annotation == "" {
		return annotated("Job", "train", nil)
	}
	return annotated("Job", "train", map[string]string{scheduling.AnnotationRelations: annotation})
}

func TestParseRelations(t *testing.T) {
	template := func(annotation string) []grouping.Template {
		return []grouping.Template{{
			Annotations: map[string]string{scheduling.AnnotationRelations: annotation},
			Path:        field.NewPath("spec", "template", "metadata"),
		}}
	}
	for name, c := range map[string]struct {
		workload  grouping.Workload
		templates []grouping.Template
		written   string
		read      int
		wrong     []string
	}{
		"nothing is said": {workload: grouping.Workload{Owner: related("")}},
		"the workload": {workload: grouping.Workload{Owner: related(ofWorkers)}, templates: template(ofTheWhole),
			written: ofWorkers, read: 1},
		"an owner above it": {workload: grouping.Workload{Owner: related(""),
			Above: []grouping.Owner{related(ofTheWhole)}},
			written: ofTheWhole, read: 1},
		"its pods' template": {workload: grouping.Workload{Owner: related("")}, templates: template(ofWorkers),
			written: ofWorkers, read: 1},
		"what cannot be read is carried over all the same": {
			workload: grouping.Workload{Owner: related(misspelt)}, written: misspelt,
			wrong: []string{"metadata.annotations" + sayRelation +
				`.maxPerDomains: Invalid value: unknown field, did you mean "maxPerDomain"?`},
		},
		"in the template": {
			workload: grouping.Workload{Owner: related("")}, templates: template(misspelt), written: misspelt,
			wrong: []string{"spec.template.metadata.annotations" + sayRelation +
				`.maxPerDomains: Invalid value: unknown field, did you mean "maxPerDomain"?`},
		},
		"above": {
			workload: grouping.Workload{Owner: related(""), Above: []grouping.Owner{related(misspelt)}},
			written:  misspelt,
			wrong: []string{"metadata.annotations" + sayRelation +
				`.maxPerDomains: Invalid value: unknown field, did you mean "maxPerDomain"? (in Job train)`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, errs := grouping.ParseRelations(c.workload, c.templates)
			assert.Empty(t, cmp.Diff(c.wrong, lines(errs)), "findings (-want +got)")
			assert.Equal(t, c.written, got.Written)
			assert.Len(t, got.Relations, c.read)
		})
	}
}

func TestRelationsAreJudgedByTheGroupsThatThereAre(t *testing.T) {
	one, empty := int32(1), grouping.Related{}
	worker := &scheduling.PodGroupSpec{SubGroups: []scheduling.SubGroup{{Name: "worker", MinMember: &one}}}
	levels := func(string) (podgrouptree.Hierarchy, bool) { return podgrouptree.Hierarchy{{Key: "zone"}}, true }
	said, _ := grouping.ParseRelations(grouping.Workload{Owner: related(ofWorkers)}, nil)
	for name, c := range map[string]struct {
		said   grouping.Related
		spec   *scheduling.PodGroupSpec
		levels grouping.Levels
		want   []string
	}{
		"nothing is said":        {said: empty, spec: worker},
		"the group is there":     {said: said, spec: worker},
		"a spec that is no tree": {said: said, spec: &scheduling.PodGroupSpec{}},
		"there is no such group": {said: said, spec: &scheduling.PodGroupSpec{MinMember: &one},
			want: []string{"metadata.annotations" + sayRelation +
				`.podsOf: Invalid value: "worker": no subGroup has this name`}},
		"the Topology has no such level": {said: said, spec: worker, levels: levels,
			want: []string{"metadata.annotations" + sayRelation +
				`.level: Invalid value: "rack": Topology "t" has no such level, its levels are: zone`}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, cmp.Diff(c.want, lines(c.said.Check(c.spec, c.levels))), "(-want +got)")
		})
	}
}
