package grove_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
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
		"to what somebody has set already":      {replicas: 3, live: 3, scaled: 3},
		"somebody else's number stays":          {replicas: 2, live: 5, scaled: -1},
		"off, which a template cannot say":      {replicas: 0, live: 2, scaled: 0},
		"below the minimum that starts at once": {replicas: 1, live: 2, scaled: 1},
	} {
		t.Run(name, func(t *testing.T) {
			scalings := standingGroup(c.replicas, c.live, nil, nil).Scalings()
			if c.scaled < 0 {
				if len(scalings) > 0 {
					t.Errorf("scaled to %d", scalings[0].Replicas)
				}
				return
			}
			if len(scalings) != 1 || scalings[0].Replicas != c.scaled {
				t.Fatalf("got %v, want %d", scalings, c.scaled)
			}
			if _, ok := scalings[0].Object.(*grovev1alpha1.PodCliqueScalingGroup); !ok {
				t.Errorf("%T is scaled", scalings[0].Object)
			}
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
	if len(made) != 1 || made[0].Name != "d-serve" || made[0].Spec.Replicas != 8 ||
		made[0].Spec.DGDRef.ServiceName != "Serve" {
		t.Fatalf("adapters %v", made)
	}
	adapter := &grove.Adapter{ObjectMeta: made[0].ObjectMeta,
		Spec: v1alpha1.DynamoGraphDeploymentScalingAdapterSpec{Replicas: 3}}
	now := metav1.Unix(1, 0)
	standing := standingGroup(8, 8, asked, map[string]*grove.Adapter{"d-serve": adapter})
	scalings := standing.Scalings()
	if len(scalings) != 1 || scalings[0].Replicas != 3 {
		t.Errorf("the adapter's number is 3, got %v", scalings)
	}
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
	if len(groups) != 1 || !cmp.Equal(groups[0].CliqueNames, want) {
		t.Fatalf("groups %v", groups)
	}
	for _, clique := range set.Spec.Template.Cliques {
		switch clique.Name {
		case "prefill":
			if clique.Spec.Replicas != 2 || *clique.Spec.MinAvailable != 2 {
				t.Errorf("a copy has %d prefill, of which it needs %d", clique.Spec.Replicas, *clique.Spec.MinAvailable)
			}
		case "decode-1-wkr":
			main := clique.Spec.PodSpec.Containers[0]
			written := strings.Join(append(main.Command, main.Args...), " ")
			if !strings.Contains(written, "-decode-1-ldr-0.") || strings.Contains(written, "decode-0-ldr") {
				t.Errorf("workers look for their leader by %s", written)
			}
		}
	}
}
