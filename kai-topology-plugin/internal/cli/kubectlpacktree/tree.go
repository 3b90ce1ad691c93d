package kubectlpacktree

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/cli/live"
	"packtree.dev/kai-topology-plugin/internal/cli/overview"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	"packtree.dev/kai-topology-plugin/internal/offline/place"
)

func (p *plugin) treeCommand() *cobra.Command {
	asked := overview.Question{}
	level, output := "", ""
	from := &source{plugin: p}
	command := &cobra.Command{
		Use:   "tree [--topology NAME] [--level LEVEL] [--resource NAME] [-n NAMESPACE]",
		Short: "Draw the topologies: used and free in each domain, and which gang stands where",
		Long: `tree draws every Topology with its domains from the broadest to the narrowest: used and total
amount of a resource, number of nodes, and the gangs (PodGroups) that run there with the amount that each of them has.
Hosts are left out unless --level host asks for them, and the NUMA zones of hosts unless --level has the name of their
level. Free domains that are alike are drawn in one line.

Below the drawing are
  - the gangs that wait,
  - the gangs that may not be in the fewest domains possible of the levels that they prefer,
  - the relations of running gangs, each with a tick if it holds,
  - the nodes held for the replacements of pods that left,
  - the room reserved for gangs that wait,
  - the nodes that take no pods.
Nodes that lack a label of the topology are drawn where their labels end.

-o json prints all of it, hosts included:
  resource, topologies[]{name, levels[], zoneLevel, cluster},
  waiting[]{namespace, name, pending, reason, message},
  relations[]{namespace, gang, name, rule, required, lacks},
  seats[]{namespace, gang, subGroup, node, until},
  reservations[]{namespace, gang, reason, level, domain, resources[], nodes[]},
  outOfService[]{name, cordoned, notReady}, notes[], gangs[] as explain has them, without nodes and what was decided,
  nodes[]{name, cordoned, notReady, taints[], resources{NAME: {used, total}}},
  pods[]{namespace, name, node, gang, subGroup, amount, scheduler, gated, leaving}
where cluster and each of its domains[] has
  name, level, path, nodes, used, free, unavailable, total, cordoned, notReady, otherPods,
  gangs[]{namespace, name, pods, amount}, domains[], zones[] (of a node),
  unlabelled{level, nodeNames[], ...}
Amounts are in the unit of the resource: devices, CPUs, bytes.`,
		Example: `  kubectl packtree tree
  kubectl packtree tree --level host --topology gb200 -n inference
  kubectl packtree tree -o json | jq '.topologies[].cluster.domains[] | {name, free}'
  kubectl get nodes,pods,topologies,podgroups -A -o yaml | kubectl packtree tree -f -`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return p.tree(command, from, asked, level, output)
		},
	}
	from.bind(command)
	flags := command.Flags()
	flags.StringVar(&asked.Topology, "topology", "", "draw this Topology only")
	flags.StringVar(&level, "level", "",
		"the narrowest level to draw: host, the key of a level, or its last part, such as rack or numa")
	flags.StringVar(&asked.Resource, "resource", "",
		"the resource to show; "+string(nodes.GPU)+" if any node has it, else cpu")
	flags.StringVarP(&output, "output", "o", "", "json, for programs")
	return command
}

// tree reads a cluster and prints what is asked of it.
func (p *plugin) tree(command *cobra.Command, from *source, asked overview.Question, level, output string) error {
	if output != "" && output != "json" {
		return usage(command, "-o is json, or not given for a drawing, not %q", output)
	}
	pen, err := p.pen(command)
	if err != nil {
		return err
	}
	read, err := from.read(command, live.Wanted{})
	if err != nil {
		return err
	}
	seen, err := p.overview(command.Context(), read, asked)
	if err != nil {
		return err
	}
	if err := checkLevel(seen, level); err != nil {
		return err
	}
	if output == "json" {
		return place.WriteJSON(command.OutOrStdout(), seen)
	}
	note(command, seen.Notes)
	_, err = command.OutOrStdout().Write([]byte(drawTree(pen, seen, level)))
	return err
}

// overview is what was read, with the notes about it, of the namespace that is given, if one is.
func (p *plugin) overview(
	ctx context.Context, read *live.Cluster, asked overview.Question,
) (*overview.Overview, error) {
	if name, given, err := p.namespace(); err == nil && given {
		asked.Namespace = name
	}
	seen, err := overview.Of(ctx, read.Inventory, asked)
	if err != nil {
		return nil, err
	}
	seen.Notes = append(slices.Clone(read.Notes), seen.Notes...)
	return seen, nil
}

// checkLevel turns down a level that no drawn topology has.
func checkLevel(seen *overview.Overview, level string) error {
	if level == "" || hosts(level) {
		return nil
	}
	there := map[string]bool{"host": true}
	for _, topology := range seen.Topologies {
		for _, key := range topology.Levels {
			if named(key, level) {
				return nil
			}
			there[key] = true
		}
	}
	return fmt.Errorf("--level: no Topology has level %q, there is: %s",
		level, strings.Join(slices.Sorted(maps.Keys(there)), ", "))
}

func hosts(level string) bool { return level == "host" || named(corev1.LabelHostname, level) }

// named reports whether a level on the command line means the label key.
func named(key, level string) bool { return key == level || nodes.ShortName(key) == level }
