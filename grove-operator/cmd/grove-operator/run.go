package main

import (
	"context"
	"net"
	"strconv"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	"packtree.dev/shared/managerstart"
	"packtree.dev/shared/render"

	"packtree.dev/grove-operator/internal/configuration"
	"packtree.dev/grove-operator/internal/controller"
	"packtree.dev/grove-operator/internal/webhook"
)

func runCommand() *cobra.Command {
	var configFile, kubeconfig, pprof string
	command := &cobra.Command{
		Use:   program,
		Short: "Run PodCliqueSets: create their gangs, pods and Services, and keep them",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			config, findings := configuration.Read(configFile)
			if err := render.Reject(command, findings); err != nil {
				return err
			}
			chosen := settings(config, kubeconfig)
			chosen.PprofBindAddress = pprof
			return managerstart.Run(signals.SetupSignalHandler(), describe(config), chosen)
		},
	}
	command.Flags().StringVar(&configFile, "config", "/etc/grove-operator/config.yaml",
		"file with the OperatorConfiguration")
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "",
		"kubeconfig file; without it the pod's service account, or $KUBECONFIG")
	command.Flags().StringVar(&pprof, "pprof-bind-address", managerstart.Off,
		"host:port that serves CPU and memory profiles without authentication; 0 switches it off")
	return command
}

// describe describes the program with this configuration.
func describe(config *groveconfigv1alpha1.OperatorConfiguration) managerstart.Program {
	return managerstart.Program{
		Name:   program,
		Scheme: controller.Scheme(),
		Cache:  controller.Cache(),
		CertifiedWebhooks: []rotator.WebhookInfo{
			{Name: program, Type: rotator.Mutating},
			{Name: program, Type: rotator.Validating},
		},
		AddControllers: func(ctx context.Context, mgr manager.Manager) error {
			return controller.Add(ctx, mgr, config)
		},
		AddWebhooks: func(mgr manager.Manager) error {
			webhook.Add(mgr, config)
			if !config.Authorizer.Enabled {
				return nil
			}
			return webhook.AddAuthorizer(context.Background(), mgr, config.Authorizer.ExemptServiceAccountUserNames)
		},
	}
}

func settings(config *groveconfigv1alpha1.OperatorConfiguration, kubeconfig string) managerstart.Settings {
	election, server := config.LeaderElection, config.Server
	return managerstart.Settings{
		Kubeconfig: kubeconfig, QPS: config.RuntimeClientConnection.QPS,
		Burst: int(config.RuntimeClientConnection.Burst),

		LeaderElection:          election.Enabled,
		LeaderElectionNamespace: election.ResourceNamespace,
		LeaderElectionID:        election.ResourceName,
		LeaseDuration:           &election.LeaseDuration.Duration,
		RenewDeadline:           &election.RenewDeadline.Duration,
		RetryPeriod:             &election.RetryPeriod.Duration,

		MetricsBindAddress:     address(server.Metrics),
		HealthProbeBindAddress: address(server.HealthProbes),
		WebhookBindAddress: address(
			&groveconfigv1alpha1.Server{BindAddress: server.Webhooks.BindAddress, Port: server.Webhooks.Port}),
		WebhookCertDir:    server.Webhooks.ServerCertDir,
		WebhookCertMode:   string(server.Webhooks.CertProvisionMode),
		WebhookSecretName: server.Webhooks.SecretName,

		LogLevel:  string(config.LogLevel),
		LogFormat: string(config.LogFormat),
	}
}

func address(server *groveconfigv1alpha1.Server) string {
	if server == nil {
		return managerstart.Off
	}
	return net.JoinHostPort(server.BindAddress, strconv.Itoa(int(server.Port)))
}
