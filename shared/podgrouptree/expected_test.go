package podgrouptree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

func TestExpectedPodsAreReadAsTheyAreWritten(t *testing.T) {
	for written, expected := range map[string]podgrouptree.Expected{
		`{"":4}`:                   {"": 4},
		`{"leader":1,"worker":12}`: {"worker": 12, "leader": 1},
		`{"surge":0}`:              {"surge": 0},
	} {
		assert.Equal(t, written, expected.String(), "%v is written", map[string]int32(expected))
		got, wrong := podgrouptree.ParseExpected(map[string]string{scheduling.AnnotationExpectedPods: written})
		assert.Empty(t, cmp.Diff(expected, got), written)
		assert.Nil(t, wrong, written)
	}
}

func TestNothingExpectedIsNotWritten(t *testing.T) {
	assert.Empty(t, (podgrouptree.Expected{}).String())
	if got, wrong := podgrouptree.ParseExpected(nil); got != nil || wrong != nil {
		t.Errorf("read as %v, %v", got, wrong)
	}
}

func TestMoreThanAnAnnotationHoldsIsNotWritten(t *testing.T) {
	expected := podgrouptree.Expected{}
	for i := range 8192 {
		expected[fmt.Sprintf("%s-%d", strings.Repeat("x", 50), i)] = 2
	}
	got := expected.String()
	assert.Empty(t, got, "%d bytes are written", len(got))
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
