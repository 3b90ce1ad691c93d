package docs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"packtree.dev/e2e/live"
	"packtree.dev/e2e/pages"
)

// reader reads one page from top to bottom and follows it, in a directory that looks like a clone.
type reader struct {
	root      string
	directory string
	env       []string
	// trial is for manifests that no later command of the page looks at: they need not become pods.
	trial bool
}

// newReader gives a reader a directory and the programs. Shims are further programs by name, which come before the
// real ones.
func newReader(t *testing.T, root, kubeconfig string, shims map[string]string) reader {
	t.Helper()
	r := reader{root: root, directory: t.TempDir()}
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, entry := range entries {
		require.NoError(t, os.Symlink(filepath.Join(root, entry.Name()), filepath.Join(r.directory, entry.Name())))
	}
	private := t.TempDir()
	for name, content := range shims {
		if err := os.WriteFile(filepath.Join(private, name), []byte(content), 0o700); err != nil { //nolint:gosec // a program has to be executable
			t.Fatal(err)
		}
	}
	path := []string{private, filepath.Join(root, "bin"), filepath.Join(root, "bin", "tools"), os.Getenv("PATH")}
	r.env = append(os.Environ(), "PATH="+strings.Join(path, ":"), "HOME="+private,
		"KUBECONFIG="+kubeconfig, "NO_COLOR=1")
	return r
}

// bash runs commands, and up to twice more if a request was not answered in time.
func (r reader) bash(ctx context.Context, commands, stdin string) (output string, err error) {
	for range 3 {
		if output, err = r.shell(ctx, commands, stdin); err == nil || !live.Unanswered(output) {
			break
		}
	}
	return output, err
}

// shell runs commands as in a user's shell, but ends with the first that fails.
func (r reader) shell(ctx context.Context, commands, stdin string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	shell.Dir, shell.Env, shell.Stdin = r.directory, r.env, strings.NewReader(stdin)
	shell.WaitDelay = 10 * time.Second
	output, err := shell.CombinedOutput()
	if ctx.Err() != nil {
		// The cause says more than that the shell was killed.
		err = errors.Join(context.Cause(ctx), err)
	}
	return string(output), err
}

// tries tests a block, and returns how the result differs from the page.
func (r reader) tries(ctx context.Context, block pages.Block) error {
	what, err := actionFor(block)
	if err != nil {
		return err
	}
	if block.SavedAs != "" {
		if err := os.WriteFile(filepath.Join(r.directory, block.SavedAs), []byte(block.Code), 0o600); err != nil {
			return err
		}
	}
	switch what {
	case nothing:
	case apply:
		command := "kubectl apply --validate=strict -f -"
		if r.trial {
			command += " --dry-run=server"
		}
		return r.runs(ctx, block, command, block.Code)
	case configure:
		return r.configures(ctx, block)
	case lay:
		return r.lays(ctx, block)
	case render:
		return r.runs(ctx, block, "helm template packtree charts/"+block.Mark.Detail+" -f - >/dev/null", block.Code)
	case feed:
		return r.runs(ctx, block, block.Mark.Detail, block.Code)
	case script:
		return r.runs(ctx, block, block.Code, "")
	case converse:
		var all []error
		for _, exchange := range pages.Exchanges(block.Code) {
			all = append(all, r.converses(ctx, block, exchange))
		}
		return errors.Join(all...)
	}
	return nil
}

func (r reader) runs(ctx context.Context, block pages.Block, commands, stdin string) error {
	if output, err := r.bash(ctx, commands, stdin); err != nil {
		return fmt.Errorf("%s: %w\n%s\n--- says\n%s", block.At(), err, block.Code, output)
	}
	return nil
}

// configures starts the program far enough to read the file.
func (r reader) configures(ctx context.Context, block pages.Block) error {
	command := "cat > config.yaml; "
	if strings.Contains(block.Code, "KubeSchedulerConfiguration") {
		command +=
			`kai-topology-plugin --config config.yaml --kubeconfig "$KUBECONFIG" --secure-port 0 --write-config-to read.yaml && grep -q KAITopology read.yaml`
	} else {
		command += "grove-operator render --config config.yaml -f docs/examples/clustertopology.yaml >/dev/null"
	}
	return r.runs(ctx, block, command, block.Code)
}

// lays applies an example with the part laid over it, as a dry run: the example itself is large.
func (r reader) lays(ctx context.Context, block pages.Block) error {
	file, path, _ := strings.Cut(block.Mark.Detail, " ")
	example, err := os.ReadFile(filepath.Join(r.root, "docs", "examples", file))
	if errors.Is(err, os.ErrNotExist) {
		example, err = os.ReadFile(filepath.Join("testdata", file))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", block.At(), err)
	}
	var trials []string
	for _, part := range alternatives(block.Code) {
		whole, err := laidOver(example, path, part, "part")
		if err != nil {
			return fmt.Errorf("%s: %w", block.At(), err)
		}
		trials = append(trials, string(whole))
	}
	return r.runs(ctx, block, "kubectl apply --validate=strict --dry-run=server -f -", strings.Join(trials, "\n---\n"))
}

// converses compares an output with the page. A command that only reads is repeated until the output is right, since
// changes take time.
func (r reader) converses(ctx context.Context, block pages.Block, exchange pages.Exchange) error {
	end := time.Now().Add(patience)
	for pause := 250 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		output, err := r.bash(ctx, exchange.Command, "")
		missing, shown := exchange.Shows(output)
		if failed := len(exchange.Answer) == 0 && err != nil; shown && !failed {
			return nil
		}
		if !looks(exchange.Command) || time.Now().After(end) || ctx.Err() != nil {
			return errors.Join(fmt.Errorf("%s: $ %s\nits answer lacks the line %q:\n%s", block.At(),
				exchange.Command, missing, output), err)
		}
		time.Sleep(pause)
	}
}

// looks reports whether a command changes nothing, so that it can be repeated.
func looks(command string) bool {
	return looking.MatchString(command)
}

var looking = regexp.MustCompile(`^(kubectl (-n \S+ )?(get|describe|explain|packtree)|helm (list|status|get|history)) `)
