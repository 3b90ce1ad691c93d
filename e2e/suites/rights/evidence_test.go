package rights_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/rights"
)

// excused are the rights whose use cannot be caused here at will, each with the proof that it is needed.
var excused = map[string]string{
	"ClusterRole kai-topology-plugin: patch events.events.k8s.io": "counts an event that happens again while the " +
		"pod stays as it is to the last byte, as kube-scheduler does",
	"ClusterRole grove-operator: get resourceclaims.resource.k8s.io": "looks whose a claim is that has the name of one " +
		"to be made",
	"ClusterRole dynamo-operator: patch " +
		"events.events.k8s.io": "counts an event that happens again within minutes, " +
		"as grove-operator's and podgrouper's do here; " +
		"dynamo-operator's are of topologies lost and found, which the suite dynamo covers",
}

// calls are those in the log so far.
func calls() ([]rights.Call, error) {
	log, err := os.ReadFile(auditLog)
	if err != nil {
		return nil, err
	}
	return rights.ReadCalls(bytes.NewReader(log))
}

// granted are the present roles of the cluster.
func granted(ctx context.Context) (rights.Roles, error) {
	var (
		clusterRoles        rbacv1.ClusterRoleList
		clusterRoleBindings rbacv1.ClusterRoleBindingList
		roles               rbacv1.RoleList
		roleBindings        rbacv1.RoleBindingList
	)
	err := cmp.Or(cluster.List(ctx, &clusterRoles), cluster.List(ctx, &clusterRoleBindings), cluster.List(ctx, &roles),
		cluster.List(ctx, &roleBindings))
	return rights.Roles{
		ClusterRoles: clusterRoles.Items, ClusterRoleBindings: clusterRoleBindings.Items, Roles: roles.Items,
		RoleBindings: roleBindings.Items,
	}, err
}

// needless are a program's rights that no call has needed so far.
func needless(roles rights.Roles, all []rights.Call) []string {
	var found []string
	for _, name := range devcluster.Components {
		held := roles.Of(systemNamespace, name)
		for _, holding := range rights.Judge(held, rights.By(systemNamespace+"/"+name, all)).Needless {
			if excused[holding.String()] == "" {
				found = append(found, holding.String())
			}
		}
	}
	slices.Sort(found)
	return found
}

// remembersRoles records the present roles, to be judged when everything has been tried.
func (w *world) remembersRoles(of string) step {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		roles, err := granted(ctx)
		w.Must(ctx, t, err)
		w.roles[of] = roles
		return ctx
	}
}

// missesNothing checks that no program was refused anything for a missing right since the last check.
func (w *world) missesNothing(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	all, err := calls()
	w.Must(ctx, t, err)
	for _, call := range all[w.looked:] {
		if call.RightsMissed() {
			t.Errorf("a right is missing: %s", call)
		}
	}
	w.looked = len(all)
	return ctx
}

// looksAway ignores the refusals until now.
func (w *world) looksAway(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	all, err := calls()
	w.Must(ctx, t, err)
	w.looked = len(all)
	return ctx
}

// hasNoneTooMany waits until every right of the recorded roles was needed, and checks that each excuse is for one of
// them. Those that are excused may have been needed all the same: nothing here keeps races from being lost.
func (w *world) hasNoneTooMany(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	w.Until(ctx, t, "each right was needed", func(context.Context) (bool, string, error) {
		all, err := calls()
		var many []string
		for when, roles := range w.roles {
			for _, holding := range needless(roles, all) {
				many = append(many, fmt.Sprintf("with %s: nobody needs %s", when, holding))
			}
		}
		return len(many) == 0, strings.Join(many, "\n"), err
	})
	all, err := calls()
	w.Must(ctx, t, err)
	vain := maps.Clone(excused)
	for when, roles := range w.roles {
		for _, name := range devcluster.Components {
			verdict := rights.Judge(roles.Of(systemNamespace, name), rights.By(systemNamespace+"/"+name, all))
			t.Logf("with %s: %s needed each of %d rights, and %d are excused", when, name, len(verdict.Needed),
				len(verdict.Needless))
			if len(verdict.Needed) == 0 {
				t.Errorf("with %s: %s has no rights at all", when, name)
			}
			for _, holding := range slices.AppendSeq(verdict.Needless, maps.Keys(verdict.Needed)) {
				delete(vain, holding.String())
			}
		}
	}
	for holding := range vain {
		t.Errorf("excused is a right that no role has: %s", holding)
	}
	return ctx
}

// untilNeeded repeats an action until the rights that it is for were needed: a race does not have the same winner each
// time.
func (w *world) untilNeeded(act func(ctx context.Context, t *testing.T, attempt int), wanted ...string) step {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		roles, err := granted(ctx)
		w.Must(ctx, t, err)
		attempt := 0
		w.Until(ctx, t, fmt.Sprintf("each of %s was needed", wanted), func(ctx context.Context) (bool, string, error) {
			all, err := calls()
			if err != nil {
				return false, "", err
			}
			missing := slices.DeleteFunc(needless(roles, all), func(holding string) bool {
				return !slices.ContainsFunc(wanted, func(part string) bool { return strings.Contains(holding, part) })
			})
			if len(missing) == 0 {
				return true, "", nil
			}
			act(ctx, t, attempt)
			attempt++
			return false, strings.Join(missing, ", "), nil
		})
		return ctx
	}
}
