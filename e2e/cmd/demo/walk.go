package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/examples"
	"packtree.dev/e2e/live"
	"packtree.dev/e2e/placement"
)

// namespace of the examples.
const namespace = "default"

// patience is how long one step may take before the demo gives up.
const patience = 2 * time.Minute

// walk runs the examples on a running cluster.
type walk struct {
	cluster  *live.Cluster
	machine  *devcluster.Cluster
	progress *progress
	examples []examples.Example
}

func (w *walk) run(ctx context.Context) error {
	if err := w.progress.step("the default topology is there", func(say func(string)) error {
		return w.wait(ctx, say, "grove-operator has made the topology of its configuration",
			w.cluster.DefaultTopologyMade)
	}); err != nil {
		return err
	}
	if err := w.progress.step(fmt.Sprintf("%d examples applied", len(w.examples)), func(say func(string)) error {
		return w.apply(ctx, say)
	}); err != nil {
		return err
	}
	topologies, err := w.cluster.Topologies(ctx)
	if err != nil {
		return err
	}
	workloads, err := w.workloads(topologies)
	if err != nil {
		return err
	}
	if err := w.progress.step("every pod runs", func(say func(string)) error {
		return w.wait(ctx, say, "every pod runs", w.allRun(workloads))
	}); err != nil {
		return fmt.Errorf("%w\n%s", err, w.cluster.Reasons(ctx, namespace))
	}
	if err := w.progress.step("what cannot fit says why", func(say func(string)) error {
		return w.wait(ctx, say, "the deployment that cannot fit says why", w.explained)
	}); err != nil {
		return err
	}
	return w.judge(ctx, workloads)
}

func (w *walk) apply(ctx context.Context, say func(string)) error {
	for _, example := range w.examples {
		say(example.Name)
		if err := w.cluster.Apply(ctx, example.Objects...); err != nil {
			return fmt.Errorf("%s: %w", example.File, err)
		}
	}
	return nil
}

func (w *walk) workloads(topologies placement.Topologies) ([]placement.Workload, error) {
	var workloads []placement.Workload
	for _, example := range w.examples {
		if !example.Fits {
			continue
		}
		for _, object := range example.Objects {
			workload, is, err := placement.Read(object, topologies)
			if err != nil {
				return nil, err
			}
			if is {
				workloads = append(workloads, workload)
			}
		}
	}
	return workloads, nil
}

// allRun checks whether all pods of each workload run.
func (w *walk) allRun(workloads []placement.Workload) live.Look {
	return func(ctx context.Context) (bool, string, error) {
		standing, err := w.cluster.Standing(ctx, namespace)
		if err != nil {
			return false, "", err
		}
		running, wanted := 0, 0
		var waiting []string
		for _, workload := range workloads {
			runs := workload.Running(standing.Pods)
			running, wanted = running+runs, wanted+workload.Pods
			if runs < workload.Pods {
				waiting = append(waiting, fmt.Sprintf("%s %d/%d", workload.Object, runs, workload.Pods))
			}
		}
		state := fmt.Sprintf("%d of %d pods run", running, wanted)
		if len(waiting) > 0 {
			state += "; waiting: " + strings.Join(waiting, ", ")
		}
		return len(waiting) == 0, state, nil
	}
}

// explained checks whether each workload that cannot fit has no pod on a node, and a Ready condition with the
// scheduler's proof.
func (w *walk) explained(ctx context.Context) (bool, string, error) {
	for _, example := range w.examples {
		if example.Fits {
			continue
		}
		explained, state, err := w.cluster.Explained(ctx, example.Objects[0])
		if err != nil || !explained {
			return false, state, err
		}
	}
	return true, "", nil
}

// judge checks every constraint by node labels, and shows the tree.
func (w *walk) judge(ctx context.Context, workloads []placement.Workload) error {
	standing, err := w.cluster.Standing(ctx, namespace)
	if err != nil {
		return err
	}
	w.progress.print("")
	if err := w.draw(ctx); err != nil {
		return err
	}
	w.progress.print("")
	if err := w.progress.step("every constraint holds, by the labels of the nodes", func(func(string)) error {
		return w.report(workloads, standing)
	}); err != nil {
		return err
	}
	return w.reasons(ctx)
}

// draw shows the placement as users see it: with kubectl packtree tree.
func (w *walk) draw(ctx context.Context) error {
	program := filepath.Join(w.machine.Root(), "bin", "kubectl-packtree")
	tree := exec.CommandContext(ctx, program, "tree", "--kubeconfig="+w.machine.Kubeconfig)
	tree.Stdout, tree.Stderr = w.progress.out, w.progress.out
	if err := tree.Run(); err != nil {
		return fmt.Errorf("drawing the topology: %w", err)
	}
	return nil
}

func (w *walk) report(workloads []placement.Workload, standing live.Standing) error {
	var broken []error
	for _, workload := range workloads {
		for _, finding := range workload.Judge(standing.Pods, standing.Nodes) {
			mark := w.progress.paint("32", "✓ ")
			if !finding.Held() {
				mark = w.progress.paint("31", "✗ ")
				broken = append(broken, fmt.Errorf("broken: %s", finding))
			}
			w.progress.print("    " + mark + finding.String())
		}
	}
	return errors.Join(broken...)
}

func (w *walk) reasons(ctx context.Context) error {
	for _, example := range w.examples {
		if example.Fits {
			continue
		}
		ready, err := w.cluster.Condition(ctx, example.Objects[0], "Ready")
		if err != nil {
			return err
		}
		if ready != nil {
			w.progress.print(fmt.Sprintf("  %s waits: %s", live.Name(example.Objects[0]), ready.Message))
		}
	}
	return nil
}

// wait shows each state of a wait on the screen.
func (w *walk) wait(ctx context.Context, say func(string), what string, look live.Look) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return live.Wait(ctx, what, func(ctx context.Context) (bool, string, error) {
		done, state, err := look(ctx)
		if state != "" {
			say(shorten(state))
		}
		return done, state, err
	})
}
