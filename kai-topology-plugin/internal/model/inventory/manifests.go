package inventory

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"

	"packtree.dev/kai-topology-plugin/internal/model/nativegroups"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/offline"
)

var (
	nodeKind     = corev1.SchemeGroupVersion.WithKind("Node").GroupKind()
	podKind      = corev1.SchemeGroupVersion.WithKind("Pod").GroupKind()
	topologyKind = kai.GroupVersion.WithKind("Topology").GroupKind()
	eventKind    = corev1.SchemeGroupVersion.WithKind("Event").GroupKind()
	podGroupKind = scheduling.GroupVersion.WithKind("PodGroup").GroupKind()

	nativeKind, compositeKind = nativegroups.Kinds[0], nativegroups.Kinds[1]
)

// Read takes the kinds that it knows, in the order of the manifests. PodGroups and Topologies are held to their
// schemas, as by the API server, but for rules between fields: a PodGroup that breaks one, or names a Topology that
// does, is decided, as Invalid.
func Read(documents []manifests.Document) (*Inventory, []manifests.Finding) {
	read, documents := New(), named(documents)
	native := &nativegroups.Forest{}
	var findings []manifests.Finding
	for _, document := range documents {
		kind := document.Object.GroupVersionKind().GroupKind()
		var wrong []manifests.Finding
		switch kind {
		case nodeKind:
			wrong = read.addNode(document)
		case podKind:
			wrong = read.addPod(document)
		case topologyKind:
			wrong = read.addTopology(document)
		case zones.Kind:
			wrong = read.addZones(document)
		case podGroupKind:
			wrong = read.addPodGroup(document)
		case nativeKind, compositeKind:
			wrong = addNative(native, document)
		case eventKind:
			read.addEvent(document)
		default:
			if isWorkload(kind) {
				read.Workloads = append(read.Workloads, document.Object)
			}
			continue
		}
		findings = append(findings, wrong...)
	}
	distinguish(read.Pods)
	read.Join(native)
	once := manifests.Repeated(documents, nodeKind, podKind, topologyKind, podGroupKind, zones.Kind, nativeKind,
		compositeKind)
	return read, append(findings, once...)
}

func (in *Inventory) addNode(document manifests.Document) []manifests.Finding {
	node := &corev1.Node{}
	findings := append(document.DecodeInto(node), offline.Named(document, false)...)
	findings = append(findings, document.FieldFindings(wrongOffers(node))...)
	setNodeDefaults(node)
	in.Nodes = append(in.Nodes, node)
	return findings
}

func (in *Inventory) addPod(document manifests.Document) []manifests.Finding {
	pod := &corev1.Pod{}
	findings := append(document.DecodeInto(pod), offline.Named(document, true)...)
	findings = append(findings, document.FieldFindings(wrongRequests(pod))...)
	corev1defaults.SetObjectDefaults_Pod(pod)
	identify(pod)
	in.Pods = append(in.Pods, pod)
	in.Written[pod] = document.Object
	return findings
}

func (in *Inventory) addTopology(document manifests.Document) []manifests.Finding {
	topology := &kai.Topology{}
	findings := offline.Admit(document, topology, offline.Admission[*kai.Topology]{WithoutRules: true})
	in.Topologies[topology.Name] = topology
	return findings
}

func (in *Inventory) addZones(document manifests.Document) []manifests.Finding {
	read, err := zones.Read(document.Object)
	if err != nil {
		return unreadable(document, err)
	}
	in.Zones.Set(read)
	return nil
}

// unreadable says why a document was refused, at the field that the error names.
func unreadable(document manifests.Document, err error) []manifests.Finding {
	if wrong := (&field.Error{}); errors.As(err, &wrong) {
		return document.FieldFindings(field.ErrorList{wrong})
	}
	return []manifests.Finding{document.Finding("", err.Error())}
}

// addNative takes a group of Kubernetes as far as it is understood: its own API server has said what is wrong with it.
func addNative(native *nativegroups.Forest, document manifests.Document) []manifests.Finding {
	group, err := nativegroups.Read(document.Object)
	if err != nil {
		return unreadable(document, err)
	}
	identify(group)
	native.Set(group)
	return offline.Named(document, true)
}

// addEvent leaves out what cannot be read: events decide nothing.
func (in *Inventory) addEvent(document manifests.Document) {
	event := &corev1.Event{}
	if len(document.DecodeInto(event)) == 0 {
		in.Events = append(in.Events, event)
	}
}

// addPodGroup keeps a status as it is: a scheduler wrote it, not the user of the command.
func (in *Inventory) addPodGroup(document manifests.Document) []manifests.Finding {
	podGroup := &scheduling.PodGroup{}
	status := document.Object.Object["status"]
	bare := document
	bare.Object = document.Object.DeepCopy()
	delete(bare.Object.Object, "status")
	findings := offline.Admit(bare, podGroup, offline.Admission[*scheduling.PodGroup]{WithoutRules: true})
	if written, err := json.Marshal(status); err == nil && json.Unmarshal(written, &podGroup.Status) != nil {
		podGroup.Status = scheduling.PodGroupStatus{} // Of another form altogether: it decides nothing.
	}
	identify(podGroup)
	in.PodGroups = append(in.PodGroups, podGroup)
	return findings
}

// kubeletMaxPods is how many pods a kubelet takes unless it is configured otherwise.
const kubeletMaxPods = 110

// setNodeDefaults fills in what the API server and a kubelet would have: what can be allocated, and a number of pods. A
// node that is written by hand for a question often names only its GPUs.
func setNodeDefaults(node *corev1.Node) {
	corev1defaults.SetObjectDefaults_Node(node)
	if _, ok := node.Status.Allocatable[corev1.ResourcePods]; ok {
		return
	}
	if node.Status.Allocatable == nil {
		node.Status.Allocatable = corev1.ResourceList{}
	}
	node.Status.Allocatable[corev1.ResourcePods] = *resource.NewQuantity(kubeletMaxPods, resource.DecimalSI)
}

// identify gives an object what the API server would have: a namespace and a UID.
func identify(object metav1.Object) {
	if object.GetNamespace() == "" {
		object.SetNamespace(metav1.NamespaceDefault)
	}
	if object.GetUID() == "" {
		object.SetUID(types.UID(object.GetNamespace() + "/" + object.GetName()))
	}
}

// distinguish gives pods UIDs by their names where one is that of several, as of copies of a pod.
func distinguish(pods []*corev1.Pod) {
	met := sets.Set[types.UID]{}
	for _, pod := range pods {
		if met.Has(pod.UID) {
			pod.UID = ""
			identify(pod)
		}
		met.Insert(pod.UID)
	}
}

// named returns the documents with a name for each object that leaves its name to the API server. Answers go by names,
// so two pods without one would be taken for the same. A generated name has no zeros, so these names do not collide.
func named(documents []manifests.Document) []manifests.Document {
	documents = slices.Clone(documents)
	count := 0
	for i, document := range documents {
		if document.Object.GetName() != "" || document.Object.GetGenerateName() == "" {
			continue
		}
		count++
		documents[i].Object = document.Object.DeepCopy()
		documents[i].Object.SetName(fmt.Sprintf("%s%05d", document.Object.GetGenerateName(), count))
	}
	return documents
}

// wrongOffers returns the amounts of a node that no API server takes: negative ones, and parts of devices. They would
// be counted as something else.
func wrongOffers(node *corev1.Node) field.ErrorList {
	path := field.NewPath("status")
	return append(wrongAmounts(node.Status.Capacity, path.Child("capacity")),
		wrongAmounts(node.Status.Allocatable, path.Child("allocatable"))...)
}

// wrongRequests returns the amounts of a pod that no API server takes. A negative one would free what others use.
func wrongRequests(pod *corev1.Pod) field.ErrorList {
	path := field.NewPath("spec")
	errs := wrongAmounts(pod.Spec.Overhead, path.Child("overhead"))
	if whole := pod.Spec.Resources; whole != nil {
		errs = append(errs, wrongResources(whole, path.Child("resources"))...)
	}
	errs = append(errs, wrongContainers(pod.Spec.InitContainers, path.Child("initContainers"))...)
	return append(errs, wrongContainers(pod.Spec.Containers, path.Child("containers"))...)
}

func wrongContainers(containers []corev1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range containers {
		errs = append(errs, wrongResources(&containers[i].Resources, path.Index(i).Child("resources"))...)
	}
	return errs
}

func wrongResources(resources *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	return append(wrongAmounts(resources.Limits, path.Child("limits")),
		wrongAmounts(resources.Requests, path.Child("requests"))...)
}

func wrongAmounts(amounts corev1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		errs = append(errs,
			validation.ValidateResourceQuantityValue(core.ResourceName(name), amounts[name], path.Key(string(name)))...)
	}
	return errs
}
