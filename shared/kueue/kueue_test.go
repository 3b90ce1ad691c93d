package kueue_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/shared/kueue"
)

func TestNamesOfGroupsAreLabelValues(t *testing.T) {
	long := strings.Repeat("a", 62)
	assert.Equal(t, long+"b", kueue.GroupName(long+"b"), "a name of 63 characters stays")
	cut, other := kueue.GroupName(long+"bc"), kueue.GroupName(long+"bd")
	require.Len(t, cut, 63, "a longer name is cut to 63 characters")
	assert.True(t, strings.HasPrefix(cut, long[:50]), "a longer name is cut to 63 characters")
	assert.NotEqual(t, other, cut, "names that differ at the end stay different")
	assert.Equal(t, kueue.GroupName(long+"bc"), cut, "the same name is cut in the same way")
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
		assert.Equal(t, c.want, kueue.CountedAlone(pod), "%s is counted alone", name)
	}
}

func TestQueueProblems(t *testing.T) {
	for queue, wrong := range map[string]bool{
		"team-a": false, "team.a": false, "Team": true, "-team": true, strings.Repeat("a", 64): true, "a b": true,
	} {
		assert.Equal(t, wrong, len(kueue.QueueProblems(queue)) > 0, "%q has problems", queue)
	}
}
