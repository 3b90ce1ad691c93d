package catalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/podgrouper/internal/grouping"
)

func labelled(queue string) grouping.Owner {
	labels := map[string]string{"app": "x"}
	if queue != "" {
		labels[kai.LabelQueue] = queue
	}
	return grouping.Owner{Object: &metav1.ObjectMeta{Labels: labels}}
}

func labelledPod(name, queue string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{kai.LabelQueue: queue}}}
}

func TestCarriedLabels(t *testing.T) {
	templated := []grouping.Template{
		{Labels: map[string]string{kai.LabelQueue: "template"}},
		{Labels: map[string]string{kai.LabelQueue: "second", kai.LabelNodePool: "gpu"}},
	}
	pods := []*corev1.Pod{labelledPod("b", "pod-b"), labelledPod("a", "pod-a"), labelledPod("0", "")}
	cases := map[string]struct {
		workload  grouping.Workload
		templates []grouping.Template
		want      map[string]string
	}{
		"the owner comes first, and the template fills in": {
			workload: grouping.Workload{Owner: labelled("owner"), Above: []grouping.Owner{labelled("above")},
				Pods: pods},
			templates: templated,
			want:      map[string]string{kai.LabelQueue: "owner", kai.LabelNodePool: "gpu"},
		},
		"owners above come next": {
			workload:  grouping.Workload{Owner: labelled(""), Above: []grouping.Owner{labelled("above")}, Pods: pods},
			templates: templated,
			want:      map[string]string{kai.LabelQueue: "above", kai.LabelNodePool: "gpu"},
		},
		"then the templates, one after the other": {
			workload:  grouping.Workload{Owner: labelled(""), Pods: pods},
			templates: templated,
			want:      map[string]string{kai.LabelQueue: "template", kai.LabelNodePool: "gpu"},
		},
		"then the pod with the least name that says anything, whichever came first": {
			workload: grouping.Workload{Owner: labelled(""), Pods: pods},
			want:     map[string]string{kai.LabelQueue: "pod-a"},
		},
		"other labels stay behind": {
			workload: grouping.Workload{Owner: labelled("")},
			want:     map[string]string{},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, cmp.Diff(c.want, grouping.CarriedLabels(c.workload, c.templates)), "labels (-want +got)")
		})
	}
}

func TestParsePreemptibility(t *testing.T) {
	for value, problems := range map[string]int{"": 0, "preemptible": 0, "non-preemptible": 0, "Preemptible": 1,
		"maybe": 1} {
		got, errs := grouping.ParsePreemptibility(map[string]string{kai.LabelPreemptibility: value})
		if len(errs) != problems || problems == 0 && string(got) != value || problems > 0 && got != "" {
			t.Errorf("%q: got %q with %v", value, got, errs)
		}
	}
}

func TestAPodGroupTakesOverWhatItsGangShares(t *testing.T) {
	annotated := func(annotations map[string]string) grouping.Workload {
		return grouping.Workload{Owner: grouping.Owner{Object: &metav1.ObjectMeta{Annotations: annotations}}}
	}
	shared := map[string]string{
		scheduling.AnnotationBaseGang: "base", scheduling.AnnotationSharedTopology: "t",
		scheduling.AnnotationSharedRequired: "zone",
		scheduling.AnnotationPodsTopology:   "t",
		scheduling.AnnotationPlacement:      "Spread", scheduling.AnnotationSeatHold: "90s",
		scheduling.AnnotationRepairMove: "gang", scheduling.AnnotationRepairAfter: "5m",
	}
	assert.Empty(t, cmp.Diff(shared, grouping.CarriedAnnotations(annotated(shared))), "(-want +got)")
	assert.Nil(t, grouping.CarriedAnnotations(annotated(map[string]string{"team": "x"})),
		"other annotations are carried over")
}

// said are the annotations of a workload and of an owner above it; nil for none.
type said struct {
	workload, above *string
	want            string
	wrong           string
}

func (c said) of(t *testing.T, key string, parse func(grouping.Workload) (string, field.ErrorList)) {
	t.Helper()
	asking := func(value *string) grouping.Owner {
		if value == nil {
			return annotated("Job", "train", nil)
		}
		return annotated("Job", "train", map[string]string{key: *value})
	}
	got, errs := parse(grouping.Workload{Owner: asking(c.workload), Above: []grouping.Owner{asking(c.above)}})
	var wrong []string
	if c.wrong != "" {
		wrong = []string{"metadata.annotations[" + key + "]: Invalid value: " + c.wrong}
	}
	assert.Empty(t, cmp.Diff(wrong, lines(errs)), "findings (-want +got)")
	assert.Equal(t, c.want, got, key)
}

func TestParsePlacement(t *testing.T) {
	pack, spread, none, lower := "Pack", "Spread", "", "spread"
	for name, c := range map[string]said{
		"nothing is said":            {},
		"the workload":               {workload: &spread, want: "Spread"},
		"an owner above it":          {above: &spread, want: "Spread"},
		"the nearest counts":         {workload: &pack, above: &spread, want: "Pack"},
		"a word that is none":        {workload: &lower, wrong: `"spread": must be Pack or Spread`},
		"a word that is none, above": {above: &none, wrong: `"": must be Pack or Spread (in Job train)`},
	} {
		t.Run(name, func(t *testing.T) { c.of(t, scheduling.AnnotationPlacement, grouping.ParsePlacement) })
	}
}

func TestParseSeatHold(t *testing.T) {
	const must = "must be a duration of at least 0, such as 90s"
	long, zero, noTime, unitless, negative := "5m", "0", "0s", "60", "-1m"
	for name, c := range map[string]said{
		"nothing is said":          {},
		"the workload":             {workload: &long, want: "5m"},
		"none":                     {workload: &zero, want: "0"},
		"an owner above it":        {above: &long, want: "5m"},
		"the nearest counts":       {workload: &noTime, above: &long, want: "0s"},
		"no unit":                  {workload: &unitless, wrong: `"60": ` + must},
		"less than nothing, above": {above: &negative, wrong: `"-1m": ` + must + ` (in Job train)`},
	} {
		t.Run(name, func(t *testing.T) { c.of(t, scheduling.AnnotationSeatHold, grouping.ParseSeatHold) })
	}
}

// A wrong value is carried over: without it the scheduler would follow its own configuration.
func TestParseRepair(t *testing.T) {
	const move, after = scheduling.AnnotationRepairMove, scheduling.AnnotationRepairAfter
	whole, none, unknown, late, unitless := "gang", "none", "all", "10m", "10"
	for name, c := range map[string]struct {
		said
		key string
	}{
		"nothing is said":    {key: move},
		"the workload":       {said{workload: &whole, want: "gang"}, move},
		"an owner above it":  {said{above: &whole, want: "gang"}, move},
		"the nearest counts": {said{workload: &none, above: &whole, want: "none"}, move},
		"an unknown word": {
			said{workload: &unknown, want: "all", wrong: `"all": must be none, subgroup or gang`}, move,
		},
		"an unknown word hides that above": {
			said{workload: &unknown, above: &none, want: "all", wrong: `"all": must be none, subgroup or gang`}, move,
		},
		"a time": {said{above: &late, want: "10m"}, after},
		"no unit, above": {said{above: &unitless, want: "10",
			wrong: `"10": must be a duration of at least 0, such as 2m (in Job train)`}, after},
	} {
		t.Run(name, func(t *testing.T) {
			c.of(t, c.key, func(w grouping.Workload) (string, field.ErrorList) {
				found, errs := grouping.ParseRepair(w)
				assert.Equal(t, c.want, grouping.CarriedAnnotations(w)[c.key])
				return found[c.key], errs
			})
		})
	}
}
