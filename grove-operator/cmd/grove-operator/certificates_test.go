package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
)

// serves returns the certificate with which a replica serves its webhooks, if the webhook configurations trust it.
func (c *cluster) serves(ctx context.Context, address string) (*x509.Certificate, error) {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := c.Get(ctx, client.ObjectKey{Name: program}, configuration); err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(configuration.Webhooks[0].ClientConfig.CABundle) {
		return nil, errors.New("the webhook configuration has no CA")
	}
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: serverName}}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}

// issued is the content of a Secret with an authority and a certificate for the program.
func issued(t *testing.T, validFor time.Duration) map[string][]byte {
	t.Helper()
	maker := &rotator.CertRotator{
		CAName: "grove-operator-ca", CAOrganization: "packtree", DNSName: serverName,
		ExtKeyUsages: &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	begin, end := time.Now().Add(-time.Hour), time.Now().Add(validFor)
	authority, err := maker.CreateCACert(begin, end)
	require.NoError(t, err)
	certificate, key, err := maker.CreateCertPEM(authority, begin, end)
	require.NoError(t, err)
	return map[string][]byte{"ca.crt": authority.CertPEM, "ca.key": authority.KeyPEM, "tls.crt": certificate,
		"tls.key": key}
}

// keep writes files into the Secret.
func (c *cluster) keep(t *testing.T, files map[string][]byte) {
	t.Helper()
	secret := &corev1.Secret{}
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: secretName}, secret))
	before := secret.DeepCopy()
	secret.Data = files
	require.NoError(t, c.Patch(t.Context(), secret, client.MergeFrom(before)))
}

func TestTheProgramKeepsItsCertificate(t *testing.T) {
	port := freePort(t)
	c := startCluster(t, port)
	program := startReplica(t, c, port)
	c.accepted(t, "first")
	first, err := c.serves(t.Context(), program.webhooks)
	require.NoError(t, err)

	c.keep(t, issued(t, time.Hour))
	eventually(t, "a certificate that is about to expire is replaced, trusted and served", func() error {
		served, err := c.serves(t.Context(), program.webhooks)
		switch {
		case err != nil:
			return err
		case served.Equal(first) || served.NotAfter.Before(time.Now().Add(24*time.Hour)):
			return fmt.Errorf("the certificate is good until %s", served.NotAfter)
		}
		return nil
	})
	c.accepted(t, "second")
}

// trust writes an authority into the webhook configurations, as the chart does with webhook.caBundle, and
// cert-manager's injector with the ca.crt of a Certificate's Secret.
func (c *cluster) trust(t *testing.T, authority []byte) {
	t.Helper()
	mutating, validating := &admissionregistrationv1.MutatingWebhookConfiguration{},
		&admissionregistrationv1.ValidatingWebhookConfiguration{}
	for _, configuration := range []client.Object{mutating, validating} {
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: program}, configuration))
	}
	mutating.Webhooks[0].ClientConfig.CABundle = authority
	validating.Webhooks[0].ClientConfig.CABundle = authority
	require.NoError(t, errors.Join(c.Update(t.Context(), mutating), c.Update(t.Context(), validating)))
}

func TestTheProgramServesWhatOthersMount(t *testing.T) {
	port := freePort(t)
	c := startCluster(t, port)
	c.certMode = groveconfigv1alpha1.CertProvisionModeManual
	go c.mount(t.Context())
	for layout, keys := range map[string][]string{
		"by-hand":      {"tls.crt", "tls.key"},
		"cert-manager": {"ca.crt", "tls.crt", "tls.key"},
	} {
		t.Run(layout, func(t *testing.T) {
			provide := func(all map[string][]byte) {
				files := map[string][]byte{}
				for _, key := range keys {
					files[key] = all[key]
				}
				c.keep(t, files)
				eventually(t, "the Secret is mounted", func() error {
					mounted, err := os.ReadFile(filepath.Join(c.certDir, "tls.crt"))
					if err == nil && string(mounted) != string(files["tls.crt"]) {
						err = errors.New("its former version is")
					}
					return err
				})
			}
			before := issued(t, 24*time.Hour)
			c.trust(t, before["ca.crt"])
			provide(before)
			running := startReplica(t, c, port)
			c.accepted(t, layout+"-1")
			first, err := c.serves(t.Context(), running.webhooks)
			require.NoError(t, err)

			after := issued(t, 48*time.Hour)
			torn := map[string][]byte{"ca.crt": after["ca.crt"], "tls.crt": after["tls.crt"],
				"tls.key": before["tls.key"]}
			provide(torn)
			for until := time.Now().Add(2 * time.Second); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
				served, err := c.serves(t.Context(), running.webhooks)
				require.NoError(t, err, "while a certificate is mounted that does not fit its key")
				require.True(t, served.Equal(first),
					"a certificate is served, valid until %s, whose key is not mounted", served.NotAfter)
			}

			c.trust(t, after["ca.crt"])
			provide(after)
			eventually(t, "the certificate that replaces it is served", func() error {
				served, err := c.serves(t.Context(), running.webhooks)
				if err == nil && served.Equal(first) {
					err = errors.New("the former one is")
				}
				return err
			})
			c.accepted(t, layout+"-2")
			configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
			require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: program}, configuration))
			assert.Equal(t, string(after["ca.crt"]), string(configuration.Webhooks[0].ClientConfig.CABundle),
				"the program has changed the authority that others keep")
		})
	}
}
