// Package configuration reads the operator's configuration file: strictly, with defaults, and with everything that is
// wrong with it at once.
package configuration

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/manifests"
)

// Defaults of the configuration.
const (
	defaultQPS             = 100
	defaultBurst           = 120
	defaultWebhookPort     = 9443
	defaultHealthProbePort = 8081
	defaultMetricsPort     = 8080
	defaultCertDir         = "/etc/grove-operator/webhook-certs"
	defaultSecretName      = "grove-operator-webhook-cert"
	defaultLeaseDuration   = 15 * time.Second
	defaultRenewDeadline   = 10 * time.Second
	defaultRetryPeriod     = 2 * time.Second
	defaultResourceLock    = "leases"
	defaultResourceName    = "grove-operator-leader-election"
	defaultConcurrentSyncs = 3
)

// Read returns the configuration of a file with its defaults set, and warnings about it.
func Read(path string) (*groveconfigv1alpha1.OperatorConfiguration, []string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading configuration: %w", err)
	}
	configuration, warnings, err := Parse(content)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return configuration, warnings, nil
}

// Parse returns the configuration written in YAML or JSON. The error names every unknown field and every wrong value with
// its path.
func Parse(content []byte) (*groveconfigv1alpha1.OperatorConfiguration, []string, error) {
	asJSON, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return nil, nil, err
	}
	configuration := &groveconfigv1alpha1.OperatorConfiguration{}
	if problems := manifests.DecodeStrict(asJSON, configuration); len(problems) > 0 {
		return nil, nil, errors.New(describe(problems))
	}
	want := metav1.TypeMeta{APIVersion: groveconfigv1alpha1.GroupVersion.String(), Kind: "OperatorConfiguration"}
	if configuration.TypeMeta != want {
		return nil, nil, fmt.Errorf("apiVersion and kind are %q and %q, must be %q and %q",
			configuration.APIVersion, configuration.Kind, want.APIVersion, want.Kind)
	}
	SetDefaults(configuration)
	warnings, errs := Validate(configuration)
	return configuration, warnings, errs.ToAggregate()
}

func describe(problems []manifests.Problem) string {
	lines := make([]string, 0, len(problems))
	for _, problem := range problems {
		if problem.Path == "" {
			lines = append(lines, problem.Reason)
			continue
		}
		lines = append(lines, problem.Path+": "+problem.Reason)
	}
	return strings.Join(lines, "; ")
}

// SetDefaults fills in what a configuration leaves open.
func SetDefaults(configuration *groveconfigv1alpha1.OperatorConfiguration) {
	orDefault(&configuration.RuntimeClientConnection.QPS, defaultQPS)
	orDefault(&configuration.RuntimeClientConnection.Burst, defaultBurst)

	election := &configuration.LeaderElection
	orDefault(&election.LeaseDuration.Duration, defaultLeaseDuration)
	orDefault(&election.RenewDeadline.Duration, defaultRenewDeadline)
	orDefault(&election.RetryPeriod.Duration, defaultRetryPeriod)
	orDefault(&election.ResourceLock, defaultResourceLock)
	orDefault(&election.ResourceName, defaultResourceName)

	webhooks := &configuration.Server.Webhooks
	orDefault(&webhooks.Port, defaultWebhookPort)
	orDefault(&webhooks.ServerCertDir, defaultCertDir)
	orDefault(&webhooks.SecretName, defaultSecretName)
	orDefault(&webhooks.CertProvisionMode, groveconfigv1alpha1.CertProvisionModeAuto)

	if probes := configuration.Server.HealthProbes; probes != nil {
		orDefault(&probes.Port, defaultHealthProbePort)
	}
	if metrics := configuration.Server.Metrics; metrics != nil {
		orDefault(&metrics.Port, defaultMetricsPort)
	}

	controllers := &configuration.Controllers
	for _, controller := range []*groveconfigv1alpha1.ControllerConfiguration{
		&controllers.PodCliqueSet, &controllers.PodClique, &controllers.PodCliqueScalingGroup, &controllers.PodGang,
	} {
		if controller.ConcurrentSyncs == nil {
			syncs := int32(defaultConcurrentSyncs)
			controller.ConcurrentSyncs = &syncs
		}
	}
	orDefault(&configuration.LogLevel, groveconfigv1alpha1.LogLevelInfo)
	orDefault(&configuration.LogFormat, groveconfigv1alpha1.LogFormatJSON)
	if configuration.DefaultSchedulerName == nil {
		name := kaiv1alpha1.SchedulerName
		configuration.DefaultSchedulerName = &name
	}
}

func orDefault[T comparable](field *T, value T) {
	var unset T
	if *field == unset {
		*field = value
	}
}

// WithoutFile is the configuration that the offline command uses when it is given none: topology awareness is on, and
// ClusterTopologies come from the input.
func WithoutFile() *groveconfigv1alpha1.OperatorConfiguration {
	configuration := &groveconfigv1alpha1.OperatorConfiguration{}
	SetDefaults(configuration)
	configuration.TopologyAwareScheduling.Enabled = true
	return configuration
}
