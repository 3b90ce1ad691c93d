package children_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

const templates = "resourceClaimTemplates: [{name: gpu, templateSpec: {metadata: {labels: {a: b}}, spec: {devices: " +
	"{requests: [{name: g, exactly: {deviceClassName: gpu.example.com}}]}}}}, " +
	"{name: fabric, templateSpec: {spec: {devices: {requests: [{name: f, exactly: {deviceClassName: " +
	"fabric.example.com}}]}}}}]"

// asWritten is a set with the numbers of its template.
var asWritten = children.Sizes{
	Copies:  func(string) (int32, bool) { return 0, false },
	Indexes: func(string) ([]int32, bool) { return nil, false },
}

func TestDesired(t *testing.T) {
	const two = "cliques: [{name: a, spec: {replicas: 2, podSpec: {}}}, {name: b, spec: {podSpec: {}}}]"
	for name, c := range map[string]struct {
		template string
		live     children.Sizes
		want     []string
	}{
		"one for all replicas of the set": {
			template: "resourceSharing: [{name: gpu, scope: AllReplicas}], " + two, live: asWritten,
			want: []string{"s-all-gpu"},
		},
		"one for each replica of the set": {
			template: "resourceSharing: [{name: gpu, scope: PerReplica}], " + two, live: asWritten,
			want: []string{"s-0-gpu", "s-1-gpu"},
		},
		"one for each clique": {
			template: "cliques: [{name: a, resourceSharing: [{name: gpu, scope: AllReplicas}], spec: {replicas: 2, podSpec: " +
				"{}}}]", live: asWritten,
			want: []string{"s-0-a-all-gpu", "s-1-a-all-gpu"},
		},
		"one for each pod of a clique": {
			template: "cliques: [{name: a, resourceSharing: [{name: gpu, scope: PerReplica}], spec: {replicas: 2, podSpec: " +
				"{}}}]", live: asWritten,
			want: []string{"s-0-a-0-gpu", "s-0-a-1-gpu", "s-1-a-0-gpu", "s-1-a-1-gpu"},
		},
		"one for each copy of a group, and one for all of them": {
			template: two + ", podCliqueScalingGroups: [{name: g, replicas: 2, cliqueNames: [a], resourceSharing: " +
				"[{name: fabric, scope: PerReplica}, {name: gpu, scope: AllReplicas}]}]",
			live: asWritten,
			want: []string{"s-0-g-0-fabric", "s-0-g-1-fabric", "s-0-g-all-gpu", "s-1-g-0-fabric", "s-1-g-1-fabric",
				"s-1-g-all-gpu"},
		},
		"none for whom a filter leaves out": {
			template: "resourceSharing: [{name: gpu, scope: PerReplica, filter: {childScalingGroupNames: [g]}}], " + two +
				", podCliqueScalingGroups: [{name: g, replicas: 0, cliqueNames: [a], resourceSharing: [{name: fabric, scope: " +
				"PerReplica, filter: {childCliqueNames: [b]}}]}]",
			live: asWritten,
		},
		"as many as a group has copies now": {
			template: two +
				", podCliqueScalingGroups: [{name: g, replicas: 1, cliqueNames: [a], resourceSharing: [{name: fabric, scope: " +
				"PerReplica}]}]",
			live: children.Sizes{Copies: func(group string) (int32, bool) { return 3, group == "s-0-g" },
				Indexes: asWritten.Indexes},
			want: []string{"s-0-g-0-fabric", "s-0-g-1-fabric", "s-0-g-2-fabric", "s-1-g-0-fabric"},
		},
		"for the pods that a clique has now": {
			template: "cliques: [{name: a, resourceSharing: [{name: gpu, scope: PerReplica}], spec: {podSpec: {}}}]",
			live: children.Sizes{Copies: asWritten.Copies,
				Indexes: func(podClique string) ([]int32, bool) { return []int32{0, 4}, podClique == "s-1-a" }},
			want: []string{"s-0-a-0-gpu", "s-1-a-0-gpu", "s-1-a-4-gpu"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := fixture.Set(t, "metadata: {name: s}\nspec: {replicas: 2, template: {"+templates+", "+c.template+"}}")
			var got []string
			for _, claim := range children.Claims(set, c.live) {
				got = append(got, claim.Name)
			}
			assert.Empty(t, cmp.Diff(c.want, got), "claims (-want +got)")
			assert.True(t, children.SharesClaims(set), "the set is said to share nothing")
		})
	}
}

func TestWhatAPodShares(t *testing.T) {
	set := fixture.Set(t,
		"metadata: {name: s}\nspec: {template: {"+templates+`, resourceSharing: [{name: gpu, scope: AllReplicas},
  {name: fabric, scope: PerReplica, filter: {childCliqueNames: [b]}}, {name: fabric, scope: AllReplicas, filter: {childScalingGroupNames: [g]}}],
  cliques: [{name: a, resourceSharing: [{name: gpu, scope: PerReplica}], spec: {podSpec: {}}}, {name: b, spec: {podSpec: {}}}],
  podCliqueScalingGroups: [{name: g, cliqueNames: [a], resourceSharing: [{name: gpu, scope: PerReplica}]}]}}`)
	names := func(member layout.Member, index int32) string {
		var all []string
		for _, claim := range children.ClaimsOfPod(set, member, index) {
			all = append(all, claim.Name)
		}
		return strings.Join(all, " ")
	}
	inGroup := layout.Copy(set, 2, layout.Group(set, "g"), 3)[0]
	got, want := names(inGroup, 5), "s-all-gpu s-all-fabric s-2-g-3-gpu s-2-g-3-a-5-gpu"
	assert.Equal(t, want, got, "in the group")
	got, want = names(layout.Standalone(set, 2)[0], 0), "s-all-gpu s-2-fabric"
	assert.Equal(t, want, got, "alone")
}

func TestPodsPointToTheirClaims(t *testing.T) {
	set := fixture.Set(t,
		"metadata: {name: s}\nspec: {template: {"+templates+
			", resourceSharing: [{name: gpu, scope: AllReplicas}], cliques: [{name: a, spec: {podSpec: {}}}]}}")
	shared := children.ClaimsOfPod(set, layout.Standalone(set, 0)[0], 0)
	shared = append(shared, children.Claim{Name: strings.Repeat("long-", 14) + "name"})
	spec := corev1.PodSpec{InitContainers: []corev1.Container{{Name: "init"}},
		Containers: []corev1.Container{{Name: "main"}, {Name: "side"}}}
	children.AddClaims(&spec, shared)
	require.Len(t, spec.ResourceClaims, 2, "claims")
	assert.Equal(t, "s-all-gpu", *spec.ResourceClaims[0].ResourceClaimName, "claims")
	assert.Equal(t, shared[1].Name, *spec.ResourceClaims[1].ResourceClaimName, "claims")
	for _, container := range append(spec.Containers, spec.InitContainers...) {
		for i, claim := range container.Resources.Claims {
			name := spec.ResourceClaims[i].Name
			assert.Equal(t, name, claim.Name, "container %s has claim", container.Name)
			assert.LessOrEqual(t, len(name), 63, "container %s has claim", container.Name)
		}
		assert.Len(t, container.Resources.Claims, 2)
	}
}

func TestAClaimIsLikeItsTemplate(t *testing.T) {
	set := fixture.Set(t,
		"metadata: {name: s}\nspec: {replicas: 1, template: {"+templates+
			", resourceSharing: [{name: gpu, scope: AllReplicas}], cliques: [{name: a, spec: {podSpec: {}}}]}}")
	claim := children.Claims(set, asWritten)[0]
	made := children.ResourceClaim(set, claim, children.ClaimTemplate(set, claim.Sharing), nil)
	assert.Equal(t, "b", made.Labels["a"], "claim: %+v", made)
	assert.Equal(t, "s", made.Labels["app.kubernetes.io/part-of"], "claim: %+v", made)
	assert.Equal(t, "gpu.example.com", made.Spec.Devices.Requests[0].Exactly.DeviceClassName, "claim: %+v", made)
	elsewhere := claim.Sharing
	elsewhere.Namespace = "shared"
	assert.Nil(t, children.ClaimTemplate(set, elsewhere), "a template of another namespace was found in the set")
}
