package explanation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/cli/explanation"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
)

// object is a manifest of an object in a namespace, made for owners, each a kind and a name; the first one controls it
// where controlled is set.
func object(apiVersion, kind, namespace, name, status string, controlled bool, owners ...string) string {
	var references []string
	for i, owner := range owners {
		ownerKind, ownerName, _ := strings.Cut(owner, "/")
		controls := ""
		if i == 0 && controlled {
			controls = ", controller: true"
		}
		references = append(references, fmt.Sprintf("{apiVersion: v1, kind: %s, name: %s, uid: %[2]s%s}",
			ownerKind, ownerName, controls))
	}
	return fmt.Sprintf("---\napiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: %q, uid: %[3]s, "+
		"creationTimestamp: \"2026-01-01T00:00:00Z\", ownerReferences: [%[5]s]}\nspec: {minMember: 1}\nstatus: {%[6]s}\n",
		apiVersion, kind, name, namespace, strings.Join(references, ", "), status)
}

func dgd(namespace, name, status string) string {
	return object("nvidia.com/v1alpha1", "DynamoGraphDeployment", namespace, name, status, false)
}

func podCliqueSet(name string, owners ...string) string {
	return object("grove.io/v1alpha1", "PodCliqueSet", "ns", name, "", true, owners...)
}

func podGang(name string, owners ...string) string {
	return object("scheduler.grove.io/v1alpha1", "PodGang", "ns", name, "", true, owners...)
}

func groupOf(name string, controlled bool, owners ...string) string {
	return object("scheduling.run.ai/v2alpha2", "PodGroup", "ns", name, "", controlled, owners...)
}

// drawn is a chain, an object a line, with what its conditions say.
func drawn(of *explanation.Object, depth int) string {
	line := strings.Repeat("  ", depth) + of.Kind + "/" + of.Name
	for _, condition := range of.Conditions {
		line += fmt.Sprintf(" %s=%s(%s: %s)", condition.Type, condition.Status, condition.Reason, condition.Message)
	}
	for _, below := range of.Objects {
		line += "\n" + drawn(below, depth+1)
	}
	return line
}

func TestTheChainFromTheWorkloadDown(t *testing.T) {
	said := "conditions: [{type: Ready, status: 'False', reason: Waiting, message: no room, " +
		"lastTransitionTime: '2026-01-01T00:00:00Z'}]"
	workload := dgd("ns", "d", said) + podCliqueSet("s", "DynamoGraphDeployment/d") +
		podGang("a", "PodCliqueSet/s") + podGang("b", "PodCliqueSet/s") +
		groupOf("a", false) + groupOf("b", false) + pods("a", "a", 1, "", "n1", "") + pods("b", "b", 1, "", "")
	whole := "DynamoGraphDeployment/d Ready=False(Waiting: no room)\n  PodCliqueSet/s\n"
	for name, c := range map[string]struct {
		cluster, namespace, target, want string
	}{
		"of a workload has all gangs, without pods": {workload, "ns", "dgd/d",
			whole + "    PodGang/a\n      PodGroup/a\n    PodGang/b\n      PodGroup/b"},
		"of a gang leaves out its siblings": {workload, "ns", "podgroup/b", whole + "    PodGang/b\n      PodGroup/b"},
		"of a pod ends with it":             {workload, "ns", "pod/a-1", whole + "    PodGang/a\n      PodGroup/a\n        Pod/a-1"},
		"a bare name is that of the outermost": {dgd("ns", "x", "") + podCliqueSet("x", "DynamoGraphDeployment/x"), "ns", "x",
			"DynamoGraphDeployment/x\n  PodCliqueSet/x"},
		"conditions of another shape say nothing": {dgd("ns", "d", "conditions: [old]"), "ns", "d", "DynamoGraphDeployment/d"},
		"an owner that is not read is named": {groupOf("g", true, "Job/j", "DynamoGraphDeployment/d") + dgd("ns", "d", ""),
			"ns", "g", "Job/j\n  PodGroup/g"},
		"one that does not control it only if it is read": {groupOf("g", false, "Job/j", "DynamoGraphDeployment/d", "PodCliqueSet/s") +
			dgd("ns", "d", "") + podCliqueSet("s"), "ns", "g", "DynamoGraphDeployment/d\n  PodGroup/g"},
		"nor one that says that it does not control it": {
			strings.ReplaceAll(groupOf("g", true, "Job/j"), "controller: true", "controller: false"), "ns", "g", "PodGroup/g",
		},
		"an owner that is not read is no object that can be asked about": {
			groupOf("g", true, "PodCliqueSet/s"), "ns", "pcs/s", "",
		},
		"what else an owner has that is not read is left out": {
			groupOf("g", true, "Job/j") + groupOf("h", true, "Job/j"), "ns", "h", "Job/j\n  PodGroup/h",
		},
		"a gang is its PodGang's, whoever else owns it": {
			podCliqueSet("s") + podCliqueSet("other") + podGang("a", "PodCliqueSet/s") +
				groupOf("a", true, "PodCliqueSet/other"),
			"ns", "pcs/s", "PodCliqueSet/s\n  PodGang/a\n    PodGroup/a",
		},
		"of a PodGang has its gang":                    {workload, "ns", "podgang/a", whole + "    PodGang/a\n      PodGroup/a"},
		"of a pod whose gang is not there is the pod":  {pods("p", "gone", 1, "", ""), "ns", "p-0", "Pod/p-0"},
		"what has no namespace is in default":          {dgd("", "d", ""), "default", "d", "DynamoGraphDeployment/d"},
		"and nowhere else":                             {dgd("", "d", ""), "ns", "d", ""},
		"nor is what is in another namespace":          {dgd("other", "d", ""), "ns", "d", ""},
		"nor what is in another one, asked in default": {dgd("ns", "d", ""), "default", "d", ""},
		"a pod says whether it was scheduled, and nothing else": {strings.Replace(pods("p", "", 1, "", ""), "spec:",
			"status: {conditions: [{type: Ready, status: 'False'}, {type: PodScheduled, status: 'False', "+
				"reason: Unschedulable, message: no node}]}\nspec:", 1),
			"ns", "p-0", "Pod/p-0 PodScheduled=False(Unschedulable: no node)"},
		"a pod belongs to its gang, whoever owns it": {podCliqueSet("s") + groupOf("g", false) +
			pods("p", "g", 1, `, ownerReferences: [{apiVersion: v1, kind: PodCliqueSet, name: s, uid: s, controller: true}]`, ""),
			"ns", "p-0", "PodGroup/g\n  Pod/p-0"},
	} {
		t.Run(name, func(t *testing.T) {
			target, err := explanation.ParseTarget([]string{c.target})
			require.NoError(t, err)
			report, err := explanation.Of(t.Context(), testsupport.Inventory(t, node+c.cluster), c.namespace, target)
			require.Equal(t, c.want == "", err != nil, "%v", err)
			got := ""
			if report != nil {
				got = drawn(report.Chain, 0)
			}
			assert.Empty(t, cmp.Diff(c.want, got), "-want +got")
		})
	}
}

func TestGangsOfOtherNamespacesAreNotExplained(t *testing.T) {
	elsewhere := strings.ReplaceAll(podGroup("g", "", 1)+pods("g", "g", 8, "", ""), "namespace: ns", "namespace: other")
	for _, target := range []string{"podgroup/g", "pod/g-0"} {
		want := []string{fmt.Sprintf(`namespace ns has no %s: it has none that could be explained. `+
			"Is it the right namespace (-n)?", strings.NewReplacer("podgroup/", `PodGroup "`, "pod/", `Pod "`).
			Replace(target)+`"`)}
		assert.Empty(t, cmp.Diff(want, explained(t, node+elsewhere, target)), "%s (-want +got)", target)
	}
}

func TestKindsAreKnownByTheirShortNames(t *testing.T) {
	for kind, names := range map[string]string{
		"DynamoGraphDeployment": "dgd dynamographdeployment dynamographdeployments DynamoGraphDeployment.v1.nvidia.com",
		"PodCliqueSet":          "pcs podcliqueset podcliquesets",
		"PodGang":               "pg podgang podgangs",
		"PodGroup":              "podgrp podgroup podgroups",
		"Pod":                   "po pod pods",
	} {
		for _, name := range strings.Fields(names) {
			got, err := explanation.ParseTarget([]string{name, "x"})
			if want := (explanation.Target{Kind: kind, Name: "x"}); got != want || err != nil {
				t.Errorf("%s is %+v, error %v", name, got, err)
			}
		}
	}
	_, err := explanation.ParseTarget([]string{"job", "j"})
	want := `"job j": give NAME or KIND/NAME, where KIND is pod, podgroup, podgang, pcs or dgd; for a Job or the like, ` +
		"name one of its pods"
	assert.EqualError(t, err, want)
}
