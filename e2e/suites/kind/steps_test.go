package kind_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/live"
	"packtree.dev/e2e/pages"
)

// patience is how long anything may take, on a machine that does other things too.
const (
	patience = 10 * time.Minute
	timeout  = "--timeout=10m"
)

var components = []string{"dynamo-operator", "grove-operator", "kai-topology-plugin", "podgrouper"}

// quickStart has the suite docs read the page on this cluster. make e2e-kind has compiled it.
func quickStart(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	command := exec.CommandContext(ctx, filepath.Join(root, "bin", "docs.test"), "-test.run", "^TestPages$",
		"-test.timeout", "40m")
	command.Dir = filepath.Join(root, "e2e", "suites", "docs")
	command.Env = append(os.Environ(), "E2E_KUBECONFIG="+kubeconfig)
	started := time.Now()
	output, err := command.CombinedOutput()
	if err != nil || !bytes.Contains(output, []byte("PASS")) {
		t.Fatalf("%s: %v\n%s", command, err, output)
	}
	t.Logf("took %s", time.Since(started).Round(time.Second))
	return ctx
}

// report shows the state of the cluster when a feature fails.
func report(t *testing.T) {
	t.Helper()
	for _, command := range []string{"get nodes,pods -A -o wide", "get dgd,pcs,podgangs,podgroups -A -o wide",
		"get events -A --field-selector=type=Warning"} {
		said, err := kubectl(context.Background(), strings.Fields(command)...)
		t.Logf("kubectl %s: %v\n%s", command, err, said)
	}
}

// says is a command of kubectl that has to succeed. It is repeated as long as nodes do not know yet which programs
// serve webhooks: the ready ones, and not the ones that have just ended.
func says(args ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		// The wait does not end a command: kubectl has a timeout of its own, and says then what it has waited for.
		until(ctx, t, strings.Join(args, " ")+" is answered", func(context.Context) (bool, string, error) {
			said, err := kubectl(ctx, args...)
			if err != nil && !strings.Contains(err.Error(), "connection refused") && !live.Unanswered(err.Error()) {
				t.Fatal(err)
			}
			return err == nil, said, err
		})
		return ctx
	}
}

// isTaken applies a file.
func isTaken(file string) types.StepFunc { return says("apply", "-f", file) }

func answer(ctx context.Context, t *testing.T, args ...string) string {
	t.Helper()
	said, err := kubectl(ctx, args...)
	require.NoError(t, err)
	return said
}

func until(ctx context.Context, t *testing.T, what string, look live.Look) {
	t.Helper()
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	require.NoError(t, live.Wait(waiting, what, look))
}

// restricted makes Kubernetes admit only restricted pods in the namespace of the release.
func restricted(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	answer(ctx, t, "create", "namespace", "packtree-system")
	answer(ctx, t, "label", "namespace", "packtree-system", "pod-security.kubernetes.io/enforce=restricted")
	return ctx
}

// today is the chart of everything.
const today = "charts/packtree"

// install installs a chart, or changes the release, and logs how long that took.
func install(chart string, flags ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		started := time.Now()
		if _, err := helm(ctx, append([]string{"upgrade", "--install", "packtree", chart}, flags...)...); err != nil {
			t.Fatal(err)
		}
		ready(ctx, t)
		t.Logf("all programs are ready %s after helm began", time.Since(started).Round(time.Second))
		return ctx
	}
}

// ready waits until every program is ready, and is the one of its Deployment.
func ready(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, component := range components {
		answer(ctx, t, "-n", "packtree-system", "rollout", "status", "deployment", component, timeout)
	}
}

// startAnew replaces the pods of all programs, and waits until the earlier ones are gone.
func startAnew(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	answer(ctx, t, "-n", "packtree-system", "rollout", "restart", "deployment")
	ready(ctx, t)
	until(ctx, t, "each program has one pod", func(ctx context.Context) (bool, string, error) {
		said, err := kubectl(ctx, "-n", "packtree-system", "get", "pods", "-o", "name")
		return len(strings.Fields(said)) == len(components), said, err
	})
	return ctx
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

// nobodyComplains reads the logs of the programs since their start.
func nobodyComplains(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for _, component := range components {
		said := answer(ctx, t, "-n", "packtree-system", "logs", "deployment/"+component)
		for line := range strings.Lines(said) {
			if complaint.MatchString(line) {
				t.Errorf("%s complains at a clean start: %s", component, line)
			}
		}
	}
	return ctx
}

// complaint is a line at level error, as zap or klog writes it, or a line of a stack.
var complaint = regexp.MustCompile(`"level":"error"|\tERROR\t|^E\d{4} |^goroutine |^\t.*\.go:\d+`)

// fromQuickStart is a file that the quick start has its reader save, word for word.
func fromQuickStart(t *testing.T, name string) string {
	t.Helper()
	found, err := pages.Read(root, filepath.Join("docs", "quick-start.md"))
	if err != nil || len(found) != 1 {
		t.Fatalf("reading the quick start gives %d pages, %v", len(found), err)
	}
	for _, block := range found[0].Blocks {
		if block.SavedAs != name {
			continue
		}
		file := filepath.Join(t.TempDir(), block.SavedAs)
		require.NoError(t, os.WriteFile(file, []byte(block.Code), 0o600))
		return file
	}
	t.Fatalf("the quick start has no %s", name)
	return ""
}

// inOneRack waits until so many pods run, and reads the racks of their nodes.
func inOneRack(selector string, count int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		var nodes []string
		until(ctx, t, fmt.Sprintf("%d pods of %s run", count, selector), func(ctx context.Context) (bool,
			string, error) {
			said, err := kubectl(ctx, "get", "pods", "--selector="+selector, "--field-selector=status.phase=Running",
				"-o", "jsonpath={.items[*].spec.nodeName}")
			nodes = strings.Fields(said)
			return len(nodes) == count, said, err
		})
		racks := map[string]bool{}
		for _, node := range nodes {
			racks[answer(ctx, t, "get", "node", node, "-o",
				`jsonpath={.metadata.labels.topology\.packtree\.dev/rack}`)] = true
		}
		if len(racks) != 1 || racks[""] {
			t.Errorf("the pods stand in racks %v", racks)
		}
		return ctx
	}
}

// startedInOrder compares the times of kubelets: no container of the second clique began before the last pod of the
// first was ready.
func startedInOrder(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	times := func(clique, field string) []string {
		found := strings.Fields(
			answer(ctx, t, "get", "pods", "--selector=grove.io/podclique="+clique, "-o",
				"jsonpath={.items[*]"+field+"}"))
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
			"-o",
			`jsonpath={range .items[?(@.metadata.ownerReferences[0].kind=="Job")]}{.status.conditions[?(@.type=="Scheduled")].message}{end}`)
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

// nothingLeft waits until a namespace has none of these kinds except the objects that every namespace has.
func nothingLeft(namespace string, kinds ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		every := []string{"configmap/kube-root-ca.crt", "service/kubernetes"}
		until(ctx, t, "namespace "+namespace+" is empty", func(ctx context.Context) (bool, string, error) {
			said, err := kubectl(ctx, "-n", namespace, "get", strings.Join(kinds, ","), "-o", "name")
			left := slices.DeleteFunc(strings.Fields(said),
				func(name string) bool { return slices.Contains(every, name) })
			return len(left) == 0, strings.Join(left, " "), err
		})
		return ctx
	}
}

// nothingOfPacktree checks for cluster-scoped objects. The kinds stay, as the quick start says.
func nothingOfPacktree(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	said := answer(ctx, t, "get",
		"clusterroles,clusterrolebindings,validatingwebhookconfigurations,mutatingwebhookconfigurations,priorityclasses",
		"--selector=app.kubernetes.io/part-of=packtree", "-o", "name")
	if left := strings.Fields(said); len(left) > 0 {
		t.Errorf("the release leaves %v", left)
	}
	return ctx
}

// isAvailable waits until a set has so many available replicas.
func isAvailable(set string, replicas int) types.StepFunc {
	return says("wait", "podcliqueset", set, fmt.Sprintf("--for=jsonpath={.status.availableReplicas}=%d", replicas),
		timeout)
}

// findsByName resolves a name in the first pod of a clique, with the pod's name servers.
func findsByName(clique, name string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		pod := answer(ctx, t, "get", "pods", "--selector=grove.io/podclique="+clique, "-o",
			"jsonpath={.items[0].metadata.name}")
		address := answer(ctx, t, "get", "pods", "--field-selector=status.phase=Running", "-o",
			`jsonpath={.items[?(@.spec.hostname=="`+strings.Split(name, ".")[0]+`")].status.podIP}`)
		until(ctx, t, name+" is the address "+address, func(ctx context.Context) (bool, string, error) {
			said, err := kubectl(ctx, "exec", pod, "--", "nslookup", name+".default.svc.cluster.local")
			return address != "" && strings.Contains(said, address), said, err
		})
		return ctx
	}
}

// dgdSays waits until a deployment's condition Ready names something.
func dgdSays(name, what string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		until(ctx, t, "the deployment "+name+" names "+what, func(ctx context.Context) (bool, string, error) {
			said, err := kubectl(ctx, "get", "dgd", name, "-o",
				`jsonpath={.status.conditions[?(@.type=="Ready")].message}`)
			return strings.Contains(said, what), said, err
		})
		return ctx
	}
}

// gangIsMadeAgain waits until all of a set's first pods are gone, and as many others exist.
func gangIsMadeAgain(set string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		pods := func(ctx context.Context) ([]string, error) {
			said, err := kubectl(ctx, "get", "pods", "--selector=app.kubernetes.io/part-of="+set, "-o",
				"jsonpath={.items[*].metadata.uid}")
			return strings.Fields(said), err
		}
		var before []string
		until(ctx, t, "the set "+set+" has two pods", func(ctx context.Context) (bool, string, error) {
			var err error
			before, err = pods(ctx)
			return len(before) == 2, fmt.Sprint(before), err
		})
		until(ctx, t, "the pods of "+set+" are others", func(ctx context.Context) (bool, string, error) {
			now, err := pods(ctx)
			same := slices.ContainsFunc(now, func(pod string) bool { return slices.Contains(before, pod) })
			return len(now) == 2 && !same, fmt.Sprint(now), err
		})
		until(ctx, t, "an event of "+set+" reports the termination", func(ctx context.Context) (bool, string, error) {
			said, err := kubectl(ctx, "get", "events",
				"--field-selector=reason=GangTerminated,involvedObject.kind=PodCliqueSet,involvedObject.name="+set, "-o",
				"jsonpath={.items[*].message}")
			return said != "", "there is none", err
		})
		return ctx
	}
}
