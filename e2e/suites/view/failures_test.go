package view_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"packtree.dev/e2e/browser"
)

// halfFull is a cluster of one rack with a gang on two of its nodes. If one of them fails, the gang needs one of the
// others, which are empty.
func halfFull() *dump {
	d := &dump{}
	d.topology("net", zone, rack, "kubernetes.io/hostname")
	for i := range 4 {
		d.node(fmt.Sprintf("n%d", i), 8, object{zone: "z", rack: "r1"}, object{})
	}
	d.podGroup("team", "runs", 2, "net", rack)
	for i := range 2 {
		d.pod("team", fmt.Sprintf("runs-%d", i), "runs", fmt.Sprintf("n%d", i), 8)
	}
	return d
}

// TestFailuresAreForetoldOnThePage asks by a button what failures would do, and checks the nodes that have to stay
// empty.
func TestFailuresAreForetoldOnThePage(t *testing.T) {
	chromium := browser.Start(t)
	address := serve(t, "-f", halfFull().write(t))
	script := axe(t)
	for _, dark := range []bool{false, true} {
		t.Run(fmt.Sprintf("dark %v", dark), func(t *testing.T) {
			page := chromium.Open(t, address, dark)
			page.Until("the picture", drawn)
			page.Click(".failures button")
			page.Says("1 node would have to stay empty")
			want := []string{"zone 1 1 0 1", "rack 1 1 0 1", "host 4 0 0 1"}
			if got := browser.Evaluate[[]string](page, listed(".failures tbody tr")); !slices.Equal(got, want) {
				t.Errorf("by level: %q, want %q", got, want)
			}
			page.Says("zone z: loses team/runs")
			page.Until("its sign in the legend", "document.querySelector('.legend .spare') !== null")
			if found := violations(page, script); len(found) > 0 {
				t.Errorf("axe finds: %s", strings.Join(found, "\n"))
			}
			screenshot(t, page, fmt.Sprintf("failures-dark-%v", dark))
			page.Click(".failures .plain .link")
			page.Says("Node n")
			page.Shortcut("Escape")
			page.Click(".failures p .link")
			page.Until("it is closed", "document.querySelector('.failures table') === null && document.querySelector('.legend .spare') === null")
			if complaints := page.Complaints(); len(complaints) > 0 {
				t.Errorf("the page complains: %q", complaints)
			}
		})
	}
}
