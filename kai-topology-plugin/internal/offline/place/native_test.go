package place_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/offline/place"
)

// drawn is a group of a random tree: a leaf has pods, another one has groups.
type drawn struct {
	name, required, preferred string
	minimum, pods             int
	groups                    []*drawn
}

// tree draws a group with at most so many levels below it. Count numbers the groups: native ones are in the order of
// their names.
func tree(t *rapid.T, depth int, count *int) *drawn {
	*count++
	levels := rapid.SampledFrom([]string{"", "", "block", "rack", "host"})
	group := &drawn{
		name: fmt.Sprintf("g%02d", *count), required: levels.Draw(t, "required"), preferred: levels.Draw(t, "preferred"),
	}
	if depth > 0 && rapid.Bool().Draw(t, "inner") {
		for range rapid.IntRange(1, 3).Draw(t, "groups") {
			group.groups = append(group.groups, tree(t, depth-1, count))
		}
		group.minimum = rapid.IntRange(1, len(group.groups)).Draw(t, "minGroupCount")
		return group
	}
	group.minimum = rapid.IntRange(1, 3).Draw(t, "minCount")
	group.pods = group.minimum + rapid.IntRange(-1, 1).Draw(t, "further")
	return group
}

const racks = `{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {name: net},
  spec: {levels: [{nodeLabel: block}, {nodeLabel: rack}, {nodeLabel: host}]}}
`

func drawNodes(t *rapid.T) string {
	var out strings.Builder
	out.WriteString(racks)
	for i := range 8 {
		fmt.Fprintf(&out, `---
{apiVersion: v1, kind: Node, metadata: {name: n%[1]d, labels: {block: b%[2]d, rack: r%[3]d, host: n%[1]d}},
  status: {allocatable: {cpu: "%[4]d", pods: "10"}}}
`, i, i/4, i/2, rapid.IntRange(0, 3).Draw(t, "cpu"))
	}
	return out.String()
}

// ours writes a tree as a PodGroup of ours.
func (d *drawn) ours() string {
	var subs []string
	var add func(parent string, groups []*drawn)
	minimum := func(d *drawn) string {
		if len(d.groups) > 0 {
			return fmt.Sprintf("minSubGroup: %d", d.minimum)
		}
		return fmt.Sprintf("minMember: %d", d.minimum)
	}
	constraint := func(d *drawn) string {
		text := ""
		if d.required != "" {
			text += ", requiredTopologyLevel: " + d.required
		}
		if d.preferred != "" {
			text += ", preferredTopologyLevel: " + d.preferred
		}
		if text == "" {
			return ""
		}
		return ", topologyConstraint: {topology: net" + text + "}"
	}
	add = func(parent string, groups []*drawn) {
		for _, d := range groups {
			subs = append(subs, fmt.Sprintf("{name: %s%s, %s%s}", d.name, parent, minimum(d), constraint(d)))
			add(", parent: "+d.name, d.groups)
		}
	}
	add("", d.groups)
	return fmt.Sprintf("---\n{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: %s}, "+
		"spec: {%s%s, subGroups: [%s]}}\n", d.name, minimum(d), constraint(d), strings.Join(subs, ", "))
}

// native writes a tree as groups of Kubernetes.
func (d *drawn) native(parent string) string {
	kind, version, count := "PodGroup", "v1beta1", "minCount"
	if len(d.groups) > 0 {
		kind, version, count = "CompositePodGroup", "v1alpha3", "minGroupCount"
	}
	constraint, annotation := "", ""
	if d.required != "" {
		constraint = fmt.Sprintf(", schedulingConstraints: {topology: [{key: %s}]}", d.required)
	}
	if d.preferred != "" {
		annotation = "kai.scheduler/topology-preferred-placement: " + d.preferred
	}
	text := fmt.Sprintf("---\n{apiVersion: scheduling.k8s.io/%s, kind: %s, metadata: {name: %s, annotations: {%s}}, "+
		"spec: {%sschedulingPolicy: {gang: {%s: %d}}%s}}\n", version, kind, d.name, annotation, parent, count,
		d.minimum, constraint)
	for _, below := range d.groups {
		text += below.native("parentCompositePodGroupName: " + d.name + ", ")
	}
	return text
}

// members writes the pods of a tree. Member is a format of what makes a pod that of a leaf.
func (d *drawn) members(member func(leaf string) string) string {
	text := ""
	for i := range d.pods {
		text += fmt.Sprintf("---\n{apiVersion: v1, kind: Pod, %s containers: [{name: c, image: x, "+
			"resources: {requests: {cpu: \"1\"}}}]}}\n", fmt.Sprintf(member(d.name), i))
	}
	for _, below := range d.groups {
		text += below.members(member)
	}
	return text
}

// TestATreeOfNativeGroupsIsPlacedAsOurs draws more trees with -rapid.checks=1000.
func TestATreeOfNativeGroupsIsPlacedAsOurs(t *testing.T) {
	rapid.Check(t, func(drawing *rapid.T) {
		nodes, count := drawNodes(drawing), 0
		root := tree(drawing, 3, &count)
		ours := decided(t, nodes+root.ours()+root.members(func(leaf string) string {
			label := ""
			if leaf != root.name {
				label = "kai.scheduler/subgroup-name: " + leaf
			}
			return "metadata: {name: " + leaf + "-%d, annotations: {pod-group-name: " + root.name + "}, labels: {" +
				label + "}}, spec: {schedulerName: kai-scheduler,"
		}))
		native := decided(t, nodes+root.native("")+root.members(func(leaf string) string {
			return "metadata: {name: " + leaf + "-%d}, spec: {schedulerName: kai-scheduler, " +
				"schedulingGroup: {podGroupName: " + leaf + "},"
		}))
		require.Len(drawing, ours, 1)
		require.Len(drawing, native, 1)
		assert.Equal(drawing, native[0].Verdict, ours[0].Verdict,
			"%s of ours, native %s: %s", ours[0].Verdict, native[0].Verdict, native[0].Message)
		assert.Empty(drawing, cmp.Diff(ours[0].Assignments, native[0].Assignments), "assignments (-ours +native)")
	})
}

func decided(t *testing.T, manifests string) []place.PodGroupResult {
	t.Helper()
	done := run(t, manifests, "-f", "-")
	var result place.Result
	if err := json.Unmarshal([]byte(done.stdout), &result); err != nil {
		t.Fatal(err, done.stderr, manifests)
	}
	return result.PodGroups
}

// TestNativeGroups says of a gang what becomes of it, and of a pod of it where it goes.
func TestNativeGroups(t *testing.T) {
	nodes := racks + `---
{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {name: other},
  spec: {levels: [{nodeLabel: block}, {nodeLabel: row}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: n0, labels: {block: b0, rack: r0, row: w0, host: n0}},
  status: {allocatable: {cpu: "2", pods: "9"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {block: b0, rack: r1, row: w0, host: n1}},
  status: {allocatable: {cpu: "2", pods: "9"}}}
`
	gang := func(minCount int) string { return fmt.Sprintf("schedulingPolicy: {gang: {minCount: %d}}, ", minCount) }
	in := func(key string) string { return "schedulingConstraints: {topology: [{key: " + key + "}]}" }
	for name, c := range map[string]struct {
		annotations, spec, want string
	}{
		"a gang in one rack":          {"", gang(2) + in("rack"), "Placed 2"},
		"a gang that no rack takes":   {"", gang(3) + in("rack"), "Infeasible 0"},
		"a gang in any racks":         {"", gang(3), "Placed 3"},
		"a gang that is not complete": {"", gang(4), "Incomplete 0"},
		"basic: what fits in a rack":  {"", "schedulingPolicy: {basic: {}}, " + in("rack"), "Placed 2"},
		"a key of two Topologies":     {"", gang(1) + in("block"), "Invalid 0"},
		"one of them is named":        {"kai.scheduler/topology: other", gang(1) + in("block"), "Placed 3"},
		"a key of no Topology":        {"", gang(1) + in("x"), "Invalid 0"},
		"a group above that is none":  {"", "parentCompositePodGroupName: none, " + gang(1), ""},
		"other fields are passed by": {"", gang(1) + "workloadRef: {workloadName: w, templateName: t}, " +
			"disruptionMode: {all: {}}, priority: 7", "Placed 3"},
		"and fields of another version": {"", gang(1) + "podGroupTemplateRef: {workload: {workloadName: w}}, " +
			"disruptionMode: PodGroup", "Placed 3"},
	} {
		t.Run(name, func(t *testing.T) {
			text := nodes + "---\n{apiVersion: scheduling.k8s.io/v1alpha2, kind: PodGroup, metadata: {name: g, " +
				"annotations: {" + c.annotations + "}}, spec: {" + c.spec + "}}\n" +
				"---\n{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: g}, spec: {minMember: 9}}\n"
			text += (&drawn{name: "g", pods: 3}).members(func(string) string {
				return "metadata: {name: p%d}, spec: {schedulerName: kai-scheduler, schedulingGroup: {podGroupName: g},"
			})
			got := ""
			for _, podGroup := range decided(t, text) {
				if podGroup.Name == "podgroup.scheduling.k8s.io/g" {
					got = fmt.Sprintf("%s %d", podGroup.Verdict, len(podGroup.Assignments))
				} else if podGroup.Verdict != "Incomplete" {
					t.Errorf("PodGroup %s of ours is %s", podGroup.Name, podGroup.Verdict)
				}
			}
			assert.Equal(t, c.want, got)
		})
	}
}
