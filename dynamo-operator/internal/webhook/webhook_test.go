package webhook

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"packtree.dev/dynamo-operator/internal/admission"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// TestFieldsOfANewerRelease: after a downgrade, objects have fields that this release does not know.
func TestFieldsOfANewerRelease(t *testing.T) {
	const unknown = "spec.newField: unknown field"
	spec := `"spec":{"newField":1,"components":[{"name":"a"}]}`
	stored := `{"metadata":{"name":"d","finalizers":["x/y"]},` + spec + `}`
	alpha := `"spec":{"newField":1,"services":[{"name":"a","replicas":1}]}`
	for name, c := range map[string]struct{ version, before, after, refused string }{
		"can be labelled": {"v1beta1", stored,
			`{"metadata":{"name":"d","labels":{"a":"b"}},` + spec + `}`, ""},
		"can be labelled in the older version": {"v1alpha1", `{"metadata":{"name":"d"},` + alpha + `}`,
			`{"metadata":{"name":"d","labels":{"a":"b"}},` + alpha + `}`, ""},
		"can be written as they are, services by name": {"v1alpha1", `{"metadata":{"name":"d"},` + alpha + `}`,
			`{"metadata":{"name":"d"},"spec":{"newField":1,"services":{"a":{}}}}`, ""},
		"can be released for deletion": {"v1beta1", stored,
			`{"metadata":{"name":"d","deletionTimestamp":"2026-01-01T00:00:00Z"},` + spec + `}`, ""},
		"are warned of when the rest is changed": {"v1beta1", stored,
			`{"metadata":{"name":"d"},"spec":{"newField":1,"components":[{"name":"b"}]}}`, unknown},
		"are warned of for a new object": {"v1beta1", "", stored, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, mutator{}.Handle(t.Context(), review(c.version, c.before, c.after)), c.refused)
		})
	}
}

// TestFieldsOfAnotherType: after a downgrade, a field that this release knows can also have a type that it does not
// accept.
func TestFieldsOfAnotherType(t *testing.T) {
	const alpha, beta = `"spec":{"services":[{"name":"a","replicas":{"min":1}}]}`,
		`"spec":{"components":[{"name":"a","replicas":{"min":1}}]}`
	const unreadable = "cannot unmarshal object into Go struct field"
	for name, c := range map[string]struct{ version, before, after, refused string }{
		"do not hinder a label": {"v1beta1", `{"metadata":{"name":"d"},` + beta + `}`,
			`{"metadata":{"name":"d","labels":{"a":"b"}},` + beta + `}`, ""},
		"do not hinder a label in the older version": {"v1alpha1", `{"metadata":{"name":"d"},` + alpha + `}`,
			`{"metadata":{"name":"d","labels":{"a":"b"}},` + alpha + `}`, ""},
		"do not hinder deletion": {"v1beta1", `{"metadata":{"name":"d"},` + beta + `}`,
			`{"metadata":{"name":"d","deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{}}`, ""},
		"are warned of when the rest is changed": {"v1beta1", `{"metadata":{"name":"d"},"spec":{"components":[]}}`,
			`{"metadata":{"name":"d"},` + beta + `}`, unreadable},
		"hinder a change of what cannot be compared": {"v1beta1", `{"metadata":{"name":"d"},` + beta + `}`,
			`{"metadata":{"name":"d"},"spec":{"components":[]}}`,
			"the stored deployment cannot be compared with the change, so it can only be deleted: "},
		"are warned of for a new object, in either version": {"v1alpha1", "", `{"metadata":{"name":"d"},` + alpha + `}`,
			unreadable},
		"are no matter in a change of something valid": {"v1beta1",
			`{"metadata":{"name":"d"},"spec":{"components":[{"name":"a"}]}}`,
			`{"metadata":{"name":"d"},"spec":{"components":[{"name":"a","replicas":-1}]}}`, "must be 0 or more"},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, validator{everything{}}.Handle(t.Context(), review(c.version, c.before, c.after)), c.refused)
		})
	}
}

// TestConstraintsThatTheClusterLost: the topology can change while a deployment exists, and its constraints cannot.
func TestConstraintsThatTheClusterLost(t *testing.T) {
	constrained := func(replicas string) string {
		return `{"metadata":{"name":"d"},"spec":{"components":[{"name":"a","replicas":` + replicas +
			`,"topologyConstraint":{"packDomain":"rack"},"podTemplate":{"spec":{"containers":[{"name":"main","image":"i"}]}}}]}}`
	}
	constraint := admission.Finding{Component: 0, Field: "topologyConstraint", Message: "not a level"}
	name := admission.Finding{Component: -1, Field: "clusterTopologyName", Message: "gone"}
	quota := admission.Finding{Component: -1, Message: "exceeded quota"}
	for title, c := range map[string]struct {
		before   string
		refused  []admission.Finding
		want     string
		warnings []string
	}{
		"keep a deployment from being created": {refused: []admission.Finding{constraint},
			want: "spec.components[0].topologyConstraint: not a level"},
		"do not keep it from being scaled": {constrained("1"), []admission.Finding{constraint, name}, "",
			[]string{"spec.components[0].topologyConstraint: not a level",
				"spec.topologyConstraint.clusterTopologyName: gone"}},
		"are warned of beside what does keep it from being": {constrained("1"), []admission.Finding{constraint, quota},
			"spec: exceeded quota", []string{"spec.components[0].topologyConstraint: not a level"}},
	} {
		t.Run(title, func(t *testing.T) {
			response := validator{judging{refused: c.refused}}.Handle(t.Context(),
				review("v1beta1", c.before, constrained("2")))
			expect(t, response, c.want)
			assert.Empty(t, cmp.Diff(c.warnings, response.Warnings, cmpopts.EquateEmpty()), "warnings (-want +got)")
		})
	}
}

func TestTheQueueOfADeploymentStays(t *testing.T) {
	in := func(queue string) string {
		return `{"metadata":{"name":"d","labels":{` + queue + `}},"spec":{"components":[{"name":"a",` +
			`"podTemplate":{"spec":{"containers":[{"name":"main","image":"i"}]}}}]}}`
	}
	const red, blue = `"kueue.x-k8s.io/queue-name":"red"`, `"kueue.x-k8s.io/queue-name":"blue"`
	const refused = "metadata.labels[kueue.x-k8s.io/queue-name]: Forbidden: immutable"
	for title, c := range map[string]struct{ before, after, want string }{
		"it stays":       {red, red + `,"other":"label"`, ""},
		"it changes":     {red, blue, refused},
		"it comes later": {"", red, refused},
		"it is gone":     {red, "", refused},
	} {
		t.Run(title, func(t *testing.T) {
			expect(t, validator{everything{}}.Handle(t.Context(), review("v1beta1", in(c.before), in(c.after))), c.want)
		})
	}
}

// TestAClusterThatDoesNotAnswer: a deployment is not called wrong for what could not be read.
func TestAClusterThatDoesNotAnswer(t *testing.T) {
	const written = `{"metadata":{"name":"d"},"spec":{"components":[{"name":"a",` +
		`"podTemplate":{"spec":{"containers":[{"name":"main","image":"i"}]}}}]}}`
	for name, silent := range map[string]silent{
		"of Grove's kinds":           {installed: context.DeadlineExceeded},
		"of a constraint's topology": {topology: context.DeadlineExceeded},
		"of a transfer's topology":   {transfer: context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			response := validator{silent}.Handle(t.Context(), review("v1beta1", "", written))
			expect(t, response, "could not be validated: context deadline exceeded; try again")
			got := response.Result
			assert.Equal(t, int32(http.StatusInternalServerError), got.Code)
			assert.Equal(t, metav1.StatusReasonInternalError, got.Reason)
		})
	}
}

// silent is a cluster that does not answer some questions.
type silent struct {
	everything
	installed, topology, transfer error
}

func (s silent) Installed() (string, error) { return "", s.installed }

func (s silent) Topology(context.Context, *v1beta1.DynamoGraphDeployment) (admission.Topology, error) {
	return admission.Topology{}, s.topology
}

func (s silent) TransferTopology(context.Context, *v1beta1.DynamoGraphDeployment) (admission.Topology, error) {
	return admission.Topology{}, s.transfer
}

// judging is a cluster with racks that refuses for these reasons.
type judging struct {
	everything
	refused []admission.Finding
}

func (judging) Topology(context.Context, *v1beta1.DynamoGraphDeployment) (admission.Topology, error) {
	return admission.Topology{Name: "t", Domains: []string{"rack"}}, nil
}

func (j judging) Try(context.Context, *v1beta1.DynamoGraphDeployment) admission.Verdict {
	return admission.Verdict{Refused: j.refused}
}

// everything is a cluster with all kinds and levels.
type everything struct{}

func (everything) Installed() (string, error) { return "", nil }

func (everything) Topology(context.Context, *v1beta1.DynamoGraphDeployment) (admission.Topology, error) {
	return admission.Topology{}, nil
}

func (everything) TransferTopology(context.Context, *v1beta1.DynamoGraphDeployment) (admission.Topology, error) {
	return admission.Topology{Kind: "ClusterTopology", Name: "t", Domains: []string{"zone", "rack"},
		Labels: []string{"z", "r"}}, nil
}

func (everything) Try(context.Context, *v1beta1.DynamoGraphDeployment) admission.Verdict {
	return admission.Verdict{}
}

// review asks about an update, or about a creation if before is empty.
func review(version, before, after string) ctrladmission.Request {
	request := ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Create, Name: "d",
		Kind:   metav1.GroupVersionKind{Group: "nvidia.com", Version: version, Kind: "DynamoGraphDeployment"},
		Object: runtime.RawExtension{Raw: []byte(after)},
	}}
	if before != "" {
		request.Operation, request.OldObject.Raw = admissionv1.Update, []byte(before)
	}
	return request
}

// expect checks an answer; refused is part of its message, and empty if the request is allowed.
func expect(t *testing.T, response ctrladmission.Response, refused string) {
	t.Helper()
	message := ""
	if response.Result != nil {
		message = response.Result.Message
	}
	assert.Equal(t, refused == "", response.Allowed, "allowed")
	assert.Contains(t, message, refused, "allowed")
}

func TestKindsWithoutEffectAreLetThroughWithAWarning(t *testing.T) {
	for kind, want := range map[string]int{"DynamoModel": 1, "DynamoCheckpoint": 1, "DynamoGraphDeploymentRequest": 1,
		"DynamoComponentDeployment": 1, "Other": 0} {
		request := ctrladmission.Request{
			AdmissionRequest: admissionv1.AdmissionRequest{
				Kind: metav1.GroupVersionKind{Group: v1beta1.GroupName, Version: "v1alpha1", Kind: kind},
			},
		}
		got := (warner{}).Handle(t.Context(), request)
		require.True(t, got.Allowed, "%s: %v", kind, got)
		assert.Len(t, got.Warnings, want, "%s: %v", kind, got)
	}
}
