package kind_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"
)

// nodesOfExamples are far more than a machine can run: KWOK simulates them, beside the real ones.
const nodesOfExamples = "docs/examples/nodes.yaml"

// playNodes makes the nodes of the examples, and lets KWOK simulate their kubelets during the steps.
func playNodes(steps ...types.StepFunc) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		answer(ctx, t, "apply", "--server-side", "-f", nodesOfExamples)
		answer(ctx, t, "annotate", "-f", nodesOfExamples, "kwok.x-k8s.io/node=fake")
		answer(ctx, t, "apply", "--server-side", "--force-conflicts", "--subresource=status", "-f", nodesOfExamples)
		playing, cancel := context.WithCancel(ctx)
		kwok := exec.CommandContext(playing, filepath.Join(root, "bin", "tools", "kwok"), "--kubeconfig="+kubeconfig,
			"--config="+filepath.Join(root, "e2e", "devcluster", "internal", "programs", "stages.yaml"),
			"--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake", "--node-lease-duration-seconds=10",
			"--server-address=127.0.0.1:0")
		kwok.Cancel = func() error { return kwok.Process.Signal(os.Interrupt) }
		var said bytes.Buffer
		kwok.Stdout, kwok.Stderr = &said, &said
		if err := kwok.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			cancel()
			_ = kwok.Wait()
			if t.Failed() {
				t.Logf("KWOK says\n%s", said.Bytes())
			}
		}()
		answer(ctx, t, "wait", "-f", nodesOfExamples, "--for=condition=Ready", timeout)
		for _, step := range steps {
			ctx = step(ctx, t, config)
		}
		answer(ctx, t, "delete", "-f", nodesOfExamples, timeout)
		return ctx
	}
}
