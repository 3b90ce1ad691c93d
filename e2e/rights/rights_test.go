package rights_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/e2e/rights"
)

// line is an event of the audit log of a service account of namespace ns.
func line(account, verb, about string, code int, more string) string {
	return fmt.Sprintf(
		`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Request","stage":"ResponseComplete","verb":%q,`+
			`"user":{"username":"system:serviceaccount:ns:%s"},"objectRef":{%s},"responseStatus":{"code":%d}%s}`+"\n",
		verb,
		account, about, code, more)
}

const (
	pods     = `"resource":"pods","apiVersion":"v1"`
	pod      = `"resource":"pods","apiVersion":"v1","namespace":"team","name":"one"`
	binding  = `"resource":"pods","subresource":"binding","apiVersion":"v1","namespace":"team","name":"one"`
	role     = `"resource":"roles","apiGroup":"rbac.authorization.k8s.io","apiVersion":"v1","namespace":"team","name":"one"`
	claim    = `"resource":"resourceclaims","subresource":"status","apiGroup":"resource.k8s.io","apiVersion":"v1","namespace":"team","name":"one"`
	forbids  = `,"annotations":{"authorization.k8s.io/decision":"forbid"}`
	complete = `,"annotations":{"authorization.k8s.io/decision":"allow"}`
)

func read(t *testing.T, log string) []rights.Call {
	t.Helper()
	calls, err := rights.ReadCalls(strings.NewReader(log))
	require.NoError(t, err)
	return calls
}

func TestTheLogSaysWhoDidWhat(t *testing.T) {
	log := line("one", "list", pods, 200, complete) +
		strings.Replace(line("one", "list", pods, 200, ""), "system:serviceaccount:ns:one", "somebody", 1) +
		line("two", "create", binding, 201, complete) +
		`{"kind":"Event","verb":"get","user":{"username":"system:serviceaccount:ns:one"},"requestURI":"/healthz","responseStatus":{"code":200}}` + "\n" +
		line("one", "get", pod, 403, forbids) + line("one", "list", pods, 200, "")[:20]
	var got []string
	for _, call := range read(t, log) {
		got = append(got, call.String())
	}
	want := []string{"ns/one: list pods (200)", "ns/two: create pods/binding team/one (201)",
		"ns/one: get pods team/one (403)"}
	assert.Empty(t, cmp.Diff(want, got), "-want +got")
}

func TestALogThatIsNoneIsRefused(t *testing.T) {
	if _, err := rights.ReadCalls(strings.NewReader(line("one", "list", pods, 200, "") + "{\n")); err == nil ||
		!strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsRefusedForWantOfARight(t *testing.T) {
	saying := func(message string) string {
		return strings.Replace(line("one", "create", pods, 403, complete), `"code":403`,
			`"code":403,"message":"`+message+`"`, 1)
	}
	for name, test := range map[string]struct {
		line   string
		missed bool
	}{
		"the authorizer refuses it": {line("one", "get", pod, 403, forbids), true},
		"a right is missing that is asked beside it": {
			saying(
				"cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on"),
			true,
		},
		"a webhook refuses it": {saying("admission webhook says no"), false},
		"the namespace is going": {
			saying("unable to create new content in namespace a because it is being terminated"), false,
		},
		"the object is not there": {line("one", "get", pod, 404, complete), false},
		"it is done":              {line("one", "get", pod, 200, complete), false},
	} {
		t.Run(name, func(t *testing.T) {
			if call := read(t, test.line)[0]; call.RightsMissed() != test.missed {
				t.Errorf("%s: missed %t", call, call.RightsMissed())
			}
		})
	}
}

func TestWhatACallNeeds(t *testing.T) {
	body := func(content string) string { return complete + `,"requestObject":` + content }
	owned := body(
		`{"metadata":{"ownerReferences":[{"apiVersion":"grove.io/v1alpha1","kind":"PodClique","name":"owner","uid":"u","blockOwnerDeletion":true},` +
			`{"apiVersion":"v1","kind":"Node","name":"other","uid":"v"}]}}`)
	giving := body(`{"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["list","watch"]}]}`)
	for name, test := range map[string]struct {
		line string
		want []string
	}{
		"a read":                      {line("one", "get", pod, 200, complete), []string{"get pods one in team"}},
		"a read of what is not there": {line("one", "get", pod, 404, complete), []string{"get pods one in team"}},
		"a list":                      {line("one", "list", pods, 200, complete), []string{"list pods"}},
		"a creation, of which no name is known": {line("one", "create", pod, 201, complete),
			[]string{"create pods in team"}},
		"a subresource": {line("one", "create", binding, 201, complete),
			[]string{"create pods/binding one in team"}},
		"an apply that creates": {line("one", "patch", pod, 201, complete),
			[]string{"patch pods one in team", "create pods one in team"}},
		"an apply that changes": {line("one", "patch", pod, 200, complete),
			[]string{"patch pods one in team"}},
		"an object that holds up its owner": {line("one", "create", pod, 201, owned),
			[]string{"create pods in team", "update podcliques/finalizers.grove.io owner in team"}},
		"a change of one that held it up before": {line("one", "patch", pod, 200, owned),
			[]string{"patch pods one in team"}},
		"a role, which hands rights on": {
			line("one", "create", role, 201, giving),
			[]string{"create roles.rbac.authorization.k8s.io in team", "list pods in team", "watch pods in team"},
		},
		"a role that is refused": {line("one", "create", role, 409, giving),
			[]string{"create roles.rbac.authorization.k8s.io in team"}},
		"devices that are given to a claim": {
			line("one", "update", claim, 200, body(`{"status":{}}`)),
			[]string{"update resourceclaims/status.resource.k8s.io one in team",
				"update resourceclaims/binding.resource.k8s.io"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, need := range read(t, test.line)[0].Needs() {
				got = append(got, need.String())
			}
			assert.Empty(t, cmp.Diff(test.want, got), "-want +got")
		})
	}
}

// bound are roles by which account ns/one has a ClusterRole and, in namespace team, a Role.
func bound(everywhere, inTeam []rbacv1.PolicyRule) rights.Roles {
	one := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "ns", Name: "one"}}
	everybody := []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: "system:authenticated"}}
	all := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
	return rights.Roles{
		ClusterRoles: []rbacv1.ClusterRole{
			{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Rules: everywhere},
			{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Rules: all},
		},
		ClusterRoleBindings: []rbacv1.ClusterRoleBinding{
			{RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "one"}, Subjects: one},
			{RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "all"}, Subjects: everybody},
		},
		Roles: []rbacv1.Role{{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "team"}, Rules: inTeam}},
		RoleBindings: []rbacv1.RoleBinding{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "one"},
			Subjects: one,
		}},
	}
}

func rule(verbs, resources string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: strings.Split(resources, ","),
		Verbs: strings.Split(verbs, ","), ResourceNames: names}
}

func TestWhatIsNeeded(t *testing.T) {
	log := line("one", "list", pods, 200, complete) + line("one", "get", pod, 200, complete)
	for name, test := range map[string]struct {
		everywhere, inTeam []rbacv1.PolicyRule
		needless           []string
		uncovered          int
	}{
		"nothing too many": {everywhere: []rbacv1.PolicyRule{rule("list,get", "pods")}},
		"a verb": {everywhere: []rbacv1.PolicyRule{rule("list,get,watch", "pods")},
			needless: []string{"ClusterRole one: watch pods"}},
		"a resource": {
			everywhere: []rbacv1.PolicyRule{rule("list,get", "pods,nodes")},
			needless:   []string{"ClusterRole one: get nodes", "ClusterRole one: list nodes"},
		},
		"what a role of a namespace gives is enough there and not elsewhere": {
			everywhere: []rbacv1.PolicyRule{rule("list", "pods")},
			inTeam:     []rbacv1.PolicyRule{rule("get,list", "pods")},
			needless:   []string{"Role one: list pods in team"},
		},
		"twice the same, of which either would do": {
			everywhere: []rbacv1.PolicyRule{rule("list,get", "pods")}, inTeam: []rbacv1.PolicyRule{rule("get", "pods")},
			needless: []string{"ClusterRole one: get pods", "Role one: get pods in team"},
		},
		"a name is enough": {everywhere: []rbacv1.PolicyRule{rule("list", "pods"), rule("get", "pods", "one")}},
		"the name of another": {
			everywhere: []rbacv1.PolicyRule{rule("list", "pods"), rule("get", "pods", "one", "two")},
			needless:   []string{"ClusterRole one: get pods two"},
		},
		"a right that is only given to everybody": {everywhere: []rbacv1.PolicyRule{rule("list", "pods")},
			uncovered: 1},
	} {
		t.Run(name, func(t *testing.T) {
			verdict := rights.Judge(bound(test.everywhere, test.inTeam).Of("ns", "one"), read(t, log))
			var got []string
			for _, holding := range verdict.Needless {
				got = append(got, holding.String())
			}
			slices.Sort(got)
			assert.Empty(t, cmp.Diff(test.needless, got), "needless (-want +got)")
			if len(verdict.Uncovered) != test.uncovered {
				t.Errorf("uncovered: %v", verdict.Uncovered)
			}
		})
	}
}

// A refused call proves no need: the right was missing.
func TestARefusalProvesNothing(t *testing.T) {
	held := bound([]rbacv1.PolicyRule{rule("get", "pods")}, nil).Of("ns", "one")
	if verdict := rights.Judge(held, read(t, line("one", "get", pod, 403, forbids))); len(verdict.Needed) != 0 {
		t.Errorf("needed: %v", verdict.Needed)
	}
	if verdict := rights.Judge(held, read(t, line("one", "get", pod, 404, complete))); len(verdict.Needed) != 1 {
		t.Errorf("needless: %v", verdict.Needless)
	}
}
