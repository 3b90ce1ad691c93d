// Package configuration reads the operator's configuration file: strictly, with defaults, and reporting all mistakes at
// once.
package configuration

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/manifests"
)

const kind = "OperatorConfiguration"

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
)

// How many objects of a kind are reconciled at once. More would not be faster at the default rate, while each request
// of a pass, which the API server could answer in parallel, would take longer.
const (
	defaultConcurrentSyncs          = 2
	defaultConcurrentPodCliqueSyncs = 4
)

// DefaultStartupImage is the image of grove-startup in this release.
const DefaultStartupImage = "packtree/grove-startup:0.1.0"

// Requests and limits of grove-startup, which are the same, so that pods stay Guaranteed.
var defaultStartupResources = corev1.ResourceList{
	corev1.ResourceCPU:    resource.MustParse("50m"),
	corev1.ResourceMemory: resource.MustParse("64Mi"),
}

// Read returns the configuration of a file with its defaults set, and findings about it. The configuration may be used
// only if all findings are warnings.
func Read(path string) (*groveconfigv1alpha1.OperatorConfiguration, []manifests.Finding) {
	content, err := os.ReadFile(path)
	if err != nil {
		var located *os.PathError
		if errors.As(err, &located) {
			err = located.Err // The finding names the file.
		}
		return nil, []manifests.Finding{{Source: path, Kind: kind, Reason: err.Error()}}
	}
	return Parse(path, content)
}

// Parse returns the configuration of a file in YAML or JSON. Findings name every unknown field and every wrong value
// with its path.
func Parse(file string, content []byte) (*groveconfigv1alpha1.OperatorConfiguration, []manifests.Finding) {
	about := manifests.Finding{Source: file + "[1]", Kind: kind}
	asJSON, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return nil, []manifests.Finding{because(about,
			strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "))}
	}
	configuration := &groveconfigv1alpha1.OperatorConfiguration{}
	if problems := manifests.DecodeStrict(asJSON, configuration); len(problems) > 0 {
		return nil, describe(about, problems)
	}
	if findings := checkKind(about, configuration.TypeMeta); len(findings) > 0 {
		return nil, findings
	}
	SetDefaults(configuration)
	warnings, errs := Validate(configuration)
	var findings []manifests.Finding
	for _, err := range errs {
		findings = append(findings, at(about, err.Field, err.ErrorBody()))
	}
	for _, warning := range warnings {
		finding := because(about, warning)
		finding.Warning = true
		findings = append(findings, finding)
	}
	return configuration, findings
}

func checkKind(about manifests.Finding, has metav1.TypeMeta) []manifests.Finding {
	var findings []manifests.Finding
	if want := groveconfigv1alpha1.GroupVersion.String(); has.APIVersion != want {
		findings = append(findings, at(about, "apiVersion", fmt.Sprintf("is %q, must be %q", has.APIVersion, want)))
	}
	if has.Kind != kind {
		findings = append(findings, at(about, "kind", fmt.Sprintf("is %q, must be %q", has.Kind, kind)))
	}
	return findings
}

func describe(about manifests.Finding, problems []manifests.Problem) []manifests.Finding {
	findings := make([]manifests.Finding, 0, len(problems))
	for _, problem := range problems {
		finding := at(about, problem.Path, problem.Reason)
		finding.Unknown = problem.Unknown
		findings = append(findings, finding)
	}
	return findings
}

func because(finding manifests.Finding, reason string) manifests.Finding {
	finding.Reason = reason
	return finding
}

func at(finding manifests.Finding, path, reason string) manifests.Finding {
	finding.Path, finding.Reason = path, reason
	return finding
}

// SetDefaults sets the unset fields of a configuration.
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
	for controller, syncs := range map[*groveconfigv1alpha1.ControllerConfiguration]int32{
		&controllers.PodCliqueSet:          defaultConcurrentSyncs,
		&controllers.PodCliqueScalingGroup: defaultConcurrentSyncs,
		&controllers.PodClique:             defaultConcurrentPodCliqueSyncs,
		&controllers.PodGang:               defaultConcurrentSyncs,
	} {
		if controller.ConcurrentSyncs == nil {
			controller.ConcurrentSyncs = &syncs
		}
	}
	orDefault(&configuration.LogLevel, groveconfigv1alpha1.LogLevelInfo)
	orDefault(&configuration.LogFormat, groveconfigv1alpha1.LogFormatJSON)
	orDefault(&configuration.StartupOrder.Image, DefaultStartupImage)
	if configuration.StartupOrder.Resources == nil {
		configuration.StartupOrder.Resources = &corev1.ResourceRequirements{
			Requests: defaultStartupResources.DeepCopy(), Limits: defaultStartupResources.DeepCopy(),
		}
	}
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

// WithoutFile is the configuration of the offline command without a file: topology awareness is on, and
// ClusterTopologies come from the input.
func WithoutFile() *groveconfigv1alpha1.OperatorConfiguration {
	configuration := &groveconfigv1alpha1.OperatorConfiguration{}
	SetDefaults(configuration)
	configuration.TopologyAwareScheduling.Enabled = true
	return configuration
}
