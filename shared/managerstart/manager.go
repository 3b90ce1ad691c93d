package managerstart

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"packtree.dev/shared/buildinfo"
	"packtree.dev/shared/kubeconfig"
	"packtree.dev/shared/servingcerts"
)

// Off is the bind address that switches an endpoint off.
const Off = "0"

// Program describes a program, whatever its settings.
type Program struct {
	// Name of the component, and of the Service for its webhooks.
	Name string
	// Scheme knows every kind that the program reads or writes typed.
	Scheme *runtime.Scheme
	// Cache narrows the watches; may be the zero value.
	Cache cache.Options
	// CertifiedWebhooks are the configurations that get their caBundle in certificate mode auto.
	CertifiedWebhooks []rotator.WebhookInfo
	// AddControllers registers the parts that run under leader election.
	AddControllers func(context.Context, manager.Manager) error
	// AddWebhooks registers the handlers as soon as there is a certificate; nil for a program without webhooks.
	AddWebhooks func(manager.Manager) error
}

// Run starts a program and returns when the context ends or something fails.
func Run(ctx context.Context, program Program, settings Settings) error {
	logger, err := newLogger(settings, os.Stderr)
	if err != nil {
		return err
	}
	ctrl.SetLogger(logger.WithName(program.Name))
	config, err := Config(settings)
	if err != nil {
		return err
	}
	served := servingcerts.NewServed()
	options, err := managerOptions(program, settings, served)
	if err != nil {
		return err
	}
	addBuild(program.Name)
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return fmt.Errorf("creating manager: %w", err)
	}
	if err := program.AddControllers(ctx, mgr); err != nil {
		return err
	}
	return serve(ctx, mgr, program, settings, served)
}

var registered sync.Once

// addBuild adds the build to the metrics of this process, which runs one program.
func addBuild(program string) {
	registered.Do(func() { metrics.Registry.MustRegister(buildinfo.Metric(program)) })
}

// Config returns the configuration for the API server.
func Config(settings Settings) (*rest.Config, error) {
	config, err := kubeconfig.Load(settings.Kubeconfig, "")
	if err != nil {
		return nil, err
	}
	// Without a rate of our own the API server's priority and fairness decides: client-go's default of 5 requests a
	// second would make a gang wait for its own controllers.
	config.QPS = -1
	if settings.QPS > 0 {
		config.QPS, config.Burst = settings.QPS, settings.Burst
	}
	return config, nil
}

// Controllers configures all controllers of a manager to use the queue of client-go. With that of controller-runtime,
// which is the default, workers sometimes wait for ever when the program ends while there is work
// (kubernetes-sigs/controller-runtime#3538).
func Controllers() config.Controller {
	return config.Controller{UsePriorityQueue: new(false)}
}

func managerOptions(program Program, settings Settings, served *servingcerts.Served) (ctrl.Options, error) {
	options := ctrl.Options{
		Scheme:                        program.Scheme,
		Cache:                         program.Cache,
		Metrics:                       metricsserver.Options{BindAddress: settings.MetricsBindAddress},
		HealthProbeBindAddress:        settings.HealthProbeBindAddress,
		PprofBindAddress:              settings.PprofBindAddress,
		LeaderElection:                settings.LeaderElection,
		LeaderElectionID:              settings.LeaderElectionID,
		LeaderElectionNamespace:       settings.LeaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 settings.LeaseDuration,
		RenewDeadline:                 settings.RenewDeadline,
		RetryPeriod:                   settings.RetryPeriod,
		Controller:                    Controllers(),
	}
	if options.LeaderElectionID == "" {
		options.LeaderElectionID = program.Name + ".packtree.dev"
	}
	if settings.WebhookBindAddress != Off {
		host, port, err := splitAddress(settings.WebhookBindAddress)
		if err != nil {
			return ctrl.Options{}, fmt.Errorf("webhook bind address: %w", err)
		}
		server := webhook.Options{Host: host, Port: port, CertDir: settings.WebhookCertDir}
		if settings.WebhookCertMode == string(servingcerts.Auto) {
			server.TLSOpts = []func(*tls.Config){served.Configure}
		}
		options.WebhookServer = webhook.NewServer(server)
	}
	return options, nil
}

func splitAddress(address string) (string, int, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("address %s: port must be a number up to 65535", address)
	}
	return host, int(port), nil
}

// serve runs the manager, and adds the webhooks once they have a certificate: in mode auto that needs a running
// manager.
func serve(
	ctx context.Context, mgr manager.Manager, program Program, settings Settings, served *servingcerts.Served,
) error {
	var serving atomic.Bool
	err := errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("webhooks", func(*http.Request) error {
			if !serving.Load() {
				return errors.New("webhooks are not served yet: waiting for a certificate")
			}
			return nil
		}),
	)
	if err != nil {
		return fmt.Errorf("adding health checks: %w", err)
	}
	if program.AddWebhooks == nil || settings.WebhookBindAddress == Off {
		serving.Store(true)
		return mgr.Start(ctx)
	}
	certificate, err := servingcerts.Start(mgr, certificateOptions(program, settings, served))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		ctrl.Log.Info("waiting for the webhooks' certificate, not ready until then", "mode", settings.WebhookCertMode,
			"secret", settings.WebhookSecretName)
		select {
		case <-ctx.Done():
			return
		case <-certificate:
		}
		if err := program.AddWebhooks(mgr); err != nil {
			cancel(fmt.Errorf("adding webhooks: %w", err))
			return
		}
		serving.Store(true)
	}()
	return errors.Join(mgr.Start(ctx), broken(ctx))
}

// broken returns why the context ended, if that was an error of the program and not the caller's wish.
func broken(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

func certificateOptions(program Program, settings Settings, served *servingcerts.Served) servingcerts.Options {
	return servingcerts.Options{
		Mode:     servingcerts.Mode(settings.WebhookCertMode),
		Served:   served,
		Secret:   types.NamespacedName{Namespace: ownNamespace(settings), Name: settings.WebhookSecretName},
		Service:  program.Name,
		Webhooks: program.CertifiedWebhooks,
	}
}

const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

func ownNamespace(settings Settings) string {
	if content, err := os.ReadFile(namespaceFile); err == nil {
		return strings.TrimSpace(string(content))
	}
	return settings.LeaderElectionNamespace
}
