package kubectlpacktree

import (
	"context"
	"errors"
	"slices"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/spf13/cobra"

	"packtree.dev/kai-topology-plugin/internal/explanation"
	"packtree.dev/kai-topology-plugin/internal/overview"
	"packtree.dev/kai-topology-plugin/internal/top"
)

func (p *plugin) topCommand() *cobra.Command {
	asked := overview.Question{}
	from := &source{plugin: p}
	var named shapesFlag
	command := &cobra.Command{
		Use:   "top [-f DUMP] [--shape SHAPE]... [-n NAMESPACE]",
		Short: "Follow domains, gangs and nodes in the terminal",
		Long: `top shows what tree shows, follows the cluster by watches, and can be gone into: from domains to nodes
and their pods, from gangs to their groups, what they wait for and what would help.

Keys: j and k or the arrows move, enter goes in, esc out, tab changes between domains and gangs, s counts the slots of
the next shape, / leaves rows with a text only, g and G go to the first and the last row, q quits.

Where the output is no terminal it prints what tree prints.`,
		Example: `  kubectl packtree top
  kubectl packtree top -f bundle.yaml`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			pen, err := p.pen(command)
			if err != nil {
				return err
			}
			if asked.Shapes, err = named.parse(command); err != nil {
				return err
			}
			if pen.Columns == 0 {
				return p.tree(command, from, asked, "", "")
			}
			if name, given, err := p.namespace(); err == nil && given {
				asked.Namespace = name
			}
			showing := &showing{plugin: p, asked: asked}
			follow, err := showing.follow(command, from)
			if err != nil {
				return err
			}
			program := tea.NewProgram(top.New(pen, showing.gang(command.Context())), inputOf(from),
				tea.WithAltScreen(), tea.WithOutput(command.OutOrStdout()), tea.WithContext(command.Context()))
			return runTop(command.Context(), program, showing, follow)
		},
	}
	from.bind(command)
	named.bind(command)
	command.Flags().StringVar(&asked.Topology, "topology", "", "show this Topology only")
	command.Flags().StringVar(&asked.Resource, "resource", "",
		"the resource to show; GPUs if any node has them, else cpu")
	return command
}

// inputOf reads keys from the terminal, also where the standard input is a dump.
func inputOf(from *source) tea.ProgramOption {
	if slices.Contains(from.files, "-") {
		return tea.WithInputTTY()
	}
	return func(*tea.Program) {}
}

// runTop runs the terminal until somebody quits, and what it shows as long.
func runTop(ctx context.Context, program *tea.Program, showing *showing, follow func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	showing.seen = func(seen *overview.Overview) { program.Send(top.Seen{Overview: seen}) }
	showing.trouble = func(text string) { program.Send(top.Trouble(text)) }
	followed := make(chan error, 1)
	go func() {
		err := follow(ctx)
		if err != nil {
			program.Quit()
		}
		followed <- err
	}()
	_, err := program.Run()
	cancel()
	if failed := <-followed; failed != nil {
		return failed
	}
	if errors.Is(err, tea.ErrProgramKilled) || errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	return err
}

// gang explains a gang of the cluster as it was read last, to people who wait for nothing else.
func (s *showing) gang(ctx context.Context) top.Explain {
	return func(namespace, name string) *explanation.Gang {
		found, err := s.explain(ctx, namespace, name)
		if err != nil {
			return nil // It has gone meanwhile, and the next overview says so.
		}
		return found
	}
}
