// Package managerstart starts programs that are controller-runtime managers in the same way: flags, logging, leader
// election, health and metrics endpoints, webhook certificates and a clean end on a signal.
package managerstart

import (
	"time"

	"github.com/spf13/pflag"

	"packtree.dev/shared/servingcerts"
)

// Settings are choices of the admin, by flags or in a configuration file.
type Settings struct {
	// Kubeconfig is a file; empty means the service account of the pod, or the KUBECONFIG environment variable.
	Kubeconfig string
	// QPS and Burst bound the requests to the API server; 0 leaves that to the API server.
	QPS   float32
	Burst int

	// LeaderElection allows several replicas; one is active. Namespace, that of the Lease, may be empty inside a
	// cluster. Durations that are nil are the library's; an empty ID is <program>.packtree.dev.
	LeaderElection          bool
	LeaderElectionNamespace string
	LeaderElectionID        string
	LeaseDuration           *time.Duration
	RenewDeadline           *time.Duration
	RetryPeriod             *time.Duration

	// Bind addresses are host:port; "0" switches the endpoint off.
	MetricsBindAddress     string
	HealthProbeBindAddress string
	WebhookBindAddress     string
	// PprofBindAddress serves profiles of the running program to every client that can reach it; empty or "0"
	// switches that off.
	PprofBindAddress string

	// WebhookCertDir has tls.crt and tls.key in mode manual. WebhookSecretName is the Secret of mode auto.
	WebhookCertDir    string
	WebhookCertMode   string
	WebhookSecretName string

	// LogLevel is debug, info or error. LogFormat is json or text.
	LogLevel  string
	LogFormat string
}

// BindFlags makes every setting except the rates a flag, with defaults for a pod.
func (s *Settings) BindFlags(flags *pflag.FlagSet, program string) {
	flags.StringVar(&s.Kubeconfig, "kubeconfig", "",
		"kubeconfig file; without it the pod's service account, or $KUBECONFIG")
	flags.BoolVar(&s.LeaderElection, "leader-elect", true, "let only one of several replicas act")
	flags.StringVar(&s.LeaderElectionNamespace, "leader-election-namespace", "",
		"namespace of the Lease; without it the pod's own")
	flags.StringVar(&s.MetricsBindAddress, "metrics-bind-address", ":8080",
		"host:port of the metrics endpoint; 0 switches it off")
	flags.StringVar(&s.HealthProbeBindAddress, "health-probe-bind-address", ":8081",
		"host:port of /healthz and /readyz; 0 switches them off")
	flags.StringVar(&s.PprofBindAddress, "pprof-bind-address", Off,
		"host:port that serves CPU and memory profiles without authentication; 0 switches it off")
	flags.StringVar(&s.WebhookBindAddress, "webhook-bind-address", ":9443",
		"host:port of the webhook server; 0 switches it off")
	flags.StringVar(&s.WebhookCertDir, "webhook-cert-dir", "/etc/"+program+"/webhook-cert",
		"directory with tls.crt and tls.key, in mode manual")
	flags.StringVar(&s.WebhookCertMode, "webhook-cert-mode", string(servingcerts.Auto),
		"auto: kept by this program; manual: you provide the files")
	flags.StringVar(&s.WebhookSecretName, "webhook-secret-name", program+"-webhook-cert",
		"Secret of mode auto, in the pod's namespace")
	flags.StringVar(&s.LogLevel, "log-level", "info", "debug, info or error")
	flags.StringVar(&s.LogFormat, "log-format", "json", "json or text")
}
