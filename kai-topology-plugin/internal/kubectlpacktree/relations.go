package kubectlpacktree

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"packtree.dev/kai-topology-plugin/internal/drawing"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/translation"
	"packtree.dev/kai-topology-plugin/internal/turns"
	"packtree.dev/shared/packing"
)

// relationReport says whether a relation holds of the pods of a gang that stand.
type relationReport struct {
	Namespace string `json:"namespace"`
	// Gang is the name of the PodGroup, and Name that of the relation.
	Gang string `json:"gang"`
	Name string `json:"name"`
	// Rule says in words what the relation asks for.
	Rule     string `json:"rule"`
	Required bool   `json:"required"`
	// Lacks is how many items would have to go elsewhere, or to come, for the relation to hold.
	Lacks int `json:"lacks"`
}

// relationsOf judges the relations of all gangs of which pods stand.
func relationsOf(read *inventory.Inventory, shows func(gang.Key) bool) ([]relationReport, error) {
	result := []relationReport{}
	var cluster *packing.Cluster
	for _, standing := range turns.Standing(read) {
		if len(standing.Relations) == 0 || !shows(gang.KeyOfPodGroup(standing.PodGroup)) {
			continue
		}
		if cluster == nil {
			var err error
			if cluster, err = domainsOf(read); err != nil {
				return nil, err
			}
		}
		reports, err := judge(cluster, standing)
		if err != nil {
			return nil, fmt.Errorf("the relations of %s: %w", gang.KeyOfPodGroup(standing.PodGroup), err)
		}
		result = append(result, reports...)
	}
	slices.SortStableFunc(result, func(a, b relationReport) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Gang, b.Gang))
	})
	return result, nil
}

// domainsOf is a cluster that knows where nodes are, and nothing of what they have.
func domainsOf(read *inventory.Inventory) (*packing.Cluster, error) {
	cluster := packing.NewCluster()
	for name := range read.Topologies {
		if err := cluster.SetTopology(name, read.LevelKeys(name)); err != nil {
			return nil, fmt.Errorf("reading Topology %s: %w", name, err)
		}
	}
	for _, node := range read.Nodes {
		cluster.SetNode(packing.Node{Name: node.Name, Labels: node.Labels})
	}
	return cluster, nil
}

// judge has a report for each relation of a gang.
func judge(cluster *packing.Cluster, standing *gang.Gang) ([]relationReport, error) {
	asked, err := translation.Gang(standing, nil)
	if err != nil {
		return nil, err
	}
	lacks, err := cluster.Lacks(asked)
	if err != nil {
		return nil, err
	}
	key := gang.KeyOfPodGroup(standing.PodGroup)
	var reports []relationReport
	for i := range standing.Relations {
		r := &standing.Relations[i]
		report := relationReport{Namespace: key.Namespace, Gang: key.Name, Name: r.Name, Rule: r.String(), Required: !r.Preferred()}
		for at := range asked.Relations {
			if translation.Source(&asked.Relations[at]) == r.Name {
				report.Lacks = max(report.Lacks, lacks[at])
			}
		}
		reports = append(reports, report)
	}
	return reports, nil
}

// drawRelations draws a line for each relation, those first that do not hold.
func drawRelations(b *strings.Builder, pen *drawing.Pen, relations []relationReport) {
	if len(relations) == 0 {
		return
	}
	relations = slices.Clone(relations)
	slices.SortStableFunc(relations, func(a, b relationReport) int { return cmp.Compare(min(1, b.Lacks), min(1, a.Lacks)) })
	fmt.Fprintln(b, pen.Bold("Relations"))
	for i, r := range relations {
		if i == maxLines {
			fmt.Fprintf(b, "  %s\n", pen.Dim(fmt.Sprintf("… and %d more", len(relations)-i)))
			break
		}
		mark, rule := pen.Good("✓"), r.Rule
		if !r.Required {
			rule += ", if that can be had"
		}
		if r.Lacks > 0 {
			mark = pen.Bad("✗")
			rule += fmt.Sprintf(": %s would have to go or to come", count(r.Lacks, "item"))
		}
		name := r.Namespace + "/" + r.Gang
		b.WriteString(pen.Wrap("  ", "    ", fmt.Sprintf("%s %s  %s  %s", mark, pen.Own(name, name), r.Name, rule)))
	}
	b.WriteString("\n")
}
