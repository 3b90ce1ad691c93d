package kubectlpacktree

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/shared/client/clientset/versioned"
)

// completionTime is how long a shell may hang for a list of names.
const completionTime = 3 * time.Second

// completeTree completes the flags of tree.
func (p *plugin) completeTree(command *cobra.Command) {
	complete(command, "topology", func(ctx context.Context, client versioned.Interface) []string {
		found, err := client.KaiV1alpha1().Topologies().List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil
		}
		var names []string
		for i := range found.Items {
			names = append(names, found.Items[i].Name)
		}
		return names
	}, p)
	complete(command, "level", func(ctx context.Context, client versioned.Interface) []string {
		found, err := client.KaiV1alpha1().Topologies().List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil
		}
		names := map[string]bool{"host": true}
		for i := range found.Items {
			for _, level := range found.Items[i].Spec.Levels {
				names[levelName(level.NodeLabel)] = true
			}
		}
		return slices.Sorted(maps.Keys(names))
	}, p)
}

type lister func(ctx context.Context, client versioned.Interface) []string

func complete(command *cobra.Command, flag string, list lister, p *plugin) {
	err := command.RegisterFlagCompletionFunc(flag,
		func(command *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return p.ask(command, list), cobra.ShellCompDirectiveNoFileComp
		})
	if err != nil {
		panic(err) // The flag is the command's own.
	}
}

// ask lists names for a shell, which can do nothing about an error.
func (p *plugin) ask(command *cobra.Command, list lister) []string {
	config, err := p.access.ToRESTConfig()
	if err != nil {
		return nil
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil
	}
	ctx := command.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	return list(ctx, client)
}
