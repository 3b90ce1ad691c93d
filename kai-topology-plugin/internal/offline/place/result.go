package place

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/brief"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/certificate"
	"packtree.dev/shared/render"
)

// Result is what was decided about PodGroups, as it is printed as JSON.
type Result struct {
	PodGroups           []PodGroupResult `json:"podGroups"`
	SearchNodes         int              `json:"searchNodes"`
	ElapsedMicroseconds int64            `json:"elapsedMicroseconds"`
}

// PodGroupResult is what was decided about one PodGroup.
type PodGroupResult struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Verdict is Placed, Infeasible, Unknown, Incomplete or Invalid; Reason is the same, and empty if Placed.
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
	// Message is one sentence that says why pods have no node.
	Message string `json:"message"`
	// Assignments has the nodes of the pods that get one, by their names.
	Assignments map[string]string `json:"assignments"`
	SubGroups   []SubGroupResult  `json:"subGroups"`
	// Certificate proves the verdict Infeasible. It is printed only if asked for.
	Certificate *Certificate `json:"certificate,omitempty"`
}

// Certificate proves that a gang does not fit.
type Certificate struct {
	// Reserved has pods (as namespace/name) of gangs that follow an earlier one, and the nodes where room is kept for
	// them. The gang must not count on it.
	Reserved map[string]string `json:"reserved,omitempty"`
	*certificate.Proof
}

// SubGroupResult is where one group of the tree stands; the root has the empty name.
type SubGroupResult struct {
	Name                   string              `json:"name"`
	Topology               string              `json:"topology"`
	RequiredTopologyLevel  string              `json:"requiredTopologyLevel"`
	PreferredTopologyLevel string              `json:"preferredTopologyLevel"`
	Domains                map[string][]string `json:"domains"`
}

// DropCertificates removes the certificates.
func (r *Result) DropCertificates() {
	for i := range r.PodGroups {
		r.PodGroups[i].Certificate = nil
	}
}

// Err is nil if every PodGroup is placed, and else an error with the exit code for that.
func (r *Result) Err() error {
	waits := func(podGroup PodGroupResult) bool { return podGroup.Verdict != scheduling.ReasonPlaced }
	if slices.ContainsFunc(r.PodGroups, waits) {
		return render.NotAll("some PodGroups are not placed")
	}
	return nil
}

// Decide decides every PodGroup in turn, and gives the pods of the inventory their nodes. Gangs for which unasked is
// true take the room that is theirs and are not reported. A gang that has to be near a later gang has another turn
// after that one. The result is in the order of the last turns.
func Decide(ctx context.Context, cluster *inventory.Inventory, gangs []turns.Turn, options packing.Options,
	unasked func(turns.Turn) bool) (*Result, error) {
	started := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	table, err := turns.Set(ctx, cluster)
	if err != nil {
		return nil, err
	}
	table = table.KeepingRoom()
	decided := &Result{PodGroups: []PodGroupResult{}}
	answers, order := make([]*solve.Answer, len(gangs)), []int{}
	for woken := true; woken; {
		woken = false
		for i, next := range gangs {
			if answers[i] != nil && (turns.Placed(answers[i]) || !table.Wakes(next)) {
				continue
			}
			woken = true
			if answers[i], err = table.Take(ctx, next, options.Budget); err != nil {
				return nil, err
			}
			order = append(slices.DeleteFunc(order, func(other int) bool { return other == i }), i)
			if !unasked(next) {
				decided.SearchNodes += answers[i].Steps
			}
		}
	}
	for _, i := range order {
		if unasked(gangs[i]) {
			continue
		}
		if len(answers[i].Nodes) == 0 && len(gangs[i].Gang.Standing) > 0 {
			// A decision that refuses or holds a gang does not always look where the gang stands.
			stand, err := table.Stand(gangs[i])
			if err != nil {
				return nil, err
			}
			answers[i].Groups = stand.Groups
		}
		decided.PodGroups = append(decided.PodGroups, resultOf(gangs[i].Rank.Gang, answers[i]))
	}
	decided.ElapsedMicroseconds = time.Since(started).Microseconds()
	return decided, nil
}

func resultOf(key gang.Key, answer *solve.Answer) PodGroupResult {
	printed := PodGroupResult{
		Namespace:   key.Namespace,
		Name:        key.Name,
		Verdict:     answer.Verdict,
		Message:     brief.Message(answer.Message),
		Assignments: map[string]string{},
		SubGroups:   []SubGroupResult{},
		Certificate: certificateOf(answer),
	}
	if !turns.Placed(answer) {
		printed.Reason = answer.Verdict
	}
	for pod, node := range answer.Nodes {
		printed.Assignments[pod] = node
	}
	for _, group := range answer.Groups {
		domains := group.Domains
		if domains == nil {
			domains = map[string][]string{}
		}
		printed.SubGroups = append(printed.SubGroups, SubGroupResult{
			Name:                   group.Name,
			Topology:               group.Constraint.Topology,
			RequiredTopologyLevel:  group.Constraint.Required,
			PreferredTopologyLevel: group.Constraint.Preferred,
			Domains:                domains,
		})
	}
	return printed
}

func certificateOf(answer *solve.Answer) *Certificate {
	if answer.Certificate == nil {
		return nil
	}
	made := &Certificate{Reserved: map[string]string{}, Proof: answer.Certificate}
	for node, pods := range answer.Respected {
		for _, pod := range pods {
			if gangstate.IsSeat(pod) {
				continue // The input shows it.
			}
			made.Reserved[pod.Namespace+"/"+pod.Name] = node
		}
	}
	return made
}

func printJSON(w io.Writer, _ *inventory.Inventory, decided *Result) error {
	return WriteJSON(w, decided)
}

// WriteJSON writes a value for programs and people.
func WriteJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// printYAML prints the pods that have a node, running or placed now, in the order of the input. Together with the nodes
// it is the input of a next decision.
func printYAML(w io.Writer, in *inventory.Inventory, _ *Result) error {
	var placed []runtime.Object
	for _, pod := range in.Pods {
		written, ok := in.Written[pod]
		if !ok || pod.Spec.NodeName == "" {
			continue
		}
		printed := written.DeepCopy()
		if err := unstructured.SetNestedField(printed.Object, pod.Spec.NodeName, "spec", "nodeName"); err != nil {
			return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		placed = append(placed, printed)
	}
	return manifests.Write(w, manifests.YAML, placed)
}
