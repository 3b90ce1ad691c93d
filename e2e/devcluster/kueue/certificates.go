package kueue

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/devcluster/internal/credentials"
	"packtree.dev/e2e/devcluster/internal/ports"
)

// makeCertificates makes the Secret in which Kueue would keep its authority and its certificate, and the files that a
// kubelet would make of it, and returns the authority. Kueue keeps what it finds if that is valid for its Service. It
// is valid also for this machine, where the API server finds Kueue.
func (k *installation) makeCertificates(ctx context.Context) ([]byte, error) {
	signer, err := rsa.GenerateKey(rand.Reader, 2048) // Kueue reads no key of another kind.
	if err != nil {
		return nil, err
	}
	authority, err := credentials.AuthorityOf("kueue-ca", signer)
	if err != nil {
		return nil, err
	}
	certificate, err := authority.PEM()
	if err != nil {
		return nil, err
	}
	key, err := keyutil.MarshalPrivateKeyToPEM(signer)
	if err != nil {
		return nil, err
	}
	pair, err := authority.Serving(ports.Host, "kueue-webhook-service."+namespace+".svc")
	if err != nil {
		return nil, err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kueue-webhook-server-cert"},
		Data: map[string][]byte{
			"ca.crt": certificate, "ca.key": key,
			corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key,
		},
	}
	if err := os.MkdirAll(k.certificates(), 0o700); err != nil {
		return nil, err
	}
	for name, content := range secret.Data {
		if err := os.WriteFile(filepath.Join(k.certificates(), name), content, 0o600); err != nil {
			return nil, err
		}
	}
	api, err := client.New(k.config, client.Options{})
	if err != nil {
		return nil, err
	}
	if err := api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return nil, err
	}
	return certificate, api.Create(ctx, secret)
}
