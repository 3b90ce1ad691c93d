package life_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
	dynamo "packtree.dev/shared/api/dynamo/v1beta1"
)

const (
	// hold keeps KWOK from starting a pod.
	hold = "pod-ready.stage.kwok.x-k8s.io/hold"

	phaseOfRestart = "{.status.restart.observedID} {.status.restart.phase} {.status.restart.restarted}"
)

// restart replaces all pods one service after the other. Pods start when the story lets them.
func restart(w *world) *features.FeatureBuilder {
	var before, frontends, prefills suite.Memory
	all := pods{"Frontend": "2 of frontend:1", "Prefill": "1 of sglang:1", "Decode": "4 of sglang:1"}
	// Grove restarts one service, the deployment says which, and some others are unchanged; also after a crash of the
	// operator.
	only := func(service, phase string, unchanged ...types.StepFunc) types.StepFunc {
		look := suite.AllOf(append(unchanged,
			w.replaces("llm", service, &before), w.waits("llm", service+": "),
			w.Reads(phase, "dgd", "llm", phaseOfRestart))...)
		return suite.AllOf(look, w.TheOperatorDies, look)
	}
	frontendStays := w.IsAsIn(&frontends, w.podsOfServices("llm", "Frontend"))
	prefillStays := w.IsAsIn(&prefills, w.podsOfServices("llm", "Prefill"))
	return features.New("restart").
		Setup(w.create).
		Assess("a deployment runs",
			suite.AllOf(w.Applies("deployments/held.yaml"), w.lets("llm", nil, "Frontend", "Prefill", "Decode"),
				w.stands("llm", all),
				w.Remembers(w.podsOfServices("llm"), &before),
				w.Remembers(w.podsOfServices("llm", "Frontend"), &frontends),
				w.Remembers(w.podsOfServices("llm", "Prefill"), &prefills))).
		Assess("a restart begins with the service that was named first", suite.AllOf(
			w.Kubectl("patch", "dgd", "llm", "--type=merge", "--patch", `{"spec":{"restart":{"id":"one",`+
				`"strategy":{"type":"Sequential","order":["Decode","Prefill","Frontend"]}}}}`),
			only("Decode", `one Restarting ["Decode"]`, prefillStays, frontendStays))).
		Assess("goes on with the second when that is ready again", suite.AllOf(
			w.lets("llm", &before, "Decode"), only("Prefill", `one Restarting ["Decode","Prefill"]`, frontendStays))).
		Assess("and ends with the third", suite.AllOf(
			w.lets("llm", &before, "Prefill"), only("Frontend", `one Restarting ["Decode","Prefill","Frontend"]`),
			w.lets("llm", &before, "Frontend"),
			w.Reads(`one Completed ["Decode","Prefill","Frontend"]`, "dgd", "llm", phaseOfRestart),
			w.stands("llm", all))).
		Assess("each pod was replaced once", suite.AllOf(w.Created("frontend:1", 4, 4), w.Created("sglang:1", 10, 10))).
		Teardown(w.remove)
}

// replaces waits until a service has new pods, which are on nodes and do not start.
func (w *world) replaces(name, service string, remembered *suite.Memory) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, "new pods of "+service+" stand", func(ctx context.Context) (bool, string, error) {
			found, err := w.podsOf(ctx, name)
			old := slices.Collect(maps.Values(*remembered))
			fresh := slices.DeleteFunc(found, func(pod corev1.Pod) bool {
				return pod.Labels[dynamo.LabelComponent] != service || slices.Contains(old, pod.UID)
			})
			for i := range fresh {
				if fresh[i].Spec.NodeName == "" || suite.IsReady(&fresh[i]) {
					return false, fmt.Sprintf("%s on %q, ready %v", fresh[i].Name, fresh[i].Spec.NodeName,
						suite.IsReady(&fresh[i])), nil
				}
			}
			return len(fresh) > 0, "there are none", err
		})
		return ctx
	}
}

// lets allows the pods of services to start, until all of them are ready and new.
func (w *world) lets(name string, remembered *suite.Memory, services ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("new pods of %v are ready", services), func(ctx context.Context) (bool,
			string, error) {
			deployment, err := w.deployment(ctx, name)
			if err != nil {
				return false, "", err
			}
			found, err := w.podsOf(ctx, name)
			if err != nil {
				return false, "", err
			}
			wanted := map[string]int{}
			for _, component := range deployment.Spec.Components {
				if slices.Contains(services, component.Name) {
					wanted[component.Name] = podsOf(&component)
				}
			}
			ready := map[string]int{}
			for i := range found {
				pod := &found[i]
				service := pod.Labels[dynamo.LabelComponent]
				if !slices.Contains(services, service) {
					continue
				}
				if err := release(ctx, pod); err != nil {
					return false, "", err
				}
				old := remembered != nil && slices.Contains(slices.Collect(maps.Values(*remembered)), pod.UID)
				if suite.IsReady(pod) && pod.DeletionTimestamp == nil && !old {
					ready[service]++
				}
			}
			return maps.Equal(ready, wanted), fmt.Sprintf("%v of %v", ready, wanted), nil
		})
		return ctx
	}
}

func podsOf(component *dynamo.ComponentSpec) int {
	if component.Multinode == nil {
		return int(*component.Replicas)
	}
	return int(*component.Replicas * component.Multinode.NodeCount)
}

// release allows a pod on a node to start.
func release(ctx context.Context, pod *corev1.Pod) error {
	if _, held := pod.Annotations[hold]; !held || pod.Spec.NodeName == "" {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{hold: nil}}})
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(
		cluster.Patch(ctx, pod.DeepCopy(), client.RawPatch("application/merge-patch+json", patch)))
}
