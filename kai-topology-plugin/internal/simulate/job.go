package simulate

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/turns"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/podgrouptree"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Job is a gang of a stream. Where only numbers are given, its objects are made when it arrives: a stream of a million
// gangs has more pods than there is memory for.
type Job struct {
	Name string
	// Duration is how long the gang runs, in seconds; +Inf if it does not end.
	Duration float64

	// shape is nil for a gang of whole manifests, which are in podGroup and pods.
	shape    *shape
	podGroup *scheduling.PodGroup
	pods     []*corev1.Pod
}

// shape is what gangs have in common of which only numbers are given.
type shape struct {
	count int32
	// containers are those of each pod.
	containers []corev1.Container
	constraint *scheduling.TopologyConstraint
	priority   int32
}

// shapeKey is a shape as it is written.
type shapeKey struct {
	count                                   int32
	requests, topology, required, preferred string
	priority                                int32
}

func (j *Job) key() gang.Key {
	if j.shape == nil {
		return gang.KeyOfPodGroup(j.podGroup)
	}
	return gang.Key{Namespace: metav1.NamespaceDefault, Name: j.Name}
}

// objects returns the PodGroup and the pods, as they are when they arrive. Nobody else has them.
func (j *Job) objects(at float64) (*scheduling.PodGroup, []*corev1.Pod) {
	created := metav1.NewTime(moment(at))
	if j.shape == nil {
		podGroup, pods := j.podGroup.DeepCopy(), make([]*corev1.Pod, len(j.pods))
		podGroup.CreationTimestamp = created
		for i := range j.pods {
			pods[i] = j.pods[i].DeepCopy()
			pods[i].CreationTimestamp = created
		}
		return podGroup, pods
	}
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{
		Namespace: metav1.NamespaceDefault, Name: j.Name, UID: types.UID(j.Name), CreationTimestamp: created,
	}}
	podGroup.Spec.MinMember, podGroup.Spec.TopologyConstraint = &j.shape.count, j.shape.constraint.DeepCopy()
	annotations := map[string]string{scheduling.AnnotationPodGroupName: j.Name}
	made, pods := make([]corev1.Pod, j.shape.count), make([]*corev1.Pod, j.shape.count)
	for i := range made {
		pod := &made[i]
		pod.Namespace, pod.Name, pod.Annotations = metav1.NamespaceDefault, j.Name+"-"+strconv.Itoa(i), annotations
		pod.UID, pod.CreationTimestamp, pod.ResourceVersion = uidOf(j, pod.Name), created, "1"
		pod.Spec.Priority, pod.Spec.Containers = &j.shape.priority, j.shape.containers
		pods[i] = pod
	}
	return podGroup, pods
}

func uidOf(j *Job, pod string) types.UID { return types.UID(j.Name + "/" + pod) }

// shape reads a gang of which only numbers are given.
func (r *reader) shape(written *line) (*shape, error) {
	key := shapeKey{
		topology: written.Topology, required: written.Required, preferred: written.Preferred,
		priority: written.Priority,
	}
	if err := json.Unmarshal(written.Pods, &key.count); err != nil || key.count < 1 {
		return nil, wrong("pods",
			"must be how many pods the gang has, 1 to %d, or, with podGroup, a list of Pods", math.MaxInt32)
	}
	if written.Requests == nil {
		return nil, wrong("requests", "is missing: what each pod asks for, by resource")
	}
	names := slices.Sorted(maps.Keys(written.Requests))
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintf(&text, "%q=%s ", name, written.Requests[name])
	}
	key.requests = text.String()
	if known := r.shapes[key]; known != nil {
		return known, nil
	}
	requests := corev1.ResourceList{}
	made := &shape{count: key.count, priority: written.Priority}
	made.containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: requests}}}
	for _, name := range names {
		amount, reason := amountOf(name, written.Requests[name])
		if reason != "" {
			return nil, wrong("requests["+name+"]", "%s", reason)
		}
		requests[corev1.ResourceName(name)] = amount
	}
	var err error
	constraint := constrained{written.Topology, written.Required, written.Preferred}
	if made.constraint, err = constraint.in(r.cluster); err != nil {
		return nil, err
	}
	r.shapes[key] = made
	return made, nil
}

// amountOf reads what a pod asks for of a resource, as text or as a number.
func amountOf(name string, written json.RawMessage) (amount resource.Quantity, reason string) {
	if problems := validation.IsQualifiedName(name); len(problems) > 0 {
		return amount, "is no name of a resource: " + problems[0]
	}
	text := strings.Trim(string(written), `"`)
	amount, err := resource.ParseQuantity(text)
	switch {
	case err != nil:
		return amount, fmt.Sprintf("%q is no quantity", text)
	case amount.Sign() < 0:
		return amount, fmt.Sprintf("must not be negative, and is %s", text)
	case strings.Contains(name, "/") && amount.MilliValue()%1000 != 0:
		return amount, fmt.Sprintf("must be a whole number, and is %s", text)
	}
	return amount, ""
}

// in returns the topology constraint in a cluster, and nil if there is none. An error names the field.
func (c *constrained) in(cluster *inventory.Inventory) (*scheduling.TopologyConstraint, error) {
	constraint := scheduling.TopologyConstraint{
		Topology: c.Topology, RequiredTopologyLevel: c.Required, PreferredTopologyLevel: c.Preferred,
	}
	if c.Topology != "" && cluster.Topologies[c.Topology] == nil {
		known := slices.Collect(maps.Keys(cluster.Topologies))
		return nil, wrong("topology", "there is no Topology %q%s", c.Topology, meant(c.Topology, known))
	}
	paths := map[string]string{
		"topology": "topology", "requiredTopologyLevel": "required", "preferredTopologyLevel": "preferred",
	}
	for _, err := range podgrouptree.CheckConstraint(constraint, nil, cluster.Levels) {
		return nil, wrong(paths[err.Field], "%s", sentence(err))
	}
	if c.Topology == "" {
		return nil, nil
	}
	return &constraint, nil
}

// sentence is an error about a field, without the field.
func sentence(err *field.Error) string {
	if err.Type == field.ErrorTypeRequired {
		return "is missing: " + err.Detail
	}
	return err.ErrorBody()
}

// whole reads the PodGroup and the pods of a gang as they are written.
func (r *reader) whole(job *Job, written *line) error {
	if written.Requests != nil || written.Topology+written.Required+written.Preferred != "" || written.Priority != 0 {
		return wrong("podGroup",
			"says all of the gang: requests, topology, required, preferred and priority are for gangs without it")
	}
	var pods []json.RawMessage
	if err := json.Unmarshal(written.Pods, &pods); err != nil || len(pods) == 0 {
		return wrong("pods", "must be a list of Pods where podGroup is given")
	}
	podGroup, err := document("podGroup", "PodGroup", metav1.NamespaceDefault, written.PodGroup)
	if err != nil {
		return err
	}
	documents := []manifests.Document{podGroup}
	for i, manifest := range pods {
		pod, err := document(fmt.Sprintf("pods[%d]", i), "Pod", podGroup.Object.GetNamespace(), manifest)
		if err != nil {
			return err
		}
		documents = append(documents, pod)
	}
	read, findings := inventory.Read(documents)
	findings = slices.DeleteFunc(findings, func(f manifests.Finding) bool { return f.Warning })
	if len(findings) > 0 {
		return wrong(strings.TrimSuffix(findings[0].Source+"."+findings[0].Path, "."), "%s", findings[0].Reason)
	}
	job.podGroup, job.pods = read.PodGroups[0], read.Pods
	if err := r.valid(job.podGroup); err != nil {
		return err
	}
	for i, pod := range job.pods {
		if err := join(job, pod); err != nil {
			err.path = fmt.Sprintf("pods[%d].%s", i, err.path)
			return err
		}
	}
	return nil
}

func document(path, kind, namespace string, manifest json.RawMessage) (manifests.Document, error) {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(manifest, &object.Object); err != nil || object.Object == nil {
		return manifests.Document{}, wrong(path, "must be a manifest of a %s", kind)
	}
	switch {
	case object.GetKind() != kind:
		return manifests.Document{}, wrong(path+".kind", "must be %s, not %q", kind, object.GetKind())
	case object.GetAPIVersion() == "":
		return manifests.Document{}, wrong(path+".apiVersion", "is missing")
	case object.GetName() == "":
		return manifests.Document{}, wrong(path+".metadata.name", "is missing")
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(namespace)
	}
	return manifests.Document{Source: path, Object: object}, nil
}

// valid refuses a PodGroup that the scheduler would call Invalid.
func (r *reader) valid(podGroup *scheduling.PodGroup) error {
	refused, blocked := turns.Wrong(podGroup, r.cluster.Levels)
	if errs := append(refused, blocked...); len(errs) > 0 {
		return wrong("podGroup."+errs[0].Field, "%s", sentence(errs[0]))
	}
	if _, hold := gang.Read(podGroup, r.cluster.Levels); hold != nil {
		return wrong("podGroup", "%s", hold.Message)
	}
	return nil
}

// join makes a pod one of the gang's that waits for a node.
func join(job *Job, pod *corev1.Pod) *fault {
	if pod.Spec.NodeName != "" {
		return wrong("spec.nodeName", "must be empty: the pod arrives and is placed")
	}
	key, member := gang.KeyOf(pod)
	if !member {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[scheduling.AnnotationPodGroupName] = job.podGroup.Name
		key, _ = gang.KeyOf(pod)
	}
	if key != gang.KeyOfPodGroup(job.podGroup) {
		return wrong("metadata.annotations["+scheduling.AnnotationPodGroupName+"]",
			"is %s: the PodGroup is %s", key, gang.KeyOfPodGroup(job.podGroup))
	}
	pod.UID, pod.Status, pod.DeletionTimestamp = uidOf(job, pod.Name), corev1.PodStatus{}, nil
	return nil
}
