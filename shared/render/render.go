// Package render is the offline command of every component: a cobra command that reads manifests, runs the component's
// own decisions, and prints what its controller would create.
package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/shared/manifests"
)

// Exit codes of the offline commands.
const (
	ExitDone     = 0
	ExitRejected = 1
	ExitUsage    = 2
)

// Decide converts the documents of the input to the objects to print, in their order. Documents that the component does
// not consume are returned unchanged, in their place. With any finding that is not a warning nothing is printed.
type Decide func(documents []manifests.Document) ([]runtime.Object, []manifests.Finding)

// Rejected says that the input was refused; its findings have been printed.
type Rejected struct {
	// Findings is never empty.
	Findings []manifests.Finding
}

// Error counts the findings.
func (r Rejected) Error() string {
	return fmt.Sprintf("the input was rejected for %d reason(s)", len(r.Findings))
}

// Command returns the subcommand `render` of the named program. Short is one line about what it converts; long says
// what is consumed, printed and passed through.
func Command(program, short, long string, decide Decide) *cobra.Command {
	var files []string
	var output string
	command := &cobra.Command{
		Use:   "render -f FILE [-f FILE ...] [-o yaml|json]",
		Short: short,
		Long: long + `

A FILE may hold many documents or a v1 List, a directory means its *.yaml, *.yml and *.json, and - is standard input.
No cluster, kubeconfig or network is used. Rejected input prints nothing but one line per finding on standard error and
exits with 1; wrong flags exit with 2.`,
		Example: fmt.Sprintf("  %s render -f manifests/\n  cat *.yaml | %s render -f - -o json", program, program),
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			format := manifests.Format(output)
			if format != manifests.YAML && format != manifests.JSON {
				return Usage{fmt.Errorf("-o is yaml or json, not %q", output)}
			}
			documents, err := Input(command, files)
			if err != nil {
				return err
			}
			objects, findings := decide(documents)
			if err := Reject(command, findings); err != nil {
				return err
			}
			return write(command.OutOrStdout(), format, objects)
		},
	}
	BindFiles(command, &files)
	command.Flags().StringVarP(&output, "output", "o", string(manifests.YAML), "yaml (documents) or json (one v1 List)")
	return command
}

// BindFiles gives a command the required flag -f.
func BindFiles(command *cobra.Command, files *[]string) {
	command.Flags().StringArrayVarP(files, "filename", "f", nil,
		"file or directory with manifests, or - for standard input; may be repeated")
	if err := command.MarkFlagRequired("filename"); err != nil {
		panic(err) // The flag was bound one line above.
	}
}

// Input reads the documents of the files in -f; findings are printed and returned as Rejected.
func Input(command *cobra.Command, files []string) ([]manifests.Document, error) {
	documents, findings := manifests.Read(files, command.InOrStdin())
	return documents, Reject(command, findings)
}

// Reject prints findings to standard error and returns the ones that are more than warnings as Rejected.
func Reject(command *cobra.Command, findings []manifests.Finding) error {
	var errs []manifests.Finding
	for _, finding := range findings {
		fmt.Fprintln(command.ErrOrStderr(), finding)
		if !finding.Warning {
			errs = append(errs, finding)
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return Rejected{Findings: errs}
}

// write prints all or nothing: half a manifest in a pipe would be taken for a whole one.
func write(w io.Writer, format manifests.Format, objects []runtime.Object) error {
	var printed bytes.Buffer
	if err := manifests.Write(&printed, format, objects); err != nil {
		return err
	}
	_, err := printed.WriteTo(w)
	return err
}

// Usage marks an error about flags or arguments.
type Usage struct{ error }

// Unwrap returns the mistake.
func (u Usage) Unwrap() error { return u.error }

// Coder is an error that chooses its exit code.
type Coder interface {
	error
	// ExitCode is the program's exit code.
	ExitCode() int
}

// NotAll is a Coder for input that was understood, but is not all as it should be. What is not has been printed.
type NotAll string

// Error is for callers that do not look at the exit code.
func (n NotAll) Error() string { return string(n) }

// ExitCode implements Coder.
func (NotAll) ExitCode() int { return 3 }

// Execute runs a root command with the arguments of the process and returns the exit code: 0, 2 for wrong flags or
// arguments, that of a Coder, or else 1. Errors are printed to standard error, except Rejected: its findings have
// been printed already.
func Execute(root *cobra.Command) int {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Usage{err} })
	command, err := root.ExecuteC()
	return exitCode(os.Stderr, command, err)
}

// ExecuteUntilStopped is Execute with a context that ends when the program is asked to stop, or its terminal is closed.
func ExecuteUntilStopped(root *cobra.Command) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	root.SetContext(ctx)
	return Execute(root)
}

func exitCode(stderr io.Writer, command *cobra.Command, err error) int {
	var usage Usage
	var rejected Rejected
	var coder Coder
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &coder):
		return coder.ExitCode()
	case errors.As(err, &rejected):
		return ExitRejected
	case errors.As(err, &usage) || isUsage(command, err):
		fmt.Fprintf(stderr, "%s: %v\nSee '%s --help'.\n", command.Name(), err, command.CommandPath())
		return ExitUsage
	default:
		fmt.Fprintf(stderr, "%s: %v\n", command.Name(), err)
		return ExitRejected
	}
}

// isUsage recognizes cobra's own errors about missing flags, unexpected arguments and unknown subcommands, which it
// returns unmarked: they come before a command runs.
func isUsage(command *cobra.Command, err error) bool {
	missing := command.ValidateRequiredFlags()
	return !command.Runnable() || missing != nil && missing.Error() == err.Error() ||
		command.ValidateArgs(command.Flags().Args()) != nil
}
