package rights_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"packtree.dev/e2e/devcluster/kueue"
	"packtree.dev/e2e/suites/internal/suite"
)

// makesRoom creates a pod with a higher priority that takes the place of another.
func (w *world) makesRoom(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	return suite.AllOf(w.Applies("preemption.yaml"), w.bound("makes-room"), w.Applies("urgent.yaml"), w.bound(
		"needs-room"))(ctx, t, config)
}

// takesBack creates pods that may not be bound, so that the scheduler undoes its allocations again and again, while
// all claims are edited, so that it finds them changed.
func (w *world) takesBack(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	ctx = w.Applies("denial.yaml")(ctx, t, config)
	stop := w.edits(ctx, t, "unbound-",
		schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceClaim"})
	defer stop()
	return suite.AllOf(
		w.untilNeeded(func(ctx context.Context, t *testing.T, attempt int) {
			// Until the API server knows of the denial, pods may be bound.
			if attempt%10 == 0 {
				w.Answer(ctx, t, "delete", "--ignore-not-found", "-f", w.File(t, "unbound.yaml"))
				w.Answer(ctx, t, "apply", "-f", w.File(t, "unbound.yaml"))
			}
		}, "resourceclaims"),
		w.Kubectl("delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "unbound"),
	)(ctx, t, config)
}

// moves deletes a pod of a gang while its rack takes no other, so that the remaining pod is moved.
func (w *world) moves(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	ctx = w.Applies("moved.yaml")(ctx, t, config)
	var pod, node string
	w.Until(ctx, t, "both pods have a node", func(ctx context.Context) (bool, string, error) {
		said, err := cluster.Kubectl(ctx, w.Name, "get", "pod", "--selector=app=moved",
			`-o=jsonpath={range .items[*]}{.metadata.name} {.spec.nodeName}{"\n"}{end}`)
		words := strings.Fields(said)
		if len(words) == 4 {
			pod, node = words[0], words[1]
		}
		return len(words) == 4, said, err
	})
	rack := "--selector=topology.packtree.dev/rack=" +
		w.Answer(ctx, t, "get", "node", node, `-o=jsonpath={.metadata.labels.topology\.packtree\.dev/rack}`)
	return suite.AllOf(
		w.Kubectl("cordon", rack), w.gone("pod", pod),
		w.untilNeeded(func(context.Context, *testing.T, int) {}, "pods/eviction"),
		w.Kubectl("uncordon", rack), w.gone("job", "moved"),
	)(ctx, t, config)
}

// needsNodes creates a gang that no rack can hold, which its PodGroup says in an annotation.
func (w *world) needsNodes(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	return suite.AllOf(w.Applies("outgrown.yaml"),
		w.untilNeeded(func(context.Context, *testing.T, int) {}, "kai-topology-plugin: patch podgroups.scheduling.run.ai"),
		w.gone("job", "outgrown"))(ctx, t, config)
}

// servesZones has the API server serve the kind that agents write the NUMA zones of nodes to.
func (w *world) servesZones(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	made := definition(t, schema.GroupVersionKind{
		Group: "topology.node.k8s.io", Version: "v1alpha2", Kind: "NodeResourceTopology",
	})
	made.SetName("noderesourcetopologies.topology.node.k8s.io")
	w.Must(ctx, t, unstructured.SetNestedField(made.Object, "noderesourcetopologies", "spec", "names", "plural"))
	w.Must(ctx, t, unstructured.SetNestedField(made.Object, "Cluster", "spec", "scope"))
	w.Must(ctx, t, cluster.Create(ctx, made))
	return ctx
}

// installsKueue has Kueue run from now on. Its webhooks refuse pods with an owner that does not exist.
func (w *world) installsKueue(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	w.Must(ctx, t, kueue.Install(ctx, cluster.Machine))
	return ctx
}

// readsMetrics reads the scheduler's metrics as users that it has to ask the API server about: one that the chart lets
// read them, and another one.
func (w *world) readsMetrics(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	_, err := cluster.Kubectl(ctx, systemNamespace, "create", "serviceaccount", reader)
	w.Must(ctx, t, err)
	trusting := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for account, want := range map[string]int{reader: http.StatusOK, "default": http.StatusForbidden} {
		token, err := cluster.Kubectl(ctx, systemNamespace, "create", "token", account)
		w.Must(ctx, t, err)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, cluster.Machine.Metrics(scheduler), http.NoBody)
		w.Must(ctx, t, err)
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
		response, err := trusting.Do(request)
		w.Must(ctx, t, err)
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s gets %s, want %d", account, response.Status, want)
		}
	}
	return ctx
}
