package kind_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/live"
	"packtree.dev/e2e/pages"
)

// patience is how long anything may take, on a machine that does other things too.
const patience = 3 * time.Minute

var components = []string{"dynamo-operator", "grove-operator", "kai-topology-plugin", "podgrouper"}

// TestLife goes from an empty cluster to an empty cluster. What a feature leaves is what the next one finds.
func TestLife(t *testing.T) {
	installed := features.New("installation").
		Assess("the chart is installed and everything gets ready", install()).
		Assess("every program is the one of its image", noRestarts)
	hello := features.New("quick start").
		Assess("the deployment is taken", says("apply", "-f", helloManifest(t))).
		Assess("and gets ready", says("wait", "dynamographdeployment", "hello", "--for=condition=Ready", timeout)).
		Assess("its pods run in one rack", inOneRack("app.kubernetes.io/part-of=hello", 5))
	order := features.New("order of startup").
		Assess("the set is taken", says("apply", "-f", testdata("in-order.yaml"))).
		Assess("all of it starts", says("wait", "podcliqueset", "order", "--for=jsonpath={.status.availableReplicas}=1", timeout)).
		Assess("the second clique starts after the first is ready", startedInOrder)
	job := features.New("job").
		Assess("it is taken", says("apply", "-f", testdata("job.yaml"))).
		Assess("it gets done", says("wait", "job", "short", "--for=condition=Complete", timeout)).
		Assess("its PodGroup says so", jobFinished)
	gone := features.New("removal").
		Assess("the workloads go", says("delete", "dgd,pcs,jobs", "--all", "--timeout=3m")).
		Assess("nothing of them is left", nothingLeft("default", "pods", "podgroups", "podgangs", "podcliques", "services", "roles", "rolebindings")).
		Assess("the release goes", uninstall).
		Assess("nothing of it is left", nothingLeft("packtree-system", "pods", "deployments", "services", "secrets", "configmaps")).
		// The leases of the leaders stay until then.
		Assess("the namespace goes", says("delete", "namespace", "packtree-system", timeout)).
		Assess("nor anywhere", nothingOfPacktree)
	for _, feature := range []*features.FeatureBuilder{installed, hello, order, job, gone} {
		testenv.Test(t, feature.Feature())
		if t.Failed() {
			report(t)
			t.FailNow()
		}
	}
}

const timeout = "--timeout=3m"

func testdata(name string) string { return filepath.Join("e2e", "suites", "kind", "testdata", name) }

// report shows where the cluster stands when a feature fails.
func report(t *testing.T) {
	t.Helper()
	for _, command := range []string{"get nodes,pods -A -o wide", "get dgd,pcs,podgangs,podgroups -A -o wide", "get events -A --field-selector=type=Warning"} {
		said, err := kubectl(context.Background(), strings.Fields(command)...)
		t.Logf("kubectl %s: %v\n%s", command, err, said)
	}
}

// says is a command of kubectl that has to succeed.
func says(args ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		answer(ctx, t, args...)
		return ctx
	}
}

func answer(ctx context.Context, t *testing.T, args ...string) string {
	t.Helper()
	said, err := kubectl(ctx, args...)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func until(ctx context.Context, t *testing.T, what string, look live.Look) {
	t.Helper()
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := live.Wait(waiting, what, look); err != nil {
		t.Fatal(err)
	}
}

// install installs the chart and tells how long that took.
func install() types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		started := time.Now()
		if _, err := helm(ctx, "install", "packtree", "charts/packtree", "--create-namespace"); err != nil {
			t.Fatal(err)
		}
		for _, component := range components {
			answer(ctx, t, "-n", "packtree-system", "rollout", "status", "deployment", component, timeout)
		}
		t.Logf("all programs are ready %s after helm began", time.Since(started).Round(time.Second))
		return ctx
	}
}

func noRestarts(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	said := answer(ctx, t, "-n", "packtree-system", "get", "pods",
		"-o", `jsonpath={range .items[*].status.containerStatuses[*]}{.image} {.restartCount}{"\n"}{end}`)
	lines := strings.Split(strings.TrimSpace(said), "\n")
	if len(lines) != len(components) {
		t.Errorf("containers are %q, want one of each program", lines)
	}
	for _, line := range lines {
		if !strings.Contains(line, "packtree/") || !strings.HasSuffix(line, " 0") {
			t.Errorf("image and restarts are %q", line)
		}
	}
	return ctx
}

// helloManifest is the deployment of the quick start, word for word.
func helloManifest(t *testing.T) string {
	t.Helper()
	found, err := pages.Read(root, filepath.Join("docs", "quick-start.md"))
	if err != nil || len(found) != 1 {
		t.Fatalf("reading the quick start gives %d pages, %v", len(found), err)
	}
	for _, block := range found[0].Blocks {
		if block.SavedAs != "hello.yaml" {
			continue
		}
		file := filepath.Join(t.TempDir(), block.SavedAs)
		if err := os.WriteFile(file, []byte(block.Code), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	t.Fatal("the quick start has no hello.yaml")
	return ""
}

// inOneRack waits until so many pods run, and reads the racks of their nodes.
func inOneRack(selector string, count int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		var nodes []string
		until(ctx, t, fmt.Sprintf("%d pods of %s run", count, selector), func(ctx context.Context) (bool, string, error) {
			said, err := kubectl(ctx, "get", "pods", "--selector="+selector, "--field-selector=status.phase=Running",
				"-o", "jsonpath={.items[*].spec.nodeName}")
			nodes = strings.Fields(said)
			return len(nodes) == count, said, err
		})
		racks := map[string]bool{}
		for _, node := range nodes {
			racks[answer(ctx, t, "get", "node", node, "-o", `jsonpath={.metadata.labels.topology\.packtree\.dev/rack}`)] = true
		}
		if len(racks) != 1 || racks[""] {
			t.Errorf("the pods stand in racks %v", racks)
		}
		return ctx
	}
}

// startedInOrder compares what kubelets say: no container of the second clique began before the last pod of the first was ready.
func startedInOrder(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	times := func(clique, field string) []string {
		found := strings.Fields(answer(ctx, t, "get", "pods", "--selector=grove.io/podclique="+clique, "-o", "jsonpath={.items[*]"+field+"}"))
		if len(found) != 2 {
			t.Fatalf("times of clique %s are %q, want two", clique, found)
		}
		slices.Sort(found)
		return found
	}
	ready := times("order-0-first", `.status.conditions[?(@.type=="Ready")].lastTransitionTime`)[1]
	begun := times("order-0-second", ".status.containerStatuses[0].state.running.startedAt")[0]
	if begun < ready {
		t.Errorf("the second clique began at %s, before the first was ready at %s", begun, ready)
	}
	return ctx
}

func jobFinished(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	until(ctx, t, "the PodGroup of the Job says that it has finished", func(ctx context.Context) (bool, string, error) {
		said, err := kubectl(ctx, "get", "podgroups",
			"-o", `jsonpath={range .items[?(@.metadata.ownerReferences[0].kind=="Job")]}{.status.conditions[?(@.type=="Scheduled")].message}{end}`)
		return strings.HasPrefix(said, "finished: "), said, err
	})
	return ctx
}

func uninstall(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if _, err := helm(ctx, "uninstall", "packtree", "--wait"); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// nothingLeft waits until a namespace has none of these kinds but what every namespace has.
func nothingLeft(namespace string, kinds ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		every := []string{"configmap/kube-root-ca.crt", "service/kubernetes"}
		until(ctx, t, "namespace "+namespace+" is empty", func(ctx context.Context) (bool, string, error) {
			said, err := kubectl(ctx, "-n", namespace, "get", strings.Join(kinds, ","), "-o", "name")
			left := slices.DeleteFunc(strings.Fields(said), func(name string) bool { return slices.Contains(every, name) })
			return len(left) == 0, strings.Join(left, " "), err
		})
		return ctx
	}
}

// nothingOfPacktree looks for what belongs to no namespace. The kinds stay, as the quick start says.
func nothingOfPacktree(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	said := answer(ctx, t, "get", "clusterroles,clusterrolebindings,validatingwebhookconfigurations,mutatingwebhookconfigurations,priorityclasses",
		"--selector=app.kubernetes.io/part-of=packtree", "-o", "name")
	if left := strings.Fields(said); len(left) > 0 {
		t.Errorf("the release leaves %v", left)
	}
	return ctx
}
