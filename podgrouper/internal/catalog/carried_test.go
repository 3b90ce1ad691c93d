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

// A wrong word about a repair is carried over: without it the scheduler would follow its own configuration.
func TestWhatOwnersSayOfPlacementSeatsAndRepairs(t *testing.T) {
	const placement, seats = scheduling.AnnotationPlacement, scheduling.AnnotationSeatHold
	const move, after = scheduling.AnnotationRepairMove, scheduling.AnnotationRepairAfter
	const aTime, repairs = "must be a duration of at least 0, such as 90s", "must be none, subgroup or gang"
	parsers := map[string]func(grouping.Workload) (string, field.ErrorList){
		placement: grouping.ParsePlacement, seats: grouping.ParseSeatHold,
	}
	for _, key := range []string{move, after} {
		parsers[key] = func(w grouping.Workload) (string, field.ErrorList) {
			found, errs := grouping.ParseRepair(w)
			assert.Equal(t, found[key], grouping.CarriedAnnotations(w)[key])
			return found[key], errs
		}
	}
	for name, c := range map[string]struct {
		key string
		// workload and above are what the workload and an owner above it say; nil for nothing.
		workload, above *string
		want, wrong     string
	}{
		"no placement":                       {key: placement},
		"the workload's placement":           {placement, new("Spread"), nil, "Spread", ""},
		"an owner's placement":               {placement, nil, new("Spread"), "Spread", ""},
		"the nearest placement counts":       {placement, new("Pack"), new("Spread"), "Pack", ""},
		"a placement that is none":           {placement, new("spread"), nil, "", `"spread": must be Pack or Spread`},
		"a placement that is none, above":    {placement, nil, new(""), "", `"": must be Pack or Spread (in Job train)`},
		"no time":                            {key: seats},
		"the workload's time":                {seats, new("5m"), nil, "5m", ""},
		"a time of none":                     {seats, new("0"), nil, "0", ""},
		"an owner's time":                    {seats, nil, new("5m"), "5m", ""},
		"the nearest time counts":            {seats, new("0s"), new("5m"), "0s", ""},
		"a time without a unit":              {seats, new("60"), nil, "", `"60": ` + aTime},
		"a time less than nothing, above":    {seats, nil, new("-1m"), "", `"-1m": ` + aTime + ` (in Job train)`},
		"no repair":                          {key: move},
		"the workload's repair":              {move, new("gang"), nil, "gang", ""},
		"an owner's repair":                  {move, nil, new("gang"), "gang", ""},
		"the nearest repair counts":          {move, new("none"), new("gang"), "none", ""},
		"an unknown repair":                  {move, new("all"), nil, "all", `"all": ` + repairs},
		"an unknown repair hides that above": {move, new("all"), new("none"), "all", `"all": ` + repairs},
		"a time of a repair":                 {after, new("10m"), nil, "10m", ""},
		"a repair's time without a unit, above": {after, nil, new("10"), "10",
			`"10": must be a duration of at least 0, such as 2m (in Job train)`},
	} {
		t.Run(name, func(t *testing.T) {
			saying := func(value *string) grouping.Owner {
				if value == nil {
					return annotated("Job", "train", nil)
				}
				return annotated("Job", "train", map[string]string{c.key: *value})
			}
			w := grouping.Workload{Owner: saying(c.workload), Above: []grouping.Owner{saying(c.above)}}
			got, errs := parsers[c.key](w)
			assert.Equal(t, c.want, got)
			var wrong []string
			if c.wrong != "" {
				wrong = []string{"metadata.annotations[" + c.key + "]: Invalid value: " + c.wrong}
			}
			assert.Empty(t, cmp.Diff(wrong, lines(errs)), "findings (-want +got)")
		})
	}
}
