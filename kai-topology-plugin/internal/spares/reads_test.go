package spares

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestWhichLabelsPodsRead(t *testing.T) {
	requiring := func(terms ...corev1.NodeSelectorTerm) *corev1.Pod {
		pod := podOf(0)
		required := &corev1.NodeSelector{NodeSelectorTerms: terms}
		pod.Spec.Affinity = &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required},
		}
		return pod
	}
	near, preferring := podOf(0), podOf(0)
	near.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{}}
	preferring.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
	expression := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk"}}}
	field := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name"}}}
	for name, c := range map[string]struct {
		pods        []*corev1.Pod
		disk, other bool
	}{
		"none without an affinity":           {[]*corev1.Pod{podOf(0), near, preferring}, false, false},
		"those of its expressions":           {[]*corev1.Pod{requiring(expression)}, true, false},
		"those of any of the pods":           {[]*corev1.Pod{preferring, podOf(0), requiring(expression)}, true, false},
		"all where one names nodes":          {[]*corev1.Pod{requiring(field)}, true, true},
		"all where another one names nodes":  {[]*corev1.Pod{requiring(field), requiring(expression)}, true, true},
		"all where a further term does":      {[]*corev1.Pod{requiring(expression, field)}, true, true},
		"all where a term does and then not": {[]*corev1.Pod{requiring(field, expression)}, true, true},
	} {
		reads := Reads(c.pods)
		if disk, other := reads("disk"), reads("other"); disk != c.disk || other != c.other {
			t.Errorf("%s: disk %t, another label %t", name, disk, other)
		}
	}
}
