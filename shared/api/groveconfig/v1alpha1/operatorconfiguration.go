package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OperatorConfiguration is the configuration file of the Grove operator. It is read once, at start-up; an unknown field
// is an error.
//
// +kubebuilder:object:root=true
type OperatorConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	// RuntimeClientConnection limits the operator's requests to the API server.
	// +optional
	RuntimeClientConnection ClientConnectionConfiguration `json:"runtimeClientConnection,omitempty"`
	// LeaderElection says whether and how several instances agree on the one that works.
	// +optional
	LeaderElection LeaderElectionConfiguration `json:"leaderElection,omitempty"`
	// Server says where the operator listens.
	// +optional
	Server ServerConfiguration `json:"server,omitempty"`
	// Controllers says how much work is done at the same time.
	// +optional
	Controllers ControllersConfiguration `json:"controllers,omitempty"`
	// LogLevel is the least serious level that is logged: debug, info or error. Unset: info.
	// +optional
	LogLevel LogLevel `json:"logLevel,omitempty"`
	// LogFormat is how log lines look: json or text. Unset: json.
	// +optional
	LogFormat LogFormat `json:"logFormat,omitempty"`
	// TopologyAwareScheduling describes the network of the cluster.
	// +optional
	TopologyAwareScheduling TopologyAwareSchedulingConfiguration `json:"topologyAwareScheduling,omitempty"`
	// DefaultSchedulerName is the scheduler of pods without one in their podSpec. Unset: kai-scheduler. Empty: the
	// cluster decides.
	// +optional
	DefaultSchedulerName *string `json:"defaultSchedulerName,omitempty"`
	// StartupOrder describes the init container with which pods wait for the pods that they start after.
	// +optional
	StartupOrder StartupOrderConfiguration `json:"startupOrder,omitempty"`
	// Authorizer protects what the operator manages against changes by others.
	// +optional
	Authorizer AuthorizerConfiguration `json:"authorizer,omitempty"`
}

// StartupOrderConfiguration describes the init container with which pods wait for the pods that they start after.
// Existing pods keep theirs.
type StartupOrderConfiguration struct {
	// Image has grove-startup as its entry point. Unset: packtree/grove-startup of the operator's release.
	// +optional
	Image string `json:"image,omitempty"`
	// ImagePullPolicy is Always, IfNotPresent or Never. Unset: the cluster decides by the image's tag.
	// +optional
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	// Resources are the requests and limits of the init container. With requests equal to limits, pods keep their
	// quality of service class Guaranteed. Unset: 50m CPU and 64Mi memory, both as request and limit. Empty: none.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}

// ClientConnectionConfiguration limits requests to the API server.
type ClientConnectionConfiguration struct {
	// QPS is how many requests a second are allowed in the long run. Unset: 100.
	// +optional
	QPS float32 `json:"qps,omitempty"`
	// Burst is how many requests are allowed at once. Unset: 120.
	// +optional
	Burst int32 `json:"burst,omitempty"`
}

// LeaderElectionConfiguration says whether and how several instances agree on the one that works.
type LeaderElectionConfiguration struct {
	// Enabled switches leader election on. Unset: off.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// LeaseDuration is how long others wait after the last renewal before they take over. Unset: 15s.
	// +optional
	LeaseDuration metav1.Duration `json:"leaseDuration,omitempty"`
	// RenewDeadline is how long the leader tries to renew before it gives up; shorter than leaseDuration. Unset: 10s.
	// +optional
	RenewDeadline metav1.Duration `json:"renewDeadline,omitempty"`
	// RetryPeriod is the pause between attempts; shorter than renewDeadline. Unset: 2s.
	// +optional
	RetryPeriod metav1.Duration `json:"retryPeriod,omitempty"`
	// ResourceLock is the kind of the lock object. Unset: leases, the only one there is.
	// +optional
	ResourceLock string `json:"resourceLock,omitempty"`
	// ResourceName is the name of the lock object. Unset: grove-operator-leader-election.
	// +optional
	ResourceName string `json:"resourceName,omitempty"`
	// ResourceNamespace is the namespace of the lock object. Unset: the operator's own.
	// +optional
	ResourceNamespace string `json:"resourceNamespace,omitempty"`
}

// ServerConfiguration says where the operator listens.
type ServerConfiguration struct {
	// Webhooks is the HTTPS server of the admission webhooks.
	// +optional
	Webhooks WebhookServer `json:"webhooks,omitempty"`
	// HealthProbes is the HTTP server of /healthz and /readyz. Unset: not served.
	// +optional
	HealthProbes *Server `json:"healthProbes,omitempty"`
	// Metrics is the HTTP server of /metrics. Unset: not served.
	// +optional
	Metrics *Server `json:"metrics,omitempty"`
}

// Server is where a server listens.
type Server struct {
	// BindAddress is the address to listen at. Unset: all addresses.
	// +optional
	BindAddress string `json:"bindAddress,omitempty"`
	// Port is the port to listen at, from 1 to 65535. Unset: the server's own default.
	// +optional
	Port int32 `json:"port,omitempty"`
}

// CertProvisionMode says where the webhooks' certificate comes from.
type CertProvisionMode string

const (
	// CertProvisionModeAuto: the operator makes and renews it.
	CertProvisionModeAuto CertProvisionMode = "auto"
	// CertProvisionModeManual: it is mounted at serverCertDir.
	CertProvisionModeManual CertProvisionMode = "manual"
)

// WebhookServer is the HTTPS server of the admission webhooks.
type WebhookServer struct {
	// BindAddress is the address to listen at. Unset: all addresses.
	// +optional
	BindAddress string `json:"bindAddress,omitempty"`
	// Port is the port to listen at, from 1 to 65535. Unset: 9443.
	// +optional
	Port int32 `json:"port,omitempty"`
	// ServerCertDir is the directory of tls.crt and tls.key. Unset: /etc/grove-operator/webhook-certs.
	// +optional
	ServerCertDir string `json:"serverCertDir,omitempty"`
	// SecretName is the Secret that keeps the certificate in mode auto. Unset: grove-operator-webhook-cert.
	// +optional
	SecretName string `json:"secretName,omitempty"`
	// CertProvisionMode says where the certificate comes from: auto or manual. Unset: auto.
	// +optional
	CertProvisionMode CertProvisionMode `json:"certProvisionMode,omitempty"`
}

// ControllersConfiguration says how much work is done at the same time.
type ControllersConfiguration struct {
	// PodCliqueSet configures the controller of PodCliqueSets.
	// +optional
	PodCliqueSet ControllerConfiguration `json:"podCliqueSet,omitempty"`
	// PodClique configures the controller of PodCliques.
	// +optional
	PodClique ControllerConfiguration `json:"podClique,omitempty"`
	// PodCliqueScalingGroup configures the controller of PodCliqueScalingGroups.
	// +optional
	PodCliqueScalingGroup ControllerConfiguration `json:"podCliqueScalingGroup,omitempty"`
	// PodGang configures the controller of PodGangs.
	// +optional
	PodGang ControllerConfiguration `json:"podGang,omitempty"`
}

// ControllerConfiguration configures one controller.
type ControllerConfiguration struct {
	// ConcurrentSyncs is how many objects are worked on at the same time; at least 1. Unset: see the operator's page.
	// +optional
	ConcurrentSyncs *int32 `json:"concurrentSyncs,omitempty"`
}

// LogLevel is the least serious level that is logged.
type LogLevel string

const (
	// LogLevelDebug logs everything.
	LogLevelDebug LogLevel = "debug"
	// LogLevelInfo logs what changed, and errors.
	LogLevelInfo LogLevel = "info"
	// LogLevelError logs errors.
	LogLevelError LogLevel = "error"
)

// LogFormat is how log lines look.
type LogFormat string

const (
	// LogFormatJSON writes one JSON object a line.
	LogFormatJSON LogFormat = "json"
	// LogFormatText writes lines for people.
	LogFormatText LogFormat = "text"
)

// TopologyAwareSchedulingConfiguration describes the network of the cluster.
type TopologyAwareSchedulingConfiguration struct {
	// Enabled switches topology constraints on. Unset: off, and PodCliqueSets with constraints are rejected.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// Levels are the levels of the default ClusterTopology, grove-topology, in any order; they are stored broadest
	// first. At least one where topology awareness is on; domains and keys are unique.
	// +optional
	Levels []TopologyLevel `json:"levels,omitempty"`
}

// TopologyLevel ties a domain to the node label that says in which domain of that kind a node stands.
type TopologyLevel struct {
	// Domain is what the level means: region, zone, datacenter, block, rack, host or numa.
	// +required
	Domain string `json:"domain"`
	// Key is the label that names a node's domain at this level.
	// +required
	Key string `json:"key"`
}

// AuthorizerConfiguration protects what the operator manages against changes by others.
type AuthorizerConfiguration struct {
	// Enabled switches the protection on. Unset: off.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// ExemptServiceAccountUserNames may change managed objects all the same; full user names, such as
	// system:serviceaccount:kube-system:generic-garbage-collector.
	// +optional
	ExemptServiceAccountUserNames []string `json:"exemptServiceAccountUserNames,omitempty"`
}
