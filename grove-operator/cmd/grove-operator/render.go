package main

import (
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/shared/manifests"
	"packtree.dev/shared/render"

	"packtree.dev/grove-operator/internal/configuration"
	"packtree.dev/grove-operator/internal/rendering"
)

func renderCommand() *cobra.Command {
	var configFile string
	command := render.Command(program,
		"Print what PodCliqueSets become, without a cluster",
		`Reads PodCliqueSets, ClusterTopologies and ClusterTopologyBindings and prints what a first reconcile on an
empty cluster would create for them: ServiceAccount, Role, RoleBinding, Services, HorizontalPodAutoscalers,
PodCliqueScalingGroups, PodCliques, PodGangs, Pods without gates, and KAI Topologies. Everything else is passed through
unchanged.`,
		func(documents []manifests.Document) ([]runtime.Object, []manifests.Finding) {
			config := configuration.WithoutFile()
			var findings []manifests.Finding
			if configFile != "" {
				config, findings = configuration.Read(configFile)
			}
			if slices.ContainsFunc(findings, func(finding manifests.Finding) bool { return !finding.Warning }) {
				return nil, findings
			}
			objects, more := rendering.Decide(documents, config)
			return objects, append(findings, more...)
		})
	command.Flags().StringVar(&configFile, "config", "",
		"OperatorConfiguration; without it topology awareness is on and ClusterTopologies come from the input alone")
	return command
}
