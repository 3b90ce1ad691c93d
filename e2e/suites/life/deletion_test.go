package life_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
	dynamo "packtree.dev/shared/api/dynamo/v1beta1"
)

// deletion deletes a deployment beside one that stays, in the background and in the foreground, and makes it again at
// once.
func deletion(w *world) *features.FeatureBuilder {
	var neighbour suite.Memory
	deletes := func(cascade string) types.StepFunc {
		return suite.AllOf(
			w.WhileTheOperatorIsDead(w.Kubectl("delete", "dgd", "llm", "--cascade="+cascade, "--wait=false")),
			w.isGone("llm"), w.IsAsIn(&neighbour, w.objects("another")))
	}
	return features.New("deletion").
		Setup(suite.AllOf(w.create, w.Applies("deployments/volumes.yaml"))).
		Assess("two deployments run", suite.AllOf(
			w.Applies("deployments/llm.yaml"), w.Applies("deployments/another.yaml"), w.stands("llm", asApplied()),
			w.stands("another", pods{"Frontend": "1 of frontend:1"}), w.servesFrontend("another"),
			w.Remembers(w.objects("another"), &neighbour))).
		Assess("with all that belongs to them", w.hasAll("llm")).
		Assess("one is deleted in the background, and nothing of it is left", deletes("background")).
		Assess("it is made again, deleted in the foreground, and nothing is left", suite.AllOf(
			w.Applies("deployments/llm.yaml"), w.stands("llm", asApplied()), w.hasAll("llm"), deletes("foreground"))).
		Assess("it is deleted while it is being made", suite.AllOf(w.Applies("deployments/llm.yaml"), deletes("background"))).
		Assess("and made again before all of it is gone", suite.AllOf(
			w.Applies("deployments/llm.yaml"), w.stands("llm", asApplied()), w.Kubectl("delete", "dgd", "llm"),
			w.Applies("deployments/llm.yaml"),
			w.TheOperatorDies,
			w.stands("llm", asApplied()), deletes("background"))).
		Teardown(w.remove)
}

// hasAll waits until each kind has objects: otherwise a leftover of that kind could not be seen.
func (w *world) hasAll(name string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, name+" has objects of every kind", func(ctx context.Context) (bool, string, error) {
			objects, err := w.objects(name)(ctx)
			found := map[string]bool{"HorizontalPodAutoscaler": true} // It has none.
			for object := range objects {
				kind, _, _ := strings.Cut(object, " ")
				found[kind] = true
			}
			for _, kind := range made {
				if !found[kind.Kind] {
					return false, fmt.Sprintf("no %s is among %v", kind.Kind, objects), err
				}
			}
			return true, "", err
		})
		return ctx
	}
}

// isGone waits until nothing is left of a deployment.
func (w *world) isGone(name string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, "nothing is left of "+name, func(ctx context.Context) (bool, string, error) {
			objects, err := w.objects(name)(ctx)
			if err != nil {
				return false, "", err
			}
			err = cluster.Get(ctx, client.ObjectKey{Namespace: w.Name, Name: name}, &dynamo.DynamoGraphDeployment{})
			return len(objects) == 0 && apierrors.IsNotFound(err), fmt.Sprintf("the deployment: %v, objects: %v", err,
				objects), nil
		})
		return ctx
	}
}
