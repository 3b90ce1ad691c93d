package children_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// members are all PodCliques of one replica, with the scaled gangs of the template.
func members(set *grovev1alpha1.PodCliqueSet, replica int32) []layout.Member {
	all := layout.Standalone(set, replica)
	groups := set.Spec.Template.PodCliqueScalingGroups
	for i := range groups {
		for copyIndex := range layout.GroupReplicas(&groups[i]) {
			all = append(all, layout.Copy(set, replica, &groups[i], copyIndex)...)
		}
	}
	return all
}

// waits lists the PodCliques of replica 0 that wait, with their parents.
func waits(set *grovev1alpha1.PodCliqueSet) map[string]string {
	written := map[string]string{}
	for _, member := range members(set, 0) {
		var parents []string
		for _, parent := range layout.Parents(set, member) {
			parents = append(parents, parent.String())
		}
		if parents != nil {
			written[member.Name] = strings.Join(parents, " ")
		}
	}
	return written
}

// grouped has a standalone clique between two that form a group: two copies in the base gang, one scaled gang.
const grouped = `
    podCliqueScalingGroups: [{name: g, cliqueNames: [leader, worker], replicas: 3, minAvailable: 2}]
    cliques:
      - {name: leader}
      - {name: router, spec: {replicas: 3, minAvailable: 2}}
      - {name: worker, spec: {replicas: 4}}
`

func TestParents(t *testing.T) {
	for name, c := range map[string]struct {
		template string
		want     map[string]string
	}{
		"in any order nothing waits, whatever startsAfter says": {
			template: "cliques: [{name: a}, {name: b, spec: {startsAfter: [a]}}]",
			want:     map[string]string{},
		},
		"in order each waits for the one before alone": {
			template: "cliqueStartupType: CliqueStartupTypeInOrder\n    cliques: [{name: a, spec: {replicas: 3, " +
				"minAvailable: 2}}, {name: b}, {name: c, spec: {startsAfter: [a]}}]",
			want: map[string]string{"s-0-b": "s-0-a:2", "s-0-c": "s-0-b:1"},
		},
		"explicitly each waits for those that it names": {
			template: "cliqueStartupType: CliqueStartupTypeExplicit\n    cliques: [{name: a}, {name: b}, {name: c, spec: " +
				"{startsAfter: [b, a]}}]",
			want: map[string]string{"s-0-c": "s-0-a:1 s-0-b:1"},
		},
		"in a base gang all copies count, in a scaled gang only the same copy, where no other clique stands between": {
			template: "cliqueStartupType: CliqueStartupTypeInOrder" + grouped,
			want: map[string]string{
				"s-0-router":     "s-0-g-0-leader:1 s-0-g-1-leader:1",
				"s-0-g-0-worker": "s-0-router:2", "s-0-g-1-worker": "s-0-router:2",
				"s-0-g-2-worker": "s-0-g-2-leader:1",
			},
		},
		"a scaled gang does not wait for cliques outside of it": {
			template: "cliqueStartupType: CliqueStartupTypeExplicit" +
				strings.NewReplacer("{name: leader}", "{name: leader, spec: {startsAfter: [worker]}}", "{replicas: 4}",
					"{replicas: 4, startsAfter: [router]}").Replace(grouped),
			want: map[string]string{
				"s-0-g-0-leader": "s-0-g-0-worker:4 s-0-g-1-worker:4",
				"s-0-g-1-leader": "s-0-g-0-worker:4 s-0-g-1-worker:4",
				"s-0-g-2-leader": "s-0-g-2-worker:4",
				"s-0-g-0-worker": "s-0-router:2", "s-0-g-1-worker": "s-0-router:2",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := fixture.Set(t, "metadata: {name: s}\nspec:\n  replicas: 2\n  template:\n    "+c.template)
			assert.Empty(t, cmp.Diff(c.want, waits(set)), "what waits for what (-want +got)")
		})
	}
}

// TestEveryoneStartsInTheEnd: whatever the template, if PodCliques with ready parents become ready, all become ready in
// the end.
func TestEveryoneStartsInTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := anySet(t)
		started := map[string]bool{}
		for progress := true; progress; {
			progress = false
			for _, member := range members(set, 1) {
				if !started[member.Name] && allStarted(layout.Parents(set, member), started) {
					started[member.Name], progress = true, true
				}
			}
		}
		for _, member := range members(set, 1) {
			require.True(t, started[member.Name],
				"%s never starts, it waits for %v", member.Name, layout.Parents(set, member))
		}
	})
}

func allStarted(parents []layout.Parent, started map[string]bool) bool {
	for _, parent := range parents {
		if !started[parent.PodClique] {
			return false
		}
	}
	return true
}

// anySet has up to six cliques, each after some that come before it, and two groups.
func anySet(t *rapid.T) *grovev1alpha1.PodCliqueSet {
	set := &grovev1alpha1.PodCliqueSet{}
	set.Name = "s"
	template := &set.Spec.Template
	template.CliqueStartupType = rapid.SampledFrom([]grovev1alpha1.CliqueStartupType{
		grovev1alpha1.CliqueStartupTypeAnyOrder, grovev1alpha1.CliqueStartupTypeInOrder,
		grovev1alpha1.CliqueStartupTypeExplicit,
	}).Draw(t, "order")
	groups := make([]grovev1alpha1.PodCliqueScalingGroupConfig, 2)
	for i := range groups {
		minimum := rapid.Int32Range(1, 3).Draw(t, "minAvailable")
		replicas := minimum + rapid.Int32Range(0, 2).Draw(t, "scaled")
		groups[i].Name, groups[i].MinAvailable, groups[i].Replicas = string("gh"[i]), &minimum, &replicas
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "cliques") {
		clique := grovev1alpha1.PodCliqueTemplateSpec{Name: string("abcdef"[i])}
		clique.Spec.Replicas = 1
		for _, before := range template.Cliques {
			if rapid.Bool().Draw(t, "after "+before.Name) {
				clique.Spec.StartsAfter = append(clique.Spec.StartsAfter, before.Name)
			}
		}
		template.Cliques = append(template.Cliques, clique)
		if group := rapid.IntRange(0, 2).Draw(t, "group"); group < 2 {
			groups[group].CliqueNames = append(groups[group].CliqueNames, clique.Name)
		}
	}
	for _, group := range groups {
		if group.CliqueNames != nil {
			template.PodCliqueScalingGroups = append(template.PodCliqueScalingGroups, group)
		}
	}
	return set
}

func TestAccounts(t *testing.T) {
	set := fixture.Set(t, `
metadata: {name: s}
spec:
  template:
    cliqueStartupType: CliqueStartupTypeInOrder
    cliques:
      - {name: first, spec: {podSpec: {serviceAccountName: never-waits}}}
      - {name: own, spec: {podSpec: {serviceAccountName: theirs}}}
      - {name: old, spec: {podSpec: {serviceAccount: by-the-old-field}}}
      - {name: again, spec: {podSpec: {serviceAccountName: theirs}}}
      - {name: without, spec: {podSpec: {}}}
`)
	assert.Empty(t, cmp.Diff([]string{"by-the-old-field", "s", "theirs"}, layout.Accounts(set, nil)),
		"accounts that look at pods (-want +got)")
	cliques := set.Spec.Template.Cliques
	var got []string
	for i := range cliques {
		got = append(got, layout.Account(set, &cliques[i], &cliques[i].Spec.PodSpec))
	}
	assert.Empty(t, cmp.Diff([]string{"never-waits", "theirs", "by-the-old-field", "theirs", "s"}, got),
		"account of each clique's pods (-want +got)")
	set.Spec.Template.CliqueStartupType = grovev1alpha1.CliqueStartupTypeAnyOrder
	account := layout.Account(set, &cliques[4], &cliques[4].Spec.PodSpec)
	assert.Empty(t, account, "pods that do not wait get account")
	assert.Empty(t, cmp.Diff([]string{"s"}, layout.Accounts(set, nil)), "accounts where nothing waits (-want +got)")
}

// TestAccountsOfTemplatesThatGo: pods of a PodClique that an update has not reached wait under the account of their own
// template.
func TestAccountsOfTemplatesThatGo(t *testing.T) {
	set := fixture.Set(t, `
metadata: {name: s, uid: s}
spec:
  template:
    cliqueStartupType: CliqueStartupTypeInOrder
    cliques: [{name: first, spec: {podSpec: {serviceAccountName: never-waits}}}, {name: second, spec: {podSpec: {serviceAccountName: before}}}]
`)
	var podCliques []*grovev1alpha1.PodClique
	for _, member := range layout.Standalone(set, 0) {
		podCliques = append(podCliques, children.PodClique(set, member, nil))
	}
	for i, account := range []string{"never-waits-either", "after"} {
		set.Spec.Template.Cliques[i].Spec.PodSpec.ServiceAccountName = account
	}
	assert.Empty(t, cmp.Diff([]string{"after", "before", "s"}, layout.Accounts(set, podCliques)),
		"accounts that look at pods (-want +got)")
}

func TestParseParent(t *testing.T) {
	want := layout.Parent{PodClique: "s-0-a", MinAvailable: 2}
	if got, err := layout.ParseParent(want.String()); err != nil || got != want {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for _, text := range []string{"", "a", ":1", "a:", "a:0", "a:-1", "a:x", "a:99999999999"} {
		parent, err := layout.ParseParent(text)
		assert.Error(t, err, "%q is read as %v", text, parent)
	}
}
