package grove

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/dynamo-operator/internal/admission"
	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Cluster reads what admission needs to know of the cluster.
type Cluster struct {
	Reader client.Reader
	Mapper meta.RESTMapper
	// Infrastructure has the addresses that the pods get.
	Infrastructure pods.Infrastructure

	// trial writes nothing, and passes warnings on.
	trial client.Client
}

const install = "install the grove-operator chart"

// Installed returns what is missing for deployments to be carried out at all; empty if nothing is missing.
func (c Cluster) Installed() (string, error) {
	kind := schema.GroupKind{Group: grovev1alpha1.GroupVersion.Group, Kind: "PodCliqueSet"}
	_, err := c.Mapper.RESTMapping(kind, grovev1alpha1.GroupVersion.Version)
	if meta.IsNoMatchError(err) {
		return missing, nil
	}
	if err != nil {
		return "", fmt.Errorf("finding out whether Grove is installed: %w", err)
	}
	return "", nil
}

// Topology returns the ClusterTopology or ClusterTopologyBinding that a deployment's constraints refer to, as admission
// needs it; nothing if it has no constraints. An error says that it is not known whether there is one.
func (c Cluster) Topology(
	ctx context.Context, deployment *v1beta1.DynamoGraphDeployment,
) (admission.Topology, error) {
	return c.topology(ctx, TopologyName(deployment))
}

// TransferTopology returns the topology that a deployment's kvTransferPolicy names; nothing if it names none.
func (c Cluster) TransferTopology(
	ctx context.Context, deployment *v1beta1.DynamoGraphDeployment,
) (admission.Topology, error) {
	return c.topology(ctx, TransferTopologyName(deployment))
}

// transferLevel is the node label of the level that a deployment's kvTransferPolicy names by a topology. If the
// topology is gone, or has lost the level, it is the label with which the set's pods were made, so that the pods stay.
// It is empty if neither is known.
func (c Cluster) transferLevel(
	ctx context.Context, deployment *v1beta1.DynamoGraphDeployment, set *grovev1alpha1.PodCliqueSet,
) (string, error) {
	if TransferTopologyName(deployment) == "" {
		return "", nil
	}
	topology, err := c.TransferTopology(ctx, deployment)
	if err != nil {
		return "", err
	}
	policy := pods.KVTransferPolicyOf(deployment)
	if label := topology.LabelOf(policy.Domain); label != "" || set == nil {
		return label, nil
	}
	for _, clique := range set.Spec.Template.Cliques {
		if level := pods.LevelAskedFor(clique.Annotations, policy); level != "" {
			return level, nil
		}
	}
	return "", nil
}

func (c Cluster) topology(ctx context.Context, name string) (admission.Topology, error) {
	if name == "" {
		return admission.Topology{}, nil
	}
	topology, err := get(ctx, c.Reader, "", name, &grovev1alpha1.ClusterTopology{})
	uninstalled := meta.IsNoMatchError(err)
	if err != nil && !uninstalled {
		return admission.Topology{}, err
	}
	if topology != nil {
		return topologyOf(grovev1alpha1.KindClusterTopology, name, topology.Spec.Levels), nil
	}
	binding, err := get(ctx, c.Reader, "", name, &grovev1alpha1.ClusterTopologyBinding{})
	if err != nil && !meta.IsNoMatchError(err) {
		return admission.Topology{}, err
	}
	if binding != nil {
		return topologyOf(grovev1alpha1.KindClusterTopologyBinding, name, binding.Spec.Levels), nil
	}
	problem := fmt.Sprintf("ClusterTopology %q cannot be read, since its kind is not installed: %s", name, install)
	if !uninstalled {
		problem = fmt.Sprintf("ClusterTopology %q does not exist; %s", name, c.others(ctx, name))
	}
	return admission.Topology{Kind: grovev1alpha1.KindClusterTopology, Name: name, Problem: problem}, nil
}

// topologyOf returns a topology of one of the two kinds by its levels.
func topologyOf[L grovev1alpha1.TopologyLevel | grovev1alpha1.TopologyBindingLevel](
	kind, name string, levels []L,
) admission.Topology {
	answer := admission.Topology{Kind: kind, Name: name}
	for _, one := range levels {
		level := grovev1alpha1.TopologyLevel(one)
		answer.Domains, answer.Labels = append(answer.Domains, string(level.Domain)), append(answer.Labels, level.Key)
	}
	return answer
}

// others names the topologies that exist instead of the missing one, or says what to do if there are none: only Grove
// can create the default one.
func (c Cluster) others(ctx context.Context, missing string) string {
	var existing []string
	for _, list := range []client.ObjectList{&grovev1alpha1.ClusterTopologyList{},
		&grovev1alpha1.ClusterTopologyBindingList{}} {
		if c.Reader.List(ctx, list) == nil {
			_ = meta.EachListItem(list, func(object runtime.Object) error {
				existing = append(existing, object.(client.Object).GetName())
				return nil
			})
		}
	}
	if len(existing) == 0 {
		if missing == grovev1alpha1.DefaultClusterTopologyName {
			return "the administrator has to enable topology-aware scheduling in Grove, " +
				"or to create another ClusterTopology to be named here"
		}
		return "the administrator has to create it"
	}
	slices.Sort(existing)
	return "existing ones: " + strings.Join(existing, ", ")
}
