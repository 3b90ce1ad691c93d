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

	"packtree.dev/e2e/devcluster/internal/credentials"
	"packtree.dev/e2e/devcluster/internal/ports"
)

// makeCertificates makes the Secret in which Kueue would keep its authority and its certificate, and the files that a
// kubelet would make of it. Kueue keeps what it finds if that is valid for its Service. It is valid also for this
// machine, where the API server finds Kueue.
func (k *installation) makeCertificates(ctx context.Context) error {
	signer, err := rsa.GenerateKey(rand.Reader, 2048) // Kueue reads no key of another kind.
	if err != nil {
		return err
	}
	authority, err := credentials.AuthorityOf("kueue-ca", signer)
	if err != nil {
		return err
	}
	if k.authority, err = authority.PEM(); err != nil {
		return err
	}
	key, err := keyutil.MarshalPrivateKeyToPEM(signer)
	if err != nil {
		return err
	}
	pair, err := authority.Serving(ports.Host, "kueue-webhook-service."+namespace+".svc")
	if err != nil {
		return err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kueue-webhook-server-cert"},
		Data: map[string][]byte{
			"ca.crt": k.authority, "ca.key": key,
			corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key,
		},
	}
	directory := k.file("certificates")
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return err
	}
	for name, content := range secret.Data {
		if err := os.WriteFile(filepath.Join(directory, name), content, 0o600); err != nil {
			return err
		}
	}
	if err := k.api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	return k.api.Create(ctx, secret)
}
