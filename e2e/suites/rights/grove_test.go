package rights_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"packtree.dev/e2e/suites/internal/suite"
)

// drifts changes the objects that grove-operator keeps, as another user.
func (w *world) drifts(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	const strange = "app.kubernetes.io/name=strange"
	return suite.AllOf(
		w.Kubectl("patch", "service", "serve-0", "--type=merge", `--patch={"spec":{"publishNotReadyAddresses":false}}`),
		w.Reads("true", "service", "serve-0", "{.spec.publishNotReadyAddresses}"),
		w.Kubectl("patch", "hpa", "serve-0-router", "--type=merge", `--patch={"spec":{"maxReplicas":9}}`),
		w.Reads("3", "hpa", "serve-0-router", "{.spec.maxReplicas}"),
		w.Kubectl("label", "--overwrite", "serviceaccount/serve", strange), w.Kubectl("label", "--overwrite",
			"role/grove.io:pcs:serve", strange),
		w.Kubectl("label", "--overwrite", "rolebinding/grove.io:pcs:serve", strange), w.Kubectl("label", "--overwrite",
			"topologies.kai.scheduler", "rights", "app.kubernetes.io/managed-by=strange"),
		w.untilNeeded(waits,
			by("grove-operator", "patch serviceaccounts", "patch role", "patch topologies", "patch services",
				"patch horizontal")...),
	)(ctx, t, config)
}

// waits is for rights that are needed without a further action.
func waits(context.Context, *testing.T, int) {}

// by are rights of a program.
func by(program string, wanted ...string) []string {
	for i := range wanted {
		wanted[i] = "ClusterRole " + program + ": " + wanted[i]
	}
	return wanted
}

// isScaled scales a set, a clique and a group, out and in.
func (w *world) isScaled(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	return suite.AllOf(
		w.Kubectl("scale", "pcs", "serve", "--replicas=1"),
		w.Kubectl("scale", "pclq", "serve-0-router", "--replicas=3"), w.Reads("3", "pclq", "serve-0-router",
			"{.status.readyReplicas}"),
		w.Kubectl("scale", "pclq", "serve-0-router", "--replicas=2"),
		w.Kubectl("scale", "pcsg", "serve-0-g", "--replicas=3"), w.Reads("3", "pcsg", "serve-0-g",
			"{.status.availableReplicas}"),
		w.Kubectl("scale", "pcsg", "serve-0-g", "--replicas=2"), w.Reads("2", "pcsg", "serve-0-g",
			"{.status.availableReplicas}"),
	)(ctx, t, config)
}

// shares makes pods share claims, which are made of a template of another namespace and deleted with their owners; and
// creates and deletes a topology with domains of its own.
func (w *world) shares(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	const part = `{.metadata.labels.app\.kubernetes\.io/part-of}`
	return suite.AllOf(
		w.Kubectl("apply", "--namespace=default", "-f", w.File(t, "shared.yaml")),
		w.Applies("shares.yaml"), w.Reads("shares", "resourceclaim", "shares-0-g-0-shared", part), w.Reads("shares",
			"resourceclaim", "shares-0-g-1-shared", part),
		w.Kubectl("scale", "pcsg", "shares-0-g", "--replicas=1"), w.Kubectl("wait", "--for=delete",
			"resourceclaim/shares-0-g-1-shared", "--timeout=4m"),
		w.gone("pcs", "shares"), w.Kubectl("delete", "--namespace=default", "resourceclaimtemplate", "shared"),
		w.Applies("binding.yaml"), w.Reads("hall,host", "ctb", "rights-halls", "{.status.domains}"), w.gone("ctb",
			"rights-halls"),
	)(ctx, t, config)
}

// findsNamesTaken is a set with taken names for its children. It reports one, and the next one when that is free.
func (w *world) findsNamesTaken(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	ctx = w.Applies("taken.yaml")(ctx, t, config)
	var reported []string
	w.Until(ctx, t, "all names are given free", func(ctx context.Context) (bool, string, error) {
		said, err := cluster.Kubectl(ctx, w.Name, "get", "pcs", "taken",
			`-o=jsonpath={.status.conditions[?(@.type=="Ready")]}`)
		for _, taken := range takenBySomebody.FindAllStringSubmatch(said, -1) {
			w.Answer(ctx, t, "delete", "--ignore-not-found", taken[1], taken[2])
			reported = append(reported, taken[1])
			// Objects of others are not watched, so the next pass would come later and later.
			w.Answer(ctx, t, "annotate", "--overwrite", "pcs", "taken", "example.com/freed="+taken[1])
		}
		return len(reported) > 0 && strings.Contains(said, `"status":"True"`), said, err
	})
	for _, kind := range []string{"ServiceAccount", "Role", "RoleBinding", "Service", "HorizontalPodAutoscaler"} {
		if !slices.Contains(reported, kind) {
			t.Errorf("of a %s that has the name nothing was said: %v", kind, reported)
		}
	}
	return w.gone("pcs", "taken")(ctx, t, config)
}

var takenBySomebody = regexp.MustCompile(`(\w+) (\S+) exists and belongs to no controller`)

// isEditedAllTheTime makes and deletes a set that changes while grove-operator works on it, until a conflict has
// occurred for each kind with its finalizer.
func (w *world) isEditedAllTheTime(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	group := schema.GroupVersion{Group: "grove.io", Version: "v1alpha1"}
	stop := w.edits(ctx, t, "edited", group.WithKind("PodCliqueSet"), group.WithKind("PodCliqueScalingGroup"),
		group.WithKind("PodClique"))
	defer stop()
	return w.untilNeeded(func(ctx context.Context, t *testing.T, _ int) {
		suite.AllOf(w.Applies("edited.yaml"), w.ready("pcs", "edited"), w.gone("pcs", "edited"))(ctx, t, config)
	}, by("grove-operator", "get podcliquesets", "get podcliquescalinggroups", "get podcliques.")...)(ctx, t, config)
}
