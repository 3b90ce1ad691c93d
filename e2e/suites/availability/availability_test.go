package availability_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/live"
)

// programs has the nodes of the ready pods of each component, sorted.
type programs map[string][]string

// TestTwoOfEachOutliveTheirNodes is one story: each part of it starts from the state that the one before has left.
func TestTwoOfEachOutliveTheirNodes(t *testing.T) {
	until(t, "two of each run, on two nodes of two zones", func(standing programs) string {
		return every(standing, func(on []string) bool { return len(on) == 2 && on[0][:1] != on[1][:1] })
	})
	refusesOthers(t)

	drain(t, "a1")
	until(t, "two of each run, on two nodes that are left", func(standing programs) string {
		return every(
			standing, func(on []string) bool { return len(on) == 2 && on[0] != on[1] && !slices.Contains(on, "a1") })
	})

	drain(t, "b1")
	drain(t, "a2")
	until(t, "two of each run on the last node", func(standing programs) string {
		return every(standing, func(on []string) bool { return slices.Equal(on, []string{"b2", "b2"}) })
	})

	// No other node takes pods, so that evicted ones do not come back, and the budget has to stop the drain.
	said, err := cluster.Kubectl(t.Context(), "default", "drain", "b2", "--ignore-daemonsets", "--timeout=30s")
	if err == nil || !strings.Contains(said, "would violate the pod's disruption budget") {
		t.Errorf("the last node is drained: %v: %s", err, said)
	}
	until(t, "one of each is left on the node", func(standing programs) string {
		return every(standing, func(on []string) bool { return slices.Equal(on, []string{"b2"}) })
	})

	for _, node := range []string{"a1", "a2", "b1"} {
		kubectl(t, "uncordon", node)
	}
	until(t, "two of each run again, apart", func(standing programs) string {
		return every(standing, func(on []string) bool { return len(on) == 2 && on[0] != on[1] })
	})
	kubectl(t, "uncordon", "b2")

	before := podNames(t)
	upgrade := []string{"upgrade", "packtree", chart(), "--namespace", namespace, "--reuse-values"}
	for _, component := range devcluster.Components {
		upgrade = append(upgrade, "--set", component+".podAnnotations.changed=yes")
	}
	if err := helm(t.Context(), upgrade...); err != nil {
		t.Fatal(err)
	}
	until(t, "the upgrade has put two new ones of each on two nodes", func(standing programs) string {
		if old := slices.DeleteFunc(podNames(t),
			func(name string) bool { return !slices.Contains(before, name) }); len(old) > 0 {
			return fmt.Sprintf("%v are there yet", old)
		}
		return every(standing, func(on []string) bool { return len(on) == 2 && on[0] != on[1] })
	})
}

// every is empty if the pods of each component are as wanted, and describes the first component whose pods are not.
func every(standing programs, wanted func(on []string) bool) string {
	for _, component := range devcluster.Components {
		if on := standing[component]; !wanted(on) {
			return fmt.Sprintf("%s on %v", component, on)
		}
	}
	return ""
}

func until(t *testing.T, what string, lacks func(programs) string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(cluster.While(t.Context()), patience)
	defer cancel()
	err := live.Wait(ctx, what, func(ctx context.Context) (bool, string, error) {
		standing, err := look(ctx)
		if err != nil {
			return false, "", err
		}
		state := lacks(standing)
		return state == "", state, nil
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, report(t.Context()))
	}
}

func look(ctx context.Context) (programs, error) {
	var pods corev1.PodList
	if err := cluster.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	standing := programs{}
	for _, pod := range pods.Items {
		if ready(pod) {
			component := pod.Labels["app.kubernetes.io/name"]
			standing[component] = append(standing[component], pod.Spec.NodeName)
		}
	}
	for _, on := range standing {
		slices.Sort(on)
	}
	return standing, nil
}

func ready(pod corev1.Pod) bool {
	return pod.DeletionTimestamp == nil &&
		slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
			return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
		})
}

// drain empties a node as an administrator does, and checks meanwhile that every component has a ready pod.
func drain(t *testing.T, node string) {
	t.Helper()
	watched, stop := context.WithCancel(t.Context())
	lost := make(chan string, 1)
	go func() {
		defer close(lost)
		for watched.Err() == nil {
			standing, err := look(watched)
			if err != nil {
				continue
			}
			if state := every(standing, func(on []string) bool { return len(on) > 0 }); state != "" {
				lost <- state
				return
			}
		}
	}()
	for range 2 { // A pod may be bound there by a scheduler that has not heard of the cordon yet.
		kubectl(t, "drain", node, "--ignore-daemonsets", "--timeout=4m")
	}
	stop()
	if state := <-lost; state != "" {
		t.Errorf("while %s was drained nobody was ready: %s", node, state)
	}
}

func kubectl(t *testing.T, arguments ...string) {
	t.Helper()
	if _, err := cluster.Kubectl(t.Context(), "default", arguments...); err != nil {
		t.Fatalf("%v\n%s", err, report(t.Context()))
	}
}

// refusesOthers checks that the namespace really enforces the standard that Packtree's pods have passed.
func refusesOthers(t *testing.T) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "careless", Namespace: namespace},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "x"}}},
	}
	if err := cluster.Create(t.Context(), pod); err == nil ||
		!strings.Contains(err.Error(), "violates PodSecurity \"restricted") {
		t.Errorf("a pod that says nothing of its security is taken: %v", err)
	}
}

func podNames(t *testing.T) []string {
	t.Helper()
	var pods corev1.PodList
	if err := cluster.List(t.Context(), &pods, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, pod := range pods.Items {
		names = append(names, pod.Name)
	}
	return names
}

func report(ctx context.Context) string {
	said, err := cluster.Kubectl(ctx, namespace, "get", "pods,deployments,poddisruptionbudgets,events", "-o", "wide")
	return fmt.Sprintf("%s(%v)", said, err)
}

// TestEveryDeploymentIsAvailable checks what Kubernetes itself counts, which the pods above do not show.
func TestEveryDeploymentIsAvailable(t *testing.T) {
	ctx, cancel := context.WithTimeout(cluster.While(t.Context()), patience)
	defer cancel()
	err := live.Wait(ctx, "every Deployment has two available pods", func(ctx context.Context) (bool, string, error) {
		var deployments appsv1.DeploymentList
		if err := cluster.List(ctx, &deployments, client.InNamespace(namespace)); err != nil {
			return false, "", err
		}
		available := map[string]int32{}
		for _, deployment := range deployments.Items {
			available[deployment.Name] = deployment.Status.AvailableReplicas
		}
		two := map[string]int32{}
		for _, component := range devcluster.Components {
			two[component] = 2
		}
		diff := cmp.Diff(two, available)
		return diff == "", diff, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
