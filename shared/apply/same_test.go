package apply

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

func desired() *grovev1alpha1.PodCliqueScalingGroup {
	minAvailable := int32(1)
	made := &grovev1alpha1.PodCliqueScalingGroup{}
	made.Name, made.Namespace = "g", "ns"
	made.Labels = map[string]string{"a": "b"}
	made.Finalizers = []string{"ours"}
	made.Spec = grovev1alpha1.PodCliqueScalingGroupSpec{Replicas: 2, MinAvailable: &minAvailable,
		CliqueNames: []string{"x", "y"}}
	return made
}

// applied is the object that Apply would send.
func applied(t *testing.T, object runtime.Object) *unstructured.Unstructured {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	require.NoError(t, err)
	delete(fields, "status")
	wanted := &unstructured.Unstructured{Object: fields}
	sign(wanted)
	return wanted
}

func TestSame(t *testing.T) {
	for name, c := range map[string]struct {
		live    func(*grovev1alpha1.PodCliqueScalingGroup)
		desired func(*grovev1alpha1.PodCliqueScalingGroup)
		want    bool
	}{
		"nothing differs": {want: true},
		"others added labels, finalizers and a status": {want: true, live: func(
			live *grovev1alpha1.PodCliqueScalingGroup) {
			live.Labels["c"] = "d"
			live.Finalizers = []string{"theirs", "ours"}
			live.Status.Replicas = 2
			live.ResourceVersion, live.UID = "7", "uid"
		}},
		"a label was changed": {live: func(live *grovev1alpha1.PodCliqueScalingGroup) { live.Labels["a"] = "c" }},
		"a label was removed": {live: func(live *grovev1alpha1.PodCliqueScalingGroup) { live.Labels = nil }},
		"the finalizer was removed": {live: func(live *grovev1alpha1.PodCliqueScalingGroup) {
			live.Finalizers = []string{"theirs"}
		}},
		"a list of the spec has another order": {live: func(live *grovev1alpha1.PodCliqueScalingGroup) {
			live.Spec.CliqueNames = []string{"y", "x"}
		}},
		"a number was changed": {live: func(live *grovev1alpha1.PodCliqueScalingGroup) { live.Spec.Replicas = 3 }},
		"a new label is wanted": {
			desired: func(desired *grovev1alpha1.PodCliqueScalingGroup) { desired.Labels["n"] = "" },
		},
		"a field is given up": {
			desired: func(desired *grovev1alpha1.PodCliqueScalingGroup) { desired.Spec.MinAvailable = nil },
		},
		"a list becomes shorter": {
			desired: func(desired *grovev1alpha1.PodCliqueScalingGroup) { desired.Spec.CliqueNames = []string{"x"} },
		},
		"another version is bound": {
			desired: func(desired *grovev1alpha1.PodCliqueScalingGroup) { desired.ResourceVersion = "6" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			live, next := desired(), desired()
			live.Annotations = applied(t, desired()).GetAnnotations()
			if c.live != nil {
				c.live(live)
			}
			if c.desired != nil {
				c.desired(next)
			}
			assert.Equal(t, c.want, same(applied(t, next), live))
		})
	}
}
