package endure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/manifests"
)

// answer has the fields that are used of what the command place says.
type answer struct {
	PodGroups []struct {
		Namespace, Name, Verdict, Message string
		Assignments                       map[string]string
	} `json:"podGroups"`
}

// forgotten are gangs of a world at rest that wait, though the command place finds room for the same objects: the
// scheduler has missed that they can go on. Pods with gates do not ask for room yet.
func (c *Campaign) forgotten(ctx context.Context, w *World) (map[string]string, error) {
	var objects []runtime.Object
	var topologies kai.TopologyList
	if err := c.List(ctx, &topologies); err != nil {
		return nil, err
	}
	for i := range topologies.Items {
		topologies.Items[i].SetGroupVersionKind(kai.SchemeGroupVersion.WithKind("Topology"))
		objects = append(objects, &topologies.Items[i])
	}
	for i := range w.Nodes {
		w.Nodes[i].SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
		objects = append(objects, &w.Nodes[i])
	}
	for i := range w.Groups {
		w.Groups[i].SetGroupVersionKind(scheduling.SchemeGroupVersion.WithKind("PodGroup"))
		objects = append(objects, &w.Groups[i])
	}
	for i := range w.Pods {
		w.Pods[i].SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		if len(w.Pods[i].Spec.SchedulingGates) == 0 {
			objects = append(objects, &w.Pods[i])
		}
	}
	var input, output, complaint bytes.Buffer
	if err := manifests.Write(&input, manifests.JSON, objects); err != nil {
		return nil, err
	}
	program := filepath.Join(c.Machine.Root(), "bin", "kai-topology-plugin")
	command := exec.CommandContext(ctx, program, "place", "-f", "-", "-o", "json")
	command.Stdin, command.Stdout, command.Stderr = &input, &output, &complaint
	var exit *exec.ExitError
	// Exit code 3 means that some gangs are not placed.
	if err := command.Run(); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 3) {
		return nil, fmt.Errorf("place: %w: %s", err, complaint.String())
	}
	return Overlooked(output.Bytes(), w)
}

// Overlooked compares the answer of place, as JSON, with a world.
func Overlooked(said []byte, w *World) (map[string]string, error) {
	var a answer
	if err := json.Unmarshal(said, &a); err != nil {
		return nil, fmt.Errorf("reading what place says: %w", err)
	}
	gangs, overlooked := map[string]gang{}, map[string]string{}
	for _, g := range w.gangs() {
		gangs[name(g.group)] = g
	}
	for _, said := range a.PodGroups {
		g, is := gangs[said.Namespace+"/"+said.Name]
		switch {
		case !is || keptFor.MatchString(g.says().Message):
		case g.whole() && said.Verdict != scheduling.ReasonPlaced:
			overlooked["PodGroup "+name(g.group)] = fmt.Sprintf("%s, and place says %s: %s", g, said.Verdict, said.Message)
		default:
			for i := range g.pods {
				if node := said.Assignments[g.pods[i].Name]; node != "" && g.pods[i].Spec.NodeName == "" {
					overlooked["PodGroup "+name(g.group)] = fmt.Sprintf("%s, and place finds %s for %s", g, node, g.pods[i].Name)
				}
			}
		}
	}
	return overlooked, nil
}
