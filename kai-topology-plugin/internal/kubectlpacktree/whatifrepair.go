package kubectlpacktree

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/repair"
)

// pastOf remembers the cluster as it is without what a question asks about. The pods are not copied: those that are
// decided first stand in it once they are.
type pastOf struct {
	cluster *inventory.Inventory
	// asked and waiting are pods that have no node yet: of gangs that are asked about, and of others.
	asked, waiting sets.Set[*corev1.Pod]
}

// remember is to be called before the question is decided.
func remember(cluster *inventory.Inventory, question *whatIfQuestion) *pastOf {
	past := &pastOf{cluster: cluster, asked: sets.New[*corev1.Pod](), waiting: sets.New[*corev1.Pod]()}
	for _, pod := range cluster.Pods {
		key, _ := gang.KeyOf(pod)
		switch {
		case pod.Spec.NodeName != "":
		case question.asked[key]:
			past.asked.Insert(pod)
		default:
			past.waiting.Insert(pod)
		}
	}
	return past
}

// inventory is the cluster without what was asked about. Gangs that were decided first and got nodes which only the
// manifests have do not stand in it.
func (p *pastOf) inventory() *inventory.Inventory {
	nodes := sets.New[string]()
	for _, node := range p.cluster.Nodes {
		nodes.Insert(node.Name)
	}
	past := *p.cluster
	past.Pods = slices.DeleteFunc(slices.Clone(p.cluster.Pods), func(pod *corev1.Pod) bool {
		return p.asked.Has(pod) || p.waiting.Has(pod) && !nodes.Has(pod.Spec.NodeName)
	})
	return &past
}

// compareRepairability foretells all failures without what was asked about, and with it.
func (p *plugin) compareRepairability(
	command *cobra.Command, before, after *inventory.Inventory,
) (*repair.Comparison, error) {
	ctx, cancel := context.WithCancel(command.Context())
	defer cancel()
	past, _, err := repair.All(ctx, before, p.progress(command, "failures foretold"))
	if err != nil {
		return nil, err
	}
	future, _, err := repair.All(ctx, after, p.progress(command, "failures foretold"))
	if err != nil {
		return nil, err
	}
	compared := repair.Compare(past, future)
	return &compared, nil
}

// drawComparison says which gangs lose or get a way out of which failures.
func drawComparison(compared *repair.Comparison) string {
	var text strings.Builder
	text.WriteString("Repairability:\n")
	for _, part := range []struct {
		sentence string
		exposed  []repair.Exposure
	}{
		{"this leaves %s without a way out that had one:\n", compared.Worse},
		{"this gives %s a way out that had none:\n", compared.Better},
		{"%s would stand anew and be lost:\n", compared.New},
	} {
		if len(part.exposed) > 0 {
			fmt.Fprintf(&text, "  "+part.sentence, count(len(part.exposed), "gang"))
		}
		for i, one := range part.exposed {
			if i == maxLines {
				fmt.Fprintf(&text, "    … and %s\n", count(len(part.exposed)-maxLines, "more gang"))
				break
			}
			fmt.Fprintf(&text, "    %s, if %s\n", one.Gang, failing(one.Failures))
		}
	}
	if len(compared.Worse)+len(compared.Better)+len(compared.New) == 0 {
		text.WriteString("  no gang loses a way out of a failure, or gets one\n")
	}
	return text.String()
}

// maxFailures is how many failures are named of one gang.
const maxFailures = 3

func failing(failures []repair.Failure) string {
	var named []string
	for _, failure := range failures[:min(len(failures), maxFailures)] {
		named = append(named, failure.String())
	}
	if rest := len(failures) - len(named); rest > 0 {
		named = append(named, count(rest, "more domain"))
	}
	if len(named) == 1 {
		return named[0] + " fails"
	}
	return strings.Join(named[:len(named)-1], ", ") + " or " + named[len(named)-1] + " fails"
}
