package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	dynamov1alpha1 "packtree.dev/shared/api/dynamo/v1alpha1"
)

// Run serves until ctx is done, for the pod with the environment that get reads, with the rights of config.
func Run(ctx context.Context, get func(name string) string, config *rest.Config) error {
	identity, err := IdentityFrom(get)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	utilruntime.Must(discoveryv1.AddToScheme(scheme))
	utilruntime.Must(dynamov1alpha1.AddToScheme(scheme))
	cluster, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("reaching the API server: %w", err)
	}
	engine := &Engine{Identity: identity,
		Workers: func(ctx context.Context) ([]Instance, error) { return workers(ctx, cluster, identity) }}
	server := &http.Server{Addr: identity.Listen, Handler: engine.Handler(), ReadHeaderTimeout: patience}
	ended := make(chan error, 1)
	go func() { ended <- server.ListenAndServe() }()
	if identity.Component != Frontend {
		if err := register(ctx, cluster, identity); err != nil {
			return errors.Join(err, server.Close())
		}
	}
	engine.registered.Store(true)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		return server.Shutdown(closing)
	}
}

// OwnAddress is the address at which others reach this machine or pod; empty if it has only loopback.
func OwnAddress() string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.IsGlobalUnicast() {
			return network.IP.String()
		}
	}
	return ""
}

// register applies the pod's DynamoWorkerMetadata, which is deleted with the pod.
func register(ctx context.Context, cluster client.Client, identity Identity) error {
	data, err := json.Marshal(Instance{
		Pod: identity.Pod, Component: identity.Component, DynamoNamespace: identity.DynamoNamespace,
		Address: identity.Address,
	})
	if err != nil {
		return err
	}
	var content map[string]any
	if err := json.Unmarshal(data, &content); err != nil {
		return err
	}
	wanted := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": dynamov1alpha1.GroupVersion.String(), "kind": "DynamoWorkerMetadata",
		"metadata": map[string]any{
			"name": identity.Pod, "namespace": identity.Namespace,
			"ownerReferences": []any{
				map[string]any{"apiVersion": "v1", "kind": "Pod", "name": identity.Pod, "uid": identity.UID},
			},
		},
		"spec": map[string]any{"data": content},
	}}
	if err := cluster.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), client.FieldOwner("dynamo-worker"),
		client.ForceOwnership); err != nil {
		return fmt.Errorf("registering: %w", err)
	}
	return nil
}

func workers(ctx context.Context, cluster client.Client, identity Identity) ([]Instance, error) {
	var endpoints discoveryv1.EndpointSliceList
	if err := cluster.List(ctx, &endpoints, client.InNamespace(identity.Namespace),
		client.MatchingLabels(Discoverable)); err != nil {
		return nil, fmt.Errorf("listing EndpointSlices: %w", err)
	}
	var registered dynamov1alpha1.DynamoWorkerMetadataList
	if err := cluster.List(ctx, &registered, client.InNamespace(identity.Namespace)); err != nil {
		return nil, fmt.Errorf("listing DynamoWorkerMetadatas: %w", err)
	}
	return Find(identity.DynamoNamespace, endpoints.Items, registered.Items), nil
}
