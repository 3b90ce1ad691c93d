package grouping_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
			workload:  grouping.Workload{Owner: labelled("owner"), Above: []grouping.Owner{labelled("above")}, Pods: pods},
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
			if diff := cmp.Diff(c.want, grouping.CarriedLabels(c.workload, c.templates)); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParsePreemptibility(t *testing.T) {
	for value, problems := range map[string]int{"": 0, "preemptible": 0, "non-preemptible": 0, "Preemptible": 1, "maybe": 1} {
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
		scheduling.AnnotationBaseGang: "base", scheduling.AnnotationSharedTopology: "t", scheduling.AnnotationSharedRequired: "zone",
		scheduling.AnnotationPodsTopology: "t", scheduling.AnnotationPlacement: "Spread", scheduling.AnnotationSeatHold: "90s",
	}
	if diff := cmp.Diff(shared, grouping.CarriedAnnotations(annotated(shared))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := grouping.CarriedAnnotations(annotated(map[string]string{"team": "x"})); got != nil {
		t.Errorf("other annotations are carried over: %v", got)
	}
}

func TestParsePlacement(t *testing.T) {
	asking := func(placement string) grouping.Owner {
		return owner("Job", "train", map[string]string{scheduling.AnnotationPlacement: placement})
	}
	silent := owner("Job", "train", nil)
	for name, c := range map[string]struct {
		workload grouping.Workload
		want     string
		wrong    []string
	}{
		"nobody says anything":       {workload: grouping.Workload{Owner: silent}},
		"the workload":               {workload: grouping.Workload{Owner: asking("Spread")}, want: "Spread"},
		"an owner above it":          {workload: grouping.Workload{Owner: silent, Above: []grouping.Owner{asking("Spread")}}, want: "Spread"},
		"the nearest counts":         {workload: grouping.Workload{Owner: asking("Pack"), Above: []grouping.Owner{asking("Spread")}}, want: "Pack"},
		"a word that is none":        {workload: grouping.Workload{Owner: asking("spread")}, wrong: []string{`metadata.annotations[packtree.dev/placement]: Invalid value: "spread": must be Pack or Spread`}},
		"a word that is none, above": {workload: grouping.Workload{Owner: silent, Above: []grouping.Owner{asking("")}}, wrong: []string{`metadata.annotations[packtree.dev/placement]: Invalid value: "": must be Pack or Spread (in Job train)`}},
	} {
		t.Run(name, func(t *testing.T) {
			got, errs := grouping.ParsePlacement(c.workload)
			if diff := cmp.Diff(c.wrong, lines(errs)); diff != "" || got != c.want {
				t.Errorf("placement %q, want %q; findings (-want +got):\n%s", got, c.want, diff)
			}
		})
	}
}

func TestParseSeatHold(t *testing.T) {
	const must = "must be a duration of at least 0, such as 90s"
	asking := func(hold string) grouping.Owner {
		return owner("Job", "train", map[string]string{scheduling.AnnotationSeatHold: hold})
	}
	silent := owner("Job", "train", nil)
	for name, c := range map[string]struct {
		workload grouping.Workload
		want     string
		wrong    []string
	}{
		"nobody says anything": {workload: grouping.Workload{Owner: silent}},
		"the workload":         {workload: grouping.Workload{Owner: asking("5m")}, want: "5m"},
		"none":                 {workload: grouping.Workload{Owner: asking("0")}, want: "0"},
		"an owner above it":    {workload: grouping.Workload{Owner: silent, Above: []grouping.Owner{asking("5m")}}, want: "5m"},
		"the nearest counts":   {workload: grouping.Workload{Owner: asking("0s"), Above: []grouping.Owner{asking("5m")}}, want: "0s"},
		"no unit": {workload: grouping.Workload{Owner: asking("60")}, wrong: []string{
			`metadata.annotations[packtree.dev/seat-hold]: Invalid value: "60": ` + must}},
		"less than nothing, above": {workload: grouping.Workload{Owner: silent, Above: []grouping.Owner{asking("-1m")}}, wrong: []string{
			`metadata.annotations[packtree.dev/seat-hold]: Invalid value: "-1m": ` + must + ` (in Job train)`}},
	} {
		t.Run(name, func(t *testing.T) {
			got, errs := grouping.ParseSeatHold(c.workload)
			if diff := cmp.Diff(c.wrong, lines(errs)); diff != "" || got != c.want {
				t.Errorf("hold %q, want %q; findings (-want +got):\n%s", got, c.want, diff)
			}
		})
	}
}
