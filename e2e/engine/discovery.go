package engine

import (
	"cmp"
	"encoding/json"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	dynamov1alpha1 "packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// Instance is what a worker registers: the content of its DynamoWorkerMetadata.
type Instance struct {
	Pod             string `json:"pod"`
	Component       string `json:"component"`
	DynamoNamespace string `json:"dynamoNamespace"`
	Address         string `json:"address"`
}

// Discoverable are the labels of the EndpointSlices that are read.
var Discoverable = map[string]string{v1beta1.LabelDiscoveryBackend: "kubernetes", v1beta1.LabelDiscoveryEnabled: "true"}

// Find returns the registered instances of one Dynamo namespace that are ready: their pods are in a ready endpoint of
// an EndpointSlice with the labels. Sorted by the names of their pods.
func Find(
	dynamoNamespace string, endpoints []discoveryv1.EndpointSlice, registered []dynamov1alpha1.DynamoWorkerMetadata,
) []Instance {
	ready := map[string]bool{}
	for i := range endpoints {
		for label, value := range Discoverable {
			if endpoints[i].Labels[label] != value {
				endpoints[i].Endpoints = nil
			}
		}
		for _, endpoint := range endpoints[i].Endpoints {
			isReady := endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready
			if isReady && endpoint.TargetRef != nil && endpoint.TargetRef.Kind == "Pod" {
				ready[endpoint.TargetRef.Name] = true
			}
		}
	}
	var found []Instance
	for i := range registered {
		instance := Instance{}
		if data := registered[i].Spec.Data; data == nil || json.Unmarshal(data.Raw, &instance) != nil {
			continue // It belongs to another deployment.
		}
		if instance.DynamoNamespace == dynamoNamespace && ready[instance.Pod] {
			found = append(found, instance)
		}
	}
	slices.SortFunc(found, func(a, b Instance) int { return cmp.Compare(a.Pod, b.Pod) })
	return found
}

// Route returns the workers for the request with a number: a prefill worker, if there are any, and then one that
// decodes. Requests are distributed in turn. None if no worker decodes.
func Route(found []Instance, request int) []Instance {
	of := func(components ...string) []Instance {
		return slices.DeleteFunc(slices.Clone(found),
			func(instance Instance) bool { return !slices.Contains(components, instance.Component) })
	}
	prefill, decode := of(Prefill), of(Decode, Worker)
	if len(decode) == 0 {
		return nil
	}
	var route []Instance
	if len(prefill) > 0 {
		route = append(route, prefill[request%len(prefill)])
	}
	return append(route, decode[request%len(decode)])
}
