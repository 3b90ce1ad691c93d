package rights_test

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"packtree.dev/e2e/suites/internal/suite"
)

// The services of deployment.yaml in the order of the stored object.
const decode, frontend, prefill, recorder = 0, 1, 2, 3

// deploymentDrifts changes the objects that dynamo-operator keeps for a deployment, as another user.
func (w *world) deploymentDrifts(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	var steps []step
	var wanted []string
	for _, kept := range []struct{ kind, name string }{
		{"inferencepools", "llm-pool"}, // It is not watched: the next changes bring its reconcile.
		{"persistentvolumeclaims", "llm-models"}, {"configmaps", "llm-epp-config"}, {"services", "llm-frontend"},
		{"serviceaccounts", "llm-planner"}, {"roles", "llm-planner"}, {"rolebindings", "llm-planner"},
	} {
		steps = append(steps,
			w.Kubectl("annotate", "--overwrite", kept.kind, kept.name, "packtree.dev/applied-fields=strange"))
		wanted = append(wanted, "get "+kept.kind, "patch "+kept.kind)
	}
	return suite.AllOf(append(steps, w.untilNeeded(waits, by("dynamo-operator", wanted...)...))...)(ctx, t, config)
}

// changesServices stops and starts services of one node and of several, scales one by its adapter to zero, stops
// serving a model, and asks for a topology that does not exist.
func (w *world) changesServices(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	none := "{.spec.replicas}"
	return suite.AllOf(
		w.patchesService(prefill, "replace", "replicas", "0"), w.Reads("0", "pclq", "llm-0-prefill", none),
		w.patchesService(prefill, "replace", "replicas", "3"), w.Reads("3", "pclq", "llm-0-prefill", none),
		w.patchesService(decode, "replace", "replicas", "0"), w.Reads("0", "pcsg", "llm-0-decode", none),
		w.patchesService(decode, "replace", "replicas", "1"), w.Reads("1", "pcsg", "llm-0-decode", none),
		w.Kubectl("scale", "dgdsa", "llm-frontend", "--replicas=2"), w.Reads("2", "pclq", "llm-0-frontend", none),
		w.patchesService(frontend, "remove", "scalingAdapter", ""),
		w.Kubectl("wait", "--for=delete", "dgdsa/llm-frontend", "--timeout=4m"),
		w.patchesService(recorder, "remove", "modelRef", ""), w.isClosed("llm-model-62c66a7a"),
		w.TurnedDown("elsewhere.yaml", `ClusterTopology "nowhere" does not exist`, "rights"),
	)(ctx, t, config)
}

// patchesService changes a field of a service of the deployment.
func (w *world) patchesService(service int, operation, field, value string) step {
	patch := fmt.Sprintf(`[{"op":%q,"path":"/spec/components/%d/%s"`, operation, service, field)
	if value != "" {
		patch += `,"value":` + value
	}
	return w.Kubectl("patch", "dgd", "llm", "--type=json", "--patch="+patch+"}]")
}

// isClosed waits until there is no Service with a name any more.
func (w *world) isClosed(name string) step {
	return w.Kubectl("wait", "--for=delete", "service/"+name, "--timeout=4m")
}
