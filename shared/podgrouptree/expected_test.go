package podgrouptree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

func TestExpectedPodsAreReadAsTheyAreWritten(t *testing.T) {
	for written, expected := range map[string]podgrouptree.Expected{
		`{"":4}`:                   {"": 4},
		`{"leader":1,"worker":12}`: {"worker": 12, "leader": 1},
		`{"surge":0}`:              {"surge": 0},
	} {
		if got := expected.String(); got != written {
			t.Errorf("%v is written %s, want %s", map[string]int32(expected), got, written)
		}
		got, wrong := podgrouptree.ParseExpected(map[string]string{scheduling.AnnotationExpectedPods: written})
		if diff := cmp.Diff(expected, got); diff != "" || wrong != nil {
			t.Errorf("%s: %v (-want +got):\n%s", written, wrong, diff)
		}
	}
}

func TestNothingExpectedIsNotWritten(t *testing.T) {
	if got := (podgrouptree.Expected{}).String(); got != "" {
		t.Errorf("written as %q", got)
	}
	if got, wrong := podgrouptree.ParseExpected(nil); got != nil || wrong != nil {
		t.Errorf("read as %v, %v", got, wrong)
	}
}

func TestMoreThanAnAnnotationHoldsIsNotWritten(t *testing.T) {
	expected := podgrouptree.Expected{}
	for i := range 8192 {
		expected[fmt.Sprintf("%s-%d", strings.Repeat("x", 50), i)] = 2
	}
	if got := expected.String(); got != "" {
		t.Errorf("%d bytes are written", len(got))
	}
}

func TestExpectedPodsThatCannotBeUnderstood(t *testing.T) {
	for written, reason := range map[string]string{
		"":                   "must be a JSON object",
		"4":                  "must be a JSON object",
		"null":               "must be a JSON object",
		`{"a":"many"}`:       "must be a JSON object",
		`{"a":1.5}`:          "must be a JSON object",
		`{"a":99999999999}`:  "must be a JSON object",
		`{"a":4}, {"b":"4"}`: "must be a JSON object",
		`{"a":-1}`:           `leaf "a" cannot have fewer than 0 pods`,
	} {
		got, wrong := podgrouptree.ParseExpected(map[string]string{scheduling.AnnotationExpectedPods: written})
		if got != nil || wrong == nil || !strings.Contains(wrong.Error(), reason) ||
			wrong.Field != "metadata.annotations[packtree.dev/expected-pods]" {
			t.Errorf("%q is read as %v, %v", written, got, wrong)
		}
	}
}
