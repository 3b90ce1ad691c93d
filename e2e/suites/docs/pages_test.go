package docs_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/devcluster/kueue"
	"packtree.dev/e2e/live"
	"packtree.dev/e2e/pages"
)

// Pages that install and remove Packtree are read last.
var (
	// installing is read while the programs of the dev cluster run: it uses what it installs.
	installing = []string{"docs/quick-start.md"}
	// administering is read after the programs have ended: it installs the charts as on any cluster, and KWOK simulates
	// their pods.
	administering = []string{"docs/install.md", "docs/charts.md", "docs/operations.md"}
)

// helmHere is helm for a reader of a page that installs. The release exists already, with values by which Packtree's
// programs run as processes beside the cluster, and keeps them.
const helmHere = `#!/bin/sh
case "$1" in
install) shift; set -- upgrade --install --reuse-values "$@" ;;
upgrade) shift; set -- upgrade --reuse-values "$@" ;;
esac
exec "$(dirname "$(command -v kube-apiserver)")/helm" "$@"
`

// TestPages reads every page on one cluster, with the nodes of the examples. On the empty cluster of E2E_KUBECONFIG,
// with nodes that have the images of a page, it reads the pages that install, without Packtree's own programs in
// their way.
func TestPages(t *testing.T) {
	root, all := read(t)
	if kubeconfig := os.Getenv("E2E_KUBECONFIG"); kubeconfig != "" {
		for _, page := range all {
			if slices.Contains(installing, page.File) {
				readsOn(t.Context(), t, newReader(t, root, kubeconfig, nil), page)
			}
		}
		return
	}
	own, err := live.BringUpForTests(t.Context(), devcluster.Options{})
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, own.TakeDown(context.WithoutCancel(t.Context())))
	})
	last := slices.Concat(installing, administering)
	require.NoError(t, kueue.Install(own.While(t.Context()), own.Machine))
	read := func(page pages.Page, shims map[string]string) {
		if !slices.ContainsFunc(page.Blocks, isTried) {
			return
		}
		t.Run(named(page), func(t *testing.T) {
			before := tidier{own.Cluster}.wide(t)
			ctx := t.Context()
			// For pages that install and remove Packtree, its programs have to end first.
			if !slices.Contains(last, page.File) {
				ctx = own.While(ctx)
			}
			readsOn(ctx, t, newReader(t, root, own.Machine.Kubeconfig, shims), page)
			tidier{own.Cluster}.tidies(t, before)
		})
	}
	for _, page := range all {
		if !slices.Contains(last, page.File) {
			read(page, nil)
		}
	}
	for _, name := range last {
		index := slices.IndexFunc(all, func(page pages.Page) bool { return page.File == name })
		if index < 0 {
			t.Fatalf("there is no page %s", name)
		}
		if name == administering[0] {
			becomePlain(t, own)
		}
		shims := map[string]string{"helm": helmHere}
		if slices.Contains(administering, name) {
			shims = nil
		}
		read(all[index], shims)
	}
}

// named is the name of a page's test.
func named(page pages.Page) string {
	return strings.ReplaceAll(strings.TrimSuffix(page.File, ".md"), "/", ".")
}

func readsOn(ctx context.Context, t *testing.T, reader reader, page pages.Page) {
	t.Helper()
	for i, block := range page.Blocks {
		reader.trial = !slices.ContainsFunc(page.Blocks[i+1:], looksAtTheCluster)
		assert.NoError(t, reader.tries(ctx, block))
	}
}

// looksAtTheCluster reports whether a block has commands that may show what was applied before.
func looksAtTheCluster(block pages.Block) bool {
	what, _ := actionFor(block)
	return (what == script || what == converse) && strings.Contains(block.Code, "kubectl ")
}

// isTried reports whether a block needs the cluster, or is wrong: then its page has to be read to report that.
func isTried(block pages.Block) bool {
	what, err := actionFor(block)
	return what != nothing || err != nil
}

// remove deletes from the cluster what an installing page deletes, whether or not one was read.
const remove = `
helm uninstall packtree --namespace packtree-system --ignore-not-found
kubectl delete namespace packtree-system --ignore-not-found
if kubectl get crd clustertopologies.grove.io >/dev/null 2>&1; then
	kubectl get clustertopologies -o name | xargs -r kubectl patch --type merge -p '{"metadata":{"finalizers":null}}'
fi
kubectl get crds -l app.kubernetes.io/part-of=packtree -o name | xargs -r kubectl delete`

// becomePlain ends Packtree's programs, deletes everything that was installed for them, and starts the scheduler that
// usual clusters have: kube-scheduler, which our program is without a configuration.
func becomePlain(t *testing.T, own *live.Own) {
	t.Helper()
	for _, component := range devcluster.Components {
		require.NoError(t, own.Machine.Stop(t.Context(), component))
	}
	if output, err := newReader(t, own.Machine.Root(), own.Machine.Kubeconfig, nil).bash(t.Context(), remove,
		""); err != nil {
		t.Fatalf("removing Packtree: %v\n%s", err, output)
	}
	scheduler := exec.CommandContext(t.Context(), filepath.Join(own.Machine.Root(), "bin", "kai-topology-plugin"),
		"--kubeconfig="+own.Machine.Kubeconfig, "--leader-elect=false", "--secure-port=0")
	require.NoError(t, scheduler.Start())
	t.Cleanup(func() { _ = scheduler.Wait() })
}
