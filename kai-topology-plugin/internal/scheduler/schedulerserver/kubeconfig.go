package schedulerserver

import (
	"fmt"
	"os"

	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"sigs.k8s.io/yaml"
)

// preferKubeconfigFlag makes --kubeconfig win over the configuration file, where kube-scheduler ignores the flag as
// soon as there is a file: one configuration then serves a program inside the cluster and one outside. The flag also
// stands in for --authentication-kubeconfig and --authorization-kubeconfig where these are not given, since outside the
// cluster there is nothing else to ask. Remove may be called once the options have been read.
func preferKubeconfigFlag(opts *options.Options) (remove func(), err error) {
	kubeconfig := opts.Deprecated.Kubeconfig
	if kubeconfig == "" {
		return func() {}, nil
	}
	if opts.Authentication.RemoteKubeConfigFile == "" {
		opts.Authentication.RemoteKubeConfigFile = kubeconfig
	}
	if opts.Authorization.RemoteKubeConfigFile == "" {
		opts.Authorization.RemoteKubeConfigFile = kubeconfig
	}
	if opts.ConfigFile == "" {
		return func() {}, nil
	}
	written, err := os.ReadFile(opts.ConfigFile)
	if err != nil {
		return nil, fmt.Errorf("reading --config: %w", err)
	}
	merged, err := withKubeconfig(written, kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading --config %s: %w", opts.ConfigFile, err)
	}
	// kube-scheduler takes its configuration from a file only.
	opts.ConfigFile, err = writeTemporary(merged)
	if err != nil {
		return nil, fmt.Errorf("merging --kubeconfig into --config: %w", err)
	}
	return func() { _ = os.Remove(opts.ConfigFile) }, nil
}

// withKubeconfig sets clientConnection.kubeconfig in a KubeSchedulerConfiguration and leaves all else, and all
// judgement of it, to kube-scheduler.
func withKubeconfig(configuration []byte, kubeconfig string) ([]byte, error) {
	fields := map[string]any{}
	if err := yaml.UnmarshalStrict(configuration, &fields); err != nil {
		return nil, err
	}
	connection, ok := fields["clientConnection"].(map[string]any)
	if !ok {
		connection = map[string]any{}
	}
	connection["kubeconfig"] = kubeconfig
	fields["clientConnection"] = connection
	return yaml.Marshal(fields)
}

func writeTemporary(content []byte) (string, error) {
	file, err := os.CreateTemp("", "kai-topology-plugin-*.yaml")
	if err != nil {
		return "", err
	}
	if _, err := file.Write(content); err != nil {
		return "", err
	}
	return file.Name(), file.Close()
}
