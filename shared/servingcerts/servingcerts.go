// Package servingcerts provides the certificates of webhook servers: kept by an in-process rotator, or mounted.
package servingcerts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Mode is how the certificate is provided.
type Mode string

const (
	// Auto lets the program keep a Secret with its own authority and certificate, and write the authority into its
	// webhook configurations.
	Auto Mode = "auto"
	// Manual expects tls.crt and tls.key in the certificate directory, from cert-manager or a Secret, and does not
	// change the webhook configurations.
	Manual Mode = "manual"
)

// Options say how a program serves its webhooks.
type Options struct {
	// Mode is Auto or Manual.
	Mode Mode
	// Served is the certificate of the webhook server in mode Auto.
	Served *Served
	// Secret in which Auto keeps authority and certificate.
	Secret types.NamespacedName
	// Service is the name of the Service that fronts the webhooks, in the Secret's namespace.
	Service string
	// Webhooks are the configurations that get their caBundle in mode Auto.
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
		return ready, keep(manager, options, ready)
	default:
		return nil, fmt.Errorf("certificate mode %q: must be %q or %q", options.Mode, Auto, Manual)
	}
}

// keep makes a manager keep the Secret, the served certificate, and the authority in the webhook configurations. The
// channel is closed once the API server can call the webhooks.
func keep(manager ctrl.Manager, options Options, ready chan<- struct{}) error {
	directory, err := standIn()
	if err != nil {
		return fmt.Errorf("starting certificate rotator: %w", err)
	}
	injected := make(chan struct{})
	err = rotator.AddRotator(narrowed{manager, options.Secret}, &rotator.CertRotator{
		SecretKey:      options.Secret,
		CertDir:        directory,
		CAName:         options.Service + "-ca",
		CAOrganization: "packtree",
		DNSName:        fmt.Sprintf("%s.%s.svc", options.Service, options.Secret.Namespace),
		ExtraDNSNames:  []string{fmt.Sprintf("%s.%s.svc.cluster.local", options.Service, options.Secret.Namespace)},
		IsReady:        injected,
		Webhooks:       options.Webhooks,
		// Every replica serves webhooks, so every replica needs the certificate, the leader or not.
		RequireLeaderElection: false,
	})
	if err != nil {
		return fmt.Errorf("starting certificate rotator: %w", err)
	}
	return follow(manager, options, func(ctx context.Context) error {
		for _, condition := range []<-chan struct{}{injected, options.Served.there} {
			select {
			case <-ctx.Done():
				return nil
			case <-condition:
			}
		}
		close(ready)
		return os.RemoveAll(directory)
	})
}

// standIn makes a directory with an empty tls.crt. The rotator waits for that file, as it expects the Secret to be
// mounted, and never reads it. In a container with a read-only root, only the shared memory can be written.
func standIn() (string, error) {
	var errs []error
	for _, parent := range []string{os.TempDir(), "/dev/shm"} {
		directory, err := os.MkdirTemp(parent, "certificate-")
		if err == nil {
			err = os.WriteFile(filepath.Join(directory, corev1.TLSCertKey), nil, 0o600)
		}
		if err == nil {
			return directory, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}
