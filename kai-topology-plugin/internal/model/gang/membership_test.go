package gang_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	grove "packtree.dev/shared/api/grove/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestExpected(t *testing.T) {
	controlled := []metav1.OwnerReference{{Kind: "Job", Name: "train", Controller: new(true)}}
	for name, test := range map[string]struct {
		meta metav1.ObjectMeta
		want bool
	}{
		"a pod of a PodGang waits for its PodGroup": {
			metav1.ObjectMeta{Labels: map[string]string{grove.LabelPodGang: "gang"}}, true,
		},
		"a pod of a Job waits for its PodGroup": {metav1.ObjectMeta{OwnerReferences: controlled}, true},
		"a bare pod with wishes waits for its PodGroup": {
			metav1.ObjectMeta{Annotations: map[string]string{kai.AnnotationTopology: "t"}}, true,
		},
		"a bare pod without wishes does not wait": {metav1.ObjectMeta{}, false},
		"a pod that has its PodGroup waits no more": {metav1.ObjectMeta{
			OwnerReferences: controlled, Annotations: map[string]string{scheduling.AnnotationPodGroupName: "group"},
		}, false},
		"a pod that is not to be grouped does not wait": {metav1.ObjectMeta{
			OwnerReferences: controlled, Annotations: map[string]string{kai.AnnotationSkipPodGrouper: "true"},
		}, false},
		"a pod whose owner is not to be grouped does not wait": {metav1.ObjectMeta{
			OwnerReferences: controlled, Annotations: map[string]string{kai.AnnotationLeftAlone: "true"},
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, gang.Expected(&corev1.Pod{ObjectMeta: test.meta}))
		})
	}
}

// A name in an annotation is never that of a gang in another namespace.
func TestWhatAGangNamesIsInItsNamespace(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "mine",
		Annotations: map[string]string{scheduling.AnnotationPodGroupName: "theirs/gang"}}}
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "mine", Name: "g",
		Annotations: map[string]string{
			scheduling.AnnotationBaseGang: "theirs/gang",
			scheduling.AnnotationRelations: `[{"name":"n","near":"gang","level":"rack"},` +
				`{"name":"a","gangs":"theirs/gang","level":"rack","maxPerDomain":1}]`,
		}}}
	of, _ := gang.KeyOf(pod)
	keys := append(gang.IndexKeys(podGroup), of)
	assert.Len(t, keys, 5)
	for _, key := range keys {
		assert.Equal(t, "mine", key.Namespace, "it names %v", key)
	}
}
