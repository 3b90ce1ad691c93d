package kueue_test

import (
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
)

// TestKinds has workloads of Kubernetes' own kinds, which Kueue knows: only the queue and the scheduler are said.
func TestKinds(t *testing.T) {
	t.Parallel()
	w := newWorld(4)
	cluster.Test(t, features.New("kinds that Kueue knows").
		Setup(w.create).
		Assess("a Deployment, counted pod by pod", suite.AllOf(
			w.Applies("front.yaml"), w.runs("app=front", 2), w.uses("red", 2),
			w.Kubectl("delete", "deployment", "front"), w.runs("app=front", 0), w.uses("red", 0))).
		Assess("a StatefulSet, counted as a whole", suite.AllOf(
			w.Applies("index.yaml"), w.runs("app=index", 2), w.uses("red", 2), w.Kubectl("delete", "pod", "index-0"),
			w.runs("app=index", 2), w.uses("red", 2),
			w.Kubectl("delete", "statefulset", "index"), w.runs("app=index", 0), w.uses("red", 0))).
		Teardown(w.remove))
}
