// Command dynamo-operator carries out DynamoGraphDeployments on Grove. Its subcommand render prints, without a cluster,
// the objects that a deployment becomes.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"packtree.dev/dynamo-operator/internal/controller"
	"packtree.dev/dynamo-operator/internal/grove"
	"packtree.dev/dynamo-operator/internal/offline"
	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/dynamo-operator/internal/webhook"
	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/managerstart"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/render"
	"packtree.dev/shared/supportbundle"
	"packtree.dev/shared/version"
)

const (
	program = "dynamo-operator"

	renderShort = "print what DynamoGraphDeployments become"
	renderLong  = `Render replaces each DynamoGraphDeployment of the input by what the controller would create for it: a
PodCliqueSet, Services, and the service account of its pods. It is checked as at its creation; the ClusterTopology that
its constraints refer to has to be in the input. Everything else is printed as it is.`
)

func main() {
	os.Exit(render.Execute(rootCommand()))
}

func rootCommand() *cobra.Command {
	// A deployment takes about twenty requests when it is created, and none once it is ready.
	settings := managerstart.Settings{QPS: 200, Burst: 400}
	var infrastructure pods.Infrastructure
	root := &cobra.Command{
		Use:     program,
		Short:   "run DynamoGraphDeployments on Grove",
		Long:    "Without a subcommand, run the controller and its webhooks until it is stopped.",
		Args:    cobra.NoArgs,
		Version: version.String(),
		RunE: func(*cobra.Command, []string) error {
			return managerstart.Run(ctrl.SetupSignalHandler(), programOf(&infrastructure), settings)
		},
	}
	settings.BindFlags(root.Flags(), program)
	rendering := render.Command(program, renderShort, renderLong,
		func(documents []manifests.Document) ([]runtime.Object, []manifests.Finding) {
			return offline.Renderer{Infrastructure: infrastructure}.Render(documents)
		})
	for _, flags := range []*pflag.FlagSet{root.Flags(), rendering.Flags()} {
		bindInfrastructure(flags, &infrastructure)
	}
	root.AddCommand(rendering, supportbundle.Command())
	return root
}

// bindInfrastructure adds the flags for the addresses that the pods of every deployment get.
func bindInfrastructure(flags *pflag.FlagSet, to *pods.Infrastructure) {
	flags.StringVar(&to.NATSAddress, "nats-address", "", "NATS_SERVER of the pods; empty: the variable is not set")
	flags.StringVar(&to.EtcdAddress, "etcd-address", "", "ETCD_ENDPOINTS of the pods; empty: the variable is not set")
	flags.StringVar(&to.ModelExpressURL, "model-express-url", "",
		"MODEL_EXPRESS_URL of the pods; empty: the variable is not set")
	flags.StringVar(&to.PrometheusEndpoint, "prometheus-endpoint", "",
		"PROMETHEUS_ENDPOINT of the pods, which a planner reads; empty: the variable is not set")
}

func programOf(infrastructure *pods.Infrastructure) managerstart.Program {
	return managerstart.Program{
		Name:              program,
		Scheme:            newScheme(),
		Cache:             controller.CacheOptions(grove.Backend{}.Owned(), grove.Slim),
		CertifiedWebhooks: webhook.Configurations(program),
		AddControllers: func(_ context.Context, mgr manager.Manager) error {
			return controller.AddToManager(mgr, grove.Backend{
				Reader: mgr.GetClient(), Topologies: mgr.GetAPIReader(), Mapper: mgr.GetRESTMapper(),
				Infrastructure: *infrastructure, Version: version.String(),
			})
		},
		AddWebhooks: func(mgr manager.Manager) error {
			cluster, err := grove.NewCluster(mgr, *infrastructure)
			if err != nil {
				return err
			}
			return webhook.AddToManager(mgr, cluster)
		},
	}
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, v1alpha1.AddToScheme, v1beta1.AddToScheme, grovev1alpha1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}
