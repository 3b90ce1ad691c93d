package catalog_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	grove "packtree.dev/shared/api/grove/v1alpha1"
	grovescheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/podgrouper/internal/groupers/podgang"
	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/owners"
)

func workload(t *testing.T, manifest string) grouping.Workload {
	t.Helper()
	gang := &grovescheduler.PodGang{}
	if err := yaml.UnmarshalStrict([]byte(manifest), gang); err != nil {
		t.Fatal(err)
	}
	return grouping.Workload{Owner: grouping.Owner{Object: gang, Kind: owners.PodGangKind}}
}

func TestPodGang(t *testing.T) {
	checkGroups(t, podgang.Grouper, map[string]groupCase{
		"constraints at every depth": {
			Manifest: `
apiVersion: scheduler.grove.io/v1alpha1
kind: PodGang
metadata: {name: g, annotations: {grove.io/topology-name: network}}
spec:
  priorityClassName: inference
  topologyConstraint: {packConstraint: {required: zone, preferred: block}}
  podgroups:
  - {name: router, minReplicas: 1, podReferences: []}
  - {name: leader, minReplicas: 1, podReferences: []}
  - {name: worker, minReplicas: 3, podReferences: [], topologyConstraint: {packConstraint: {preferred: host}}}
  topologyConstraintGroupConfigs:
  - {name: prefill, podGroupNames: [leader, worker], topologyConstraint: {packConstraint: {required: rack}}}`,
			Want: `
priorityClassName: inference
topologyConstraint: {topology: network, requiredTopologyLevel: zone, preferredTopologyLevel: block}
subGroups:
- {name: prefill, minSubGroup: 2, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}
- {name: router, minMember: 1}
- {name: leader, minMember: 1, parent: prefill}
- {name: worker, minMember: 3, parent: prefill, topologyConstraint: {topology: network, preferredTopologyLevel: host}}`,
		},
		"as many pods are expected as the PodGang says, or else as it lists": {
			Manifest: `
apiVersion: scheduler.grove.io/v1alpha1
kind: PodGang
metadata: {name: g, annotations: {packtree.dev/expected-pods: '{"said":4,"gone":7}'}}
spec:
  podgroups:
  - {name: said, minReplicas: 1, podReferences: [{namespace: default, name: a}]}
  - {name: listed, minReplicas: 1, podReferences: [{namespace: default, name: b}, {namespace: default, name: c}]}
  - {name: needed, minReplicas: 3, podReferences: []}`,
			Want:     `subGroups: [{name: said, minMember: 1}, {name: listed, minMember: 1}, {name: needed, minMember: 3}]`,
			Expected: `{"listed":2,"said":4}`,
		},
		"numbers that are none": {
			Manifest: `
apiVersion: scheduler.grove.io/v1alpha1
kind: PodGang
metadata: {name: g, annotations: {packtree.dev/expected-pods: "four"}}
spec: {podgroups: [{name: a, minReplicas: 1, podReferences: []}]}`,
			Want: `subGroups: [{name: a, minMember: 1}]`,
			Problems: []string{`metadata.annotations[packtree.dev/expected-pods]: Invalid value: "four": ` +
				`must be a JSON object of names of leaves and numbers of pods up to 2147483647, such as {"worker":4}, or {"":4} without subgroups`},
		},
		"without constraints the topology's name says nothing": {
			Manifest: `
apiVersion: scheduler.grove.io/v1alpha1
kind: PodGang
metadata: {name: g, annotations: {grove.io/topology-name: network}}
spec:
  topologyConstraint: {packConstraint: {}}
  podgroups: [{name: a, minReplicas: 0, podReferences: [], topologyConstraint: {}}]`,
			Want: `subGroups: [{name: a, minMember: 0}]`,
		},
		"a level without a topology is an error for each": {
			Manifest: `
apiVersion: scheduler.grove.io/v1alpha1
kind: PodGang
metadata: {name: g}
spec:
  topologyConstraint: {packConstraint: {required: zone}}
  podgroups: [{name: a, minReplicas: 1, podReferences: [], topologyConstraint: {packConstraint: {required: rack}}}]`,
			Want: `
topologyConstraint: {requiredTopologyLevel: zone}
subGroups: [{name: a, minMember: 1, topologyConstraint: {requiredTopologyLevel: rack}}]`,
			Problems: []string{
				`metadata.annotations[grove.io/topology-name]: Required value: the level in spec.topologyConstraint.packConstraint needs the name of the Topology that it belongs to`,
				`metadata.annotations[grove.io/topology-name]: Required value: the level in spec.podgroups[0].topologyConstraint.packConstraint needs the name of the Topology that it belongs to`,
			},
		},
		"a config of groups that do not exist or are taken": {
			Manifest: `
apiVersion: scheduler.grove.io/v1alpha1
kind: PodGang
metadata: {name: g}
spec:
  podgroups: [{name: a, minReplicas: 1, podReferences: []}]
  topologyConstraintGroupConfigs:
  - {name: first, podGroupNames: [a]}
  - {name: second, podGroupNames: [a, nobody]}`,
			Want: `subGroups: [{name: first, minSubGroup: 1}, {name: a, minMember: 1, parent: first}]`,
			Problems: []string{
				`spec.topologyConstraintGroupConfigs[1].podGroupNames[0]: Invalid value: "a": the group is part of first already, and can be part of one only`,
				`spec.topologyConstraintGroupConfigs[1].podGroupNames[1]: Invalid value: "nobody": no group of the PodGang has this name`,
			},
		},
		"a config with the name of a group gives way": {
			Manifest: `
apiVersion: scheduler.grove.io/v1alpha1
kind: PodGang
metadata: {name: g}
spec:
  podgroups: [{name: g-a-0, minReplicas: 1, podReferences: []}, {name: g-a-0-x, minReplicas: 2, podReferences: []}]
  topologyConstraintGroupConfigs: [{name: g-a-0, podGroupNames: [g-a-0-x]}]`,
			Want: `
subGroups:
- {name: g-a-0-group, minSubGroup: 1}
- {name: g-a-0, minMember: 1}
- {name: g-a-0-x, minMember: 2, parent: g-a-0-group}`,
		},
		"no groups yet": {
			Manifest: `{apiVersion: scheduler.grove.io/v1alpha1, kind: PodGang, metadata: {name: g}, spec: {podgroups: []}}`,
			Want:     `minMember: 0`,
		},
	})
}

func TestPodGangLeaf(t *testing.T) {
	w := workload(t, `
metadata: {name: g}
spec:
  podgroups:
  - {name: a, minReplicas: 1, podReferences: [{namespace: default, name: listed}]}
  - {name: b, minReplicas: 1, podReferences: [{namespace: other, name: elsewhere}]}`)
	cases := map[string]struct {
		pod, clique, want string
		known             bool
	}{
		"the group that lists the pod":                    {pod: "listed", want: "a", known: true},
		"the list wins over the label":                    {pod: "listed", clique: "b", want: "a", known: true},
		"a pod that is not listed yet says where":         {pod: "new", clique: "b", want: "b", known: true},
		"a clique that is no group of the gang":           {pod: "new", clique: "c"},
		"nobody says":                                     {pod: "new"},
		"a pod of that name in another namespace is none": {pod: "elsewhere"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: c.pod, Labels: map[string]string{grove.LabelPodClique: c.clique},
			}}
			got, known := podgang.Grouper.Leaf(w, pod)
			if known != c.known || known && got != c.want {
				t.Errorf("got %q, %t; want %q, %t", got, known, c.want, c.known)
			}
		})
	}
}
