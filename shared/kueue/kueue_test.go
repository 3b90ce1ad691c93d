package kueue_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/shared/kueue"
)

func TestNamesOfGroupsAreLabelValues(t *testing.T) {
	long := strings.Repeat("a", 62)
	if got := kueue.GroupName(long + "b"); got != long+"b" {
		t.Errorf("a name of 63 characters stays: %q", got)
	}
	cut, other := kueue.GroupName(long+"bc"), kueue.GroupName(long+"bd")
	if len(cut) != 63 || !strings.HasPrefix(cut, long[:50]) {
		t.Errorf("a longer name is cut to 63 characters: %q", cut)
	}
	if cut == other {
		t.Errorf("names that differ at the end stay different: %q", cut)
	}
	if cut != kueue.GroupName(long+"bc") {
		t.Error("the same name is cut in the same way")
	}
}

func TestWhichPodsAreCountedAlone(t *testing.T) {
	for name, c := range map[string]struct {
		labels map[string]string
		want   bool
	}{
		"a pod that Kueue does not count": {},
		"a pod without a group":           {map[string]string{kueue.LabelCounted: "true"}, true},
		"a pod that is its own group":     {map[string]string{kueue.LabelCounted: "true", kueue.LabelGroup: "p"}, true},
		"one of a group":                  {map[string]string{kueue.LabelCounted: "true", kueue.LabelGroup: "g"}, false},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: c.labels}}
		if got := kueue.CountedAlone(pod); got != c.want {
			t.Errorf("%s is counted alone: %v", name, got)
		}
	}
}

func TestQueueProblems(t *testing.T) {
	for queue, wrong := range map[string]bool{
		"team-a": false, "team.a": false, "Team": true, "-team": true, strings.Repeat("a", 64): true, "a b": true,
	} {
		if got := len(kueue.QueueProblems(queue)) > 0; got != wrong {
			t.Errorf("%q has problems: %v, want %v", queue, got, wrong)
		}
	}
}
