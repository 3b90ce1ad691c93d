// Package kubectlpacktree is the kubectl plugin: it shows where gangs stand, says why others wait, and tries out what
// would become of manifests. It reads and never writes.
package kubectlpacktree

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"packtree.dev/kai-topology-plugin/internal/cli/drawing"
	"packtree.dev/shared/supportbundle"
	"packtree.dev/shared/version"
)

// plugin is what all commands share.
type plugin struct {
	access *genericclioptions.ConfigFlags
	colour string
	// now is the time by which ages and dates are shown.
	now func() time.Time
}

// Command returns the program kubectl-packtree.
func Command() *cobra.Command {
	p := &plugin{access: genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag(), now: time.Now}
	p.access.WrapConfigFn = func(config *rest.Config) *rest.Config {
		// Lists come page by page, some at once; none of them should wait for its turn at this end.
		config.QPS, config.Burst = 100, 300
		return config
	}
	command := &cobra.Command{
		Use:   "kubectl-packtree",
		Short: "See where gangs stand, why they wait, and what would happen",
		Long: `Where do my pods stand, why is my pod waiting, and would this fit?

  tree      draws the topologies: what is used and free in each domain, and which gang stands where
  explain   says why a pod or a gang waits and what would have to change, or where it went
  what-if   decides manifests on the cluster as it is, or what becomes of gangs without some nodes
  view      shows all that on a page in the browser, live, or writes the page to a file

support-bundle writes the cluster to a file, so that others can ask the same.

It only reads. ClusterRole packtree-viewer of the kai-topology-plugin chart allows all that it asks for.`,
		Example: `  kubectl packtree tree
  kubectl packtree explain dgd/vllm-disagg
  kubectl packtree what-if -f gang.yaml -o tree`,
		Annotations:  map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl packtree"},
		Version:      version.String(),
		SilenceUsage: true,
	}
	flags := command.PersistentFlags()
	// A library of kube-scheduler would put in a flag that prints the version of Kubernetes.
	flags.Bool("version", false, "print the version and quit")
	p.access.AddFlags(flags)
	flags.StringVar(&p.colour, "color", string(drawing.Auto),
		"auto (on a terminal, unless NO_COLOR is set), always or never")
	for _, advanced := range []string{"cache-dir", "as-uid", "as-user-extra", "disable-compression", "tls-server-name",
		"username", "password", "certificate-authority", "client-certificate", "client-key"} {
		if flags.Lookup(advanced) != nil {
			// These flags work, but would make the help too long to read.
			_ = flags.MarkHidden(advanced)
		}
	}
	command.AddCommand(p.treeCommand(), p.explainCommand(), p.whatIfCommand(), p.viewCommand(),
		supportbundle.CommandFor(p.access.ToRESTConfig))
	for _, sub := range command.Commands() {
		sub.Version = command.Version
	}
	return command
}

// pen draws on the command's output.
func (p *plugin) pen(command *cobra.Command) (*drawing.Pen, error) {
	pen, err := drawing.For(command.OutOrStdout(), drawing.When(p.colour))
	if err != nil {
		return nil, usage(command, "%v", err)
	}
	return pen, nil
}

// usage is a mistake in a flag's value or an argument, treated like one that cobra itself finds.
func usage(command *cobra.Command, format string, args ...any) error {
	return command.FlagErrorFunc()(command, fmt.Errorf(format, args...))
}
