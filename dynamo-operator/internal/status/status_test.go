package status_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/dynamo-operator/internal/status"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

var now = metav1.NewTime(time.Unix(1000, 0))

func TestReady(t *testing.T) {
	all := map[string]v1beta1.ServiceReplicaStatus{"prefill": {Replicas: 8, ReadyReplicas: 8}, "decode": {Replicas: 2, ReadyReplicas: 2}}
	some := map[string]v1beta1.ServiceReplicaStatus{"prefill": {Replicas: 8, ReadyReplicas: 5}, "decode": {Replicas: 2, ReadyReplicas: 2}}
	wanted := map[string]int32{"prefill": 8, "decode": 2}
	for name, c := range map[string]struct {
		observed backend.Observation
		failure  *status.Failure
		want     string
		state    v1beta1.DeploymentState
	}{
		"nothing was made yet": {
			want:  "False NotYetObserved what was made for the deployment has not been looked at yet",
			state: v1beta1.StateInitializing,
		},
		"the framework has not seen the last change": {
			observed: backend.Observation{Exists: true, Ready: true, Services: all, Wanted: wanted},
			want:     "False NotYetObserved what was made for the deployment has not been looked at yet",
			state:    v1beta1.StatePending,
		},
		"every replica is ready": {
			observed: backend.Observation{Exists: true, Current: true, Ready: true, Services: all, Wanted: wanted},
			want:     "True AllServicesReady every replica of every service is ready",
			state:    v1beta1.StateSuccessful,
		},
		"the framework's sentence comes first": {
			observed: backend.Observation{Exists: true, Current: true, Message: "3 of 8 pods wait: rack r7 is short of 40 nvidia.com/gpu", Services: some, Wanted: wanted},
			want:     "False ServicesNotReady 3 of 8 pods wait: rack r7 is short of 40 nvidia.com/gpu; prefill: 5 of 8 replicas ready",
			state:    v1beta1.StatePending,
		},
		"replicas above the framework's minimum count too": {
			observed: backend.Observation{Exists: true, Current: true, Ready: true, Message: "all well", Services: some, Wanted: wanted},
			want:     "False ServicesNotReady prefill: 5 of 8 replicas ready",
			state:    v1beta1.StatePending,
		},
		"a component of which nothing exists": {
			observed: backend.Observation{Exists: true, Current: true, Services: map[string]v1beta1.ServiceReplicaStatus{"decode": all["decode"]}, Wanted: wanted},
			want:     "False ServicesNotReady prefill: not created yet",
			state:    v1beta1.StatePending,
		},
		"replicas that are to go": {
			observed: backend.Observation{Exists: true, Current: true, Ready: true, Services: all, Wanted: map[string]int32{"prefill": 0, "decode": 2}},
			want:     "False ServicesNotReady prefill: 8 replicas above 0 are being removed",
			state:    v1beta1.StatePending,
		},
		"what the user has to mend comes first": {
			observed: backend.Observation{Exists: true, Current: true, Ready: true, Services: all, Wanted: wanted},
			failure:  &status.Failure{Reason: v1beta1.ReasonRejected, Message: "no"},
			want:     "False Rejected no",
			state:    v1beta1.StateFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			next := status.Next(deployment(), c.observed, nil, c.failure, now)
			ready := meta.FindStatusCondition(next.Conditions, v1beta1.ConditionReady)
			if got := string(ready.Status) + " " + ready.Reason + " " + ready.Message; got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if next.State != c.state || ready.ObservedGeneration != 7 || next.ObservedGeneration != 7 {
				t.Errorf("state %q of generation %d, want %q of 7", next.State, next.ObservedGeneration, c.state)
			}
		})
	}
}

func TestTheTimeOfATransitionStays(t *testing.T) {
	current := deployment()
	current.Status = status.Next(current, backend.Observation{}, nil, nil, now)
	again := status.Next(current, backend.Observation{}, nil, nil, metav1.NewTime(now.Add(time.Hour)))
	if diff := cmp.Diff(current.Status, again); diff != "" {
		t.Errorf("an unchanged deployment gets a changed status:\n%s", diff)
	}
}

func TestEventsTellEachTransitionOnce(t *testing.T) {
	enforced := func(condition metav1.ConditionStatus) *backend.Enforcement {
		return &backend.Enforcement{Status: condition, Reason: "R", Message: "m"}
	}
	current := deployment()
	var got []string
	for _, enforcement := range []*backend.Enforcement{
		enforced("Unknown"), enforced("Unknown"), enforced("True"), enforced("True"), enforced("False"), enforced("False"), enforced("True"),
	} {
		next := status.Next(current, backend.Observation{Enforcement: enforcement, Topology: "grove-topology"}, nil, nil, now)
		for _, event := range status.Events(current.Status, next) {
			got = append(got, string(enforcement.Status)+": "+event.Type+" "+event.Reason)
		}
		current.Status = next
	}
	want := []string{
		"Unknown: Normal TopologyConstraintsApplied",
		"False: Warning TopologyConstraintsNotEnforced",
		"True: Normal TopologyConstraintsEnforced",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWithoutConstraintsThereIsNoCondition(t *testing.T) {
	current := deployment()
	current.Status = status.Next(current, backend.Observation{Enforcement: &backend.Enforcement{Status: "True", Reason: "R"}}, nil, nil, now)
	next := status.Next(current, backend.Observation{}, nil, nil, now)
	if meta.FindStatusCondition(next.Conditions, v1beta1.ConditionTopologyConstraintsEnforced) != nil {
		t.Error("the condition is still there")
	}
	if events := status.Events(current.Status, next); len(events) > 0 {
		t.Errorf("got %v", events)
	}
}

func deployment() *v1beta1.DynamoGraphDeployment {
	return &v1beta1.DynamoGraphDeployment{
		ObjectMeta: metav1.ObjectMeta{Generation: 7},
		Spec:       v1beta1.DynamoGraphDeploymentSpec{Components: []v1beta1.ComponentSpec{{Name: "prefill"}, {Name: "decode"}}},
	}
}
