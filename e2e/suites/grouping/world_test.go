package grouping_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/live"
	"packtree.dev/e2e/placement"
	"packtree.dev/e2e/suites/internal/suite"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// world is what one story has for itself: besides a namespace, nodes and a Topology of its name.
type world struct{ suite.World }

func newWorld(podGrouperDies bool) *world {
	return &world{suite.World{
		Cluster: cluster, Name: envconf.RandomName("group", 11), OperatorDies: podGrouperDies,
		Shown: "podgroups.scheduling.run.ai,podgangs,jobs,statefulsets",
	}}
}

// rack is some nodes of one rack. Names repeat, as they do in real data centres.
type rack struct {
	zone, name string
	nodes      int
}

// racks are those of every world. A node has one GPU, and so room for one pod.
var racks = []rack{{"a", "1", 4}, {"a", "2", 4}, {"a", "3", 3}, {"b", "1", 5}}

func (w *world) create(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	t.Helper()
	var nodes []*corev1.Node
	for _, rack := range racks {
		for i := range rack.nodes {
			nodes = append(nodes, w.node(rack, i))
		}
	}
	w.Populate(ctx, t, nodes)
	return w.Applies("topology.yaml")(ctx, t, config)
}

func (w *world) zoneKey() string { return w.Name + "/zone" }
func (w *world) rackKey() string { return w.Name + "/rack" }

// node has a name by which nodes of one rack are not adjacent, so that their order by name cannot lead to the right
// placement.
func (w *world) node(r rack, i int) *corev1.Node {
	return live.FakeNode(fmt.Sprintf("%s-%d-%s%s", w.Name, i, r.zone, r.name), map[string]string{
		suite.WorldLabel: w.Name, w.zoneKey(): r.zone, w.rackKey(): r.name,
	}, 1)
}

// nodeComes adds one to a rack that has so many.
func (w *world) nodeComes(r rack) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Must(ctx, t, cluster.Create(ctx, w.node(r, r.nodes)))
		return ctx
	}
}

func (w *world) remove(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.Leave(ctx, t, &scheduling.PodGroup{}, &kai.Topology{})
	return ctx
}

// selector reports whether a pod is selected.
type selector func(*corev1.Pod) bool

func labelled(key, value string) selector {
	return func(pod *corev1.Pod) bool { return pod.Labels[key] == value }
}

// inRack and inZone are claims that so many pods of a group are in one domain, by the labels of their nodes alone.
func (w *world) inRack(group string, pods int, selects selector) placement.Claim {
	return placement.Claim{Group: group, Level: placement.Level{Called: "rack",
		Path: []string{w.zoneKey(), w.rackKey()}}, Pods: pods, Selects: selects}
}

func (w *world) inZone(group string, pods int, selects selector) placement.Claim {
	return placement.Claim{Group: group, Level: placement.Level{Called: "zone", Path: []string{w.zoneKey()}},
		Pods: pods, Selects: selects}
}

// stands waits until each group's pods are placed as claimed, and all of them name their leaf and their PodGroup.
func (w *world) stands(claims ...placement.Claim) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, "the pods stand where they should", func(ctx context.Context) (bool, string, error) {
			findings, err := w.judge(ctx, claims)
			held := !slices.ContainsFunc(findings,
				func(f placement.Finding) bool { return !f.Held() || f.Bound != f.Pods })
			return held, sentences(findings), err
		})
		return ctx
	}
}

func (w *world) judge(ctx context.Context, claims []placement.Claim) ([]placement.Finding, error) {
	standing, err := cluster.Standing(ctx, w.Name)
	return placement.Workload{Object: w.Name, Claims: claims}.Judge(standing.Pods, standing.Nodes), err
}

func sentences(findings []placement.Finding) string {
	lines := make([]string, len(findings))
	for i, finding := range findings {
		lines[i] = finding.String()
	}
	return strings.Join(lines, "; ")
}

// remembers records the domains of a group.
func (w *world) remembers(claim placement.Claim, into *[]string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		findings, err := w.judge(ctx, []placement.Claim{claim})
		w.Must(ctx, t, err)
		*into = findings[0].Domains
		return ctx
	}
}

// standsAsIn checks that a group has not moved.
func (w *world) standsAsIn(remembered *[]string, claim placement.Claim) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		w.stands(claim)(ctx, t, config)
		var now []string
		w.remembers(claim, &now)(ctx, t, config)
		if !slices.Equal(now, *remembered) {
			t.Errorf("%s stands in %v, and stood in %v\n%s", claim.Group, now, *remembered, w.Report(ctx))
		}
		return ctx
	}
}

// grouped waits until so many pods, and no others, name their PodGroup.
func (w *world) grouped(count int, selects selector) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("%d pods are grouped", count), func(ctx context.Context) (bool, string, error) {
			pods, err := w.Pods(ctx)
			grouped := 0
			for i := range pods {
				if selects(&pods[i]) && pods[i].Annotations[scheduling.AnnotationPodGroupName] != "" {
					grouped++
				}
			}
			return grouped == count, fmt.Sprintf("%d are", grouped), err
		})
		return ctx
	}
}

// isOnlyGroupOf waits until the namespace has one PodGroup: that of the present object, with the wanted shape.
func (w *world) isOnlyGroupOf(kind, name, want string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		uid := w.Answer(ctx, t, "get", kind, name, "-o", "jsonpath={.metadata.uid}")
		called := podGroupName(kind, name, uid)
		w.Until(ctx, t, fmt.Sprintf("%s is the only PodGroup, and is %s", called, want), func(ctx context.Context) (
			bool, string, error) {
			group, err := w.onlyPodGroup(ctx)
			if err != nil {
				return false, "", err
			}
			owned := len(group.OwnerReferences) == 1 && string(group.OwnerReferences[0].UID) == uid
			return group.Name == called && owned &&
				shape(group.Spec) == want, group.Name + " is " + shape(group.Spec), nil
		})
		return ctx
	}
}

// podGroupName is the name of the PodGroup of an object.
func podGroupName(kind, name, uid string) string {
	if kind == "podgang" {
		return name
	}
	return "pg-" + name + "-" + uid
}

func (w *world) onlyPodGroup(ctx context.Context) (*scheduling.PodGroup, error) {
	var groups scheduling.PodGroupList
	if err := cluster.List(ctx, &groups, client.InNamespace(w.Name)); err != nil {
		return nil, err
	}
	if len(groups.Items) != 1 {
		return nil, fmt.Errorf("%d PodGroups", len(groups.Items))
	}
	return &groups.Items[0], nil
}

// shape is a PodGroup's tree in a line: each group with its minimum, leaves as 3, parents as 1 of 2.
func shape(spec scheduling.PodGroupSpec) string {
	parts := []string{"root " + need(spec.MinMember, spec.MinSubGroup)}
	for _, sub := range spec.SubGroups {
		parts = append(parts, sub.Name+" "+need(sub.MinMember, sub.MinSubGroup))
	}
	slices.Sort(parts[1:])
	return strings.Join(parts, ", ")
}

func need(pods, groups *int32) string {
	switch {
	case pods != nil:
		return fmt.Sprintf("%d pods", *pods)
	case groups != nil:
		return fmt.Sprintf("%d groups", *groups)
	default:
		return "all groups"
	}
}
