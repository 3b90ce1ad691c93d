package grove_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/dynamo-operator/internal/grove"
	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// serving has a frontend, and a group of two prefill pods and a decode of two nodes, in as many copies as given.
func serving(replicas int32, adapter *v1beta1.ScalingAdapter) *v1beta1.DynamoGraphDeployment {
	return &v1beta1.DynamoGraphDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: "d"},
		Spec: v1beta1.DynamoGraphDeploymentSpec{
			Components: []v1beta1.ComponentSpec{
				{Name: "F", PodTemplate: template()},
				{Name: "Prefill", PodTemplate: template(), Replicas: new(int32(2))},
				{Name: "Decode", PodTemplate: template(), Multinode: &v1beta1.Multinode{NodeCount: 2}},
			},
			Experimental: &v1beta1.DeploymentExperimental{ComponentGroups: []v1beta1.ComponentGroup{{
				Name: "Serve", Replicas: &replicas, MinAvailable: new(int32(2)), ScalingAdapter: adapter,
				Components: []v1beta1.ComponentGroupMember{{Name: "Decode"}, {Name: "Prefill"}},
			}}},
		},
	}
}

// standingGroup are the existing objects of serving, with a group of live copies.
func standingGroup(
	replicas, live int32, adapter *v1beta1.ScalingAdapter, adapters map[string]*grove.Adapter,
) grove.Standing {
	return grove.Standing{
		Deployment: serving(replicas, adapter),
		PodCliqueSet: &grovev1alpha1.PodCliqueSet{
			Spec: grovev1alpha1.PodCliqueSetSpec{Template: grovev1alpha1.PodCliqueSetTemplateSpec{
				PodCliqueScalingGroups: []grovev1alpha1.PodCliqueScalingGroupConfig{{Name: "serve",
					Replicas: new(int32(2))}},
			}}},
		Groups: map[string]*grovev1alpha1.PodCliqueScalingGroup{"Serve": {
			Spec: grovev1alpha1.PodCliqueScalingGroupSpec{Replicas: live},
			Status: grovev1alpha1.PodCliqueScalingGroupStatus{
				Replicas: live, ScheduledReplicas: live, AvailableReplicas: live - 1, UpdatedReplicas: live,
			},
		}},
		Adapters: adapters,
	}
}

func TestAGroupScalesByWholeCopies(t *testing.T) {
	for name, c := range map[string]struct {
		replicas, live int32
		scaled         int32 // -1 if nothing changes.
	}{
		"as the deployment has it":              {replicas: 2, live: 2, scaled: -1},
		"up":                                    {replicas: 8, live: 2, scaled: 8},
		"to what a user has set already":        {replicas: 3, live: 3, scaled: 3},
		"another owner's number stays":          {replicas: 2, live: 5, scaled: -1},
		"off, which a template cannot say":      {replicas: 0, live: 2, scaled: 0},
		"below the minimum that starts at once": {replicas: 1, live: 2, scaled: 1},
	} {
		t.Run(name, func(t *testing.T) {
			scalings := standingGroup(c.replicas, c.live, nil, nil).Scalings()
			if c.scaled < 0 {
				assert.Empty(t, scalings)
				return
			}
			require.Len(t, scalings, 1)
			require.Equal(t, c.scaled, scalings[0].Replicas)
			_, ok := scalings[0].Object.(*grovev1alpha1.PodCliqueScalingGroup)
			assert.True(t, ok, "%T is scaled", scalings[0].Object)
		})
	}
}

// The numbers of a group's components are those of its copies, since a copy is whole or not.
func TestMembersHaveTheStatusOfTheirGroup(t *testing.T) {
	observed := standingGroup(2, 5, nil, nil).Observation()
	want := v1beta1.ServiceReplicaStatus{
		ComponentKind: "PodCliqueScalingGroup", ComponentName: "d-0-serve", Replicas: 5, ReadyReplicas: 4,
		ScheduledReplicas: 5, UpdatedReplicas: 5,
	}
	assert.Empty(t, cmp.Diff(map[string]v1beta1.ServiceReplicaStatus{"Prefill": want, "Decode": want},
		observed.Services), "(-want +got)")
	assert.Empty(t, cmp.Diff(map[string]int32{"Prefill": 5, "Decode": 5}, observed.Wanted), "wanted (-want +got)")
}

func TestAGroupHasOneAdapter(t *testing.T) {
	asked := &v1beta1.ScalingAdapter{}
	var made []*grove.Adapter
	for _, object := range objects(t)(grove.Standing{Deployment: serving(8, asked)}.Objects(nil)) {
		if adapter, ok := object.(*grove.Adapter); ok {
			made = append(made, adapter)
		}
	}
	require.Len(t, made, 1, "adapters")
	require.Equal(t, "d-serve", made[0].Name, "adapters")
	require.Equal(t, int32(8), made[0].Spec.Replicas, "adapters")
	require.Equal(t, "Serve", made[0].Spec.DGDRef.ServiceName, "adapters")
	adapter := &grove.Adapter{ObjectMeta: made[0].ObjectMeta,
		Spec: v1alpha1.DynamoGraphDeploymentScalingAdapterSpec{Replicas: 3}}
	now := metav1.Unix(1, 0)
	standing := standingGroup(8, 8, asked, map[string]*grove.Adapter{"d-serve": adapter})
	scalings := standing.Scalings()
	require.Len(t, scalings, 1, "the adapter's number is 3")
	assert.Equal(t, int32(3), scalings[0].Replicas, "the adapter's number is 3")
	want := []backend.Report{{Adapter: adapter, Status: v1alpha1.DynamoGraphDeploymentScalingAdapterStatus{
		Replicas: 8, Selector: "grove.io/podcliquescalinggroup=d-0-serve", LastScaleTime: &now,
	}}}
	assert.Empty(t, cmp.Diff(want, standing.Reports(now)), "(-want +got)")
}

// A multinode component with several replicas in a copy has as many leaders, each with workers of its own that find it.
func TestAMultinodeMemberIsAsOftenInACopyAsItsReplicasSay(t *testing.T) {
	deployment := serving(2, nil)
	deployment.Spec.BackendFramework = v1beta1.BackendFrameworkSGLang
	decode := &deployment.Spec.Components[2]
	decode.Replicas = new(int32(2))
	decode.PodTemplate.Spec.Containers[0].Command = []string{"python3", "-m", "dynamo.sglang"}
	set := podCliqueSet(t, translate(t, deployment))
	groups := set.Spec.Template.PodCliqueScalingGroups
	want := []string{"prefill", "decode-0-ldr", "decode-0-wkr", "decode-1-ldr", "decode-1-wkr"}
	require.Len(t, groups, 1, "groups")
	require.True(t, cmp.Equal(groups[0].CliqueNames, want), "groups")
	for _, clique := range set.Spec.Template.Cliques {
		switch clique.Name {
		case "prefill":
			assert.Equal(t, int32(2), clique.Spec.Replicas)
			assert.Equal(t, int32(2), *clique.Spec.MinAvailable)
		case "decode-1-wkr":
			main := clique.Spec.PodSpec.Containers[0]
			written := strings.Join(append(main.Command, main.Args...), " ")
			assert.Contains(t, written, "-decode-1-ldr-0.")
			assert.NotContains(t, written, "decode-0-ldr")
		}
	}
}
