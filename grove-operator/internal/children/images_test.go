package children_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/podtemplate"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

const withSidecars = `
metadata: {name: s, uid: s}
spec:
  template:
    cliques:
      - name: a
        labels: {x: "1"}
        annotations: {x: "1"}
        spec:
          startsAfter: []
          podSpec:
            initContainers:
              - {name: prepare, image: "prepare:1"}
              - {name: mesh, image: "mesh:1", restartPolicy: Always}
            containers:
              - {name: main, image: "main:1", env: [{name: X, value: "1"}], resources: {limits: {cpu: "1"}}}
              - {name: exporter, image: "exporter:1"}
              - {name: always, image: "always:1", imagePullPolicy: Always}
`

func TestNewImages(t *testing.T) {
	type images = map[string]string
	for name, c := range map[string]struct {
		// before changes the template that the pod is made from, pod the pod, after the set's new template.
		before func(*grovev1alpha1.PodCliqueSet, *corev1.PodSpec)
		pod    func(*corev1.Pod)
		after  func(*grovev1alpha1.PodCliqueSet, *corev1.PodSpec)
		want   images
	}{
		"the image of a container": {
			after: func(_ *grovev1alpha1.PodCliqueSet, spec *corev1.PodSpec) { spec.Containers[0].Image = "main:2" },
			want:  images{"main": "main:2"},
		},
		"the images of several, and of a sidecar": {
			after: func(_ *grovev1alpha1.PodCliqueSet, spec *corev1.PodSpec) {
				spec.InitContainers[1].Image, spec.Containers[0].Image, spec.Containers[1].Image = "mesh:2", "main:2",
					"exporter@sha256:0"
			},
			want: images{"mesh": "mesh:2", "main": "main:2", "exporter": "exporter@sha256:0"},
		},
		"an init container would not run again": {
			after: func(_ *grovev1alpha1.PodCliqueSet,
				spec *corev1.PodSpec) {
				spec.InitContainers[0].Image = "prepare:2"
			},
		},
		"another environment beside the image": {
			after: func(_ *grovev1alpha1.PodCliqueSet, spec *corev1.PodSpec) {
				spec.Containers[0].Image, spec.Containers[0].Env[0].Value = "main:2", "2"
			},
		},
		"other arguments of another container": {
			after: func(_ *grovev1alpha1.PodCliqueSet, spec *corev1.PodSpec) {
				spec.Containers[0].Image, spec.Containers[1].Args = "main:2", []string{"-v"}
			},
		},
		"other resources": {
			after: func(_ *grovev1alpha1.PodCliqueSet, spec *corev1.PodSpec) {
				spec.Containers[0].Image = "main:2"
				spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": spec.Containers[0].Resources.Limits["cpu"]}
				spec.Containers[0].Resources.Limits = nil
			},
		},
		"a gate": {
			after: func(_ *grovev1alpha1.PodCliqueSet, spec *corev1.PodSpec) {
				spec.Containers[0].Image, spec.SchedulingGates = "main:2",
					[]corev1.PodSchedulingGate{{Name: "example.com/later"}}
			},
		},
		"another label, annotation or priority class beside the image": {
			after: func(set *grovev1alpha1.PodCliqueSet, spec *corev1.PodSpec) {
				spec.Containers[0].Image, set.Spec.Template.PriorityClassName = "main:2", "high"
				set.Spec.Template.Cliques[0].Labels, set.Spec.Template.Cliques[0].Annotations = nil, nil
			},
		},
		"a label alone": {
			after: func(set *grovev1alpha1.PodCliqueSet,
				_ *corev1.PodSpec) {
				set.Spec.Template.Cliques[0].Labels = nil
			},
		},
		"a container that comes": {
			after: func(_ *grovev1alpha1.PodCliqueSet, spec *corev1.PodSpec) {
				spec.Containers = append(spec.Containers, corev1.Container{Name: "more", Image: "more:1"})
			},
		},
		"a container that goes": {
			after: func(_ *grovev1alpha1.PodCliqueSet, spec *corev1.PodSpec) { spec.Containers = spec.Containers[:2] },
		},
		"an image that is pulled by another policy, as nobody wrote one": {
			after: func(_ *grovev1alpha1.PodCliqueSet,
				spec *corev1.PodSpec) {
				spec.Containers[0].Image = "main:latest"
			},
		},
		"an image without tag, of which the policy is written": {
			after: func(_ *grovev1alpha1.PodCliqueSet, spec *corev1.PodSpec) { spec.Containers[2].Image = "always" },
			want:  images{"always": "always"},
		},
		"a policy that would be the default is written beside the image": {
			after: func(_ *grovev1alpha1.PodCliqueSet, spec *corev1.PodSpec) {
				spec.Containers[0].Image, spec.Containers[0].ImagePullPolicy = "main:2", corev1.PullIfNotPresent
			},
			want: images{"main": "main:2"},
		},
		"another policy beside the image": {
			after: func(_ *grovev1alpha1.PodCliqueSet, spec *corev1.PodSpec) {
				spec.Containers[0].Image, spec.Containers[0].ImagePullPolicy = "main:2", corev1.PullAlways
			},
		},
		"containers that would not be started again once they have ended": {
			before: func(_ *grovev1alpha1.PodCliqueSet, spec *corev1.PodSpec) {
				spec.RestartPolicy = corev1.RestartPolicyOnFailure
			},
			after: func(_ *grovev1alpha1.PodCliqueSet, spec *corev1.PodSpec) {
				spec.RestartPolicy, spec.Containers[0].Image = corev1.RestartPolicyOnFailure, "main:2"
			},
		},
		"a user has changed the image of the pod, as a webhook does that names another registry": {
			pod:   func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "mirror.example.com/main:1" },
			after: func(_ *grovev1alpha1.PodCliqueSet, spec *corev1.PodSpec) { spec.Containers[0].Image = "main:2" },
		},
		"containers that others put into the pod stay": {
			pod: func(pod *corev1.Pod) {
				pod.Spec.Containers = append([]corev1.Container{{Name: "injected", Image: "injected:1"}},
					pod.Spec.Containers...)
			},
			after: func(_ *grovev1alpha1.PodCliqueSet, spec *corev1.PodSpec) { spec.Containers[0].Image = "main:2" },
			want:  images{"main": "main:2"},
		},
		"what Kubernetes filled in": {
			pod: func(pod *corev1.Pod) {
				pod.Spec.RestartPolicy, pod.Spec.Containers[0].ImagePullPolicy = corev1.RestartPolicyAlways,
					corev1.PullIfNotPresent
			},
			after: func(_ *grovev1alpha1.PodCliqueSet, spec *corev1.PodSpec) { spec.Containers[0].Image = "main:2" },
			want:  images{"main": "main:2"},
		},
		"a pod whose template an older operator summed up": {
			before: func(_ *grovev1alpha1.PodCliqueSet, spec *corev1.PodSpec) {
				spec.RestartPolicy = corev1.RestartPolicyAlways
			},
			pod: func(pod *corev1.Pod) {
				set := fixture.Set(t, withSidecars)
				set.Spec.Template.Cliques[0].Spec.PodSpec.RestartPolicy = corev1.RestartPolicyAlways
				known := podtemplate.KnownHashes(set, &set.Spec.Template.Cliques[0])
				pod.Labels[grovev1alpha1.LabelPodTemplateHash] = known[len(known)-1]
			},
			after: func(_ *grovev1alpha1.PodCliqueSet, spec *corev1.PodSpec) {
				spec.RestartPolicy, spec.Containers[0].Image = corev1.RestartPolicyAlways, "main:2"
			},
			want: images{"main": "main:2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			made := func(change func(*grovev1alpha1.PodCliqueSet, *corev1.PodSpec)) *grovev1alpha1.PodCliqueSet {
				set := fixture.Set(t, withSidecars)
				if change != nil {
					change(set, &set.Spec.Template.Cliques[0].Spec.PodSpec)
				}
				return set
			}
			before := made(c.before)
			pod := pods.Maker{Set: before, Member: layout.Standalone(before, 0)[0],
				PodClique: podCliqueOf(before)}.Make("p", 0)
			if c.pod != nil {
				c.pod(pod)
			}
			now := made(c.after)
			unchanged := now.DeepCopy()
			got, ok := podtemplate.NewImages(now, &now.Spec.Template.Cliques[0], pod)
			if !ok {
				got = nil
			}
			assert.Empty(t, cmp.Diff(c.want, got), "images (-want +got)")
			assert.Empty(t, cmp.Diff(unchanged, now), "the set has been changed")
		})
	}
}
