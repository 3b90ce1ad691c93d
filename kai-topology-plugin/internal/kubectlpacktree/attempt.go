package kubectlpacktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/explanation"
	"packtree.dev/kai-topology-plugin/internal/live"
	"packtree.dev/kai-topology-plugin/internal/overview"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/packing"
)

// attempt is what a page gets about manifests: what what-if prints, and the cluster as it would be.
type attempt struct {
	whatIfResult
	Overview *overview.Overview `json:"overview"`
}

// whatIf tries the manifests of a file on the cluster as it was read last, by the code of the command what-if.
func (s *showing) whatIf(ctx context.Context, file string, content []byte) (*attempt, error) {
	namespace, _, err := s.plugin.namespace()
	if err != nil {
		return nil, err
	}
	documents, findings := manifests.Parse(cmp.Or(file, "the manifests"), content)
	asked, wrong := askedBy(documents, namespace)
	if err := rejected(append(findings, wrong...)); err != nil {
		return nil, err
	}
	if err := decidable(asked, documents); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "-f: "))
	}
	s.searching.Lock()
	defer s.searching.Unlock()
	read, err := s.cluster()
	if err != nil {
		return nil, err
	}
	if s.reader != nil {
		if read, err = s.reader.WithPriorities(ctx, read); err != nil {
			return nil, err
		}
	}
	tried, err := try(ctx, apart(read), asked, packing.Options{Placement: read.Placement}, s.plugin.now())
	if err != nil {
		return nil, err
	}
	if s.reader != nil {
		tried.notes(priorityNotes(read, asked))
	} else {
		tried.notes(dumpNotes(read, asked.Pods))
	}
	seen, err := s.after(ctx, tried)
	return &attempt{tried.whatIfResult, seen}, err
}

// rejected is the error of those who sent manifests with findings that are more than warnings.
func rejected(findings []manifests.Finding) error {
	var lines []string
	for _, finding := range findings {
		if !finding.Warning {
			lines = append(lines, finding.String())
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return errors.New(strings.Join(lines, "\n"))
}

// apart returns a cluster whose pods that wait are others, so that they can be given nodes while people look at the
// cluster.
func apart(read *live.Cluster) *live.Cluster {
	copied := *read
	inventory := *read.Inventory
	inventory.Pods = slices.Clone(inventory.Pods)
	for i, pod := range inventory.Pods {
		if pod.Spec.NodeName == "" {
			inventory.Pods[i] = pod.DeepCopy()
		}
	}
	copied.Inventory = &inventory
	return &copied
}

// dumpNotes names the PriorityClasses by which pods of manifests would be ranked in a cluster, and of which a dump says
// nothing.
func dumpNotes(read *live.Cluster, pods []*corev1.Pod) (notes []string) {
	for _, class := range read.MissingPriorities(pods) {
		note := "a dump has no PriorityClasses: pods of class %s are decided with priority 0"
		notes = append(notes, fmt.Sprintf(note, class))
	}
	slices.Sort(notes)
	return slices.Compact(notes)
}

// after is the overview of the cluster as it would be, with reasons for the gangs of the manifests that would wait.
func (s *showing) after(ctx context.Context, tried *tried) (*overview.Overview, error) {
	asked := s.asked
	asked.Namespace = "" // Whoever asks about a gang wants to see it.
	seen, err := overview.Of(ctx, tried.cluster, asked)
	if err != nil {
		return nil, err
	}
	var waiting []*explanation.Gang
	for _, g := range seen.Gangs {
		for _, decided := range tried.PodGroups {
			if decided.Namespace == g.Namespace && decided.Name == g.Name {
				waiting = append(waiting, g)
			}
		}
	}
	until := s.plugin.now().Add(deciding)
	_, err = explanation.Decide(ctx, tried.cluster, waiting, func() bool { return s.plugin.now().After(until) })
	return seen, err
}
