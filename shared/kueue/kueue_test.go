package kueue_test

import (
	"strings"
	"testing"

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

func TestQueueProblems(t *testing.T) {
	for queue, wrong := range map[string]bool{
		"team-a": false, "team.a": false, "Team": true, "-team": true, strings.Repeat("a", 64): true, "a b": true,
	} {
		if got := len(kueue.QueueProblems(queue)) > 0; got != wrong {
			t.Errorf("%q has problems: %v, want %v", queue, got, wrong)
		}
	}
}
