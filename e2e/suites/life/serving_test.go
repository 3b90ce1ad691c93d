package life_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	e2e "sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/engine"
	"packtree.dev/e2e/suites/internal/suite"
	dynamo "packtree.dev/shared/api/dynamo/v1beta1"
)

// serving sends requests to a deployment while it is changed. The pods are simulated, with an engine in miniature for
// each.
func serving(w *world) *features.FeatureBuilder {
	all := pods{"Frontend": "1 of engine:1", "Prefill": "2 of engine:1", "Decode": "2 of engine:1"}
	engines := &engines{world: w, of: map[types.UID]*process{}}
	return features.New("serving").
		Setup(w.create).
		Assess("a deployment runs", suite.AllOf(w.Applies("deployments/serving.yaml"), w.runs("chat", all))).
		Assess("requests pass the frontend, each prefill worker and each decode worker", engines.answer("chat")).
		Assess("workers get the racks of their nodes, as the topology names them", w.workersHaveTheirRacks).
		Assess("who asks for types by worker and subComponentType has them", engines.areOfTheirTypes("chat")).
		Assess("a decode service gets another image", suite.AllOf(
			w.patches(
				"chat", "Decode", `{"op":"replace","path":"/podTemplate/spec/containers/0/image","value":"engine:2"}`),
			w.TheOperatorDies)).
		Assess("requests are answered meanwhile", engines.answerSome("chat")).
		Assess("and by all of the new pods afterwards",
			suite.AllOf(w.runs("chat", all.but(pods{"Decode": "2 of engine:2"})), engines.answer("chat"))).
		Assess("its adapter is scaled", suite.AllOf(
			w.Kubectl("scale", "dynamographdeploymentscalingadapters/chat-decode", "--replicas=3"), w.TheOperatorDies,
			w.runs("chat", all.but(pods{"Decode": "3 of engine:2"})))).
		Assess("the pod that has come answers too", engines.answer("chat")).
		Assess("a decode worker is lost", engines.lose("chat", "Decode")).
		Assess("the others answer, and then the one in its place", suite.AllOf(
			engines.answerSome("chat"), w.runs("chat", all.but(pods{"Decode": "3 of engine:2"})),
			engines.answer("chat"))).
		Teardown(engines.end).
		Teardown(w.remove)
}

// workersHaveTheirRacks waits for the labels from which the pods' files are made. A frontend has none.
func (w *world) workersHaveTheirRacks(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.Until(ctx, t, "four workers have the racks of their nodes", func(ctx context.Context) (bool, string, error) {
		found, err := w.podsOf(ctx, "chat")
		count := 0
		for i := range found {
			var node corev1.Node
			if err := w.Cluster.Get(ctx, types.NamespacedName{Name: found[i].Spec.NodeName}, &node); err != nil {
				return false, "", err
			}
			want := ""
			if found[i].Labels[dynamo.LabelComponentType] != dynamo.TypeFrontend {
				want, count = node.Labels[w.Name+"/rack"], count+1
			}
			if got := found[i].Labels[dynamo.LabelTopologyPrefix+"rack"]; got != want {
				return false, fmt.Sprintf("pod %s on node %s has rack %q, not %q", found[i].Name, node.Name, got, want), nil
			}
		}
		return count == 4, fmt.Sprintf("%d workers stand", count), err
	})
	return ctx
}

// engines are the processes in place of the pods of a deployment.
type engines struct {
	world *world
	// of has them by the UIDs of their pods: a replacement may have the name of another pod.
	of map[types.UID]*process
}

// follow starts a process for each running pod, and ends those of pods that are gone.
func (e *engines) follow(ctx context.Context, deployment string) ([]corev1.Pod, error) {
	found, err := e.world.podsOf(ctx, deployment)
	if err != nil {
		return nil, err
	}
	there := map[types.UID]bool{}
	for i := range found {
		pod := &found[i]
		there[pod.UID] = true
		if pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil || e.of[pod.UID] != nil {
			continue
		}
		if e.of[pod.UID], err = start(pod); err != nil {
			return nil, fmt.Errorf("starting an engine for pod %s: %w", pod.Name, err)
		}
	}
	for uid, engine := range e.of {
		if !there[uid] {
			engine.stop()
			delete(e.of, uid)
		}
	}
	return found, nil
}

// ask sends so many requests to the frontends of a deployment, and returns how often each pod took part in one; or what
// is wrong with an answer, which may pass.
func (e *engines) ask(ctx context.Context, found []corev1.Pod, requests int) (parts map[string]int, wrong string) {
	parts = map[string]int{}
	for i := range found {
		frontend := e.of[found[i].UID]
		if frontend == nil || found[i].Labels[dynamo.LabelComponentType] != engine.Frontend {
			continue
		}
		for range requests {
			answer, err := engine.Post(ctx, "http://"+frontend.address+"/v1/completions",
				engine.Work{Prompt: "who are you?"})
			if err != nil {
				return parts, err.Error()
			}
			if passed := strings.Join(answer.Components, " "); passed != "frontend prefill decode" {
				return parts, fmt.Sprintf("a request passed %s (%s)", passed, strings.Join(answer.Hosts, " "))
			}
			for _, host := range answer.Hosts {
				parts[host]++
			}
		}
	}
	return parts, ""
}

// answer waits until every pod takes part in answers, and no pod that is gone.
func (e *engines) answer(deployment string) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		e.world.Until(ctx, t, "every pod of "+deployment+" has a part in answers",
			func(ctx context.Context) (bool, string, error) {
				found, err := e.follow(ctx, deployment)
				if err != nil {
					return false, "", err
				}
				var want []string
				for i := range found {
					want = append(want, found[i].Name)
				}
				slices.Sort(want)
				parts, wrong := e.ask(ctx, found, 2*len(found))
				if wrong != "" {
					return false, wrong + e.logs(), nil
				}
				got := slices.Sorted(maps.Keys(parts))
				return slices.Equal(got, want), fmt.Sprintf("parts in answers: %v; pods: %v", parts, want), nil
			})
		return ctx
	}
}

// answerSome waits until a request is answered, whatever changes at that moment.
func (e *engines) answerSome(deployment string) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		e.world.Until(ctx, t, deployment+" answers", func(ctx context.Context) (bool, string, error) {
			found, err := e.follow(ctx, deployment)
			if err != nil {
				return false, "", err
			}
			parts, wrong := e.ask(ctx, found, 1)
			return len(parts) > 0 && wrong == "", wrong + e.logs(), nil
		})
		return ctx
	}
}

// areOfTheirTypes checks that a worker's own registration agrees with its labels.
func (e *engines) areOfTheirTypes(deployment string) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		found, err := e.follow(ctx, deployment)
		e.world.Must(ctx, t, err)
		for i := range found {
			pod := &found[i]
			want := strings.ToLower(pod.Labels[dynamo.LabelComponent])
			if component := pod.Labels[dynamo.LabelComponentType]; component != want ||
				e.of[pod.UID].environment["DYN_COMPONENT"] != want {
				t.Errorf("pod %s is %s by its label and %s by its environment", pod.Name, component,
					e.of[pod.UID].environment["DYN_COMPONENT"])
			}
		}
		return ctx
	}
}

// lose deletes a pod of a service, and its engine with it.
func (e *engines) lose(deployment, service string) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		found, err := e.world.podsOf(ctx, deployment)
		e.world.Must(ctx, t, err)
		at := slices.IndexFunc(found, func(pod corev1.Pod) bool { return pod.Labels[dynamo.LabelComponent] == service })
		if at < 0 {
			t.Fatalf("%s has no pod\n%s", service, e.world.Report(ctx))
		}
		e.of[found[at].UID].stop()
		e.world.Must(ctx, t, cluster.Delete(ctx, &found[at]))
		return ctx
	}
}

func (e *engines) logs() string {
	var all strings.Builder
	for _, engine := range e.of {
		if said := engine.log.String(); said != "" {
			fmt.Fprintf(&all, "\n%s: %s", engine.environment["POD_NAME"], said)
		}
	}
	return all.String()
}

func (e *engines) end(ctx context.Context, _ *testing.T, _ *envconf.Config) context.Context {
	for _, engine := range e.of {
		engine.stop()
	}
	return ctx
}
