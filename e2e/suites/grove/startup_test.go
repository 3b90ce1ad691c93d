package grove_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/examples"
	"packtree.dev/e2e/live"
)

// startup is a set that starts in order, and its simulated kubelets.
type startup struct {
	namespace string
	kubelet   *kubelet
	stop      context.CancelFunc
}

func TestStartupInOrder(t *testing.T) {
	s := &startup{namespace: envconf.RandomName("startup", 16)}
	s.kubelet = &kubelet{namespace: s.namespace, t: t, held: map[string]bool{"llm-0-router": true},
		logs: map[string]*output{}}
	cluster.Test(t, features.New("startup in order").
		Setup(s.begin).
		Assess("a scaled gang starts by itself, leader before workers",
			s.ready(map[string]int{"llm-0-g-1-leader": 1, "llm-0-g-1-worker": 2})).
		Assess("the base gang waits for the routers",
			s.waits("llm-0-g-0-leader", "podclique=llm-0-router ready=0 minimum=2")).
		Assess("and its workers for its leader",
			s.waits("llm-0-g-0-worker", "podclique=llm-0-g-0-leader ready=0 minimum=1")).
		Assess("none of them has started",
			s.ready(map[string]int{"llm-0-router": 0, "llm-0-g-0-leader": 0, "llm-0-g-0-worker": 0})).
		Assess("they sit out an API server that is away", s.serverRestarts).
		Assess("and when the routers start all do, though the operator is dead", s.routersStart).
		Assess("and the set is ready",
			s.ready(map[string]int{"llm-0-router": 3, "llm-0-g-0-leader": 1, "llm-0-g-0-worker": 2})).
		Teardown(s.end))
}

func (s *startup) begin(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	s.kubelet.running, s.stop = context.WithCancel(ctx)
	// The operator's additions to pods must not keep them out of a namespace like this.
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: s.namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := cluster.Create(ctx, namespace); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Apply(ctx, s.objects(t)...); err != nil {
		t.Fatal(err)
	}
	return ctx
}

func (s *startup) objects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	objects, err := examples.Objects(filepath.Join("testdata", "in-order.yaml"), s.namespace)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// until simulates kubelets until a state is reached.
func (s *startup) until(ctx context.Context, t *testing.T, what string, look live.Look) {
	t.Helper()
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := live.Wait(waiting, what, func(ctx context.Context) (bool, string, error) {
		if err := s.kubelet.look(ctx); err != nil {
			return false, "", err
		}
		return look(ctx)
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, cluster.Reasons(ctx, s.namespace))
	}
}

// ready waits until PodCliques have exactly so many ready pods.
func (s *startup) ready(want map[string]int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		s.until(ctx, t, fmt.Sprintf("the ready pods are %v", want), func(ctx context.Context) (bool, string, error) {
			got := map[string]int{}
			for podClique := range want {
				count, err := readyOf(ctx, s.namespace, podClique)
				if err != nil {
					return false, "", err
				}
				got[podClique] = count
			}
			return fmt.Sprint(got) == fmt.Sprint(want), fmt.Sprint(got), nil
		})
		return ctx
	}
}

// waits lasts until the init containers of a PodClique log what they wait for.
func (s *startup) waits(podClique, says string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		s.until(ctx, t, podClique+" says "+says, func(context.Context) (bool, string, error) {
			log := s.kubelet.logOf(podClique)
			return strings.Contains(log, says), log, nil
		})
		return ctx
	}
}

// serverRestarts kills the operator and the API server, and restarts the latter when the init containers have noticed.
func (s *startup) serverRestarts(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	for _, name := range []string{operator, "kube-apiserver"} {
		if err := cluster.Machine.Kill(name); err != nil {
			t.Fatal(err)
		}
		<-cluster.Machine.Ended(name)
	}
	noticed := func(context.Context) (bool, string, error) {
		log := s.kubelet.logOf("llm-0-g-0-worker")
		return strings.Contains(log, "failed, will be tried again"), log, nil
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := live.Wait(waiting, "init containers notice that the API server is away", noticed); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Machine.Start(ctx, "kube-apiserver"); err != nil {
		t.Fatal(err)
	}
	return s.ready(map[string]int{"llm-0-router": 0, "llm-0-g-0-leader": 0, "llm-0-g-0-worker": 0,
		"llm-0-g-1-worker": 2})(
		ctx, t, config)
}

func (s *startup) routersStart(ctx context.Context, _ *testing.T, _ *envconf.Config) context.Context {
	s.kubelet.letStart("llm-0-router")
	return ctx
}

func (s *startup) end(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	s.stop()
	s.kubelet.ended.Wait()
	for _, name := range []string{"kube-apiserver", operator} { // Whichever step has failed, other stories need both.
		if cluster.Machine.PID(name) != 0 {
			continue
		}
		if err := cluster.Machine.Start(ctx, name); err != nil {
			t.Error(err)
		}
	}
	if err := cluster.Remove(ctx, append(s.objects(t), namespaceObject(s.namespace))...); err != nil {
		t.Error(err)
	}
	return ctx
}

func namespaceObject(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("v1")
	object.SetKind("Namespace")
	object.SetName(name)
	return object
}
