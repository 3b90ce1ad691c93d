package manifests_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/shared/didyoumean"
)

func TestClosest(t *testing.T) {
	known := []string{"region", "zone", "rack", "host"}
	for name, c := range map[string]struct{ word, want string }{
		"one letter off":                    {"raack", "rack"},
		"another case":                      {"Zone", "zone"},
		"nothing near is no suggestion":     {"datacentre", ""},
		"a short word must be nearly right": {"ho", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := didyoumean.Closest(c.word, known)
			if got != c.want || ok != (c.want != "") {
				t.Errorf("Closest(%q) = %q, %v; want %q", c.word, got, ok, c.want)
			}
		})
	}
}

func TestField(t *testing.T) {
	for name, c := range map[string]struct{ path, want string }{
		"a field of an embedded struct":      {"metadata.lables", "labels"},
		"inside a list":                      {"spec.containers[0].imagee", "image"},
		"inside a list in a list":            {"spec.containers[0].env[3].valueFrm", "valueFrom"},
		"at the top":                         {"specc", "spec"},
		"below a field that does not exist":  {"spec.cliques[0].name", ""},
		"nothing similar is not made up":     {"spec.zzzzzz", ""},
		"a map's keys are anybody's choice":  {"metadata.labels.app", ""},
		"dots inside a bracket are no steps": {"spec.nodeSelector[a.b/c].x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := didyoumean.Field(&corev1.Pod{}, c.path)
			assert.Equal(t, c.want, got, "Field(%q)", c.path)
		})
	}
}
