package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/compatibility"
	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/examples"
	"packtree.dev/e2e/live"
	"packtree.dev/shared/api/crds"
)

// patience bounds each wait.
const patience = 4 * time.Minute

// calm is how long nothing must change before all programs count as done.
const calm = 10 * time.Second

// freeze stores a release below testdata.
func freeze(ctx context.Context, testdata, release string) (err error) {
	parsed, err := version.ParseSemantic(release)
	if err != nil || release != "v"+parsed.String() {
		return fmt.Errorf("%q is no version: write it as v1.2.3", release)
	}
	folder := filepath.Join(testdata, release)
	if err := makeRoom(ctx, folder, release); err != nil {
		return err
	}
	nodes := filepath.Join(testdata, "today", "nodes.yaml")
	played, err := os.ReadFile(nodes)
	if err != nil {
		return err
	}
	cluster, err := live.BringUp(ctx, devcluster.Options{NodesFile: nodes})
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, cluster.TakeDown(context.WithoutCancel(ctx)))
	}()
	objects, err := work(ctx, cluster, filepath.Join(testdata, "today", "workloads.yaml"))
	if err != nil {
		return err
	}
	return compatibility.Release{Folder: folder, Version: release, Objects: objects}.Write(crds.Files, played)
}

// makeRoom removes an earlier attempt at a release. Once a release is out, its files do not change.
func makeRoom(ctx context.Context, folder, release string) error {
	tag := "shared/" + release
	git := exec.CommandContext(ctx, "git", "tag", "--list", tag) //nolint:gosec // the release is a version
	git.Dir = filepath.Dir(folder)
	output, err := git.Output()
	if err != nil {
		return fmt.Errorf("looking for the tag %s: %w", tag, err)
	}
	if len(output) > 0 {
		return fmt.Errorf(
			"%s is released: what it left in clusters does not change any more; freeze the version that comes next",
			tag)
	}
	return os.RemoveAll(folder)
}

// work applies the workloads and returns all objects when nothing changes any more.
func work(ctx context.Context, cluster *live.Own, file string) ([]*unstructured.Unstructured, error) {
	workloads, err := examples.Objects(file, compatibility.Namespace)
	if err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: compatibility.Namespace}}
	if err := cluster.Create(ctx, namespace); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := live.Wait(waiting, "the namespace takes pods", cluster.NamespaceTakesPods(namespace.Name)); err != nil {
		return nil, err
	}
	if err := cluster.Apply(ctx, workloads...); err != nil {
		return nil, err
	}
	if err := live.Wait(waiting, "everything stands that can",
		compatibility.Stands(cluster.Cluster, workloads)); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, cluster.Reasons(ctx, namespace.Name))
	}
	return calmed(waiting, cluster)
}

// calmed reads all objects until they no longer change.
func calmed(ctx context.Context, cluster client.Reader) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	last, since := "", time.Now()
	err := live.Wait(ctx, "nothing changes any more", func(ctx context.Context) (bool, string, error) {
		var err error
		if objects, err = compatibility.Kept(ctx, cluster); err != nil {
			return false, "", err
		}
		now := ""
		for _, object := range objects {
			now += string(object.GetUID()) + object.GetResourceVersion() + " "
		}
		if now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > calm, fmt.Sprintf("%d objects, unchanged for %s", len(objects), time.Since(since)),
			nil
	})
	return objects, err
}
