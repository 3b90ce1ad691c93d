package children_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/podtemplate"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// full has every field that Kubernetes completes.
const full = `
metadata: {name: s}
spec:
  template:
    cliques:
      - name: a
        spec:
          podSpec:
            serviceAccountName: robot
            initContainers: [{name: prepare, image: "tools@sha256:0"}]
            containers:
              - name: main
                image: "registry.example.com:5000/a:1"
                ports: [{containerPort: 80}]
                env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
                readinessProbe: {httpGet: {port: 80}}
                livenessProbe: {grpc: {port: 81}}
                startupProbe: {exec: {command: ["true"]}}
                lifecycle: {preStop: {httpGet: {port: 80}}, postStart: {httpGet: {port: 80}}}
                resources: {limits: {nvidia.com/gpu: 8, memory: 1Gi}}
              - {name: latest, image: "b"}
              - {name: latest-too, image: "b:latest"}
            volumes:
              - {name: a, secret: {secretName: a}}
              - {name: b, configMap: {name: b}}
              - {name: c, hostPath: {path: /c}}
              - {name: d, downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.name}}]}}
              - {name: e, projected: {sources: [{serviceAccountToken: {path: t}}, {downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.name}}]}}]}}
      - {name: b, spec: {podSpec: {containers: [{name: main, image: "b:1"}]}}}
`

// completions are the changes that the API server, a newer schema or a newer operator would make to the template of
// full.
func completions(spec *corev1.PodSpec) []func() {
	main, volumes := &spec.Containers[0], spec.Volumes
	completions := []func(){
		func() { spec.RestartPolicy = corev1.RestartPolicyAlways },
		func() { spec.DNSPolicy = corev1.DNSClusterFirst },
		func() { spec.SchedulerName = corev1.DefaultSchedulerName },
		func() { spec.DeprecatedServiceAccount = "robot" },
		func() { spec.TerminationGracePeriodSeconds = new(int64(30)) },
		func() { spec.EnableServiceLinks = new(true) },
		func() { spec.PreemptionPolicy = new(corev1.PreemptLowerPriority) },
		func() { spec.SecurityContext = &corev1.PodSecurityContext{} },
		func() { spec.InitContainers[0].ImagePullPolicy = corev1.PullIfNotPresent },
		func() { main.ImagePullPolicy = corev1.PullIfNotPresent },
		func() { spec.Containers[1].ImagePullPolicy = corev1.PullAlways },
		func() { spec.Containers[2].ImagePullPolicy = corev1.PullAlways },
		func() { main.TerminationMessagePath = "/dev/termination-log" },
		func() { main.TerminationMessagePolicy = corev1.TerminationMessageReadFile },
		func() { main.SecurityContext = &corev1.SecurityContext{} },
		func() { main.Ports[0].Protocol = corev1.ProtocolTCP },
		func() { main.Env[0].ValueFrom.FieldRef.APIVersion = "v1" },
		func() {
			main.ReadinessProbe.HTTPGet.Scheme, main.ReadinessProbe.HTTPGet.Path = corev1.URISchemeHTTP, "/"
		},
		func() { main.LivenessProbe.GRPC.Service = new("") },
		func() { main.Lifecycle.PreStop.HTTPGet.Scheme = corev1.URISchemeHTTP },
		func() { main.Lifecycle.PostStart.HTTPGet.Path = "/" },
		func() { main.Resources.Requests = main.Resources.Limits.DeepCopy() },
		func() { main.Resources.Requests = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")} },
		func() { volumes[0].Secret.DefaultMode = new(int32(0o644)) },
		func() { volumes[1].ConfigMap.DefaultMode = new(int32(0o644)) },
		func() { volumes[2].HostPath.Type = new(corev1.HostPathUnset) },
		func() { volumes[3].DownwardAPI.DefaultMode = new(int32(0o644)) },
		func() { volumes[3].DownwardAPI.Items[0].FieldRef.APIVersion = "v1" },
		func() { volumes[4].Projected.DefaultMode = new(int32(0o644)) },
		func() { volumes[4].Projected.Sources[0].ServiceAccountToken.ExpirationSeconds = new(int64(3600)) },
		func() { volumes[4].Projected.Sources[1].DownwardAPI.Items[0].FieldRef.APIVersion = "v1" },
	}
	for _, probe := range []*corev1.Probe{main.ReadinessProbe, main.LivenessProbe, main.StartupProbe} {
		completions = append(completions,
			func() { probe.TimeoutSeconds, probe.PeriodSeconds = 1, 10 },
			func() { probe.SuccessThreshold, probe.FailureThreshold = 1, 3 })
	}
	return completions
}

// TestCompletionsDoNotCount: whichever fields are completed, before and after, an upgrade replaces no pod.
func TestCompletionsDoNotCount(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		complete := func(when string) *grovev1alpha1.PodCliqueSet {
			set := fixture.Set(outer, full)
			for _, write := range completions(&set.Spec.Template.Cliques[0].Spec.PodSpec) {
				if rapid.Bool().Draw(t, when) {
					write()
				}
			}
			return set
		}
		before, after := complete("before"), complete("after")
		require.Equal(t, podtemplate.HashOfSet(after), podtemplate.HashOfSet(before), "the hash has changed")
		stored := podtemplate.HashOfClique(before, &before.Spec.Template.Cliques[0])
		require.Contains(t, podtemplate.KnownHashes(after, &after.Spec.Template.Cliques[0]), stored,
			"the stored hash is not known any more")
		require.True(t, podtemplate.SetUnchanged(podtemplate.HashOfSet(before), after),
			"the stored hash is not known any more")
	})
}

// TestOtherValuesThanDefaultsCount: each value next to a default makes other pods.
func TestOtherValuesThanDefaultsCount(t *testing.T) {
	for name, change := range map[string]func(*corev1.PodSpec){
		"the grace period": func(spec *corev1.PodSpec) { spec.TerminationGracePeriodSeconds = new(int64(31)) },
		"service links":    func(spec *corev1.PodSpec) { spec.EnableServiceLinks = new(false) },
		"the scheduler":    func(spec *corev1.PodSpec) { spec.SchedulerName = "kai-scheduler" },
		"pulling always":   func(spec *corev1.PodSpec) { spec.Containers[0].ImagePullPolicy = corev1.PullAlways },
		"pulling latest at need": func(
			spec *corev1.PodSpec) {
			spec.Containers[1].ImagePullPolicy = corev1.PullIfNotPresent
		},
		"a protocol": func(
			spec *corev1.PodSpec) {
			spec.Containers[0].Ports[0].Protocol = corev1.ProtocolUDP
		},
		"a probe": func(spec *corev1.PodSpec) { spec.Containers[0].ReadinessProbe.PeriodSeconds = 5 },
		"a smaller request": func(spec *corev1.PodSpec) {
			spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(
				"512Mi")}
		},
		"a mode": func(spec *corev1.PodSpec) { spec.Volumes[0].Secret.DefaultMode = new(int32(0o600)) },
		"a security context": func(spec *corev1.PodSpec) {
			spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(0))}
		},
		"the life of a token": func(spec *corev1.PodSpec) {
			spec.Volumes[4].Projected.Sources[0].ServiceAccountToken.ExpirationSeconds = new(int64(600))
		},
		"the path of a probe": func(spec *corev1.PodSpec) { spec.Containers[0].ReadinessProbe.HTTPGet.Path = "/ready" },
		"another account":     func(spec *corev1.PodSpec) { spec.DeprecatedServiceAccount = "other" },
		"the order of volumes": func(spec *corev1.PodSpec) {
			spec.Volumes[0], spec.Volumes[1] = spec.Volumes[1], spec.Volumes[0]
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := fixture.Set(t, full)
			before := podtemplate.HashOfSet(set)
			change(&set.Spec.Template.Cliques[0].Spec.PodSpec)
			assert.NotEqual(t, before, podtemplate.HashOfSet(set), "the hash has not changed")
			assert.False(t, podtemplate.SetUnchanged(before, set), "the hash has not changed")
		})
	}
}

// TestHashesOfOlderOperatorsAreKnown: before defaults were left out, a written default was a part of the hash.
func TestHashesOfOlderOperatorsAreKnown(t *testing.T) {
	set := fixture.Set(t, strings.Replace(podTemplateManifest, `image: "a:1"`, `image: "a:1", imagePullPolicy: IfNotPresent`, 1))
	clique := &set.Spec.Template.Cliques[0]
	const clique0, set0 = "5d87f6c987b6b8b88779", "5cc9cdd875664d45887d" // As the first release stored them.
	assert.Contains(t, podtemplate.KnownHashes(set, clique), clique0, "hashes")
	assert.True(t, podtemplate.SetUnchanged(set0, set), "the set looks as if a user had changed it")
	clique.Spec.PodSpec.Containers[0].Image = "a:2"
	assert.NotContains(t, podtemplate.KnownHashes(set, clique), clique0, "hashes")
	assert.False(t, podtemplate.SetUnchanged(set0, set), "the change of the set goes unnoticed")
}
