// Package servingcerts provides the certificates of webhook servers: kept by an in-process rotator, or mounted by
// somebody else.
package servingcerts

import (
	"errors"
	"fmt"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Mode says who provides the certificate.
type Mode string

const (
	// Auto lets the program keep a Secret with its own authority and certificate, and put the authority into its webhook
	// configurations.
	Auto Mode = "auto"
	// Manual expects tls.crt and tls.key in the certificate directory, from cert-manager or a Secret, and leaves the
	// webhook configurations alone.
	Manual Mode = "manual"
)

// Options say how a program serves its webhooks.
type Options struct {
	// Mode is Auto or Manual.
	Mode Mode
	// Dir is the directory with tls.crt and tls.key, which Auto writes there.
	Dir string
	// Secret is where Auto keeps authority and certificate.
	Secret types.NamespacedName
	// Service is the name of the Service that fronts the webhooks, in the Secret's namespace.
	Service string
	// Webhooks are the configurations whose caBundle Auto fills in.
	Webhooks []rotator.WebhookInfo
}

// Start begins to provide the certificates of a manager's webhook server. The channel is closed as soon as they are in
// place; webhooks are to be registered only then.
func Start(manager ctrl.Manager, options Options) (<-chan struct{}, error) {
	ready := make(chan struct{})
	switch options.Mode {
	case Manual:
		close(ready)
		return ready, nil
	case Auto:
		return ready, errors.Join(startRotator(manager, options, ready), addFiles(manager, options))
	default:
		return nil, fmt.Errorf("certificate mode %q: must be %q or %q", options.Mode, Auto, Manual)
	}
}

func startRotator(manager ctrl.Manager, options Options, ready chan struct{}) error {
	err := rotator.AddRotator(manager, &rotator.CertRotator{
		SecretKey:      options.Secret,
		CertDir:        options.Dir,
		CAName:         options.Service + "-ca",
		CAOrganization: "packtree",
		DNSName:        fmt.Sprintf("%s.%s.svc", options.Service, options.Secret.Namespace),
		ExtraDNSNames:  []string{fmt.Sprintf("%s.%s.svc.cluster.local", options.Service, options.Secret.Namespace)},
		IsReady:        ready,
		Webhooks:       options.Webhooks,
		// Every replica serves webhooks, so every replica needs the certificate, the leader or not.
		RequireLeaderElection: false,
	})
	if err != nil {
		return fmt.Errorf("starting certificate rotator: %w", err)
	}
	return nil
}
