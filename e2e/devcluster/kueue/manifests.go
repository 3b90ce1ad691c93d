package kueue

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"packtree.dev/e2e/devcluster/internal/ports"
)

// module returns the directory of Kueue's Go module, which is downloaded if it is not there.
func module(ctx context.Context, root string) (string, error) {
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", "sigs.k8s.io/kueue")
	command.Dir = filepath.Join(root, "e2e", "tools", Program)
	command.Env = append(os.Environ(), "GOWORK=off")
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("looking for the Go module of Kueue: %w: %s", err, output)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(output, &found); err != nil {
		return "", fmt.Errorf("looking for the Go module of Kueue: %w", err)
	}
	return found.Dir, nil
}

// prepare creates what Kueue needs before it starts: its certificate, its kinds, and webhook configurations with the
// names that a release gives them.
func (k *installation) prepare(ctx context.Context) error {
	module, err := module(ctx, k.cluster.Root())
	if err != nil {
		return err
	}
	components := filepath.Join(module, "config", "components")
	k.webhooks = envtest.WebhookInstallOptions{
		Paths:            []string{filepath.Join(components, "webhook", "manifests.yaml")},
		LocalServingHost: ports.Host, IgnoreSchemeConvertible: true,
	}
	if err := k.webhooks.PrepWithoutInstalling(); err != nil {
		return err
	}
	// Kueue makes no use of the certificate that was made on the way.
	if err := k.webhooks.Cleanup(); err != nil {
		return err
	}
	if k.webhooks.LocalServingCAData, err = k.makeCertificates(ctx); err != nil {
		return err
	}
	if err := k.webhooks.ModifyWebhookDefinitions(); err != nil {
		return err
	}
	for _, configuration := range k.webhooks.MutatingWebhooks {
		configuration.Name = Program + "-" + configuration.Name
		for i, webhook := range configuration.Webhooks {
			configuration.Webhooks[i].NamespaceSelector = namespacesOf(webhook.Name)
		}
	}
	for _, configuration := range k.webhooks.ValidatingWebhooks {
		configuration.Name = Program + "-" + configuration.Name
		for i, webhook := range configuration.Webhooks {
			configuration.Webhooks[i].NamespaceSelector = namespacesOf(webhook.Name)
		}
	}
	if err := k.installKinds(filepath.Join(components, "crd")); err != nil {
		return err
	}
	return k.webhooks.Install(k.config)
}

// installKinds creates the CRDs of a directory, with a conversion webhook where Kueue's own manifests have one: it
// answers about no other kind, and logs an error each time.
func (k *installation) installKinds(directory string) error {
	kinds := envtest.CRDInstallOptions{Paths: []string{filepath.Join(directory, "bases")}}
	if err := envtest.ReadCRDFiles(&kinds); err != nil {
		return err
	}
	converted, err := convertedIn(directory)
	if err != nil {
		return err
	}
	plain, converting := envtest.CRDInstallOptions{MaxTime: time.Minute}, envtest.CRDInstallOptions{MaxTime: time.Minute}
	converting.WebhookOptions = k.webhooks
	for _, kind := range kinds.CRDs {
		if slices.Contains(converted, kind.Spec.Names.Plural) {
			converting.CRDs = append(converting.CRDs, kind)
		} else {
			plain.CRDs = append(plain.CRDs, kind)
		}
	}
	if _, err := envtest.InstallCRDs(k.config, plain); err != nil {
		return err
	}
	_, err = envtest.InstallCRDs(k.config, converting)
	return err
}

// convertedIn returns the resources for which a directory of CRDs has a patch with a conversion webhook.
func convertedIn(directory string) ([]string, error) {
	content, err := os.ReadFile(filepath.Join(directory, "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	var kustomization struct {
		Patches []struct {
			Path string `json:"path"`
		} `json:"patches"`
	}
	if err := yaml.Unmarshal(content, &kustomization); err != nil {
		return nil, err
	}
	var converted []string
	for _, patch := range kustomization.Patches {
		name, found := strings.CutPrefix(patch.Path, "patches/webhook_in_")
		if found {
			converted = append(converted, strings.TrimSuffix(name, ".yaml"))
		}
	}
	return converted, nil
}

// namespacesOf are the namespaces that a webhook is about: pods of Kubernetes' own and of Kueue's are left alone.
func namespacesOf(webhook string) *metav1.LabelSelector {
	if !slices.ContainsFunc([]string{"pod.kb.io", "deployment.kb.io", "statefulset.kb.io"}, func(suffix string) bool {
		return strings.HasSuffix(webhook, suffix)
	}) {
		return nil
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn,
		Values: []string{metav1.NamespaceSystem, namespace},
	}}}
}
