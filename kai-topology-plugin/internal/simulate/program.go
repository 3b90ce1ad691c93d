package simulate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/check"
	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/solve"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// program is a Decider that is a process: it reads a line for each decision and answers with one.
type program struct {
	command *exec.Cmd
	in      io.WriteCloser
	encoder *json.Encoder
	answers *json.Decoder
	cluster *programCluster
	changes []change
	// on is where each pod of the stream stands, as the program knows it.
	on map[string]string
	up map[string]bool
}

// waitDelay is how long what the decider has started may keep standard error open once it has ended.
const waitDelay = 5 * time.Second

// programCluster is the cluster as the stream begins.
type programCluster struct {
	Nodes      []*corev1.Node  `json:"nodes"`
	Topologies []*kai.Topology `json:"topologies"`
	Pods       []*corev1.Pod   `json:"pods"`
}

// change is a pod that stands on a node, or on none any more, or a node that is down or up.
type change struct {
	Pod  string `json:"pod,omitempty"`
	Node string `json:"node"`
	Down *bool  `json:"down,omitempty"`
}

type programQuestion struct {
	Cluster *programCluster `json:"cluster,omitempty"`
	Changes []change        `json:"changes"`
	Gang    programGang     `json:"gang"`
}

type programGang struct {
	PodGroup *scheduling.PodGroup `json:"podGroup"`
	Pods     []*corev1.Pod        `json:"pods"`
}

type programAnswer struct {
	Assignments map[string]string `json:"assignments"`
	Refused     string            `json:"refused"`
}

func startProgram(ctx context.Context, line string, stderr io.Writer, cluster *inventory.Inventory) (*program, error) {
	p := &program{command: exec.CommandContext(ctx, "sh", "-c", line), on: map[string]string{}, up: map[string]bool{}}
	p.cluster = &programCluster{
		Nodes: cluster.Nodes, Topologies: []*kai.Topology{},
		Pods: append([]*corev1.Pod{}, inventory.Standing(cluster.Pods)...),
	}
	for _, name := range slices.Sorted(maps.Keys(cluster.Topologies)) {
		p.cluster.Topologies = append(p.cluster.Topologies, cluster.Topologies[name])
	}
	for _, node := range cluster.Nodes {
		p.up[node.Name] = true
	}
	for _, pod := range p.cluster.Pods {
		if p.up[pod.Spec.NodeName] {
			p.on[pod.Namespace+"/"+pod.Name] = pod.Spec.NodeName
		}
	}
	p.command.Stderr = stderr
	in, err := p.command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the decider: %w", err)
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the decider: %w", err)
	}
	p.command.WaitDelay = waitDelay
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("starting the decider: %w", err)
	}
	// What is killed is the shell: a program that it has started may hang on, and has the other end.
	context.AfterFunc(ctx, func() { _, _ = in.Close(), out.Close() })
	p.in, p.encoder, p.answers = in, json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))
	return p, nil
}

// stop ends the program by the end of its input.
func (p *program) stop() error {
	_ = p.in.Close()
	if err := p.command.Wait(); err != nil {
		return fmt.Errorf("the decider ended with %w", err)
	}
	return nil
}

// Decide has the program decide, and judges what it says: a placement is held to the gang's constraints and the nodes.
func (p *program) Decide(ctx context.Context, request solve.Request) (*decision.Answer, error) {
	p.follow(request)
	asked := programQuestion{Cluster: p.cluster, Changes: append([]change{}, p.changes...)}
	asked.Gang = programGang{PodGroup: request.Gang.PodGroup, Pods: request.Gang.Pending}
	if err := p.encoder.Encode(asked); err != nil {
		return nil, fmt.Errorf("asking the decider: %w", err)
	}
	p.cluster, p.changes = nil, nil
	var given programAnswer
	if err := p.answers.Decode(&given); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the decider ended without an answer")
		}
		return nil, fmt.Errorf("reading what the decider says: %w", err)
	}
	if len(given.Assignments) == 0 {
		return &decision.Answer{Verdict: scheduling.ReasonInfeasible, Message: given.Refused}, nil
	}
	request.Reserved = nil // Whose room is kept is a matter of policy, which the decider replaces.
	faults, err := check.Placement(ctx, request.Question, given.Assignments)
	if err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("the decider's placement is wrong: %w", errors.Join(faults...))
	}
	return &decision.Answer{Verdict: scheduling.ReasonPlaced, Nodes: given.Assignments}, nil
}

// follow collects what has changed on the nodes since the last question.
func (p *program) follow(request solve.Request) {
	on, up := map[string]string{}, map[string]bool{}
	for _, node := range request.Nodes {
		name := node.Node().Name
		up[name] = true
		for _, info := range node.GetPods() {
			pod := info.GetPod()
			key := pod.Namespace + "/" + pod.Name
			on[key] = name
			if p.cluster != nil && p.on[key] == "" {
				// The simulation goes on after an interruption, and the program does not know the pod.
				p.cluster.Pods, p.on[key] = append(p.cluster.Pods, pod), name
			}
		}
	}
	for _, pod := range slices.Sorted(maps.Keys(p.on)) {
		if on[pod] == "" {
			p.changes = append(p.changes, change{Pod: pod})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.up)) {
		if down := !up[name]; p.up[name] == down {
			p.changes = append(p.changes, change{Node: name, Down: &down})
			p.up[name] = !down
		}
	}
	for _, pod := range slices.Sorted(maps.Keys(on)) {
		if p.on[pod] != on[pod] {
			p.changes = append(p.changes, change{Pod: pod, Node: on[pod]})
		}
	}
	p.on = on
}
