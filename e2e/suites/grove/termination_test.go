package grove_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
	grove "packtree.dev/shared/api/grove/v1alpha1"
)

// terminationOfAReplica makes a node of each of two sets fail; one of them waits for ever.
func terminationOfAReplica(w *world) *features.FeatureBuilder {
	var soon, never suite.Memory
	var itsNode, otherNode string
	return features.New("termination of a replica").
		Setup(w.create).
		Assess("two sets run, each in a rack of its own", suite.AllOf(
			w.applies("soon-and-never.yaml"),
			w.runs("engine:1", map[string]int{"soon-0-worker": 2, "never-0-worker": 2}),
			w.isReadyAgain("soon", 1), w.isReadyAgain("never", 1), w.remembers("soon", &soon),
			w.remembers("never", &never))).
		Assess("each loses a node",
			suite.AllOf(w.losesItsNode("soon-0-worker", &itsNode), w.losesItsNode("never-0-worker", &otherNode),
				w.whileLost(&itsNode, w.isBreached("soon-0-worker")))).
		Assess("the one with a delay is terminated",
			w.whileLost(&itsNode, w.says("soon", "gang termination is recorded", func(set *grove.PodCliqueSet) bool {
				return set.Status.GangTermination != nil && set.Status.GangTermination.Index == 0
			}))).
		Assess("and runs in the third rack, though its lost pod is still Terminating", suite.AllOf(
			w.TheOperatorDies, w.standsWholeIn("soon-0-worker", 2), w.stillHasTerminating("soon-0-worker"),
			w.isReadyAgain("soon", 1), w.happened("soon", "GangTerminated"))).
		Assess("all of it is new", w.isNew(&soon, "soon", "PodClique soon-0-worker")).
		Assess("the one without a delay has lost its pod all this time, and has what it had",
			suite.AllOf(w.whileLost(&otherNode, w.isBreached("never-0-worker")), w.isAsIn(&never, "never"))).
		Teardown(w.remove)
}

// terminationOfACopy makes a node fail below a copy that its group does not need.
func terminationOfACopy(w *world) *features.FeatureBuilder {
	var before suite.Memory
	var lost string
	return features.New("termination of a copy").
		Setup(w.create).
		Assess("a set runs", suite.AllOf(
			w.applies("two-copies.yaml"), w.runs("engine:1", map[string]int{"llm-0-g-0-leader": 1, "llm-0-g-0-worker": 1,
				"llm-0-g-1-leader": 1, "llm-0-g-1-worker": 1}),
			w.isReadyAgain("llm", 1), w.remembers("llm", &before))).
		Assess("its second copy loses a node",
			suite.AllOf(w.losesItsNode("llm-0-g-1-worker", &lost),
				w.whileLost(&lost, w.isBreached("llm-0-g-1-worker")))).
		Assess("it is terminated", w.whileLost(&lost,
			w.groupSays("llm-0-g", "gang termination is recorded", func(group *grove.PodCliqueScalingGroup) bool {
				return group.Status.GangTermination != nil && group.Status.GangTermination.Index == 1
			}))).
		Assess("and runs on other nodes once somebody has marked the node as gone", suite.AllOf(
			w.WhileTheOperatorIsDead(w.isFenced(&lost)),
			w.standsWholeIn("llm-0-g-1-leader", 1), w.standsWholeIn("llm-0-g-1-worker", 1), w.isReadyAgain("llm", 1))).
		Assess("all of the copy is new", w.isNew(&before, "llm", "PodClique llm-0-g-1-leader",
			"PodClique llm-0-g-1-worker")).
		Assess("and the rest is as it was",
			w.isUnchanged(&before, "llm", "llm-0-g-0", "PodCliqueScalingGroup", "PodGang llm-0", "Service")).
		Teardown(w.remove)
}

// losesItsNode makes the node of a PodClique's first pod fail, and notes it: another holder has the node's lease and
// never renews it, so that KWOK no longer simulates its kubelet.
func (w *world) losesItsNode(podClique string, node *string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		ctx = w.stands(podClique, node)(ctx, t, config)
		w.retry(ctx, t, "cutting off node "+*node, func(ctx context.Context) error {
			lease := &coordinationv1.Lease{}
			if err := cluster.Get(ctx, client.ObjectKey{Namespace: corev1.NamespaceNodeLease, Name: *node},
				lease); err != nil {
				return err
			}
			lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new("nobody"), new(int32(86400))
			return cluster.Update(ctx, lease)
		})
		return ctx
	}
}

// whileLost does a step while the pods of a node that was cut off count as not ready. kube-controller-manager says that
// once, when the node turns. On a busy machine that may have been before the node was cut off, when its heartbeat was
// late, and KWOK may say since that the pods are ready, also when it no longer simulates the node's kubelet.
func (w *world) whileLost(node *string, step types.StepFunc) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		lost, found := context.WithCancel(ctx)
		var hand sync.WaitGroup
		hand.Go(func() { wait.UntilWithContext(lost, func(ctx context.Context) { w.loses(ctx, *node) }, time.Second) })
		defer hand.Wait()
		defer found()
		return step(ctx, t, config)
	}
}

// loses has the pods of a node not ready once the node is not. What fails now is done the next time.
func (w *world) loses(ctx context.Context, name string) {
	node := &corev1.Node{}
	if err := cluster.Get(ctx, client.ObjectKey{Name: name}, node); err != nil ||
		slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
			return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
		}) {
		return
	}
	pods, err := w.Pods(ctx)
	if err != nil {
		return
	}
	for i := range pods {
		if pods[i].Spec.NodeName == name && suite.IsReady(&pods[i]) {
			_ = takeForLost(ctx, &pods[i])
		}
	}
}

// takeForLost has a pod not ready, as kube-controller-manager has the pods of a lost node.
func takeForLost(ctx context.Context, pod *corev1.Pod) error {
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == corev1.PodReady {
			condition.Status = corev1.ConditionFalse
		}
	}
	return cluster.Status().Update(ctx, pod)
}

// stands notes the node of a PodClique's first pod.
func (w *world) stands(podClique string, node *string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		pods, err := w.Pods(ctx)
		w.Must(ctx, t, err)
		for i := range pods {
			if pods[i].Labels["grove.io/podclique"] == podClique && pods[i].Spec.NodeName != "" {
				*node = pods[i].Spec.NodeName
				return ctx
			}
		}
		t.Fatalf("no pod of %s stands anywhere\n%s", podClique, w.Report(ctx))
		return ctx
	}
}

// isFenced taints a node as out of service, so that pods on it are deleted by force.
func (w *world) isFenced(name *string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.retry(ctx, t, "fencing "+*name, func(ctx context.Context) error {
			node := &corev1.Node{}
			if err := cluster.Get(ctx, client.ObjectKey{Name: *name}, node); err != nil {
				return err
			}
			node.Spec.Taints = append(node.Spec.Taints,
				corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown",
					Effect: corev1.TaintEffectNoExecute})
			return cluster.Update(ctx, node)
		})
		return ctx
	}
}

// isBreached waits until a PodClique says that it has lost its minimum.
func (w *world) isBreached(podClique string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, podClique+" is in breach", func(ctx context.Context) (bool, string, error) {
			object := &grove.PodClique{}
			err := cluster.Get(ctx, client.ObjectKey{Namespace: w.Name, Name: podClique}, object)
			return meta.IsStatusConditionTrue(object.Status.Conditions, "MinAvailableBreached"),
				fmt.Sprint(object.Status.Conditions), err
		})
		return ctx
	}
}

func (w *world) groupSays(name, what string, look func(*grove.PodCliqueScalingGroup) bool) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, name+": "+what, func(ctx context.Context) (bool, string, error) {
			group := &grove.PodCliqueScalingGroup{}
			err := cluster.Get(ctx, client.ObjectKey{Namespace: w.Name, Name: name}, group)
			return err == nil && look(group), fmt.Sprintf("%+v", group.Status), err
		})
		return ctx
	}
}

// standsWholeIn waits until a PodClique has so many ready pods, all in one rack and on healthy nodes, and checks where
// they are.
func (w *world) standsWholeIn(podClique string, pods int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("%s has %d ready pods in one rack, on nodes that live", podClique, pods),
			func(ctx context.Context) (bool, string, error) {
				standing, err := cluster.Standing(ctx, w.Name)
				if err != nil {
					return false, "", err
				}
				racks, living := map[string]string{}, map[string]int{}
				for i := range standing.Nodes {
					if node := &standing.Nodes[i]; !hasTaints(node) {
						racks[node.Name] = node.Labels["topology.packtree.dev/rack"]
					}
				}
				for i := range standing.Pods {
					pod := &standing.Pods[i]
					if rack, lives := racks[pod.Spec.NodeName]; lives && suite.IsReady(pod) &&
						pod.DeletionTimestamp == nil &&
						pod.Labels["grove.io/podclique"] == podClique {
						living[rack]++
					}
				}
				return maps.Equal(living, map[string]int{firstKey(living): pods}), fmt.Sprint(living), nil
			})
		return ctx
	}
}

// stillHasTerminating checks that one pod of a PodClique is still being deleted, and that the others were created a
// minute after its grace period.
func (w *world) stillHasTerminating(podClique string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		pods, err := w.Pods(ctx)
		w.Must(ctx, t, err)
		var going []corev1.Pod
		first := time.Now()
		for _, pod := range pods {
			switch {
			case pod.Labels["grove.io/podclique"] != podClique:
			case pod.DeletionTimestamp != nil:
				going = append(going, pod)
			case pod.CreationTimestamp.Time.Before(first):
				first = pod.CreationTimestamp.Time
			}
		}
		if len(going) != 1 {
			t.Fatalf("%d pods of %s are being deleted, not 1\n%s", len(going), podClique, w.Report(ctx))
		}
		if waited := first.Sub(going[0].DeletionTimestamp.Time); waited < time.Minute {
			t.Errorf("%s was replaced %s after its grace period\n%s", going[0].Name, waited, w.Report(ctx))
		}
		return ctx
	}
}

func firstKey(counts map[string]int) string {
	for key := range counts {
		return key
	}
	return ""
}

func hasTaints(node *corev1.Node) bool { return len(node.Spec.Taints) > 0 }

// isNew checks that objects exist and are not the remembered ones, and that no remembered pod is counted any more.
func (w *world) isNew(remembered *suite.Memory, set string, names ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		objects, err := w.objects(set)(ctx)
		w.Must(ctx, t, err)
		for _, name := range names {
			if objects[name] == "" || objects[name] == (*remembered)[name] {
				t.Errorf("%s is not new: it had UID %q and has %q", name, (*remembered)[name], objects[name])
			}
		}
		return ctx
	}
}

// isUnchanged checks that the remembered objects whose names have one of these words are there still.
func (w *world) isUnchanged(remembered *suite.Memory, set string, words ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		objects, err := w.objects(set)(ctx)
		w.Must(ctx, t, err)
		for _, word := range words {
			seen := 0
			for name, uid := range *remembered {
				if !strings.Contains(name, word) {
					continue
				}
				seen++
				if objects[name] != uid {
					t.Errorf("%s was not to be touched, and its UID is %q instead of %q", name, objects[name], uid)
				}
			}
			if seen == 0 {
				t.Errorf("nothing that is remembered is called %s", word)
			}
		}
		return ctx
	}
}

// happened waits until an event was recorded on a set.
func (w *world) happened(set, reason string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, "an event of "+set+" has the reason "+reason, func(ctx context.Context) (bool, string, error) {
			var events corev1.EventList
			err := cluster.List(ctx, &events, client.InNamespace(w.Name))
			for i := range events.Items {
				if event := &events.Items[i]; event.InvolvedObject.Name == set && event.Reason == reason {
					return true, "", nil
				}
			}
			return false, fmt.Sprintf("none of %d events", len(events.Items)), err
		})
		return ctx
	}
}
