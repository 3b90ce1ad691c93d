package kueue_test

import (
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
	"packtree.dev/shared/kueue"
)

const ofWhole = "app.kubernetes.io/part-of=whole"

// TestEveryMoment looks at each change of pods while gangs come, are evicted, come again and go.
func TestEveryMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(8)
	bound := map[string]int{}
	cluster.Test(t, features.New("no moment with half a gang").
		Setup(w.create).
		Setup(w.Looks(func(pods map[types.UID]*corev1.Pod, was, is *corev1.Pod) string {
			if is.Spec.NodeName == "" || was != nil && was.Spec.NodeName != "" {
				return ""
			}
			bound[is.Labels["app.kubernetes.io/part-of"]]++
			return halfAdmitted(pods, is)
		})).
		Assess("a gang is evicted as a whole and comes again", suite.AllOf(
			w.Applies("whole.yaml"), w.runs(ofWhole, 6), w.uses("red", 6),
			w.Applies("blue.yaml"), w.runs(ofBlue, 4), w.uses("red", 0), w.ready(ofWhole, 0),
			w.Kubectl("delete", "dgd", "blue"), w.runs(ofWhole, 6), w.uses("red", 6))).
		Assess("no pod was bound while another one of its gang waited for quota", w.Kept).
		Teardown(w.remove))
	if bound["whole"] != 12 {
		t.Errorf("pods were bound %v times", bound)
	}
}

// halfAdmitted says so if a pod was bound without all others of its group having been let go by Kueue.
func halfAdmitted(pods map[types.UID]*corev1.Pod, bound *corev1.Pod) string {
	admitted := 0
	for _, pod := range pods {
		if pod.Labels[kueue.LabelGroup] == bound.Labels[kueue.LabelGroup] && pod.DeletionTimestamp == nil &&
			!kueue.Waits(pod) {
			admitted++
		}
	}
	if of := bound.Annotations[kueue.AnnotationGroupSize]; of != strconv.Itoa(admitted) {
		return fmt.Sprintf("pod %s was bound when %d of %s pods of its group were admitted", bound.Name, admitted, of)
	}
	return ""
}
