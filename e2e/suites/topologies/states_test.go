package topologies_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	e2e "sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/placement"
	"packtree.dev/e2e/suites/internal/suite"
	grove "packtree.dev/shared/api/grove/v1alpha1"
	scheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
)

// stands waits until a set is ready and all its pods run, and checks by the labels of the nodes whether every
// constraint holds, and whether all pods are in one segment.
func (w *world) stands(name, segment string) e2e.StepFunc {
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
func (w *world) isReady(name string) e2e.StepFunc {
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
func (w *world) findings(ctx context.Context, t *testing.T, name string) []placement.Finding {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(grove.SchemeGroupVersion.WithKind("PodCliqueSet"))
	w.Must(ctx, t, cluster.Get(ctx, client.ObjectKey{Namespace: w.Name, Name: name}, object))
	if inForce, found, _ := unstructured.NestedString(object.Object, "status", "clusterTopologyName"); found {
		w.Must(ctx, t, unstructured.SetNestedField(object.Object, inForce, "spec", "template", "clusterTopologyName"))
	}
	found, err := cluster.Findings(ctx, object)
	w.Must(ctx, t, err)
	return found
}

// segmentsOf are the segments of the set's pods; a pod without a node is in none.
func (w *world) segmentsOf(ctx context.Context, t *testing.T, name string) []string {
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

func (w *world) set(ctx context.Context, name string) (*grove.PodCliqueSet, error) {
	set := &grove.PodCliqueSet{}
	return set, cluster.Get(ctx, client.ObjectKey{Namespace: w.Name, Name: name}, set)
}

func (w *world) podsOf(ctx context.Context, name string) ([]corev1.Pod, error) {
	pods, err := w.Pods(ctx)
	return slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return pod.Labels[grove.LabelPartOf] != name }), err
}

// waits lasts until a set explains, in the scheduler's words, why none of its pods has a place.
func (w *world) waits(name string) e2e.StepFunc {
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
func (w *world) follows(name, topology string) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		w.gangsAre(name, "they refer to "+topology, func(gang *scheduler.PodGang) bool {
			return gang.Annotations[grove.AnnotationTopologyName] == topology
		})(ctx, t, config)
		return w.Reads(topology, "pcs", name, "{.status.clusterTopologyName}")(ctx, t, config)
	}
}

// gangsAre waits until every gang of a set is as wanted.
func (w *world) gangsAre(name, what string, look func(*scheduler.PodGang) bool) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, "of all gangs of "+name+": "+what, func(ctx context.Context) (bool, string, error) {
			gangs, err := w.gangs(ctx, name)
			for i := range gangs {
				if !look(&gangs[i]) {
					return false, fmt.Sprintf("%s: %v, %+v", gangs[i].Name, gangs[i].Annotations,
						constraints(&gangs[i])), nil
				}
			}
			return err == nil, "", err
		})
		return ctx
	}
}

// constraints are a gang's, by group; that of the whole gang has no name. One is "required,preferred".
func constraints(gang *scheduler.PodGang) map[string]string {
	found := map[string]string{}
	add := func(name string, constraint *scheduler.TopologyConstraint) {
		if constraint != nil && constraint.PackConstraint != nil {
			level := func(key *string) string {
				if key == nil {
					return ""
				}
				return *key
			}
			found[name] = level(constraint.PackConstraint.Required) + "," + level(constraint.PackConstraint.Preferred)
		}
	}
	add("", gang.Spec.TopologyConstraint)
	for _, config := range gang.Spec.TopologyConstraintGroupConfigs {
		add(config.Name, config.TopologyConstraint)
	}
	for _, group := range gang.Spec.PodGroups {
		add(group.Name, group.TopologyConstraint)
	}
	return found
}

// says waits until a set's condition about the levels of its topology is as wanted.
func (w *world) says(name string, status metav1.ConditionStatus, reason string, words ...string) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("%s says %s: %q", name, reason, words), func(ctx context.Context) (bool,
			string, error) {
			set, err := w.set(ctx, name)
			if err != nil {
				return false, "", err
			}
			said := meta.FindStatusCondition(set.Status.Conditions, grove.ConditionTopologyLevelsUnavailable)
			done := said != nil && said.Status == status && said.Reason == reason &&
				len(suite.Missing(said.Message, words)) == 0
			return done, fmt.Sprintf("%+v", said), nil
		})
		return ctx
	}
}

// topologyIs waits until a ClusterTopology is ready with such keys, and the Topology that the scheduler reads has the
// same.
func (w *world) topologyIs(name string, keys ...string) e2e.StepFunc {
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

// topologyIsGone waits until both the ClusterTopology and the scheduler's Topology are gone.
func (w *world) topologyIsGone(name string) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, "topology "+name+" is gone", func(ctx context.Context) (bool, string, error) {
			ours := cluster.Get(ctx, client.ObjectKey{Name: name}, &grove.ClusterTopology{})
			theirs := cluster.Get(ctx, client.ObjectKey{Name: name}, &kai.Topology{})
			return apierrors.IsNotFound(ours) && apierrors.IsNotFound(theirs), fmt.Sprintf("%v, %v", ours, theirs), nil
		})
		return ctx
	}
}

// standing has the node of each pod, by UID.
type standing map[types.UID]string

func (w *world) standing(ctx context.Context, t *testing.T, name string) standing {
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
func (w *world) remembers(name string, into *standing) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		*into = w.standing(ctx, t, name)
		if len(*into) == 0 {
			t.Fatalf("%s has no pods\n%s", name, w.Report(ctx))
		}
		return ctx
	}
}

// hasKept checks that each remembered pod exists and is on the same node.
func (w *world) hasKept(name string, remembered *standing) e2e.StepFunc {
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
