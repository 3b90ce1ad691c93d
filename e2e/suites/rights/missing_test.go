package rights_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"packtree.dev/e2e/suites/internal/suite"
)

// saysWhatItLacks removes a right of each program, checks that this is reported where people look, and restores it.
func (w *world) saysWhatItLacks(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	return suite.AllOf(
		w.without(scheduler, "create", "pods/binding",
			w.Applies("lacking-pod.yaml"),
			w.HasEvent("Pod", "lacking", "FailedScheduling", `cannot create resource "pods/binding"`)),
		w.bound("lacking"),
		w.without(groveOperator, "create", "pods", w.Applies("edited.yaml"),
			w.logs(groveOperator, "cannot create resource", "pods")),
		w.ready("pcs", "edited"), w.gone("pcs", "edited"),
		w.without(podgrouper, "patch", "pods", w.Applies("lacking-job.yaml"),
			w.logs(podgrouper, "cannot patch resource", "pods")),
		w.Reads("1", "job", "lacking", "{.status.ready}"),
		w.without(dynamoOperator, "create", "podcliquesets",
			w.TurnedDown("lacking-deployment.yaml", `cannot create resource "podcliquesets"`)),
		w.Applies("lacking-deployment.yaml"), w.ready("dgd", "lacking"), w.gone("dgd", "lacking"),
	)(ctx, t, config)
}

// without removes a verb on a resource from a program's ClusterRole during some steps.
func (w *world) without(program, verb, resource string, steps ...step) step {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		role := &rbacv1.ClusterRole{}
		w.Must(ctx, t, cluster.Get(ctx, client.ObjectKey{Name: program}, role))
		whole := slices.Clone(role.Rules)
		role.Rules = lessened(role.Rules, verb, resource)
		w.Must(ctx, t, cluster.Update(ctx, role))
		w.may(ctx, t, program, verb, resource, whole, false)
		ctx = suite.AllOf(steps...)(ctx, t, config)
		role.Rules = whole
		w.Must(ctx, t, cluster.Update(ctx, role))
		w.may(ctx, t, program, verb, resource, whole, true)
		return ctx
	}
}

// may waits until the API server grants a program a verb on a resource of some rules, or no more: it hears of changed
// roles a moment after they have changed.
func (w *world) may(ctx context.Context, t *testing.T, program, verb, resource string, rules []rbacv1.PolicyRule,
	granted bool,
) {
	t.Helper()
	at := slices.IndexFunc(rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.Resources, resource) })
	of := &authorizationv1.ResourceAttributes{Namespace: w.Name, Verb: verb, Group: rules[at].APIGroups[0]}
	of.Resource, of.Subresource, _ = strings.Cut(resource, "/")
	w.Until(ctx, t, fmt.Sprintf("%s may %s %s: %v", program, verb, resource, granted),
		func(ctx context.Context) (bool, string, error) {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "system:serviceaccount:" + systemNamespace + ":" + program, ResourceAttributes: of,
			}}
			err := cluster.Create(ctx, review)
			return err == nil && review.Status.Allowed == granted, review.Status.Reason, err
		})
}

// lessened are rules without a verb on a resource. Other parts of a rule stay.
func lessened(rules []rbacv1.PolicyRule, verb, resource string) []rbacv1.PolicyRule {
	var less []rbacv1.PolicyRule
	for _, rule := range rules {
		if !slices.Contains(rule.Resources, resource) || !slices.Contains(rule.Verbs, verb) {
			less = append(less, rule)
			continue
		}
		others, that := *rule.DeepCopy(), *rule.DeepCopy()
		others.Resources = slices.DeleteFunc(others.Resources, func(name string) bool { return name == resource })
		that.Resources = []string{resource}
		that.Verbs = slices.DeleteFunc(that.Verbs, func(name string) bool { return name == verb })
		for _, part := range []rbacv1.PolicyRule{others, that} {
			if len(part.Resources) > 0 && len(part.Verbs) > 0 {
				less = append(less, part)
			}
		}
	}
	return less
}

// logs waits until a program's log says what it cannot do, and with what.
func (w *world) logs(program, cannot, resource string) step {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, program+" logs that it "+cannot+" "+resource, func(context.Context) (bool, string, error) {
			_, what, found := strings.Cut(cluster.LogLines(program, cannot, 1), cannot)
			return found && strings.Contains(what, resource), cluster.LogLines(program, "forbidden", 3), nil
		})
		return ctx
	}
}
