// Command release checks and makes the releases for which files of a CHANGELOG ask.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"packtree.dev/e2e/release"
	"packtree.dev/shared/render"
)

func main() { os.Exit(render.ExecuteUntilStopped(command())) }

func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "release",
		Short: "check and make the releases that files of a CHANGELOG ask for",
	}
	var module string
	var repository release.Repository
	root.PersistentFlags().StringVar(&module, "module", "", "only this one; all that are asked for unless given")
	root.PersistentFlags().StringVar(&repository.Root, "root", ".", "the checkout")
	root.AddCommand(check(&repository, &module), run(&repository, &module))
	return root
}

func check(repository *release.Repository, module *string) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "say whether the releases that this commit asks for can be made",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return repository.Check(command.Context(), *module, command.OutOrStdout())
		},
	}
}

func run(repository *release.Repository, module *string) *cobra.Command {
	var push bool
	var branch string
	destination := release.Destination{}
	command := &cobra.Command{
		Use:   "run",
		Short: "package, and with --push publish and tag, what this commit asks for",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, output := command.Context(), command.OutOrStdout()
			if push {
				return repository.Publish(ctx, *module, branch, destination, output)
			}
			return repository.DryRun(ctx, *module, destination, output)
		},
	}
	command.Flags().BoolVar(&push, "push", false, "publish: otherwise say what would be done")
	command.Flags().StringVar(&destination.Registry, "registry", "", "host and path in front of packtree/<program>")
	command.Flags().StringVar(&destination.Downloads, "downloads", "",
		"the address in front of <tag>/<file> of GitHub's releases, which get a draft with the kubectl plugin")
	command.Flags().BoolVar(&destination.Sign, "sign", false, "have cosign sign what is pushed into the registry")
	command.Flags().StringVar(&destination.Remote, "remote", "origin",
		"the git remote that gets the tags, and is asked which there are")
	command.Flags().StringVar(&branch, "branch", "main", "the branch of the remote that releases are made from")
	return command
}
