package configuration

import (
	"fmt"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	"packtree.dev/shared/domains"

	"packtree.dev/grove-operator/internal/topology"
)

// Validate returns all mistakes in a configuration, and warnings. The defaults are set already.
func Validate(configuration *groveconfigv1alpha1.OperatorConfiguration) (warnings []string, errs field.ErrorList) {
	errs = append(errs, validateConnection(configuration)...)
	errs = append(errs, validateLeaderElection(configuration.LeaderElection)...)
	errs = append(errs, validateServer(configuration.Server)...)
	errs = append(errs, validateControllers(configuration.Controllers)...)
	errs = append(errs, oneOf(field.NewPath("logLevel"), configuration.LogLevel,
		groveconfigv1alpha1.LogLevelDebug, groveconfigv1alpha1.LogLevelInfo, groveconfigv1alpha1.LogLevelError)...)
	errs = append(errs, oneOf(field.NewPath("logFormat"), configuration.LogFormat,
		groveconfigv1alpha1.LogFormatJSON, groveconfigv1alpha1.LogFormatText)...)
	errs = append(errs, validateStartupOrder(configuration.StartupOrder)...)
	errs = append(errs, validateAuthorizer(configuration.Authorizer)...)
	if !configuration.TopologyAwareScheduling.Enabled {
		return warnings, errs
	}
	path := field.NewPath("topologyAwareScheduling", "levels")
	levelWarnings, levelErrs := validateLevels(path, configuration.TopologyAwareScheduling.Levels)
	return append(warnings, levelWarnings...), append(errs, levelErrs...)
}

func validateAuthorizer(authorizer groveconfigv1alpha1.AuthorizerConfiguration) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("authorizer", "exemptServiceAccountUserNames")
	for i, name := range authorizer.ExemptServiceAccountUserNames {
		if _, _, err := serviceaccount.SplitUsername(name); err != nil {
			errs = append(errs, field.Invalid(path.Index(i), name, "must be system:serviceaccount:<namespace>:<name>"))
		}
	}
	return errs
}

func validateLevels(
	path *field.Path, levels []groveconfigv1alpha1.TopologyLevel,
) (warnings []string, errs field.ErrorList) {
	if len(levels) == 0 {
		return nil, field.ErrorList{field.Required(path, "topology awareness needs at least one level")}
	}
	for i, level := range levels {
		if level.Domain == domains.Host && level.Key != corev1.LabelHostname {
			warnings = append(warnings, fmt.Sprintf("%s: the kubelet labels hosts with %s, not with %s",
				path.Index(i).Child("key"), corev1.LabelHostname, level.Key))
		}
	}
	return warnings, topology.ValidateLevels(path, topology.Levels(levels))
}

func validateConnection(configuration *groveconfigv1alpha1.OperatorConfiguration) field.ErrorList {
	path := field.NewPath("runtimeClientConnection")
	var errs field.ErrorList
	if connection := configuration.RuntimeClientConnection; connection.QPS < 0 {
		errs = append(errs, field.Invalid(path.Child("qps"), connection.QPS, "must be greater than 0"))
	}
	if connection := configuration.RuntimeClientConnection; connection.Burst < 0 {
		errs = append(errs, field.Invalid(path.Child("burst"), connection.Burst, "must be greater than 0"))
	}
	return errs
}

func validateLeaderElection(election groveconfigv1alpha1.LeaderElectionConfiguration) field.ErrorList {
	path := field.NewPath("leaderElection")
	var errs field.ErrorList
	if election.RetryPeriod.Duration <= 0 {
		errs = append(errs, field.Invalid(path.Child("retryPeriod"), election.RetryPeriod.Duration.String(),
			"must be greater than 0s"))
	}
	if election.RenewDeadline.Duration <= election.RetryPeriod.Duration {
		errs = append(errs, field.Invalid(path.Child("renewDeadline"), election.RenewDeadline.Duration.String(),
			"must be longer than retryPeriod"))
	}
	if election.LeaseDuration.Duration <= election.RenewDeadline.Duration {
		errs = append(errs, field.Invalid(path.Child("leaseDuration"), election.LeaseDuration.Duration.String(),
			"must be longer than renewDeadline"))
	}
	return append(errs, oneOf(path.Child("resourceLock"), election.ResourceLock, defaultResourceLock)...)
}

func validateServer(server groveconfigv1alpha1.ServerConfiguration) field.ErrorList {
	path := field.NewPath("server")
	errs := validatePort(path.Child("webhooks", "port"), server.Webhooks.Port)
	if server.HealthProbes != nil {
		errs = append(errs, validatePort(path.Child("healthProbes", "port"), server.HealthProbes.Port)...)
	}
	if server.Metrics != nil {
		errs = append(errs, validatePort(path.Child("metrics", "port"), server.Metrics.Port)...)
	}
	return append(errs, oneOf(path.Child("webhooks", "certProvisionMode"), server.Webhooks.CertProvisionMode,
		groveconfigv1alpha1.CertProvisionModeAuto, groveconfigv1alpha1.CertProvisionModeManual)...)
}

func validatePort(path *field.Path, port int32) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range validation.IsValidPortNum(int(port)) {
		errs = append(errs, field.Invalid(path, port, problem))
	}
	return errs
}

func validateControllers(controllers groveconfigv1alpha1.ControllersConfiguration) field.ErrorList {
	var errs field.ErrorList
	for _, named := range []struct {
		name       string
		controller groveconfigv1alpha1.ControllerConfiguration
	}{
		{"podCliqueSet", controllers.PodCliqueSet},
		{"podClique", controllers.PodClique},
		{"podCliqueScalingGroup", controllers.PodCliqueScalingGroup},
		{"podGang", controllers.PodGang},
	} {
		if syncs := *named.controller.ConcurrentSyncs; syncs < 1 {
			errs = append(errs, field.Invalid(field.NewPath("controllers", named.name, "concurrentSyncs"), syncs,
				"must be at least 1"))
		}
	}
	return errs
}

// validateStartupOrder reports values with which the API server would refuse every pod that waits.
func validateStartupOrder(order groveconfigv1alpha1.StartupOrderConfiguration) field.ErrorList {
	path := field.NewPath("startupOrder")
	var errs field.ErrorList
	if strings.ContainsFunc(order.Image, unicode.IsSpace) {
		errs = append(errs, field.Invalid(path.Child("image"), order.Image, "must be the name of an image"))
	}
	if order.ImagePullPolicy != "" {
		errs = append(errs, oneOf(path.Child("imagePullPolicy"), order.ImagePullPolicy, corev1.PullAlways,
			corev1.PullIfNotPresent, corev1.PullNever)...)
	}
	for name, request := range order.Resources.Requests {
		if limit, ok := order.Resources.Limits[name]; ok && request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(path.Child("resources", "requests").Key(string(name)), request.String(),
				"must not be greater than the limit, "+limit.String()))
		}
	}
	return errs
}

func oneOf[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	for _, candidate := range allowed {
		if value == candidate {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}
