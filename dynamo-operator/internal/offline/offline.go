// Package offline shows, without a cluster, what a deployment becomes: it applies admission and translation to
// manifests.
package offline

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/dynamo-operator/internal/admission"
	"packtree.dev/dynamo-operator/internal/grove"
	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/apply"
	"packtree.dev/shared/domains"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/offline"
)

var (
	deploymentKind = schema.GroupKind{Group: v1beta1.GroupName, Kind: "DynamoGraphDeployment"}
	topologyKind   = schema.GroupKind{Group: grovev1alpha1.GroupVersion.Group, Kind: grovev1alpha1.KindClusterTopology}
	bindingKind    = schema.GroupKind{Group: grovev1alpha1.GroupVersion.Group,
		Kind: grovev1alpha1.KindClusterTopologyBinding}
)

// Renderer renders for a cluster.
type Renderer struct {
	// Infrastructure has the addresses that the pods get.
	Infrastructure pods.Infrastructure
}

// Render replaces each DynamoGraphDeployment by the objects that the controller would create for it, and leaves all
// other documents as they are. Constraints are checked against the ClusterTopologies and ClusterTopologyBindings among
// the documents. The cluster is assumed to have InferencePools.
func (r Renderer) Render(documents []manifests.Document) ([]runtime.Object, []manifests.Finding) {
	var objects []runtime.Object
	findings := manifests.Repeated(documents, deploymentKind, topologyKind, bindingKind)
	for _, document := range documents {
		if kind := document.Object.GroupVersionKind(); kind.GroupKind() != deploymentKind {
			objects = append(objects, document.Object)
			if idle := admission.WithoutEffect(kind.Group, kind.Kind); idle != "" {
				findings = append(findings, document.Warnings([]string{idle})...)
			}
			continue
		}
		document = inNamespace(document)
		deployment, found := admit(document, documents)
		findings = append(findings, found...)
		if failed(found) {
			continue
		}
		findings = append(findings, stopped(document, deployment)...)
		options := grove.Options{Infrastructure: r.Infrastructure, Pools: true}
		if policy := pods.KVTransferPolicyOf(deployment); policy != nil {
			options.TransferLevel = transferTopology(documents, deployment).LabelOf(policy.Domain)
		}
		becomes, err := grove.Translate(deployment, options, grove.Live{})
		if err != nil {
			findings = append(findings, document.Finding("", err.Error()))
		}
		for _, object := range becomes {
			made, err := apply.Manifest(object)
			if err != nil {
				findings = append(findings, document.Finding("", err.Error()))
				continue
			}
			objects = append(objects, made)
		}
	}
	return objects, findings
}

// stopped warns of services with 0 replicas: a template cannot say 0. The printed template has pods that the controller
// scales to 0 as soon as their clique or scaling group exists.
func stopped(document manifests.Document, deployment *v1beta1.DynamoGraphDeployment) []manifests.Finding {
	parts := "components"
	if document.Object.GroupVersionKind().Version == v1alpha1.GroupVersion.Version {
		parts = "services"
	}
	var warnings []string
	for i := range deployment.Spec.Components {
		component := &deployment.Spec.Components[i]
		if component.Replicas == nil || *component.Replicas > 0 {
			continue
		}
		minimum := int32(1)
		if component.MinAvailable != nil {
			minimum = *component.MinAvailable
		}
		warnings = append(warnings,
			fmt.Sprintf(
				"spec.%s[%d].replicas: 0 cannot be shown: it is made with %d and scaled to 0 at once (service %q)",
				parts, i, minimum, component.Name))
	}
	return document.Warnings(warnings)
}

func failed(findings []manifests.Finding) bool {
	return slices.ContainsFunc(findings, func(finding manifests.Finding) bool { return !finding.Warning })
}

// inNamespace returns a copy of a document that names its namespace, as kubectl does where the manifest does not.
func inNamespace(document manifests.Document) manifests.Document {
	document.Object = document.Object.DeepCopy()
	if _, written, _ := unstructured.NestedFieldNoCopy(document.Object.Object, "metadata", "namespace"); !written {
		document.Object.SetNamespace(corev1.NamespaceDefault)
	}
	return document
}

// admit runs the webhooks' decisions about a creation on a document. It changes the document's object.
func admit(
	document manifests.Document, all []manifests.Document,
) (*v1beta1.DynamoGraphDeployment, []manifests.Finding) {
	version := document.Object.GroupVersionKind().Version
	problems := admission.Complete(version, document.Object.Object)
	if len(problems) == 0 {
		problems = admission.Unknown(version, document.Object.Object)
	}
	if len(problems) > 0 {
		return nil, problemFindings(document, problems)
	}
	if version == v1alpha1.GroupVersion.Version {
		return admitAs(document, all, &v1alpha1.DynamoGraphDeployment{}, admission.FromV1Alpha1)
	}
	return admitAs(document, all, &v1beta1.DynamoGraphDeployment{},
		func(written *v1beta1.DynamoGraphDeployment) (admission.Candidate, error) {
			return admission.FromV1Beta1(written), nil
		})
}

// withContainers replaces missing lists of containers by empty ones. A Go pod spec without containers is written with
// null, which would be reported as a wrong type; the missing main container is reported instead.
func withContainers(written runtime.Object) {
	deployment, ok := written.(*v1beta1.DynamoGraphDeployment)
	if !ok {
		return
	}
	for i := range deployment.Spec.Components {
		if pod := &deployment.Spec.Components[i].PodTemplate.Spec; pod.Containers == nil {
			pod.Containers = []corev1.Container{}
		}
	}
}

func admitAs[T runtime.Object](
	document manifests.Document, all []manifests.Document, written T, read func(T) (admission.Candidate, error),
) (*v1beta1.DynamoGraphDeployment, []manifests.Finding) {
	var candidate admission.Candidate
	findings := offline.Admit(document, written, offline.Admission[T]{
		Default: func(written T) { withContainers(written) },
		Validate: func(written T) ([]string, field.ErrorList) {
			var err error
			if candidate, err = read(written); err != nil {
				return nil, field.ErrorList{field.InternalError(nil, err)}
			}
			warnings := append(candidate.Warnings(),
				candidate.TransferWarnings(transferTopology(all, candidate.Hub))...)
			return warnings, candidate.ValidateCreate(topologyAmong(all, grove.TopologyName(candidate.Hub)))
		},
	})
	return candidate.Hub, findings
}

func problemFindings(document manifests.Document, problems []manifests.Problem) []manifests.Finding {
	var findings []manifests.Finding
	for _, problem := range problems {
		finding := document.Finding(problem.Path, problem.Reason)
		finding.Unknown = problem.Unknown
		findings = append(findings, finding)
	}
	return findings
}

// topologyAmong finds a ClusterTopology in the input, or else a ClusterTopologyBinding. Whether the topology is valid
// is for the program to report that reads it.
func topologyAmong(documents []manifests.Document, name string) admission.Topology {
	var others []string
	for _, kind := range []schema.GroupKind{topologyKind, bindingKind} {
		for _, document := range documents {
			if document.Object.GroupVersionKind().GroupKind() != kind {
				continue
			}
			if document.Object.GetName() == name {
				domains, labels := levelsOf(document.Object)
				return admission.Topology{Kind: kind.Kind, Name: name, Domains: domains, Labels: labels}
			}
			others = append(others, document.Object.GetName())
		}
	}
	problem := fmt.Sprintf("ClusterTopology %q is not in the input; add its manifest", name)
	if len(others) > 0 {
		problem += "; the input has " + strings.Join(others, ", ")
	}
	return admission.Topology{Name: name, Problem: problem}
}

// transferTopology is the topology that kvTransferPolicy names; nothing if it names none.
func transferTopology(documents []manifests.Document, deployment *v1beta1.DynamoGraphDeployment) admission.Topology {
	name := grove.TransferTopologyName(deployment)
	if name == "" {
		return admission.Topology{}
	}
	return topologyAmong(documents, name)
}

// levelsOf are the domains of a topology's levels, each once, with their node labels. Domains that a ClusterTopology
// cannot have are left out.
func levelsOf(topology *unstructured.Unstructured) (named, labels []string) {
	levels, _, _ := unstructured.NestedSlice(topology.Object, "spec", "levels")
	free := topology.GetKind() == bindingKind.Kind
	for _, level := range levels {
		level, _ := level.(map[string]any)
		domain, _ := level["domain"].(string)
		known := free && domain != "" || domains.All().Known(domain)
		if !known || slices.Contains(named, domain) {
			continue
		}
		key, _ := level["key"].(string)
		named, labels = append(named, domain), append(labels, key)
	}
	return named, labels
}
