package compatibility_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/compatibility"
	"packtree.dev/e2e/examples"
	"packtree.dev/e2e/live"
)

// newcomers is the namespace of workloads that are created after the upgrade.
const newcomers = "newcomers"

// An upgrade from a release keeps every pod and every object, and the programs go on reconciling all of them: the
// programs of today first under the definitions of that release, and then under those of today.
func TestUpgradeFromEveryRelease(t *testing.T) {
	releases, err := compatibility.Releases(testdata(t))
	if err != nil || len(releases) == 0 {
		t.Fatalf("the releases are %v: %v", releases, err)
	}
	for _, release := range releases {
		t.Run(release.Version, func(t *testing.T) {
			definitions, err := release.Files()
			require.NoError(t, err)
			i := bringUp(t, release.NodesFile(), definitions)
			ctx := t.Context()
			i.must(ctx, t, i.Machine.Uninstall(ctx))
			i.restores(ctx, t, release.Objects)
			before := memoryOf(release.Objects)

			i.must(ctx, t, i.Machine.Install(ctx, nil))
			i.works(ctx, t, newcomers)
			i.keeps(ctx, t, "under the older definitions", before)

			i.clone.define(t, nil)
			i.must(ctx, t, i.Machine.Upgrade(ctx, nil))
			i.keeps(ctx, t, "after the upgrade", before)
			i.accepted(ctx, t, release.Objects)
			i.looksAfter(ctx, t, before)
			i.outlivesTheRelease(ctx, t)
			i.letsGo(ctx, t)
			if release.Version == releases[len(releases)-1].Version {
				i.missesAField(ctx, t, definitions)
			}
		})
	}
}

// works makes the programs do something new, from a user's object to pods on nodes. After that they have reconciled
// everything older.
func (i *installation) works(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	i.must(ctx, t, i.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	i.until(ctx, t, "the namespace takes pods", i.NamespaceTakesPods(namespace))
	objects, err := examples.Objects(filepath.Join(testdata(t), "today", "workloads.yaml"), namespace)
	i.must(ctx, t, err)
	i.until(ctx, t, "the webhooks take new workloads", func(ctx context.Context) (bool, string, error) {
		return true, "", i.Apply(ctx, objects...) // Which they refuse until the default topology has been read.
	})
	for _, object := range objects {
		workload, is, err := i.Workload(ctx, object)
		i.must(ctx, t, err)
		switch {
		case object.GetName() == tooLarge:
			i.until(ctx, t, "it says that it has no room", i.Explained(object))
		case is:
			i.until(ctx, t, live.Name(object)+" runs", i.Runs(workload, namespace))
		}
	}
}

// tooLarge is the workload for which there is no room.
const tooLarge = "too-large"

func (i *installation) keeps(ctx context.Context, t *testing.T, when string, before memory) {
	t.Helper()
	objects, err := kept(ctx, i)
	i.must(ctx, t, err)
	if difference := before.difference(memoryOf(objects)); difference != "" {
		t.Fatalf("%s not all is as it was:\n%s\n%s", when, difference, i.report(ctx))
	}
}

// looksAfter changes one object of each kind of workload, and waits until the programs have followed; nothing else
// changes.
func (i *installation) looksAfter(ctx context.Context, t *testing.T, before memory) {
	t.Helper()
	pods := &corev1.PodList{}
	i.must(ctx, t, i.List(ctx, pods, client.InNamespace(namespace)))
	at := slices.IndexFunc(pods.Items,
		func(pod corev1.Pod) bool { return strings.HasPrefix(pod.Name, "chat-0-frontend-") })
	if at < 0 {
		t.Fatalf("chat has no frontend\n%s", i.report(ctx))
	}
	lost := &pods.Items[at]
	i.must(ctx, t, i.Delete(ctx, lost))
	for _, command := range [][]string{
		{"patch", "dgd", "plain", "--type=json", "-p",
			`[{"op":"replace","path":"/spec/components/0/replicas","value":2}]`},
		{"scale", "pcsg", "engine-0-copy", "--replicas=3"},
	} {
		i.asks(ctx, t, namespace, command...)
	}
	// One frontend more, and a leader with two workers; what has no room keeps waiting.
	wanted := runningBut(pods.Items, nil) + 1 + 3
	i.until(ctx, t, "what was lost is replaced, and what was asked for has come",
		func(ctx context.Context) (bool, string, error) {
			var now corev1.PodList
			err := i.List(ctx, &now, client.InNamespace(namespace))
			running := runningBut(now.Items, lost)
			return running == wanted, fmt.Sprintf("%d pods run, of %d", running, wanted), err
		})
	i.keeps(ctx, t, "after further work", before.without("Pod "+lost.Name))
}

// outlivesTheRelease uninstalls the charts and installs them again: all objects stay, and what a user asks for
// meanwhile is done afterwards.
func (i *installation) outlivesTheRelease(ctx context.Context, t *testing.T) {
	t.Helper()
	objects, err := kept(ctx, i)
	i.must(ctx, t, err)
	var pods corev1.PodList
	i.must(ctx, t, i.List(ctx, &pods, client.InNamespace(namespace)))
	i.must(ctx, t, i.Machine.Uninstall(ctx))
	i.asks(ctx, t, namespace, "scale", "pcsg", "engine-0-copy", "--replicas=2")
	i.keeps(ctx, t, "without the release", memoryOf(objects))
	i.must(ctx, t, i.Machine.Install(ctx, nil))
	wanted := runningBut(pods.Items, nil) - 3
	i.until(ctx, t, "a copy of three pods has gone, as was asked for", func(ctx context.Context) (bool, string, error) {
		var now corev1.PodList
		err := i.List(ctx, &now, client.InNamespace(namespace))
		running := runningBut(now.Items, nil)
		return running == wanted, fmt.Sprintf("%d pods run, of %d", running, wanted), err
	})
}

// runningBut counts the running pods, except one that may have the name of its successor.
func runningBut(pods []corev1.Pod, gone *corev1.Pod) int {
	count := 0
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodRunning && (gone == nil || pod.UID != gone.UID) {
			count++
		}
	}
	return count
}

// letsGo deletes the users' objects, and waits until everything is deleted with them, despite finalizers of an older
// release.
func (i *installation) letsGo(ctx context.Context, t *testing.T) {
	t.Helper()
	i.asks(ctx, t, namespace, "delete", "dgd,pcs,jobs,podgroups.scheduling.run.ai,pods",
		"--all", "--wait=false")
	i.until(ctx, t, "everything is gone", func(ctx context.Context) (bool, string, error) {
		objects, err := kept(ctx, i)
		left := ""
		for _, object := range objects {
			if object.GetNamespace() == namespace && object.GetName() != "default" {
				left += " " + object.GetKind() + "/" + object.GetName()
			}
		}
		return left == "" && err == nil, "left:" + left, err
	})
}
