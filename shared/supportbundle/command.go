// Package supportbundle dumps the inputs of a cluster's scheduler, so that its decisions can be repeated without the
// cluster. A bundle is safe to hand on: it has no Secrets and ConfigMaps, and of pods neither images and commands nor
// environment.
package supportbundle

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"packtree.dev/shared/kubeconfig"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/render"
	"packtree.dev/shared/version"
)

// Command returns the subcommand `support-bundle` of a program, with flags that choose the cluster.
func Command() *cobra.Command {
	var file, context string
	command := CommandFor(func() (*rest.Config, error) { return kubeconfig.Load(file, context) })
	command.Flags().StringVar(&file, "kubeconfig", "",
		"kubeconfig file; without it $KUBECONFIG, that of the user, or the pod's service account")
	command.Flags().StringVar(&context, "context", "", "context of the kubeconfig; its current one unless given")
	return command
}

// CommandFor returns the subcommand `support-bundle` of a program that knows by itself where the API server is.
func CommandFor(connect func() (*rest.Config, error)) *cobra.Command {
	var files []string
	command := &cobra.Command{
		Use:   "support-bundle",
		Short: "Dump what decides where pods go, for others to decide it again",
		Long: `support-bundle prints the nodes, Topologies, PodGroups and pods of a cluster as YAML, the names and
conditions of the workloads above them, and what events say of gangs, to repeat the scheduler's decisions without the
cluster:

  kai-topology-plugin place -f bundle.yaml -o tree
  kubectl packtree explain NAME -n NAMESPACE -f bundle.yaml

Every object is reduced to what such a decision reads: names, labels, owners, resources, selectors, affinity,
tolerations and the like. Secrets and ConfigMaps are never read. Images, commands, arguments, environment, volumes and
annotations, but for Packtree's own that the scheduler reads, never appear. Names and labels do; read the bundle before
you hand it on.

It only reads, and takes the rights of ClusterRole packtree-viewer of the kai-topology-plugin chart. What may not be
read, or is not installed, is left out, which standard error and the bundle's first lines say.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if len(files) > 0 {
				return runOnDump(command, files)
			}
			config, err := connect()
			if err != nil {
				return err
			}
			return run(command, config)
		},
	}
	command.Flags().StringArrayVarP(&files, "filename", "f", nil, "reduce a dump of a cluster instead of a live one: a "+
		"file, a directory or - with what kubectl get -o yaml prints; may be repeated")
	return command
}

func run(command *cobra.Command, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.QPS = -1 // Lists are requested one at a time, without a limit of the client's own.
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	collected, err := collect(command.Context(), client)
	if err != nil {
		return err
	}
	return collected.print(command, serverVersion(config))
}

func runOnDump(command *cobra.Command, files []string) error {
	documents, err := render.Input(command, files)
	if err != nil {
		return err
	}
	collected, err := collectFrom(documents)
	if err != nil {
		return err
	}
	return collected.print(command, "that of a dump")
}

// print writes all or nothing: a part of a cluster would be mistaken for all of it.
func (b *bundle) print(command *cobra.Command, kubernetes string) error {
	for _, note := range b.notes {
		fmt.Fprintln(command.ErrOrStderr(), "note: "+note)
	}
	var printed bytes.Buffer
	head(&printed, command.Root().Name(), kubernetes, b.notes)
	if err := manifests.Write(&printed, manifests.YAML, b.objects); err != nil {
		return err
	}
	_, err := printed.WriteTo(command.OutOrStdout())
	return err
}

// serverVersion is for people: another Kubernetes may have other filters.
func serverVersion(config *rest.Config) string {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "unknown: " + err.Error()
	}
	found, err := client.ServerVersion()
	if err != nil {
		return "unknown: " + err.Error()
	}
	return found.GitVersion
}

// head explains in comments what a bundle is.
func head(w io.Writer, program, kubernetes string, notes []string) {
	fmt.Fprintf(w, "# Support bundle of %s %s\n", program, version.String())
	fmt.Fprintf(w, "# Kubernetes: %s\n", kubernetes)
	fmt.Fprintf(w, "# Taken: %s\n", time.Now().UTC().Format(time.RFC3339))
	for _, note := range notes {
		fmt.Fprintf(w, "# Note: %s\n", note)
	}
}
