package render

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/shared/manifests"
)

const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"

type codedError struct{ error }

func (codedError) ExitCode() int { return 3 }

func passThrough(documents []manifests.Document) ([]runtime.Object, []manifests.Finding) {
	var objects []runtime.Object
	for _, document := range documents {
		objects = append(objects, document.Object)
	}
	return objects, nil
}

func rejectAll(documents []manifests.Document) ([]runtime.Object, []manifests.Finding) {
	objects, _ := passThrough(documents)
	return objects, []manifests.Finding{documents[0].Finding("spec", "is wrong")}
}

func warn(documents []manifests.Document) ([]runtime.Object, []manifests.Finding) {
	objects, _ := passThrough(documents)
	return objects, documents[0].Warnings([]string{"is odd"})
}

func TestCommand(t *testing.T) {
	for name, c := range map[string]struct {
		args           []string
		input          string
		decide         Decide
		stdout, stderr string
		code           int
	}{
		"printed as YAML": {[]string{"-f", "-"}, pod, passThrough,
			"---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n", "", 0},
		"an empty input prints nothing": {[]string{"-f", "-"}, "", passThrough, "", "", 0},
		"a rejected object prints one line": {[]string{"-f", "-"}, pod, rejectAll, "",
			"-[1]: Pod default/a: spec: is wrong\n", 1},
		"a warning does not reject": {[]string{"-f", "-"}, pod, warn,
			"---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n", "-[1]: Pod default/a: warning: is odd\n", 0},
		"a malformed document prints one line": {[]string{"-f", "-"}, "kind: Pod\n", passThrough, "",
			"-[1]: Pod: apiVersion: Required value: every manifest has one, such as v1\n", 1},
		"no -f is wrong usage": {nil, "", passThrough, "",
			"render: required flag(s) \"filename\" not set\nSee 'program render --help'.\n", 2},
		"an unknown flag is wrong usage": {[]string{"-f", "-", "--nope"}, "", passThrough, "",
			"render: unknown flag: --nope\nSee 'program render --help'.\n", 2},
		"an unknown format is wrong usage": {[]string{"-f", "-", "-o", "xml"}, "", passThrough, "",
			"render: -o is yaml or json, not \"xml\"\nSee 'program render --help'.\n", 2},
		"an argument that nobody wants is wrong": {[]string{"-f", "-", "x"}, "", passThrough, "",
			"render: unknown command \"x\" for \"program render\"\nSee 'program render --help'.\n", 2},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			root := &cobra.Command{Use: "program", SilenceErrors: true, SilenceUsage: true}
			root.AddCommand(Command("program", "short", "long", c.decide))
			root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Usage{err} })
			root.SetArgs(append([]string{"render"}, c.args...))
			root.SetIn(strings.NewReader(c.input))
			root.SetOut(&stdout)
			root.SetErr(&stderr)
			ran, err := root.ExecuteC()
			assert.Equal(t, c.code, exitCode(&stderr, ran, err), "exit code")
			assert.Equal(t, c.stdout, stdout.String())
			assert.Equal(t, c.stderr, stderr.String())
		})
	}
}

// A command that only has subcommands reports nothing but a subcommand that it does not have.
func TestAnUnknownSubcommandIsWrongUsage(t *testing.T) {
	var stderr bytes.Buffer
	code := exitCode(&stderr, &cobra.Command{Use: "program"}, errors.New(`unknown command "x" for "program"`))
	want := "program: unknown command \"x\" for \"program\"\nSee 'program --help'.\n"
	assert.Equal(t, 2, code)
	assert.Equal(t, want, stderr.String())
}

func TestExitCodeOfOtherErrors(t *testing.T) {
	command := &cobra.Command{Use: "program", Run: func(*cobra.Command, []string) {}}
	var stderr bytes.Buffer
	assert.Equal(t, 1, exitCode(&stderr, command, errors.New("the disk is full")))
	assert.Equal(t, "program: the disk is full\n", stderr.String())
	code := exitCode(&stderr, command, codedError{errors.New("not all placed")})
	assert.Equal(t, 3, code, "an error that chooses its code exits with %d, want 3", code)
}
