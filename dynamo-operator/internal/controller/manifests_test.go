package controller_test

import (
	"context"
	"fmt"
	"net"
	"strconv"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

func localURL(options envtest.WebhookInstallOptions, path string) string {
	return fmt.Sprintf("https://%s%s",
		net.JoinHostPort(options.LocalServingHost, strconv.Itoa(options.LocalServingPort)), path)
}

// written reads a manifest, and puts it into the namespace.
func written(namespace, manifest string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	ExpectWithOffset(1, yaml.Unmarshal([]byte(manifest), &object.Object)).To(Succeed())
	object.SetNamespace(namespace)
	return object
}

// applied applies a manifest as kubectl apply --server-side does.
func applied(ctx context.Context, object *unstructured.Unstructured) error {
	return k8s.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("a-user"))
}

const asMap = `
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: map}
spec:
  services:
    Worker:
      componentType: worker
      multinode: {nodeCount: 4}
      topologyConstraint: {packDomain: rack}
      resources: {limits: {gpu: "8"}}
      extraPodSpec:
        mainContainer: {image: vllm, command: [python3], args: [-m, dynamo.vllm, --tensor-parallel-size, "32"]}
    Frontend:
      componentType: frontend
      replicas: 2
      extraPodSpec:
        mainContainer: {image: frontend}
`

const asComponents = `
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: components}
spec:
  topologyConstraint: {packDomain: zone}
  components:
    - name: Frontend
      type: frontend
      podTemplate:
        metadata: {labels: {team: a}}
        spec:
          containers:
            - {name: proxy, image: proxy}
            - {name: main, image: frontend}
    - name: Worker
      type: worker
      topologyConstraint: {packDomain: block, preferredDomain: rack}
      podTemplate:
        spec:
          containers:
            - {name: main, image: vllm}
`
