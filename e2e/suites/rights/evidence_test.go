package rights_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
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

// servesNone is the excuse of rights to kinds that only an API server with feature gates serves.
const servesNone = "the scheduler's specs of PodGroups of Kubernetes have an API server that serves them"

// excused are the rights that cannot be used here at will, each with the proof that it is needed.
var excused = map[string]string{
	"ClusterRole kai-topology-plugin: list podgroups.scheduling.k8s.io":                  servesNone,
	"ClusterRole kai-topology-plugin: watch podgroups.scheduling.k8s.io":                 servesNone,
	"ClusterRole kai-topology-plugin: patch podgroups/status.scheduling.k8s.io":          servesNone,
	"ClusterRole kai-topology-plugin: list compositepodgroups.scheduling.k8s.io":         servesNone,
	"ClusterRole kai-topology-plugin: watch compositepodgroups.scheduling.k8s.io":        servesNone,
	"ClusterRole kai-topology-plugin: patch compositepodgroups/status.scheduling.k8s.io": servesNone,
	"ClusterRole kai-topology-plugin: patch events.events.k8s.io": "counts an event that happens again while the " +
		"pod stays as it is to the last byte, as kube-scheduler does",
	"ClusterRole kai-topology-plugin: patch events": "counts an event again, as above, where discovery failed when the " +
		"scheduler started",
	"ClusterRole grove-operator: get resourceclaims.resource.k8s.io": "looks whose a claim is that has the name of one " +
		"to be made",
	"ClusterRole grove-operator: delete workloads.kueue.x-k8s.io": "the admission plugin asks for it when an owner is " +
		"added to an object",
	"ClusterRole dynamo-operator: patch " +
		"events.events.k8s.io": "counts an event that happens again within minutes, " +
		"as grove-operator's and podgrouper's do here; " +
		"dynamo-operator's are of topologies lost and found, which its own tests cause",
}

// evidence is what was read of the audit log so far.
type evidence struct {
	offset int64
	calls  []rights.Call
	// telling are the calls of each account that needed what no earlier call of it did, and needed is all of that.
	telling map[string][]rights.Call
	needed  map[string]map[rights.Right]bool
}

var audited = &evidence{telling: map[string][]rights.Call{}, needed: map[string]map[rights.Right]bool{}}

// reads takes in what was written to the log since the last time.
func (e *evidence) reads() error {
	log, err := os.Open(auditLog)
	if err != nil {
		return err
	}
	defer log.Close()
	if _, err := log.Seek(e.offset, io.SeekStart); err != nil {
		return err
	}
	content, err := io.ReadAll(log)
	if err != nil {
		return err
	}
	content = content[:bytes.LastIndexByte(content, '\n')+1] // The last line may not be whole.
	further, err := rights.ReadCalls(bytes.NewReader(content))
	if err != nil {
		return err
	}
	e.offset += int64(len(content))
	e.calls = append(e.calls, further...)
	for _, call := range further {
		if !call.RightsMissed() && e.tells(call) {
			e.telling[call.Account] = append(e.telling[call.Account], call)
		}
	}
	return nil
}

func (e *evidence) tells(call rights.Call) (more bool) {
	needed := e.needed[call.Account]
	if needed == nil {
		needed = map[rights.Right]bool{}
		e.needed[call.Account] = needed
	}
	for _, need := range call.Needs() {
		more = more || !needed[need]
		needed[need] = true
	}
	return more
}

// verdict judges what a program did so far by its rights.
func (e *evidence) verdict(roles rights.Roles, program string) rights.Verdict {
	return rights.Judge(roles.Of(systemNamespace, program), e.telling[systemNamespace+"/"+program])
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
func needless(roles rights.Roles) []string {
	var found []string
	for _, name := range devcluster.Components {
		for _, holding := range audited.verdict(roles, name).Needless {
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
	w.Must(ctx, t, audited.reads())
	for _, call := range audited.calls[w.looked:] {
		if call.RightsMissed() {
			t.Errorf("a right is missing: %s", call)
		}
	}
	w.looked = len(audited.calls)
	return ctx
}

// looksAway ignores the refusals until now.
func (w *world) looksAway(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	w.Must(ctx, t, audited.reads())
	w.looked = len(audited.calls)
	return ctx
}

// hasNoneTooMany waits until every right of the recorded roles was needed, and checks that each excuse is for one of
// them. Excused rights may have been needed all the same: nothing here keeps races from being lost.
func (w *world) hasNoneTooMany(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	w.Until(ctx, t, "each right was needed", func(context.Context) (bool, string, error) {
		err := audited.reads()
		var many []string
		for when, roles := range w.roles {
			for _, holding := range needless(roles) {
				many = append(many, fmt.Sprintf("with %s: nobody needs %s", when, holding))
			}
		}
		return len(many) == 0, strings.Join(many, "\n"), err
	})
	vain := maps.Clone(excused)
	for when, roles := range w.roles {
		for _, name := range devcluster.Components {
			verdict := audited.verdict(roles, name)
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
			if err := audited.reads(); err != nil {
				return false, "", err
			}
			missing := slices.DeleteFunc(needless(roles), func(holding string) bool {
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
