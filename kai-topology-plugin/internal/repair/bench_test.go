package repair_test

import (
	"fmt"
	"strings"
	"testing"

	"packtree.dev/kai-topology-plugin/internal/repair"
)

// BenchmarkAllSingleFailures foretells every failure of a node, rack and block of 5,000 nodes of eight devices (18 to a
// rack, 16 racks to a block) with 300 gangs of eight subgroups of four nodes each, of which every subgroup needs a rack and
// the gang a block. A rack holds four subgroups and has two nodes to spare.
func BenchmarkAllSingleFailures(b *testing.B) {
	cluster := read(b, site(5000, 300))
	for b.Loop() {
		forecaster, err := repair.New(b.Context(), cluster)
		if err != nil {
			b.Fatal(err)
		}
		lost, moved := 0, 0
		for _, failure := range repair.Failures(cluster) {
			forecast, err := forecaster.Foretell(b.Context(), failure)
			if err != nil {
				b.Fatal(err)
			}
			lost += len(forecast.Lost)
			moved += len(forecast.MendedByMoving)
		}
		b.ReportMetric(float64(lost), "lost")
		b.ReportMetric(float64(moved), "moves")
	}
}

// BenchmarkLostRack plans what becomes of the gangs of a rack of 18 nodes.
func BenchmarkLostRack(b *testing.B) {
	cluster := read(b, site(5000, 300))
	forecaster, err := repair.New(b.Context(), cluster)
	if err != nil {
		b.Fatal(err)
	}
	for _, failure := range repair.Failures(cluster) {
		if failure.Domain != "b0/b0r0" {
			continue
		}
		for b.Loop() {
			if _, err := forecaster.Foretell(b.Context(), failure); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func site(size, gangs int) string {
	const perRack, racksPerBlock = 18, 16
	var text strings.Builder
	text.WriteString(topology)
	names := make([]string, size)
	for i := range names {
		rack := i / perRack
		block := rack / racksPerBlock
		names[i] = fmt.Sprintf("b%d-b%[1]dr%d-n%d", block, rack%racksPerBlock, i%perRack)
		text.WriteString(node(names[i], 8))
	}
	racks := size / perRack
	for g := range gangs {
		var subGroups []string
		for s := range 8 {
			subGroups = append(subGroups, fmt.Sprintf("{name: s%d, minMember: 4, %s}", s, oneRack))
		}
		at, blockRacks := g*8/4, racks/racksPerBlock*racksPerBlock
		if at+2 > blockRacks {
			break
		}
		fmt.Fprint(&text, podGroup(fmt.Sprint("g", g), "subGroups: ["+strings.Join(subGroups, ", ")+"], "+oneZone))
		for s := range 8 {
			first := (at+s/4)*perRack + s%4*4
			text.WriteString(pods(fmt.Sprint("g", g), fmt.Sprint("s", s), 8, names[first:first+4]...))
		}
	}
	return text.String()
}
