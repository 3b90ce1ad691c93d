package kubectlpacktree

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"packtree.dev/kai-topology-plugin/internal/drawing"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/live"
	"packtree.dev/kai-topology-plugin/internal/repair"
)

// repairabilityReport is what repairability prints as JSON.
type repairabilityReport struct {
	Failures []*repair.Forecast `json:"failures"`
	// Spares counts, by level and domain, the nodes that have to stay empty.
	Spares map[string]map[string]int `json:"spares"`
	// SpareNodes are their names, sorted.
	SpareNodes []string `json:"spareNodes"`
}

func (p *plugin) repairabilityCommand() *cobra.Command {
	output := ""
	from := &source{plugin: p}
	command := &cobra.Command{
		Use:   "repairability [-o json]",
		Short: "Foretell for each node and domain which gangs would survive its failure, and how",
		Long: `repairability lets each node, and each domain of each Topology, fail on a copy of the cluster, and
decides the gangs that stand there anew, as the scheduler would. A gang is mended in place if only its lost pods need
new nodes, or if it has enough pods without them. Otherwise the smallest groups with a topology constraint of their own
move as a whole, then those around them, and at last the gang: the fewest pods for which there is proof that they fit. A
gang for which that is not enough is lost.

Gangs that already lack pods are left out, and so are pods without a gang. Several gangs that one failure hits are
mended one after the other: those that stay in place first, then by their rank.

Spares are the fewest nodes that have to stay empty for the failure of any one node to be mended as it would be now,
while nodes with pods keep what is free on them. They are counted in each domain around them. Where there are too many
sets of nodes to try all, none of the spares can be done without, but fewer others might do.

-o json prints all of it:
  failures[]{level, domain, mendedInPlace[], mendedByMoving[]{gang, subGroup, pods}, lost[]},
  spares{LEVEL: {DOMAIN: nodes}}, spareNodes[]`,
		Example: `  kubectl packtree repairability
  kubectl packtree repairability -o json | jq '.failures[] | select(.lost != [])'
  kubectl get nodes,pods,topologies,podgroups -A -o yaml | kubectl packtree repairability -f -`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return p.repairability(command, from, output)
		},
	}
	from.bind(command)
	command.Flags().StringVarP(&output, "output", "o", "", "json, for programs")
	return command
}

func (p *plugin) repairability(command *cobra.Command, from *source, output string) error {
	if output != "" && output != "json" {
		return usage(command, "-o is json, or not given for a summary, not %q", output)
	}
	pen, err := p.pen(command)
	if err != nil {
		return err
	}
	read, err := from.read(command, live.Wanted{})
	if err != nil {
		return err
	}
	note(command, read.Notes)
	ctx, cancel := context.WithCancel(command.Context())
	defer cancel()
	report, err := repairabilityOf(ctx, read.Inventory, p.progress(command, "failures foretold"))
	if err != nil {
		return fmt.Errorf("foretelling: %w", err)
	}
	if output == "json" {
		return printJSON(command.OutOrStdout(), report)
	}
	_, err = command.OutOrStdout().Write([]byte(drawRepairability(pen, report)))
	return err
}

// every is how often progress is shown to somebody who waits.
const every = 5 * time.Second

// progress prints to standard error how far long work is, each time that one more of what is done is.
func (p *plugin) progress(command *cobra.Command, what string) func(of int) {
	last, done := p.now(), 0
	return func(of int) {
		done++
		if now := p.now(); now.Sub(last) >= every {
			last = now
			fmt.Fprintf(command.ErrOrStderr(), "%d of %d %s\n", done, of, what)
		}
	}
}

func repairabilityOf(
	ctx context.Context, cluster *inventory.Inventory, done func(of int),
) (*repairabilityReport, error) {
	forecasts, forecaster, err := repair.All(ctx, cluster, done)
	if err != nil {
		return nil, err
	}
	spares, err := forecaster.Spares(ctx, repair.Failures(cluster))
	if err != nil {
		return nil, err
	}
	return &repairabilityReport{
		Failures: forecasts, Spares: repair.SparesByDomain(cluster, spares), SpareNodes: append([]string{}, spares...),
	}, nil
}

// drawRepairability sums up each level, and names the failures that are not mended in place.
func drawRepairability(pen *drawing.Pen, report *repairabilityReport) string {
	var text strings.Builder
	if len(report.Failures) == 0 {
		return "There are no nodes.\n"
	}
	for _, level := range repair.Levels(report.Failures) {
		fmt.Fprintf(&text, "%s: %s\n", pen.Bold(level.Key), sentenceOf(level))
		for _, forecast := range level.Harmful {
			text.WriteString(drawForecast(pen, forecast))
		}
	}
	text.WriteString(drawSpares(pen, report))
	return text.String()
}

func sentenceOf(level *repair.Level) string {
	total := level.Idle + level.InPlace + level.Moving + level.Losing
	parts := []string{}
	for _, part := range []struct {
		count int
		text  string
	}{
		{level.Losing, "would lose gangs"}, {level.Moving, "would be mended by moving pods"},
		{level.InPlace, "would be mended in place"}, {level.Idle, "would hit no gang"},
	} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.count, part.text))
		}
	}
	return fmt.Sprintf("of %d, %s", total, strings.Join(parts, ", "))
}

func drawForecast(pen *drawing.Pen, forecast *repair.Forecast) string {
	var said []string
	for _, lost := range forecast.Lost {
		said = append(said, pen.Bad("loses "+lost))
	}
	for _, move := range forecast.MendedByMoving {
		who := "all of " + move.Gang
		if move.SubGroup != "" {
			who = move.SubGroup + " of " + move.Gang
		}
		said = append(said, pen.Careful(fmt.Sprintf("moves %s (%s that would stay)", who, count(move.Pods, "pod"))))
	}
	if len(forecast.MendedInPlace) > 0 {
		said = append(said, pen.Good(count(len(forecast.MendedInPlace), "gang")+" in place"))
	}
	return fmt.Sprintf("  %s: %s\n", forecast.Domain, strings.Join(said, ", "))
}

// drawSpares names the narrowest domains in which nodes have to stay empty: those of the last level, the nodes.
func drawSpares(pen *drawing.Pen, report *repairabilityReport) string {
	if len(report.Spares) == 0 {
		return pen.Bold("Spares") + ": no node has to stay empty\n"
	}
	var text strings.Builder
	for _, level := range repair.Levels(report.Failures) {
		var domains []string
		for _, forecast := range report.Failures {
			if count := report.Spares[level.Key][forecast.Domain]; forecast.Level == level.Key && count > 0 {
				domains = append(domains, fmt.Sprintf("%s %d", forecast.Domain, count))
			}
		}
		fmt.Fprintf(&text, "%s by %s: %s\n", pen.Bold("Spares"), level.Key, strings.Join(domains, ", "))
	}
	return text.String()
}
