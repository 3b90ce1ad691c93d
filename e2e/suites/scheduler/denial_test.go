package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"
)

const (
	// deniedTo is how the API server's refusal ends: with the node that the scheduler wanted.
	deniedTo = "binding is denied to node "
	// bait is a pod that nobody schedules; a trial of its binding reports whether a policy is in force.
	bait = "bait"
)

// denial has the API server refuse to bind pods by name, for as long as it is there.
type denial struct {
	world *world
	pods  []string
}

func (w *world) denial(pods ...string) *denial { return &denial{world: w, pods: append(pods, bait)} }

// begins returns when the API server refuses.
func (d *denial) begins(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w := d.world
	one := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: bait, Namespace: w.Name},
		Spec:       corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "c", Image: "none"}}},
	}
	if err := cluster.Create(ctx, one); !apierrors.IsAlreadyExists(err) {
		w.Must(ctx, t, err)
	}
	policy, binding := d.policy()
	w.Must(ctx, t, cluster.Create(ctx, policy))
	w.Must(ctx, t, cluster.Create(ctx, binding))
	w.Until(ctx, t, "the API server refuses to bind", d.holds(true))
	return ctx
}

// ends returns when the API server binds again.
func (d *denial) ends(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	policy, binding := d.policy()
	d.world.Must(ctx, t, client.IgnoreNotFound(cluster.Delete(ctx, binding)))
	d.world.Must(ctx, t, client.IgnoreNotFound(cluster.Delete(ctx, policy)))
	d.world.Until(ctx, t, "the API server binds again", d.holds(false))
	return ctx
}

func (d *denial) policy() (*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding) {
	name := d.world.Name
	rule := admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/binding"}},
	}}
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: new(admissionv1.Fail),
			MatchConstraints: &admissionv1.MatchResources{
				ResourceRules:     []admissionv1.NamedRuleWithOperations{rule},
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: name}},
			},
			Validations: []admissionv1.Validation{{
				Expression:        fmt.Sprintf("!(request.name in ['%s'])", strings.Join(d.pods, "', '")),
				MessageExpression: fmt.Sprintf("'%s' + object.target.name", deniedTo),
			}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	return policy, binding
}

// holds tries to bind the bait, without doing it.
func (d *denial) holds(wanted bool) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: bait, Namespace: d.world.Name}}
		to := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "bystander"}}
		err := cluster.SubResource("binding").Create(ctx, pod, to, client.DryRunAll)
		denied := err != nil && strings.Contains(err.Error(), deniedTo)
		if err != nil && !denied {
			return false, "", err
		}
		return denied == wanted, fmt.Sprintf("denied: %t", denied), nil
	}
}

// wanted returns the node that the scheduler last wanted for a pod, once it has been refused it.
func (d *denial) wanted(ctx context.Context, t *testing.T, pod string) string {
	t.Helper()
	node := ""
	d.world.Until(ctx, t, "the binding of pod "+pod+" is refused", func(ctx context.Context) (bool, string, error) {
		var events corev1.EventList
		if err := cluster.List(ctx, &events, client.InNamespace(d.world.Name)); err != nil {
			return false, "", err
		}
		for i := range events.Items {
			event := &events.Items[i]
			if _, said, found := strings.Cut(event.Message, deniedTo); found && event.InvolvedObject.Name == pod {
				node = strings.Fields(said)[0]
			}
		}
		return node != "", fmt.Sprintf("none of %d events says so", len(events.Items)), nil
	})
	return node
}

// refused waits until a pod's binding was refused.
func (d *denial) refused(pod string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		d.wanted(ctx, t, pod)
		return ctx
	}
}
