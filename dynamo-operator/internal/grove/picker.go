package grove

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// poolKind is the kind to which a gateway routes. It is part of the inference extension of the Gateway API, which may
// not be installed.
var poolKind = schema.GroupVersionKind{Group: pods.PoolGroup, Version: "v1", Kind: "InferencePool"}

// picker returns what an endpoint picker needs beside its pods: its configuration if the deployment has it, and the
// pool.
func picker(deployment *v1beta1.DynamoGraphDeployment, options Options) ([]client.Object, error) {
	var made []client.Object
	for i := range deployment.Spec.Components {
		component := &deployment.Spec.Components[i]
		if component.Type != v1beta1.TypeEPP {
			continue
		}
		if config := component.EPPConfig; config != nil && config.Config != nil {
			written, err := pickerConfig(config.Config)
			if err != nil {
				return nil, err
			}
			made = append(made, &corev1.ConfigMap{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
				ObjectMeta: childMeta(deployment, names.EndpointPickerConfig(deployment)),
				Data:       map[string]string{pods.PickerConfigKey: written},
			})
		}
		if options.Pools {
			made = append(made, pool(deployment, component))
		}
	}
	return made, nil
}

// pickerConfig is a configuration in the form of a file, with its kind.
func pickerConfig(config *runtime.RawExtension) (string, error) {
	fields := map[string]any{}
	if err := json.Unmarshal(config.Raw, &fields); err != nil {
		return "", fmt.Errorf("reading the endpoint picker's configuration: %w", err)
	}
	for key, value := range map[string]string{"apiVersion": "inference.networking.x-k8s.io/v1alpha1",
		"kind": "EndpointPickerConfig"} {
		if fields[key] == nil {
			fields[key] = value
		}
	}
	written, err := yaml.Marshal(fields)
	return string(written), err
}

// pool selects the pods among which the endpoint picker chooses: the workers. Each has a frontend beside it.
func pool(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec) client.Object {
	meta := childMeta(deployment, names.Pool(deployment))
	made := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"targetPorts": []any{map[string]any{"number": int64(pods.HTTPNumber)}},
			"selector": map[string]any{"matchLabels": map[string]any{
				v1beta1.LabelComponentClass:  v1beta1.TypeWorker,
				v1beta1.LabelDeploymentName:  names.Deployment(deployment),
				v1beta1.LabelDynamoNamespace: names.DynamoNamespace(deployment, component),
			}},
			"endpointPickerRef": map[string]any{
				"kind": "Service", "name": names.Selector(deployment, component),
				"port": map[string]any{"number": int64(pods.GRPCNumber)},
			},
		},
	}}
	made.SetGroupVersionKind(poolKind)
	made.SetName(meta.Name)
	made.SetNamespace(meta.Namespace)
	made.SetLabels(meta.Labels)
	made.SetAnnotations(meta.Annotations)
	made.SetOwnerReferences(meta.OwnerReferences)
	return made
}
