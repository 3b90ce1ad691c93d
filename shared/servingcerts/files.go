package servingcerts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// current is the folder, below the directory of the webhook server, that both of its files are read from.
const current = "current"

// addFiles has the manager copy a Secret's certificate into the directory that its webhook server reads, at once whenever it changes. The
// kubelet renews a mounted Secret only once a minute or so, and the API server would be turned away until then.
func addFiles(manager ctrl.Manager, options Options) error {
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
	if err := errors.Join(manager.Add(secrets), manager.Add(files{Secrets: secrets, Dir: options.Dir})); err != nil {
		return fmt.Errorf("adding the certificate's files to manager: %w", err)
	}
	return nil
}

// files keeps the files of a certificate what its Secret says.
type files struct {
	// Secrets holds that Secret and no other.
	Secrets cache.Cache
	Dir     string
}

// NeedLeaderElection returns false: every replica serves webhooks.
func (files) NeedLeaderElection() bool { return false }

// Start writes the files whenever the Secret changes, until the context ends.
func (f files) Start(ctx context.Context) error {
	informer, err := f.Secrets.GetInformer(ctx, &corev1.Secret{})
	if err != nil {
		return fmt.Errorf("watching the certificate's Secret: %w", err)
	}
	failed := make(chan error, 1)
	write := func(object any) {
		secret, ok := object.(*corev1.Secret)
		if !ok {
			return
		}
		written, err := writeFiles(f.Dir, secret.Data)
		switch {
		case err != nil:
			select {
			case failed <- fmt.Errorf("writing the webhooks' certificate: %w", err):
			default:
			}
		case written:
			log.FromContext(ctx).Info("the webhooks' certificate is in place", "secret", client.ObjectKeyFromObject(secret))
		}
	}
	registered, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    write,
		UpdateFunc: func(_, now any) { write(now) },
	})
	if err != nil {
		return fmt.Errorf("watching the certificate's Secret: %w", err)
	}
	defer func() { _ = informer.RemoveEventHandler(registered) }() // The informer ends with the manager.
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}

// writeFiles makes tls.crt and tls.key of a directory say what a Secret does, both at the same moment. It reports whether they said
// anything else before; a Secret without a certificate changes nothing.
func writeFiles(dir string, data map[string][]byte) (bool, error) {
	certificate, key := data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey]
	if len(certificate) == 0 || len(key) == 0 {
		return false, nil
	}
	before, err := os.ReadFile(filepath.Join(dir, corev1.TLSCertKey))
	if err == nil && bytes.Equal(before, certificate) {
		return false, nil
	}
	next, err := os.MkdirTemp(dir, "certificate-")
	if err != nil {
		return false, err
	}
	for name, content := range map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key} {
		if err := os.WriteFile(filepath.Join(next, name), content, 0o400); err != nil {
			return false, err
		}
		if err := link(filepath.Join(current, name), filepath.Join(dir, name)); err != nil {
			return false, err
		}
	}
	if err := link(filepath.Base(next), filepath.Join(dir, current)); err != nil {
		return false, err
	}
	return true, removeOthers(dir, next)
}

// removeOthers removes the folders of earlier certificates, also of those that a program has left half-way.
func removeOthers(dir, kept string) error {
	folders, err := filepath.Glob(filepath.Join(dir, "certificate-*"))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if folder == kept {
			continue
		}
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
	}
	return nil
}

// link makes a name mean a file from one moment to the next, whatever it meant before.
func link(to, name string) error {
	if err := os.Symlink(to, name+".new"); err != nil && !os.IsExist(err) {
		return err
	}
	return os.Rename(name+".new", name)
}
