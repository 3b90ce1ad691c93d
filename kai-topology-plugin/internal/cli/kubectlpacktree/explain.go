package kubectlpacktree

import (
	"github.com/spf13/cobra"

	"packtree.dev/kai-topology-plugin/internal/cli/explanation"
	"packtree.dev/kai-topology-plugin/internal/cli/live"
	"packtree.dev/kai-topology-plugin/internal/offline/place"
)

func (p *plugin) explainCommand() *cobra.Command {
	output := ""
	from := &source{plugin: p}
	command := &cobra.Command{
		Use:   "explain POD|PODGROUP|DGD|KIND/NAME [-n NAMESPACE]",
		Short: "Say why a pod or a gang waits and what would have to change, or where it went",
		Long: `explain walks from the workload to its pods (DynamoGraphDeployment, PodCliqueSet, PodGang, PodGroup),
shows the conditions on the way and where each subgroup stands, and decides each gang that waits again: by itself, on
the cluster as it is, with the scheduler's own filters and search. For a gang that does not fit it names the nearest
domain, what it lacks there and what filters exclude, and tries what would help: the gang is decided once more with
each remedy.

KIND is pod, podgroup, podgang, pcs or dgd. A bare name is looked for as dgd, pcs, podgang, podgroup, pod, in this
order. Volumes and device claims are not looked at.

-o json prints
  target{kind, namespace, name}, chain{kind, namespace, name, conditions[], objects[]}, notes[],
  gangs[]{namespace, name, state (Runs, RunsPartly, Waits), scheduled, pending, gated, priority,
       placement{domains, fewest}, nodes{pod: node},
    subGroups[]{name, depth, scheduled, minimum, topology, required, preferred, domains{level: []}},
    decision{verdict, message, assignments{pod: node},
             reasons[]{group, level, domain, fit, wanted, short[], excluded[], sentence}},
    behind[], remedies[]{kind, change, fits}}`,
		Example: `  kubectl packtree explain dgd/vllm-disagg -n inference
  kubectl packtree explain my-pod
  kubectl packtree explain podgroup/gang -o json | jq '.gangs[].remedies[] | select(.fits)'
  kubectl get nodes,pods,topologies,podgroups,podgangs,pcs,dgd -A -o yaml | kubectl packtree explain dgd/vllm -f -`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(command *cobra.Command, args []string) error {
			return p.explain(command, from, args, output)
		},
	}
	from.bind(command)
	command.Flags().StringVarP(&output, "output", "o", "", "json, for programs")
	return command
}

// explain reads, explains and prints.
func (p *plugin) explain(command *cobra.Command, from *source, args []string, output string) error {
	if output != "" && output != "json" {
		return usage(command, "-o is json, or not given for people, not %q", output)
	}
	pen, err := p.pen(command)
	if err != nil {
		return err
	}
	target, err := explanation.ParseTarget(args)
	if err != nil {
		return usage(command, "%v", err)
	}
	namespace, _, err := p.namespace()
	if err != nil {
		return err
	}
	read, err := from.read(command, live.Wanted{WorkloadsIn: namespace})
	if err != nil {
		return err
	}
	report, err := explanation.Of(command.Context(), read.Inventory, namespace, target)
	if err != nil {
		note(command, read.Notes)
		return err
	}
	report.Notes = append(report.Notes, read.Notes...)
	if output == "json" {
		return place.WriteJSON(command.OutOrStdout(), report)
	}
	note(command, read.Notes)
	_, err = command.OutOrStdout().Write([]byte(drawExplanation(pen, report)))
	return err
}
