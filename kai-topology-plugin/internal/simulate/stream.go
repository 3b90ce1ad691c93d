package simulate

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/shared/didyoumean"
	"packtree.dev/shared/manifests"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Event is a line of a stream: a gang arrives, or a node fails or returns.
type Event struct {
	// At is when, in seconds from the start.
	At float64
	// Job is the gang that arrives; nil for a node.
	Job *Job
	// Node is the name of the node that fails, or is well again.
	Node string
	Down bool
}

// Job is a gang of a stream.
type Job struct {
	Name string
	// Duration is how long the gang runs, in seconds; +Inf if it does not end.
	Duration float64
	PodGroup *scheduling.PodGroup
	Pods     []*corev1.Pod
}

// line is a line as it is written.
type line struct {
	At       *float64 `json:"at"`
	Name     string   `json:"name"`
	Duration *float64 `json:"duration"`
	// PodGroup and Pods are whole manifests, or Pods is a number.
	PodGroup  json.RawMessage   `json:"podGroup"`
	Pods      json.RawMessage   `json:"pods"`
	Requests  map[string]string `json:"requests"`
	Topology  string            `json:"topology"`
	Required  string            `json:"required"`
	Preferred string            `json:"preferred"`
	Priority  int32             `json:"priority"`
	Node      string            `json:"node"`
	Down      *bool             `json:"down"`
}

// fault is what is wrong with a field.
type fault struct{ path, reason string }

func (f *fault) Error() string {
	if f.path == "" {
		return f.reason
	}
	return f.path + ": " + f.reason
}

func wrong(path, format string, args ...any) *fault {
	return &fault{path, fmt.Sprintf(format, args...)}
}

// maxLine is how long a line may be, in bytes.
const maxLine = 64 << 20

// Read reads a stream for a cluster. The error names everything that is wrong, as FILE:LINE: path: reason, a line each.
func Read(file string, from io.Reader, cluster *inventory.Inventory) ([]Event, error) {
	r := &reader{cluster: cluster, names: map[string]int{}, nodes: map[string]bool{}}
	for _, node := range cluster.Nodes {
		r.nodes[node.Name] = true
	}
	for _, podGroup := range cluster.PodGroups {
		r.names[podGroup.Name] = 0
	}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	var events []Event
	var faults []error
	for number := 1; lines.Scan(); number++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		event, err := r.read([]byte(text), number)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s:%d: %w", file, number, err))
			continue
		}
		events = append(events, event)
	}
	if err := lines.Err(); err != nil {
		faults = append(faults, fmt.Errorf("%s: %w", file, err))
	}
	return events, errors.Join(faults...)
}

// reader remembers what later lines are compared with.
type reader struct {
	cluster *inventory.Inventory
	last    float64
	// names has the line of each gang, 0 for one of the cluster.
	names map[string]int
	nodes map[string]bool
}

func (r *reader) read(text []byte, number int) (Event, error) {
	var written line
	if problems := manifests.DecodeStrict(text, &written); len(problems) > 0 {
		return Event{}, wrong(problems[0].Path, "%s", problems[0].Reason)
	}
	switch at := written.At; {
	case at == nil:
		return Event{}, wrong("at", "is missing: the seconds from the start at which it happens")
	case *at < 0 || math.IsInf(*at, 0):
		return Event{}, wrong("at", "must not be negative, and is %v", *at)
	case *at < r.last:
		return Event{}, wrong("at", "is %v, before %v of an earlier line: lines are in the order of time", *at, r.last)
	}
	r.last = *written.At
	event := Event{At: *written.At}
	var err error
	if written.Node != "" || written.Down != nil {
		event.Node, event.Down, err = r.node(&written)
	} else {
		event.Job, err = r.job(&written, number)
	}
	return event, err
}

func (r *reader) node(written *line) (name string, down bool, err error) {
	switch {
	case written.Name != "" || written.Pods != nil || written.PodGroup != nil:
		return "", false, wrong("node", "a line is about a node or about a gang, not both")
	case !r.nodes[written.Node]:
		return "", false, wrong("node", "the cluster has no node %q%s", written.Node, meant(written.Node, slices.Collect(maps.Keys(r.nodes))))
	case written.Down == nil:
		return "", false, wrong("down", "is missing: true if the node fails, false if it is well again")
	}
	return written.Node, *written.Down, nil
}

func meant(word string, known []string) string {
	if closest, ok := didyoumean.Closest(word, known); ok {
		return fmt.Sprintf(", did you mean %q?", closest)
	}
	return ""
}

func (r *reader) job(written *line, number int) (*Job, error) {
	if written.Name == "" {
		return nil, wrong("name", "is missing: the gang's own, or node for a node")
	}
	if first, taken := r.names[written.Name]; taken {
		if first == 0 {
			return nil, wrong("name", "the cluster has a gang %q", written.Name)
		}
		return nil, wrong("name", "gang %q is in line %d, too", written.Name, first)
	}
	r.names[written.Name] = number
	job := &Job{Name: written.Name, Duration: math.Inf(1)}
	if written.Duration != nil {
		if job.Duration = *written.Duration; job.Duration < 0 {
			return nil, wrong("duration", "must not be negative, and is %v", job.Duration)
		}
	}
	if written.PodGroup != nil {
		return job, r.manifests(job, written)
	}
	return job, r.plain(job, written)
}

// plain makes the PodGroup and the pods of a gang of which only numbers are given.
func (r *reader) plain(job *Job, written *line) error {
	var count int32
	if err := json.Unmarshal(written.Pods, &count); err != nil || count < 1 {
		return wrong("pods", "must be how many pods the gang has, 1 or more, or, with podGroup, a list of Pods")
	}
	if len(written.Requests) == 0 {
		return wrong("requests", "is missing: what each pod asks for, by resource")
	}
	requests := corev1.ResourceList{}
	for _, name := range slices.Sorted(maps.Keys(written.Requests)) {
		amount, err := resource.ParseQuantity(written.Requests[name])
		if err != nil || amount.Sign() < 0 {
			return wrong("requests["+name+"]", "%q is no quantity", written.Requests[name])
		}
		requests[corev1.ResourceName(name)] = amount
	}
	constraint, err := r.constraint(written)
	if err != nil {
		return err
	}
	job.PodGroup = &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: job.Name, UID: types.UID(job.Name)}}
	job.PodGroup.Spec.MinMember = &count
	job.PodGroup.Spec.TopologyConstraint = constraint
	for i := range count {
		name := fmt.Sprintf("%s-%d", job.Name, i)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID(job.Name + "/" + name),
			Annotations: map[string]string{scheduling.AnnotationPodGroupName: job.Name},
		}}
		pod.Spec.Priority = &written.Priority
		pod.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: requests}}}
		job.Pods = append(job.Pods, pod)
	}
	return nil
}

func (r *reader) constraint(written *line) (*scheduling.TopologyConstraint, error) {
	if written.Topology == "" {
		if written.Required+written.Preferred != "" {
			return nil, wrong("topology", "is missing: the Topology whose levels required and preferred name")
		}
		return nil, nil
	}
	levels, known := r.cluster.Levels(written.Topology)
	if !known {
		return nil, wrong("topology", "there is no Topology %q%s", written.Topology, meant(written.Topology, slices.Collect(maps.Keys(r.cluster.Topologies))))
	}
	constraint := &scheduling.TopologyConstraint{Topology: written.Topology}
	for _, level := range []struct {
		path, name string
		to         *string
	}{
		{"required", written.Required, &constraint.RequiredTopologyLevel},
		{"preferred", written.Preferred, &constraint.PreferredTopologyLevel},
	} {
		if level.name == "" {
			continue
		}
		if problem := levels.Problem(written.Topology, level.name); problem != "" {
			return nil, wrong(level.path, "%s", problem)
		}
		*level.to = level.name
	}
	return constraint, nil
}

// manifests reads the PodGroup and the pods of a gang as they are written.
func (r *reader) manifests(job *Job, written *line) error {
	if written.Requests != nil || written.Topology+written.Required+written.Preferred != "" || written.Priority != 0 {
		return wrong("podGroup", "says all of the gang: requests, topology, required, preferred and priority are for gangs without it")
	}
	var pods []json.RawMessage
	if err := json.Unmarshal(written.Pods, &pods); err != nil || len(pods) == 0 {
		return wrong("pods", "must be a list of Pods where podGroup is given")
	}
	documents := make([]manifests.Document, 0, len(pods)+1)
	for i, manifest := range append([]json.RawMessage{written.PodGroup}, pods...) {
		path, kind := "podGroup", "PodGroup"
		if i > 0 {
			path, kind = fmt.Sprintf("pods[%d]", i-1), "Pod"
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(manifest); err != nil {
			return wrong(path, "%v", err)
		}
		if object.GetKind() != kind {
			return wrong(path+".kind", "must be %s, not %q", kind, object.GetKind())
		}
		if object.GetNamespace() == "" {
			object.SetNamespace(metav1.NamespaceDefault)
		}
		documents = append(documents, manifests.Document{Source: path, Object: object})
	}
	read, findings := inventory.Read(documents)
	findings = slices.DeleteFunc(findings, func(f manifests.Finding) bool { return f.Warning })
	if len(findings) > 0 {
		return wrong(strings.TrimSuffix(findings[0].Source+"."+findings[0].Path, "."), "%s", findings[0].Reason)
	}
	job.PodGroup, job.Pods = read.PodGroups[0], read.Pods
	for i, pod := range job.Pods {
		if pod.Spec.NodeName != "" {
			return wrong(fmt.Sprintf("pods[%d].spec.nodeName", i), "must be empty: the pod arrives and is placed")
		}
		if pod.Annotations[scheduling.AnnotationPodGroupName] != job.PodGroup.Name {
			return wrong(fmt.Sprintf("pods[%d].metadata.annotations[%s]", i, scheduling.AnnotationPodGroupName), "must name the PodGroup %q", job.PodGroup.Name)
		}
		pod.UID = types.UID(job.Name + "/" + pod.Name)
	}
	return nil
}
