package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/live"
)

// File is testdata/<name> with $world in it replaced.
func (w *World) File(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	expanded := os.Expand(string(content), func(variable string) string {
		if variable != "world" {
			t.Errorf("testdata/%s: unknown variable %q", name, variable)
		}
		return w.Name
	})
	return w.Store(t, filepath.Base(name), expanded)
}

// Store writes a file for the world.
func (w *World) Store(t *testing.T, name, content string) string {
	t.Helper()
	// Not t.TempDir: kubectl takes the comma in the name of a test for the end of a file's.
	file := filepath.Join(w.Cluster.Machine.Dir, w.Name+"-"+name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Applies is kubectl apply of testdata/<file>.
func (w *World) Applies(file string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		return w.Kubectl("apply", "-f", w.File(t, file))(ctx, t, config)
	}
}

// TurnedDown is kubectl apply of testdata/<file> with an error in it, and parts of the error message.
func (w *World) TurnedDown(file string, says ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		return w.Refused(says, "apply", "-f", w.File(t, file))(ctx, t, config)
	}
}

// Kubectl runs the real kubectl in the world's namespace, and repeats it if there was no answer.
func (w *World) Kubectl(args ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Answer(ctx, t, args...)
		return ctx
	}
}

// Answer is the output of a kubectl that succeeds.
func (w *World) Answer(ctx context.Context, t *testing.T, args ...string) string {
	t.Helper()
	output, err := w.try(ctx, t, args...)
	w.Must(ctx, t, err)
	return output
}

// Refused runs a kubectl that has to fail, and checks parts of its error message.
func (w *World) Refused(says []string, args ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		output, err := w.try(ctx, t, args...)
		if err == nil {
			t.Fatalf("kubectl %s is not refused: %s\n%s", strings.Join(args, " "), output, w.Report(ctx))
		}
		MustSay(t, output, says...)
		return ctx
	}
}

// Shows waits until kubectl prints these parts.
func (w *World) Shows(says []string, args ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("kubectl %s shows %q", strings.Join(args, " "), says),
			func(ctx context.Context) (bool, string, error) {
				output, err := w.Cluster.Kubectl(ctx, w.Name, args...)
				return err == nil && len(Missing(output, says)) == 0, output, err
			})
		return ctx
	}
}

// Reads waits until a field of an object has a value.
func (w *World) Reads(wanted, kind, name, path string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("%s of %s %s is %q", path, kind, name, wanted),
			func(ctx context.Context) (bool, string, error) {
				output, err := w.Cluster.Kubectl(ctx, w.Name, "get", kind, name, "-o", "jsonpath="+path)
				return err == nil && output == wanted, output, err
			})
		return ctx
	}
}

// HasEvent waits until an object has an event with a reason and these words in its message.
func (w *World) HasEvent(kind, name, reason string, words ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, name+" has an event "+reason, func(ctx context.Context) (bool, string, error) {
			said, err := w.Cluster.Kubectl(ctx, w.Name, "get", "events",
				"--field-selector=involvedObject.kind="+kind+",involvedObject.name="+name+",reason="+reason, "-o",
				"jsonpath={.items[*].message}")
			return strings.TrimSpace(said) != "" && len(Missing(said, words)) == 0, said, err
		})
		return ctx
	}
}

// try returns the first answer: while no operator runs, its webhooks refuse everything, as users see and try again.
func (w *World) try(ctx context.Context, t *testing.T, args ...string) (output string, err error) {
	t.Helper()
	w.Until(ctx, t, "an operator answers kubectl "+strings.Join(args, " "),
		func(ctx context.Context) (bool, string, error) {
			output, err = w.Cluster.Kubectl(ctx, w.Name, args...)
			return err == nil || !live.Unanswered(output), output, nil
		})
	return output, err
}

// MustSay fails the test unless a text has all parts.
func MustSay(t *testing.T, text string, parts ...string) {
	t.Helper()
	if lacks := Missing(text, parts); len(lacks) > 0 {
		t.Errorf("it must say %q:\n%s", lacks, text)
	}
}

// Missing are the parts that a text lacks.
func Missing(text string, parts []string) []string {
	var lacks []string
	for _, part := range parts {
		if !strings.Contains(text, part) {
			lacks = append(lacks, part)
		}
	}
	return lacks
}
