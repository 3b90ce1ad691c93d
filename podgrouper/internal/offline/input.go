package offline

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	grovescheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/offline"

	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/owners"
	"packtree.dev/podgrouper/internal/topologies"
	"packtree.dev/podgrouper/internal/webhook"
)

// objectKey identifies objects of the input.
type objectKey struct {
	kind            schema.GroupKind
	namespace, name string
}

// input has the documents, each list in their order.
type input struct {
	documents  []manifests.Document
	objects    map[objectKey]int // the number of the document
	pods       map[int]*corev1.Pod
	gangs      map[int]*grovescheduler.PodGang
	podGroups  map[int]*scheduling.PodGroup
	topologies []kai.Topology
	findings   []manifests.Finding
}

// read decodes the kinds that the pod grouper uses, as the API server would admit them.
func read(documents []manifests.Document) *input {
	in := &input{
		documents: documents,
		objects:   map[objectKey]int{},
		pods:      map[int]*corev1.Pod{},
		gangs:     map[int]*grovescheduler.PodGang{},
		podGroups: map[int]*scheduling.PodGroup{},
		findings: manifests.Repeated(documents,
			podKind.GroupKind(), owners.PodGangKind.GroupKind(), podGroupKind.GroupKind(), topologyKind.GroupKind()),
	}
	for i, document := range documents {
		in.objects[keyOf(document.Object.GroupVersionKind().GroupKind(), document.Object)] = i
		switch document.Object.GroupVersionKind() {
		case podKind:
			in.pods[i] = &corev1.Pod{}
			in.find(append(document.DecodeInto(in.pods[i]), offline.Named(document, true)...))
		case owners.PodGangKind:
			in.gangs[i] = &grovescheduler.PodGang{}
			in.find(offline.Admit(document, in.gangs[i],
				offline.Admission[*grovescheduler.PodGang]{Validate: needsName}))
		case topologyKind:
			topology := &kai.Topology{}
			in.find(offline.Admit(document, topology, offline.Admission[*kai.Topology]{}))
			in.topologies = append(in.topologies, *topology)
		}
	}
	in.readPodGroups()
	return in
}

// needsName refuses a PodGang that leaves its name to the API server: its PodGroup has the same name.
func needsName(gang *grovescheduler.PodGang) ([]string, field.ErrorList) {
	if gang.Name == "" {
		return nil, field.ErrorList{field.Required(field.NewPath("metadata", "name"), "the PodGroup takes its name")}
	}
	return nil, nil
}

// readPodGroups comes last, since the Topologies that PodGroups name may follow them in the input.
func (in *input) readPodGroups() {
	judge := func(podGroup *scheduling.PodGroup) ([]string, field.ErrorList) {
		return webhook.JudgeNew(podGroup, in.levels())
	}
	for i, document := range in.documents {
		if document.Object.GroupVersionKind() == podGroupKind {
			in.podGroups[i] = &scheduling.PodGroup{}
			in.find(offline.Admit(document, in.podGroups[i], offline.Admission[*scheduling.PodGroup]{Validate: judge}))
		}
	}
}

func (in *input) find(findings []manifests.Finding) {
	in.findings = append(in.findings, findings...)
}

func (in *input) rejected() bool {
	for _, finding := range in.findings {
		if !finding.Warning {
			return true
		}
	}
	return false
}

// levels returns nil if the input has no Topology: then the Topologies are in the cluster, and cannot be checked here.
func (in *input) levels() grouping.Levels {
	if len(in.topologies) == 0 {
		return nil
	}
	return topologies.Of(in.topologies)
}

// lookup finds owners in the input. Owners that are not there may well exist, so they are unreadable and not missing.
// But the PodGang of a pod must be there, since it alone says how the pod is grouped.
func (in *input) lookup(reference owners.Reference) (grouping.Owner, error) {
	kind := reference.Kind.GroupKind()
	for _, namespace := range []string{reference.Namespace, ""} {
		i, found := in.objects[objectKey{kind, defaulted(namespace), reference.Name}]
		if !found {
			continue
		}
		owner := in.owner(i)
		if owner.GetUID() != "" && reference.UID != "" && owner.GetUID() != reference.UID {
			return grouping.Owner{}, owners.ErrMissing
		}
		return withUID(owner, reference.UID), nil
	}
	if reference.Kind == owners.PodGangKind {
		return grouping.Owner{}, owners.ErrMissing
	}
	return grouping.Owner{}, owners.UnreadableError{}
}

func (in *input) owner(i int) grouping.Owner {
	object := in.documents[i].Object
	kind := object.GroupVersionKind()
	if gang, found := in.gangs[i]; found {
		return grouping.Owner{Object: gang, Kind: kind, Content: object.Object}
	}
	return grouping.Owner{Object: object, Kind: kind, Content: object.Object}
}

// withUID gives an owner that was written without a uid the one by which its dependents refer to it.
func withUID(owner grouping.Owner, uid types.UID) grouping.Owner {
	if object, ok := owner.Object.(*unstructured.Unstructured); ok && object.GetUID() == "" && uid != "" {
		known := object.DeepCopy()
		known.SetUID(uid)
		owner.Object = known
	}
	return owner
}

func keyOf(kind schema.GroupKind, object interface {
	GetNamespace() string
	GetName() string
}) objectKey {
	return objectKey{kind, defaulted(object.GetNamespace()), object.GetName()}
}

// defaulted is the namespace that kubectl would use. Cluster-scoped objects are kept under it too: a kind is either
// namespaced or not.
func defaulted(namespace string) string {
	if namespace == "" {
		return "default"
	}
	return namespace
}
