package simulate

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/shared/didyoumean"
	"packtree.dev/shared/manifests"
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

// line is a line as it is written.
type line struct {
	At       *float64 `json:"at"`
	Name     string   `json:"name"`
	Duration *float64 `json:"duration"`
	// PodGroup and Pods are whole manifests, or Pods is a number.
	PodGroup  json.RawMessage            `json:"podGroup"`
	Pods      json.RawMessage            `json:"pods"`
	Requests  map[string]json.RawMessage `json:"requests"`
	Topology  string                     `json:"topology"`
	Required  string                     `json:"required"`
	Preferred string                     `json:"preferred"`
	Priority  int32                      `json:"priority"`
	Node      string                     `json:"node"`
	Down      *bool                      `json:"down"`
}

// fault is what is wrong with a field.
type fault struct{ path, reason string }

func (f *fault) Error() string { return f.path + ": " + f.reason }

func wrong(path, format string, args ...any) *fault {
	return &fault{path, fmt.Sprintf(format, args...)}
}

// wholeLine is the path of a line that is no JSON object.
const wholeLine = "line"

// maxFaults is how many wrong lines are named; what comes after these is not read.
const maxFaults = 100

// Read reads a stream for a cluster. The error names what is wrong, as FILE:LINE: path: reason, a line each.
func Read(file string, from io.Reader, cluster *inventory.Inventory) (events []Event, err error) {
	r := newReader(cluster)
	lines := bufio.NewReaderSize(from, 1<<20)
	var faults []error
	for number := 1; err == nil && len(faults) < maxFaults; number++ {
		var text []byte
		text, err = lines.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("%s:%d: %w", file, number, err)
		}
		if text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff"))); len(text) == 0 {
			continue
		}
		event, wrong := r.read(text, number)
		if wrong != nil {
			faults = append(faults, fmt.Errorf("%s:%d: %w", file, number, wrong))
		}
		events = append(events, event)
	}
	return events, errors.Join(faults...)
}

// reader remembers what later lines are compared with.
type reader struct {
	cluster *inventory.Inventory
	last    float64
	// names and gangs have the line of each gang, 0 for one of the cluster.
	names map[string]int
	gangs map[gang.Key]int
	nodes map[string]bool
}

func newReader(cluster *inventory.Inventory) *reader {
	r := &reader{
		cluster: cluster, names: map[string]int{}, gangs: map[gang.Key]int{}, nodes: map[string]bool{},
	}
	for _, node := range cluster.Nodes {
		r.nodes[node.Name] = true
	}
	for _, podGroup := range cluster.PodGroups {
		r.gangs[gang.KeyOfPodGroup(podGroup)] = 0
	}
	return r
}

// tooLarge is what the decoder says of a number that its field cannot hold.
var tooLarge = regexp.MustCompile(`cannot unmarshal number (\S+) into Go struct field line\.(\w+) of type`)

func (r *reader) read(text []byte, number int) (Event, error) {
	var written line
	if problems := manifests.DecodeStrict(text, &written); len(problems) > 0 {
		if large := tooLarge.FindStringSubmatch(problems[0].Reason); large != nil {
			return Event{}, wrong(large[2], "%s is too large", large[1])
		}
		return Event{}, wrong(cmp.Or(problems[0].Path, wholeLine), "%s", problems[0].Reason)
	}
	switch at := written.At; {
	case at == nil:
		return Event{}, wrong("at", "is missing: the seconds from the start at which it happens")
	case *at < 0 || *at > maxSeconds:
		return Event{}, wrong("at", "must be from 0 to %g seconds, and is %v", maxSeconds, *at)
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
	case written.Name != "" || written.Pods != nil || written.PodGroup != nil ||
		written.Duration != nil || written.Requests != nil:
		return "", false, wrong("node", "a line is about a node or about a gang, not both")
	case written.Node == "":
		return "", false, wrong("node", "is missing: the node that is down, or well again")
	case !r.nodes[written.Node]:
		return "", false, wrong("node", "the cluster has no node %q%s",
			written.Node, meant(written.Node, slices.Collect(maps.Keys(r.nodes))))
	case written.Down == nil:
		return "", false, wrong("down", "is missing: true if the node fails, false if it is well again")
	}
	return written.Node, *written.Down, nil
}

func meant(word string, known []string) string {
	slices.Sort(known)
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
		return nil, wrong("name", "gang %q is in line %d, too", written.Name, first)
	}
	r.names[written.Name] = number
	job := &Job{Name: written.Name, Duration: math.Inf(1)}
	if written.Duration != nil {
		if job.Duration = *written.Duration; job.Duration < 0 || job.Duration > maxSeconds {
			return nil, wrong("duration", "must be from 0 to %g seconds, and is %v", maxSeconds, job.Duration)
		}
	}
	var err error
	path := "name"
	if given(written.PodGroup) {
		err, path = r.whole(job, written), "podGroup.metadata.name"
	} else {
		err = r.plain(job, written)
	}
	if err != nil {
		return nil, err
	}
	if first, taken := r.gangs[job.key()]; taken {
		if first == 0 {
			return nil, wrong(path, "the cluster has a PodGroup %s", job.key())
		}
		return nil, wrong(path, "the gang in line %d has the PodGroup %s, too", first, job.key())
	}
	r.gangs[job.key()] = number
	return job, nil
}

// given reports whether a field is there and not null.
func given(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }
