package servingcerts

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Served is the certificate of a webhook server: that of its Secret, updated at once whenever the Secret changes. It
// needs no mounted Secret, which the kubelet renews only once a minute or so, and no other volume, which `kubectl
// drain` would refuse to delete.
type Served struct {
	certificate atomic.Pointer[tls.Certificate]
	once        sync.Once
	// there is closed as soon as there is a certificate.
	there chan struct{}
}

// NewServed returns a Served without a certificate yet.
func NewServed() *Served { return &Served{there: make(chan struct{})} }

// Configure makes a TLS server use the certificate.
func (s *Served) Configure(config *tls.Config) {
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if certificate := s.certificate.Load(); certificate != nil {
			return certificate, nil
		}
		return nil, errors.New("there is no certificate yet")
	}
}

// take uses the certificate of a Secret from now on. It reports whether the Secret has one; otherwise the former one
// stays.
func (s *Served) take(secret *corev1.Secret) (bool, error) {
	content, key := secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]
	if len(content) == 0 && len(key) == 0 {
		return false, nil
	}
	certificate, err := tls.X509KeyPair(content, key)
	if err != nil {
		return false, err
	}
	s.certificate.Store(&certificate)
	s.once.Do(func() { close(s.there) })
	return true, nil
}

// follow makes a manager follow the Secret, and run another function at the same time.
func follow(manager ctrl.Manager, options Options, meanwhile func(context.Context) error) error {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("adding Secrets to scheme: %w", err)
	}
	secrets, err := cache.New(manager.GetConfig(), cache.Options{
		HTTPClient: manager.GetHTTPClient(), Scheme: scheme, Mapper: manager.GetRESTMapper(),
		DefaultNamespaces: map[string]cache.Config{options.Secret.Namespace: {}},
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Field: fields.OneTermEqualSelector("metadata.name", options.Secret.Name)},
		},
	})
	if err != nil {
		return fmt.Errorf("creating cache of Secret %s: %w", options.Secret, err)
	}
	added := &follower{served: options.Served, secrets: secrets, meanwhile: meanwhile}
	if err := errors.Join(manager.Add(everywhere{secrets}), manager.Add(added)); err != nil {
		return fmt.Errorf("adding cache of Secret %s to manager: %w", options.Secret, err)
	}
	return nil
}

// everywhere is a cache that every replica fills, the leader or not.
type everywhere struct{ cache.Cache }

// NeedLeaderElection returns false.
func (everywhere) NeedLeaderElection() bool { return false }

// follower passes each version of a Secret to Served.
type follower struct {
	served *Served
	// secrets has that Secret only.
	secrets   cache.Cache
	meanwhile func(context.Context) error
}

// NeedLeaderElection returns false: every replica serves webhooks.
func (*follower) NeedLeaderElection() bool { return false }

// Start follows the Secret until the context ends.
func (f *follower) Start(ctx context.Context) error {
	informer, err := f.secrets.GetInformer(ctx, &corev1.Secret{})
	if err != nil {
		return fmt.Errorf("watching the certificate's Secret: %w", err)
	}
	take := func(object any) {
		if secret, ok := object.(*corev1.Secret); ok {
			f.take(ctx, secret)
		}
	}
	registered, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: take, UpdateFunc: func(_, now any) { take(now) },
	})
	if err != nil {
		return fmt.Errorf("watching the certificate's Secret: %w", err)
	}
	// The informer may have ended with the manager before.
	defer func() { _ = informer.RemoveEventHandler(registered) }()
	if err := f.meanwhile(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func (f *follower) take(ctx context.Context, secret *corev1.Secret) {
	logger := log.FromContext(ctx).WithValues("secret", client.ObjectKeyFromObject(secret))
	switch taken, err := f.served.take(secret); {
	case err != nil:
		logger.Error(err, "the Secret's certificate cannot be served, the former one is")
	case taken:
		logger.Info("the webhooks' certificate is served")
	}
}
