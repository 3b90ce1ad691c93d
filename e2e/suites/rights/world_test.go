package rights_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	e2e "sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/live"
	"packtree.dev/e2e/rights"
	"packtree.dev/e2e/suites/internal/suite"
)

type step = e2e.StepFunc

// world is the namespace in which the programs do everything.
type world struct {
	suite.World
	// roles for different values of the charts, by a name for the values.
	roles map[string]rights.Roles
	// looked is how many calls missesNothing has checked.
	looked int
}

func newWorld() *world {
	return &world{
		World: suite.World{Cluster: cluster, Name: envconf.RandomName("rights", 12), Operator: groveOperator,
			Shown: "dgd,pcs,pclq,pcsg,pg,resourceclaims"},
		roles: map[string]rights.Roles{},
	}
}

func (w *world) create(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	ctx = w.InNamespace(ctx, t, config)
	w.Until(ctx, t, "the namespace takes pods", cluster.NamespaceTakesPods(w.Name))
	return ctx
}

// ready waits until an object of Grove or Dynamo is ready.
func (w *world) ready(kind, name string) step {
	return w.Reads("True", kind, name, `{.status.conditions[?(@.type=="Ready")].status}`)
}

// bound waits until a pod has a node.
func (w *world) bound(pod string) step {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, "pod "+pod+" has a node", func(ctx context.Context) (bool, string, error) {
			node, err := cluster.Kubectl(ctx, w.Name, "get", "pod", pod, "-o", "jsonpath={.spec.nodeName}")
			return err == nil && node != "", "it has none", err
		})
		return ctx
	}
}

// gone deletes objects and waits until they are.
func (w *world) gone(kind string, names ...string) step {
	return w.Kubectl(append([]string{"delete", "--wait", kind}, names...)...)
}

// edits changes the objects of some kinds, with a prefix of their names, again and again until it is stopped, as a
// busy user or controller does.
func (w *world) edits(
	ctx context.Context, t *testing.T, prefix string, kinds ...schema.GroupVersionKind,
) (stop func()) {
	editing, cancel := context.WithCancel(ctx)
	// Checks must not queue behind the edits.
	editor, err := live.Connect(cluster.Server)
	w.Must(ctx, t, err)
	var editors sync.WaitGroup
	for _, kind := range kinds {
		editors.Go(func() {
			for turn := 0; editing.Err() == nil; turn++ {
				w.editsAll(editing, editor, prefix, kind, turn)
			}
		})
	}
	return func() { cancel(); editors.Wait() }
}

// editsAll ignores errors of edits: the next turn follows at once.
func (w *world) editsAll(
	ctx context.Context, editor *live.Cluster, prefix string, kind schema.GroupVersionKind, turn int,
) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if editor.List(ctx, list, client.InNamespace(w.Name)) != nil {
		return
	}
	for i := range list.Items {
		if !strings.HasPrefix(list.Items[i].GetName(), prefix) {
			continue
		}
		patch := `{"metadata":{"annotations":{"example.com/turn":"` + strings.Repeat("i", turn%9) + `"}}}`
		_ = editor.Patch(ctx, &list.Items[i], client.RawPatch(types.MergePatchType, []byte(patch)))
	}
}
