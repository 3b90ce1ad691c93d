package kubectlpacktree

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"packtree.dev/kai-topology-plugin/internal/cli/live"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/offline/place"
)

// source is where a command reads the cluster: the API server, or a dump of it.
type source struct {
	plugin *plugin
	files  []string
}

const dumpHelp = "read a dump of a cluster instead of a live one: a file, a directory or - with what kubectl get -o " +
	"yaml prints"

func (s *source) bind(command *cobra.Command) {
	command.Flags().StringArrayVarP(&s.files, "filename", "f", nil, dumpHelp)
}

func (s *source) read(command *cobra.Command, wanted live.Wanted) (*live.Cluster, error) {
	if len(s.files) == 0 {
		return s.plugin.readLive(command, wanted)
	}
	read, err := place.Read(command, s.files)
	if err != nil {
		return nil, err
	}
	return &live.Cluster{Inventory: read}, nil
}

func (p *plugin) readLive(command *cobra.Command, wanted live.Wanted) (*live.Cluster, error) {
	reader, err := p.reader()
	if err != nil {
		return nil, err
	}
	return reader.Read(command.Context(), wanted)
}

// around reads the live cluster, on which manifests are tried. Without one, manifests that have Nodes are a dump: all
// there is.
func (p *plugin) around(
	command *cobra.Command, asked *inventory.Inventory, wanted live.Wanted,
) (*live.Cluster, error) {
	if len(asked.Nodes) == 0 || p.namesCluster() {
		return p.readLive(command, wanted)
	}
	return &live.Cluster{
		Inventory: inventory.New(),
		Notes:     []string{"no cluster is configured, so the manifests were decided by themselves"},
	}, nil
}

// namesCluster reports whether the kubeconfig, a flag or the pod's own account says which cluster to read.
func (p *plugin) namesCluster() bool {
	for _, flag := range []*string{p.access.APIServer, p.access.Context, p.access.ClusterName} {
		if flag != nil && *flag != "" {
			return true
		}
	}
	config, err := p.access.ToRawKubeConfigLoader().RawConfig()
	if err != nil || !clientcmdapi.IsConfigEmpty(&config) {
		return true
	}
	_, err = rest.InClusterConfig()
	return err == nil
}

// reader reads from the API server that the flags of kubectl name.
func (p *plugin) reader() (*live.Reader, error) {
	config, err := p.access.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("finding a cluster: %w; set KUBECONFIG, or give --kubeconfig or --context", err)
	}
	mapper, err := p.access.ToRESTMapper()
	if err != nil {
		return nil, fmt.Errorf("asking %s for its kinds: %w", config.Host, err)
	}
	return live.New(config, mapper)
}

// namespace is the one of -n, or of the context, or default.
func (p *plugin) namespace() (name string, given bool, err error) {
	name, given, err = p.access.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", false, fmt.Errorf("finding the namespace: %w", err)
	}
	return name, given && p.access.Namespace != nil && *p.access.Namespace != "", nil
}

// note prints to standard error what is not in the answer.
func note(command *cobra.Command, notes []string) {
	for _, line := range notes {
		fmt.Fprintln(command.ErrOrStderr(), "note: "+line)
	}
}
