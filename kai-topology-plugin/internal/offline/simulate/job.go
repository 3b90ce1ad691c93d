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

	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/podgrouptree"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Job is a gang of a stream.
type Job struct {
	Name string
	// Duration is how long the gang runs, in seconds; +Inf if it does not end.
	Duration float64

	podGroup *scheduling.PodGroup
	// pods are the gang's. A plain gang has one, and count such pods are made when it arrives: the pods of all gangs of a
	// long stream would not fit into memory.
	pods  []*corev1.Pod
	count int32
	// alike is equal for plain gangs that differ only in their names and times; empty for other gangs.
	alike string
}

func (j *Job) key() gang.Key { return gang.KeyOfPodGroup(j.podGroup) }

// objects returns new copies of the PodGroup and the pods, as they are when they arrive. A gang below its minimum is
// stopped at once.
func (j *Job) objects(at float64) (*scheduling.PodGroup, []*corev1.Pod) {
	podGroup, pods := j.podGroup.DeepCopy(), make([]*corev1.Pod, max(len(j.pods), int(j.count)))
	podGroup.CreationTimestamp = metav1.NewTime(moment(at))
	podGroup.Spec.StalenessGracePeriod, podGroup.Status = &metav1.Duration{}, scheduling.PodGroupStatus{}
	for i := range pods {
		pod := *j.pods[min(i, len(j.pods)-1)]
		pod.CreationTimestamp = podGroup.CreationTimestamp
		if j.count > 0 {
			pod.Name = j.Name + "-" + strconv.Itoa(i)
		}
		pod.UID = types.UID(j.Name + "/" + pod.Name)
		pods[i] = &pod
	}
	return podGroup, pods
}

// kinds are what the pods of the gang request.
func (j *Job) kinds() ([]kind, error) {
	kinds, err := kindsOf(j.pods)
	if err == nil && j.count > 0 {
		kinds[0].count = int64(j.count)
	}
	return kinds, err
}

// plain reads a gang of pods that are all alike.
func (r *reader) plain(job *Job, written *line) error {
	if err := json.Unmarshal(written.Pods, &job.count); err != nil || job.count < 1 {
		return wrong("pods",
			"must be how many pods the gang has, 1 to %d, or, with podGroup, a list of Pods", math.MaxInt32)
	}
	if written.Requests == nil {
		return wrong("requests", "is missing: what each pod asks for, by resource")
	}
	requests := corev1.ResourceList{}
	for _, name := range slices.Sorted(maps.Keys(written.Requests)) {
		amount, reason := amountOf(name, written.Requests[name])
		if reason != "" {
			return wrong("requests["+name+"]", "%s", reason)
		}
		requests[corev1.ResourceName(name)] = amount
	}
	constraint := scheduling.TopologyConstraint{
		Topology: written.Topology, RequiredTopologyLevel: written.Required, PreferredTopologyLevel: written.Preferred,
	}
	paths := map[string]string{
		"topology": "topology", "requiredTopologyLevel": "required", "preferredTopologyLevel": "preferred",
	}
	for _, err := range podgrouptree.CheckConstraint(constraint, nil, r.cluster.Levels) {
		return wrong(paths[err.Field], "%s", sentence(err))
	}
	job.alike = fmt.Sprintf("%d %q %q %d", job.count, written.Requests, constraint, written.Priority)
	job.podGroup = &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{
		Namespace: metav1.NamespaceDefault, Name: job.Name, UID: types.UID(job.Name),
	}}
	job.podGroup.Spec.MinMember = &job.count
	if constraint.Topology != "" {
		job.podGroup.Spec.TopologyConstraint = &constraint
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: metav1.NamespaceDefault, ResourceVersion: "1",
		Annotations: map[string]string{scheduling.AnnotationPodGroupName: job.Name},
	}}
	pod.Spec.Priority = &written.Priority
	pod.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: requests}}}
	job.pods = []*corev1.Pod{pod}
	return nil
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
	switch {
	case len(read.PodGroups) != 1:
		return wrong("podGroup.apiVersion", "must be %s, not %q", scheduling.GroupVersion, podGroup.Object.GetAPIVersion())
	case len(read.Pods) != len(pods):
		return wrong("pods", "must be Pods of apiVersion v1")
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
	pod.Status, pod.DeletionTimestamp = corev1.PodStatus{}, nil
	return nil
}
