package kueue

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"packtree.dev/e2e/devcluster/internal/ports"
)

// release writes what a release of Kueue installs: the manifests of its Go module, which is downloaded if it is not
// there.
func (k *installation) release(ctx context.Context) (string, error) {
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", "sigs.k8s.io/kueue")
	command.Dir = filepath.Join(k.cluster.Root(), "e2e", "tools", Program)
	command.Env = append(os.Environ(), "GOWORK=off")
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("looking for the Go module of Kueue: %w: %s", err, output)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(output, &found); err != nil {
		return "", fmt.Errorf("looking for the Go module of Kueue: %w", err)
	}
	manifests := filepath.Join(k.cluster.Dir, Program, "release.yaml")
	command = exec.CommandContext(ctx, filepath.Join(k.cluster.Root(), "bin", "tools", "kubectl"), "kustomize",
		filepath.Join(found.Dir, "config", "default"), "--output", manifests)
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the manifests of Kueue: %w: %s", err, output)
	}
	return manifests, nil
}

// prepare creates what Kueue needs before it starts: its certificate, its kinds, and its webhook configurations.
func (k *installation) prepare(ctx context.Context) error {
	authority, err := k.makeCertificates(ctx)
	if err != nil {
		return err
	}
	manifests, err := k.release(ctx)
	if err != nil {
		return err
	}
	k.webhooks = envtest.WebhookInstallOptions{
		Paths: []string{manifests}, LocalServingHost: ports.Host, IgnoreSchemeConvertible: true,
	}
	if err := k.webhooks.PrepWithoutInstalling(); err != nil {
		return err
	}
	// Kueue makes no use of the certificate that was made on the way.
	if err := k.webhooks.Cleanup(); err != nil {
		return err
	}
	k.webhooks.LocalServingCAData = authority
	if err := k.webhooks.ModifyWebhookDefinitions(); err != nil {
		return err
	}
	if err := k.installKinds(manifests); err != nil {
		return err
	}
	return k.webhooks.Install(k.config)
}

// installKinds creates the CRDs, with a conversion webhook where the release has one: it answers about no other kind,
// and logs an error each time.
func (k *installation) installKinds(manifests string) error {
	kinds := envtest.CRDInstallOptions{Paths: []string{manifests}}
	if err := envtest.ReadCRDFiles(&kinds); err != nil {
		return err
	}
	plain, converting := envtest.CRDInstallOptions{MaxTime: time.Minute}, envtest.CRDInstallOptions{MaxTime: time.Minute}
	converting.WebhookOptions = k.webhooks
	for _, kind := range kinds.CRDs {
		if kind.Spec.Conversion != nil {
			converting.CRDs = append(converting.CRDs, kind)
		} else {
			plain.CRDs = append(plain.CRDs, kind)
		}
	}
	if _, err := envtest.InstallCRDs(k.config, plain); err != nil {
		return err
	}
	_, err := envtest.InstallCRDs(k.config, converting)
	return err
}
