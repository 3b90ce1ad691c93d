package suite

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	e2e "sigs.k8s.io/e2e-framework/pkg/types"
)

// Memory is a snapshot of a workload: the UIDs of objects, by kind and name.
type Memory map[string]types.UID

// Objects are those of the namespace that were made for a workload, which is part of their names or in one of their
// labels.
func (w *World) Objects(ctx context.Context, kinds []schema.GroupVersionKind, label, workload string) (Memory, error) {
	found := Memory{}
	for _, kind := range kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := w.Cluster.List(ctx, list, client.InNamespace(w.Name)); err != nil {
			return nil, fmt.Errorf("listing %s: %w", kind.Kind, err)
		}
		for i := range list.Items {
			object := &list.Items[i]
			if object.Labels[label] == workload || object.Name == workload ||
				strings.HasPrefix(object.Name, workload+"-") {
				found[kind.Kind+" "+object.Name] = object.UID
			}
		}
	}
	return found, nil
}

// Difference describes how a memory differs from another one.
func (m Memory) Difference(after Memory) string {
	var lines []string
	for name, uid := range m {
		switch now, exists := after[name]; {
		case !exists:
			lines = append(lines, name+" is gone")
		case now != uid:
			lines = append(lines, name+" is another one")
		}
	}
	for name := range after {
		if _, existed := m[name]; !existed {
			lines = append(lines, name+" is new")
		}
	}
	return strings.Join(lines, ", ")
}

// Look returns the present objects of a workload.
type Look func(context.Context) (Memory, error)

// Remembers records all objects of a workload.
func (w *World) Remembers(look Look, into *Memory) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		objects, err := look(ctx)
		w.Must(ctx, t, err)
		if len(objects) == 0 {
			t.Fatalf("there is nothing to remember\n%s", w.Report(ctx))
		}
		*into = objects
		return ctx
	}
}

// IsAsIn waits until a workload has exactly the recorded objects, down to the last UID.
func (w *World) IsAsIn(remembered *Memory, look Look) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, "there are the objects that there were", func(ctx context.Context) (bool, string, error) {
			objects, err := look(ctx)
			return maps.Equal(objects, *remembered), remembered.Difference(objects), err
		})
		return ctx
	}
}
