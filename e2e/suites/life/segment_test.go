package life_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	e2e "sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/placement"
	grove "packtree.dev/shared/api/grove/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
)

// stands waits until a set is ready and all its pods run, and checks by the labels of the nodes whether every
// constraint holds, and whether all pods are in one segment.
func (w *segmentWorld) stands(name, segment string) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		w.isReady(name)(ctx, t, config)
		for _, finding := range w.findings(ctx, t, name) {
			if !finding.Held() {
				t.Errorf("broken: %s\n%s", finding, w.Report(ctx))
			}
		}
		if stands := w.segmentsOf(ctx, t, name); !slices.Equal(stands, []string{segment}) {
			t.Errorf("%s stands in %v, not in %s\n%s", name, stands, segment, w.Report(ctx))
		}
		return ctx
	}
}

// isReady waits until a set is ready, and all its pods run.
func (w *segmentWorld) isReady(name string) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, name+" is ready", func(ctx context.Context) (bool, string, error) {
			set, err := w.set(ctx, name)
			if err != nil {
				return false, "", err
			}
			ready := meta.FindStatusCondition(set.Status.Conditions, "Ready")
			if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != set.Generation {
				return false, fmt.Sprintf("generation %d: %+v", set.Generation, ready), nil
			}
			pods, err := w.podsOf(ctx, name)
			for i := range pods {
				if pods[i].Status.Phase != corev1.PodRunning {
					return false, pods[i].Name + " is " + string(pods[i].Status.Phase), nil
				}
			}
			return len(pods) > 0, "it has no pods", err
		})
		return ctx
	}
}

// findings are the results for the set's constraints under the topology in force; the test fails if it has none.
func (w *segmentWorld) findings(ctx context.Context, t *testing.T, name string) []placement.Finding {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(grove.SchemeGroupVersion.WithKind("PodCliqueSet"))
	w.Must(ctx, t, cluster.Get(ctx, client.ObjectKey{Namespace: w.Name, Name: name}, object))
	found, err := cluster.Findings(ctx, object)
	w.Must(ctx, t, err)
	return found
}

// segmentsOf are the segments of the set's pods; a pod without a node is in none.
func (w *segmentWorld) segmentsOf(ctx context.Context, t *testing.T, name string) []string {
	t.Helper()
	standing, err := cluster.Standing(ctx, w.Name)
	w.Must(ctx, t, err)
	segment := map[string]string{"": "none"}
	for i := range standing.Nodes {
		segment[standing.Nodes[i].Name] = standing.Nodes[i].Labels[segmentLabel]
	}
	found := map[string]bool{}
	for i := range standing.Pods {
		if standing.Pods[i].Labels[grove.LabelPartOf] == name {
			found[segment[standing.Pods[i].Spec.NodeName]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func (w *segmentWorld) set(ctx context.Context, name string) (*grove.PodCliqueSet, error) {
	set := &grove.PodCliqueSet{}
	return set, cluster.Get(ctx, client.ObjectKey{Namespace: w.Name, Name: name}, set)
}

func (w *segmentWorld) podsOf(ctx context.Context, name string) ([]corev1.Pod, error) {
	pods, err := w.Pods(ctx)
	return slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return pod.Labels[grove.LabelPartOf] != name }), err
}

// waits lasts until a set explains, in the scheduler's words, why none of its pods has a place.
func (w *segmentWorld) waits(name string) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(grove.SchemeGroupVersion.WithKind("PodCliqueSet"))
		w.Must(ctx, t, cluster.Get(ctx, client.ObjectKey{Namespace: w.Name, Name: name}, object))
		w.Until(ctx, t, name+" says why it waits",
			func(ctx context.Context) (bool, string, error) { return cluster.Explained(ctx, object) })
		return ctx
	}
}

// follows waits until a set and all of its gangs refer to a topology.
func (w *segmentWorld) follows(name, topology string) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		w.Until(ctx, t, "all gangs of "+name+" refer to "+topology, func(ctx context.Context) (bool, string, error) {
			gangs, err := w.gangs(ctx, name)
			for i := range gangs {
				if gangs[i].Annotations[grove.AnnotationTopologyName] != topology {
					return false, fmt.Sprintf("%s: %v", gangs[i].Name, gangs[i].Annotations), nil
				}
			}
			return err == nil, "", err
		})
		return w.Reads(topology, "pcs", name, "{.status.clusterTopologyName}")(ctx, t, config)
	}
}

// topologyIs waits until a ClusterTopology is ready with such keys, and the Topology that the scheduler reads has the
// same.
func (w *segmentWorld) topologyIs(name string, keys ...string) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("topology %s has the levels %v", name, keys),
			func(ctx context.Context) (bool, string, error) {
				ours, theirs := &grove.ClusterTopology{}, &kai.Topology{}
				if err := cluster.Get(ctx, client.ObjectKey{Name: name}, ours); err != nil {
					return false, "", err
				}
				if err := cluster.Get(ctx, client.ObjectKey{Name: name}, theirs); err != nil {
					return false, "", err
				}
				var stored, scheduled []string
				for _, level := range ours.Spec.Levels {
					stored = append(stored, level.Key)
				}
				for _, level := range theirs.Spec.Levels {
					scheduled = append(scheduled, level.NodeLabel)
				}
				ready := meta.FindStatusCondition(ours.Status.Conditions, grove.ClusterTopologyReady)
				usable := ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == ours.Generation
				done := usable && theirs.DeletionTimestamp == nil && slices.Equal(stored, keys) &&
					slices.Equal(scheduled, keys)
				return done, fmt.Sprintf("%v; the scheduler's: %v; %+v", stored, scheduled, ready), nil
			})
		return ctx
	}
}

// standing has the node of each pod, by UID.
type standing map[types.UID]string

func (w *segmentWorld) standing(ctx context.Context, t *testing.T, name string) standing {
	t.Helper()
	pods, err := w.podsOf(ctx, name)
	w.Must(ctx, t, err)
	found := standing{}
	for i := range pods {
		if pods[i].DeletionTimestamp == nil {
			found[pods[i].UID] = pods[i].Spec.NodeName
		}
	}
	return found
}

// remembers records the nodes of a set's pods.
func (w *segmentWorld) remembers(name string, into *standing) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		*into = w.standing(ctx, t, name)
		if len(*into) == 0 {
			t.Fatalf("%s has no pods\n%s", name, w.Report(ctx))
		}
		return ctx
	}
}

// hasKept checks that each remembered pod exists and is on the same node.
func (w *segmentWorld) hasKept(name string, remembered *standing) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		now := w.standing(ctx, t, name)
		for pod, node := range *remembered {
			if now[pod] != node {
				t.Errorf("a pod of %s that stood on %s is on %q now\n%s", name, node, now[pod], w.Report(ctx))
			}
		}
		return ctx
	}
}
