package grove

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/dynamo-operator/internal/admission"
	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Cluster answers what admission needs to know of the cluster.
type Cluster struct {
	Reader client.Reader
	Mapper meta.RESTMapper
	// Infrastructure is what the pods are told of.
	Infrastructure pods.Infrastructure

	// trial writes nothing, and hears warnings.
	trial client.Client
}

const install = "install the grove-operator chart"

// Installed returns what is missing for deployments to be carried out at all; empty if nothing is.
func (c Cluster) Installed() string {
	kind := schema.GroupKind{Group: grovev1alpha1.GroupVersion.Group, Kind: "PodCliqueSet"}
	if _, err := c.Mapper.RESTMapping(kind, grovev1alpha1.GroupVersion.Version); err != nil {
		if meta.IsNoMatchError(err) {
			return missing
		}
		return fmt.Sprintf("whether Grove is installed cannot be found out: %v", err)
	}
	return ""
}

// Topology returns the ClusterTopology that a deployment's constraints refer to, as admission needs it; nothing if it has
// no constraints.
func (c Cluster) Topology(ctx context.Context, deployment *v1beta1.DynamoGraphDeployment) admission.Topology {
	name := TopologyName(deployment)
	if name == "" {
		return admission.Topology{}
	}
	topology := &grovev1alpha1.ClusterTopology{}
	answer := admission.Topology{Name: name}
	switch err := c.Reader.Get(ctx, client.ObjectKey{Name: name}, topology); {
	case apierrors.IsNotFound(err):
		answer.Problem = fmt.Sprintf("ClusterTopology %q does not exist; %s", name, c.others(ctx, name))
	case meta.IsNoMatchError(err):
		answer.Problem = fmt.Sprintf("ClusterTopology %q cannot be read, since its kind is not installed: %s", name, install)
	case err != nil:
		answer.Problem = fmt.Sprintf("ClusterTopology %q cannot be read: %v", name, err)
	}
	for _, level := range topology.Spec.Levels {
		answer.Domains = append(answer.Domains, string(level.Domain))
	}
	return answer
}

// others says which topologies there are instead of the one that is missing, or what to do where there are none: nobody but
// Grove can create the default one.
func (c Cluster) others(ctx context.Context, missing string) string {
	list := &grovev1alpha1.ClusterTopologyList{}
	if err := c.Reader.List(ctx, list); err != nil || len(list.Items) == 0 {
		if missing == grovev1alpha1.DefaultClusterTopologyName {
			return "the administrator has to enable topology-aware scheduling in Grove, or to create another ClusterTopology to be named here"
		}
		return "the administrator has to create it"
	}
	var existing []string
	for _, topology := range list.Items {
		existing = append(existing, topology.Name)
	}
	slices.Sort(existing)
	return "existing ones: " + strings.Join(existing, ", ")
}
