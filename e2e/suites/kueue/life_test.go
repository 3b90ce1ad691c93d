package kueue_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	e2e "sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
	"packtree.dev/shared/kueue"
)

const ofServe = "app.kubernetes.io/part-of=serve"

// TestLife takes a set through what happens while Kueue counts it: each time as many pods are made as are needed, so
// Kueue deletes none as one too many, and as much quota is used as there are pods.
func TestLife(t *testing.T) {
	t.Parallel()
	w := newWorld(6)
	var dead *corev1.Pod
	var counted suite.Memory
	cluster.Test(t, features.New("what Kueue counts").
		Setup(w.create).
		Assess("all its pods go at once, and its workload stays", suite.AllOf(
			w.Applies("serve.yaml"), w.runs(ofServe, 2), w.uses("red", 2), w.Remembers(w.workload("serve-0"), &counted),
			w.Kubectl("delete", "pods", "--selector="+ofServe), w.runs(ofServe, 2),
			w.IsAsIn(&counted, w.workload("serve-0")))).
		Assess("a clique is scaled out beyond its minimum", suite.AllOf(
			w.scales("serve-0-worker", 4), w.runs(ofServe, 4), w.uses("red", 4), w.Created("serve:1", 6, 6))).
		Assess("a rollout replaces each pod once", suite.AllOf(
			w.Kubectl("patch", "pcs", "serve", "--type=json", "--patch", `[{"op":"replace",
				"path":"/spec/template/cliques/0/spec/podSpec/containers/0/image","value":"serve:2"}]`),
			w.Created("serve:2", 4, 4), w.runs(ofServe, 4), w.uses("red", 4))).
		Assess("a pod on a dead node is replaced once it is gone", suite.AllOf(
			w.dies("serve-0-worker", &dead), w.scales("serve-0-worker", 5), w.ready(ofServe, 4),
			w.forced(&dead), w.runs(ofServe, 5), w.Created("serve:2", 6, 6), w.uses("red", 5))).
		Assess("a clique is scaled in", suite.AllOf(
			w.scales("serve-0-worker", 2), w.runs(ofServe, 2), w.uses("red", 2))).
		Assess("Kueue deleted none", w.noExcess).
		Teardown(w.remove))
}

// workload looks for what Kueue counts as one.
func (w *world) workload(name string) suite.Look {
	kinds := []schema.GroupVersionKind{kueue.WorkloadKind}
	return func(ctx context.Context) (suite.Memory, error) { return w.Objects(ctx, kinds, "none", name) }
}

func (w *world) scales(podClique string, replicas int) e2e.StepFunc {
	return w.Kubectl("scale", "pclq", podClique, fmt.Sprint("--replicas=", replicas))
}

// hold keeps a pod that is being deleted there, as a dead node does: its end is not reported.
const hold = "suite.packtree.dev/dead-node"

// dies has the node of the first pod of a clique die, and deletes that pod, which is then not gone.
func (w *world) dies(podClique string, into **corev1.Pod) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		pods, err := w.labelled(ctx, "grove.io/podclique="+podClique)
		w.Must(ctx, t, err)
		for i := range pods {
			if pods[i].Labels["grove.io/podclique-pod-index"] == "0" {
				*into = &pods[i]
			}
		}
		w.Kubectl("patch", "pod", (*into).Name, "--patch", `{"metadata":{"finalizers":["`+hold+`"]}}`)(ctx, t, config)
		return w.Kubectl("delete", "pod", (*into).Name, "--wait=false")(ctx, t, config)
	}
}

// forced deletes a pod by force, as an administrator does when its node is dead.
func (w *world) forced(pod **corev1.Pod) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Must(ctx, t, cluster.Patch(ctx, *pod, client.RawPatch(types.StrategicMergePatchType, fmt.Appendf(nil,
			`{"metadata":{"uid":%q,"$deleteFromPrimitiveList/finalizers":[%q]}}`, (*pod).UID, hold))))
		return ctx
	}
}

// noExcess checks that Kueue has deleted no pod because there was one too many.
func (w *world) noExcess(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	said, err := cluster.Kubectl(ctx, w.Name, "get", "events", "--field-selector=reason=ExcessPodDeleted", "-o", "name")
	w.Must(ctx, t, err)
	if strings.Contains(said, "event/") {
		t.Errorf("Kueue deleted pods: %s\n%s", said, w.Report(ctx))
	}
	return ctx
}

// TestRestarts has each program die while a deployment comes to run.
func TestRestarts(t *testing.T) {
	t.Parallel()
	w := newWorld(4)
	story := features.New("each program dies").Setup(w.create)
	for _, program := range []string{
		"kueue", "dynamo-operator", "grove-operator", "podgrouper", "kai-topology-plugin",
	} {
		const of = "nvidia.com/dynamo-graph-deployment-name=small"
		story = story.Assess(program, suite.AllOf(
			w.Applies("small.yaml"), w.Without(program, true, suite.AllOf()),
			w.runs(of, 2), w.uses("red", 2), w.Kubectl("delete", "dgd", "small"), w.runs(of, 0), w.uses("red", 0)))
	}
	cluster.Test(t, story.Teardown(w.remove))
}
