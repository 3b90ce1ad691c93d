package main

import (
	"context"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"packtree.dev/shared/managerstart"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/render"
	"packtree.dev/shared/supportbundle"
	"packtree.dev/shared/version"

	"packtree.dev/podgrouper/internal/controller"
	"packtree.dev/podgrouper/internal/offline"
	"packtree.dev/podgrouper/internal/podgroups"
	"packtree.dev/podgrouper/internal/webhook"
)

const name = "podgrouper"

// webhookConfiguration is the ValidatingWebhookConfiguration that the chart installs.
const webhookConfiguration = "podgrouper"

func rootCommand() *cobra.Command {
	// A gang of a thousand pods is a thousand patches; the library's default of 20 a second would take a minute.
	settings := managerstart.Settings{QPS: 200, Burst: 400}
	var defaults podgroups.Defaults
	root := &cobra.Command{
		Use:   name,
		Short: "Gathers pods into PodGroups",
		Long: "Gathers the pods of PodGangs, Jobs and other workloads into PodGroups, " +
			"which the scheduler places as gangs.",
		Version: version.String(),
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return managerstart.Run(ctrl.SetupSignalHandler(), program(defaults), settings)
		},
	}
	settings.BindFlags(root.Flags(), name)
	defaults.BindFlags(root.PersistentFlags())
	root.AddCommand(render.Command(name,
		"Print what the controller would make of PodGangs and pods",
		`Reads manifests and prints them again with a PodGroup for each PodGang, in its place, and for each other
workload that has pods of the scheduler kai-scheduler, before the first of them. Those pods get the annotation and the
label that tie them to their group. Everything else passes through unchanged.`,
		func(documents []manifests.Document) ([]runtime.Object, []manifests.Finding) {
			return offline.Render(documents, defaults)
		}), supportbundle.Command())
	return root
}

func program(defaults podgroups.Defaults) managerstart.Program {
	return managerstart.Program{
		Name:              name,
		Scheme:            controller.Scheme(),
		Cache:             controller.CacheOptions(),
		CertifiedWebhooks: []rotator.WebhookInfo{{Name: webhookConfiguration, Type: rotator.Validating}},
		AddControllers: func(ctx context.Context, mgr manager.Manager) error {
			return controller.Add(ctx, mgr, defaults)
		},
		AddWebhooks: func(mgr manager.Manager) error {
			webhook.Register(mgr)
			return nil
		},
	}
}
