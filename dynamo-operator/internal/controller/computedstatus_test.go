package controller_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/dynamo-operator/internal/status"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

var now = metav1.NewTime(time.Unix(1000, 0))

func TestReady(t *testing.T) {
	placed := func(replicas, scheduled, ready int32) v1beta1.ServiceReplicaStatus {
		return v1beta1.ServiceReplicaStatus{Replicas: replicas, ScheduledReplicas: scheduled, ReadyReplicas: ready}
	}
	all := map[string]v1beta1.ServiceReplicaStatus{"prefill": placed(8, 8, 8), "decode": placed(2, 2, 2)}
	some := map[string]v1beta1.ServiceReplicaStatus{"prefill": placed(8, 8, 5), "decode": placed(2, 2, 2)}
	wanted := map[string]int32{"prefill": 8, "decode": 2}
	for name, c := range map[string]struct {
		observed backend.Observation
		failure  *status.Failure
		want     string
		state    v1beta1.DeploymentState
	}{
		"nothing was made yet": {
			want:  "False NotYetObserved the objects of the deployment have not been observed since its last change",
			state: v1beta1.StateInitializing,
		},
		"the framework has not seen the last change": {
			observed: backend.Observation{Exists: true, Ready: true, Services: all, Wanted: wanted},
			want:     "False NotYetObserved the objects of the deployment have not been observed since its last change",
			state:    v1beta1.StatePending,
		},
		"every replica is ready": {
			observed: backend.Observation{Exists: true, Current: true, Ready: true, Services: all, Wanted: wanted},
			want:     "True AllServicesReady every replica of every service is ready",
			state:    v1beta1.StateSuccessful,
		},
		"replicas wait for nodes, and the scheduler has said why": {
			observed: backend.Observation{
				Exists: true, Current: true, Wanted: wanted,
				Waits: map[string]string{"prefill": "rack z1/r7 is short of 40 nvidia.com/gpu"},
				Services: map[string]v1beta1.ServiceReplicaStatus{"prefill": placed(8, 5, 5),
					"decode": placed(2, 2, 2)},
			},
			want:  "False ServicesNotReady prefill: 3 of 8 pods wait: rack z1/r7 is short of 40 nvidia.com/gpu",
			state: v1beta1.StatePending,
		},
		"what several have in common is said once": {
			observed: backend.Observation{
				Exists: true, Current: true, Wanted: wanted, Waits: map[string]string{"prefill": "no rack has room",
					"decode": "no rack has room"},
				Services: map[string]v1beta1.ServiceReplicaStatus{"prefill": placed(8, 0, 0),
					"decode": placed(2, 0, 0)},
			},
			want:  "False ServicesNotReady prefill: 8 of 8 pods wait, decode: 2 of 2 replicas wait: no rack has room",
			state: v1beta1.StatePending,
		},
		"each for its own reason, or for none that is known": {
			observed: backend.Observation{
				Exists: true, Current: true, Wanted: map[string]int32{"prefill": 8, "decode": 3},
				Waits: map[string]string{"decode": "no room"},
				Services: map[string]v1beta1.ServiceReplicaStatus{"prefill": placed(8, 7, 5),
					"decode": placed(3, 2, 1)},
			},
			want:  "False ServicesNotReady prefill: 1 of 8 pods waits, 2 are not ready; decode: 1 of 3 replicas waits, 1 is not ready: no room",
			state: v1beta1.StatePending,
		},
		"replicas have nodes, and are not ready": {
			observed: backend.Observation{
				Exists: true, Current: true, Wanted: wanted,
				Services: map[string]v1beta1.ServiceReplicaStatus{"prefill": placed(8, 8, 5),
					"decode": placed(2, 2, 1)},
			},
			want:  "False ServicesNotReady prefill: 3 of 8 pods are not ready; decode: 1 of 2 replicas is not ready",
			state: v1beta1.StatePending,
		},
		"replicas have nodes, and cannot get ready": {
			observed: backend.Observation{
				Exists: true, Current: true, Wanted: wanted,
				Fails: map[string]string{"prefill": "the image x:1 of container main cannot be pulled (pods: 3)"},
				Services: map[string]v1beta1.ServiceReplicaStatus{"prefill": placed(8, 8, 5),
					"decode": placed(2, 2, 1)},
			},
			want:  "False ServicesNotReady prefill: 3 of 8 pods are not ready: the image x:1 of container main cannot be pulled (pods: 3); decode: 1 of 2 replicas is not ready",
			state: v1beta1.StatePending,
		},
		"replicas that are ready have nodes, also where those were counted earlier": {
			observed: backend.Observation{
				Exists: true, Current: true, Wanted: wanted, Waits: map[string]string{"prefill": "no room"},
				Services: map[string]v1beta1.ServiceReplicaStatus{"prefill": placed(8, 2, 5),
					"decode": placed(2, 2, 2)},
			},
			want:  "False ServicesNotReady prefill: 3 of 8 pods are not ready",
			state: v1beta1.StatePending,
		},
		"what else keeps the framework from it comes first": {
			observed: backend.Observation{Exists: true, Current: true, Message: "quota is used up", Services: some,
				Wanted: wanted},
			want:  "False ServicesNotReady quota is used up; prefill: 3 of 8 pods are not ready",
			state: v1beta1.StatePending,
		},
		"the framework has yet to count what is there": {
			observed: backend.Observation{Exists: true, Current: true, Services: all, Wanted: wanted},
			want:     "False ServicesNotReady every replica is ready; the PodCliqueSet does not say so yet",
			state:    v1beta1.StatePending,
		},
		"replicas above the framework's minimum count too": {
			observed: backend.Observation{Exists: true, Current: true, Ready: true, Message: "all well", Services: some,
				Wanted: wanted},
			want:  "False ServicesNotReady prefill: 3 of 8 pods are not ready",
			state: v1beta1.StatePending,
		},
		"a component of which nothing exists": {
			observed: backend.Observation{Exists: true, Current: true,
				Services: map[string]v1beta1.ServiceReplicaStatus{"decode": all["decode"]}, Wanted: wanted},
			want:  "False ServicesNotReady prefill: not created yet",
			state: v1beta1.StatePending,
		},
		"replicas that are to go": {
			observed: backend.Observation{Exists: true, Current: true, Ready: true, Services: all,
				Wanted: map[string]int32{"prefill": 0, "decode": 2}},
			want:  "False ServicesNotReady prefill: 8 pods above 0 are being removed",
			state: v1beta1.StatePending,
		},
		"what the user has to mend comes first": {
			observed: backend.Observation{Exists: true, Current: true, Ready: true, Services: all, Wanted: wanted},
			failure:  &status.Failure{Reason: v1beta1.ReasonRejected, Message: "no"},
			want:     "False Rejected no",
			state:    v1beta1.StateFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			next := status.Next(statusDeployment(), c.observed, nil, c.failure, now)
			ready := meta.FindStatusCondition(next.Conditions, v1beta1.ConditionReady)
			assert.Equal(t, c.want, string(ready.Status)+" "+ready.Reason+" "+ready.Message)
			assert.Equal(t, c.state, next.State)
			assert.Equal(t, int64(7), ready.ObservedGeneration)
			assert.Equal(t, int64(7), next.ObservedGeneration)
		})
	}
}

func TestWordsOfAFailure(t *testing.T) {
	const doing = "applying PodCliqueSet d"
	for name, c := range map[string]struct {
		next status.Failure
		want string
	}{
		"that may pass are those of the first time": {status.Failure{Reason: v1beta1.ReasonNotYetWritten,
			Message: doing + ": port 2", Passing: doing}, doing + ": port 1"},
		"are others where something else was done": {status.Failure{Reason: v1beta1.ReasonNotYetWritten,
			Message: "scaling: port 2", Passing: "scaling"}, "scaling: port 2"},
		"that has to be mended are always the newest": {status.Failure{Reason: v1beta1.ReasonNotYetWritten,
			Message: doing + ": port 2"}, doing + ": port 2"},
	} {
		t.Run(name, func(t *testing.T) {
			current := statusDeployment()
			first := &status.Failure{Reason: v1beta1.ReasonNotYetWritten, Message: doing + ": port 1", Passing: doing}
			current.Status = status.Next(current, backend.Observation{}, nil, first, now)
			next := status.Next(current, backend.Observation{}, nil, &c.next, now)
			assert.Equal(t, c.want, meta.FindStatusCondition(next.Conditions, v1beta1.ConditionReady).Message)
		})
	}
}

func TestTheTimeOfATransitionStays(t *testing.T) {
	current := statusDeployment()
	current.Status = status.Next(current, backend.Observation{}, nil, nil, now)
	again := status.Next(current, backend.Observation{}, nil, nil, metav1.NewTime(now.Add(time.Hour)))
	assert.Empty(t, cmp.Diff(current.Status, again), "an unchanged deployment gets a changed status")
}

func TestEventsReportEachTransitionOnce(t *testing.T) {
	notApplied := &backend.Enforcement{Status: "Unknown", Reason: v1beta1.ReasonTopologyNotYetApplied, Message: "m"}
	unknown := &backend.Enforcement{Status: "Unknown", Reason: v1beta1.ReasonTopologyNotYetJudged, Message: "m"}
	enforced := &backend.Enforcement{Status: "True", Reason: "R", Message: "m"}
	lost := &backend.Enforcement{Status: "False", Reason: "R", Message: "m"}
	const (
		applied  = "Normal TopologyConstraintsApplied"
		warned   = "Warning TopologyConstraintsNotEnforced"
		restored = "Normal TopologyConstraintsEnforced"
	)
	type step struct {
		enforcement *backend.Enforcement
		// reason is the condition's reason after the step, on which events depend.
		reason string
		events []string
	}
	for name, steps := range map[string][]step{
		"put to work, lost and back": {
			{notApplied, "NotYetApplied", nil}, {notApplied, "NotYetApplied", nil},
			{unknown, "NotYetJudged", []string{applied}},
			{unknown, "NotYetJudged", nil}, {enforced, "R", nil}, {enforced, "R", nil}, {lost, "R", []string{warned}},
			{lost, "R", nil},
			{enforced, "R", []string{restored}}, {lost, "R", []string{warned}},
		},
		"judged before anybody looked": {{enforced, "R", []string{applied}}, {enforced, "R", nil}},
		"lost from the beginning": {{unknown, "NotYetJudged", []string{applied}}, {lost, "R", []string{warned}},
			{enforced, "R", []string{restored}}},
		"what was enforced is made anew": {
			{enforced, "R", []string{applied}}, {notApplied, "EnforcedWhenLastJudged", nil},
			{unknown, "EnforcedWhenLastJudged", nil},
			{enforced, "R", nil},
		},
		"what was lost is made anew, and is enforced again": {
			{enforced, "R", []string{applied}}, {lost, "R", []string{warned}},
			{notApplied, "NotEnforcedWhenLastJudged", nil},
			{unknown, "NotEnforcedWhenLastJudged", nil}, {enforced, "R", []string{restored}},
		},
		"what was lost is made anew, and is lost still": {
			{unknown, "NotYetJudged", []string{applied}}, {lost, "R", []string{warned}},
			{unknown, "NotEnforcedWhenLastJudged", nil}, {lost, "R", nil},
		},
		"what was enforced is made anew, and lost": {
			{enforced, "R", []string{applied}}, {unknown, "EnforcedWhenLastJudged", nil}, {lost, "R", []string{warned}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			current := statusDeployment()
			for i, step := range steps {
				next := status.Next(current, backend.Observation{Enforcement: step.enforcement,
					Topology: "grove-topology"}, nil, nil, now)
				var got []string
				for _, event := range status.Events(current.Status, next) {
					got = append(got, event.Type+" "+event.Reason)
				}
				assert.Empty(t, cmp.Diff(step.events, got), "step %d (-want +got)", i)
				condition := meta.FindStatusCondition(next.Conditions, v1beta1.ConditionTopologyConstraintsEnforced)
				assert.Equal(t, step.reason, condition.Reason, "step %d", i)
				assert.Equal(t, step.enforcement.Status, condition.Status, "step %d", i)
				current.Status = next
			}
		})
	}
}

func TestWithoutConstraintsThereIsNoCondition(t *testing.T) {
	current := statusDeployment()
	current.Status = status.Next(current,
		backend.Observation{Enforcement: &backend.Enforcement{Status: "True", Reason: "R"}}, nil, nil, now)
	next := status.Next(current, backend.Observation{}, nil, nil, now)
	assert.Nil(t, meta.FindStatusCondition(next.Conditions, v1beta1.ConditionTopologyConstraintsEnforced),
		"the condition is still there")
	assert.Empty(t, status.Events(current.Status, next))
}

func TestThePlacementIsWhatStandsNow(t *testing.T) {
	current, found := statusDeployment(), v1beta1.PlacementStatus{State: v1beta1.PlacementUnknown}
	if current.Status = status.Next(current, backend.Observation{Placement: &found}, nil, nil,
		now); *current.Status.Placement != found {
		t.Errorf("got %+v", current.Status.Placement)
	}
	assert.Nil(t, status.Next(current, backend.Observation{}, nil, nil, now).Placement,
		"of what stands no more it says")
}

func statusDeployment() *v1beta1.DynamoGraphDeployment {
	return &v1beta1.DynamoGraphDeployment{
		ObjectMeta: metav1.ObjectMeta{Generation: 7},
		Spec: v1beta1.DynamoGraphDeploymentSpec{Components: []v1beta1.ComponentSpec{
			{Name: "prefill"}, {Name: "decode", Multinode: &v1beta1.Multinode{NodeCount: 2}},
		}},
	}
}

// A component in a group lacks copies of the group. Each copy has several of its pods.
func TestAComponentInAGroupLacksCopies(t *testing.T) {
	statusDeployment := &v1beta1.DynamoGraphDeployment{Spec: v1beta1.DynamoGraphDeploymentSpec{
		Components: []v1beta1.ComponentSpec{{Name: "prefill", Replicas: new(int32(2))}},
		Experimental: &v1beta1.DeploymentExperimental{ComponentGroups: []v1beta1.ComponentGroup{
			{Name: "serve", Components: []v1beta1.ComponentGroupMember{{Name: "prefill"}}},
		}},
	}}
	observed := backend.Observation{
		Exists: true, Current: true, Wanted: map[string]int32{"prefill": 8},
		Waits: map[string]string{"prefill": "no rack has room"},
		Services: map[string]v1beta1.ServiceReplicaStatus{"prefill": {Replicas: 8, ScheduledReplicas: 5,
			ReadyReplicas: 5}},
	}
	next := status.Next(statusDeployment, observed, nil, nil, now)
	const want = "prefill: 3 of 8 copies wait: no rack has room"
	got := meta.FindStatusCondition(next.Conditions, v1beta1.ConditionReady)
	require.NotNil(t, got)
	assert.Equal(t, want, got.Message)
}
