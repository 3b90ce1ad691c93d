package kueue

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// read returns the objects of a file of Kueue's module.
func (k *installation) read(path string) ([]*unstructured.Unstructured, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		object := &unstructured.Unstructured{}
		switch err := decoder.Decode(&object.Object); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("reading %s: %w", path, err)
		case len(object.Object) > 0:
			objects = append(objects, object)
		}
	}
}

// makeKinds creates the kinds and waits until they are served. Kueue converts kinds with several versions.
func (k *installation) makeKinds(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(k.module, "config", "components", "crd", "bases", "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		definitions, err := k.read(file)
		if err != nil {
			return err
		}
		for _, definition := range definitions {
			if versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions"); len(versions) > 1 {
				definition.Object["spec"].(map[string]any)["conversion"] = map[string]any{
					"strategy": "Webhook",
					"webhook": map[string]any{
						"clientConfig": k.clientConfig("/convert"), "conversionReviewVersions": []any{"v1"},
					},
				}
			}
			if err := k.api.Create(ctx, definition); err != nil {
				return err
			}
		}
	}
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, k.served)
}

// served reports whether the API server serves Workloads, the last of the kinds.
func (k *installation) served(context.Context) (bool, error) {
	_, err := k.api.RESTMapper().RESTMapping(schema.GroupKind{Group: "kueue.x-k8s.io", Kind: "Workload"}, "v1beta2")
	if apimeta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

// makeWebhooks creates the webhook configurations, with the names that a release gives them. Pods of Kubernetes' own
// namespaces and of Kueue's are left alone.
func (k *installation) makeWebhooks(ctx context.Context) error {
	configurations, err := k.read(filepath.Join(k.module, "config", "components", "webhook", "manifests.yaml"))
	if err != nil {
		return err
	}
	for _, configuration := range configurations {
		configuration.SetName(Program + "-" + configuration.GetName())
		webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
		if err != nil {
			return err
		}
		for _, webhook := range webhooks {
			k.redirect(webhook.(map[string]any))
		}
		configuration.Object["webhooks"] = webhooks
		if err := k.api.Create(ctx, configuration, client.FieldOwner(Program)); err != nil {
			return err
		}
	}
	return nil
}

// redirect makes the API server call a webhook at this machine.
func (k *installation) redirect(webhook map[string]any) {
	path, _, _ := unstructured.NestedString(webhook, "clientConfig", "service", "path")
	webhook["clientConfig"] = k.clientConfig(path)
	if name := webhook["name"].(string); strings.HasSuffix(name, "pod.kb.io") ||
		strings.HasSuffix(name, "deployment.kb.io") || strings.HasSuffix(name, "statefulset.kb.io") {
		webhook["namespaceSelector"] = map[string]any{"matchExpressions": []any{map[string]any{
			"key": "kubernetes.io/metadata.name", "operator": "NotIn",
			"values": []any{"kube-system", namespace},
		}}}
	}
}

func (k *installation) clientConfig(path string) map[string]any {
	return map[string]any{
		"url":      "https://" + k.webhooks + path,
		"caBundle": base64.StdEncoding.EncodeToString(k.authority),
	}
}
