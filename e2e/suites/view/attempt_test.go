package view_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"packtree.dev/e2e/browser"
)

// gang is a manifest of a gang of one pod that asks for so many GPUs.
func gang(name string, gpus int) string {
	return fmt.Sprintf(`
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: %[1]s, namespace: team}
spec: {minMember: 1, topologyConstraint: {topology: net, requiredTopologyLevel: example.com/rack}}
---
apiVersion: v1
kind: Pod
metadata: {name: %[1]s-0, namespace: team, annotations: {pod-group-name: %[1]s}}
spec: {priority: 9, containers: [{name: c, image: c, resources: {requests: {nvidia.com/gpu: "%[2]d"}, limits: {nvidia.com/gpu: "%[2]d"}}}]}
`, name, gpus)
}

// TestManifestsAreTriedOnThePage asks the server of a dump what would become of files, and draws it.
func TestManifestsAreTriedOnThePage(t *testing.T) {
	chromium := browser.Start(t)
	address := serve(t, "-f", small().write(t))
	open := func(t *testing.T, dark bool) *browser.Page {
		page := chromium.Open(t, address, dark)
		page.Until("the picture", drawn)
		page.Until("the state", "document.querySelector('.state.live') !== null")
		t.Cleanup(func() {
			for _, request := range page.Requests() {
				if !strings.HasPrefix(request, address) {
					t.Errorf("the page asked for %s", request)
				}
			}
		})
		return page
	}
	file := func(t *testing.T, name, content string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	said := listed(".attempt li")

	back := func(page *browser.Page) {
		page.Click(".attempt > div button")
		page.Says("17 of 56 nvidia.com/gpu used")
		page.Until("the cluster", "document.querySelector('.attempt') === null && location.hash === ''")
		page.Shortcut("/")
		page.Press("tried-0")
		page.Says("Nothing is called so")
	}

	t.Run("a gang that fits is drawn where its pods would stand, and nothing of it is left", func(t *testing.T) {
		page := open(t, false)
		page.Choose("#manifests", file(t, "fits.yaml", gang("tried", 8)))
		page.Says("What if fits.yaml were applied?")
		want := []string{"team/tried Placed, 1 pod given a node"}
		if got := browser.Evaluate[[]string](page, said); !slices.Equal(got, want) {
			t.Errorf("said %q, want %q", got, want)
		}
		page.Says("Gang team/tried")
		page.Says("✓")
		screenshot(t, page, "what-if-fits")
		node := browser.Evaluate[string](page, "document.querySelector('aside td .link').innerText")
		page.Click("aside td .link")
		page.Says("Node " + node)
		page.Says("team/tried-0")
		page.Shortcut("Escape")
		page.Says("25 of 56 nvidia.com/gpu used")
		back(page)
		if complaints := page.Complaints(); len(complaints) > 0 {
			t.Errorf("the page complains: %q", complaints)
		}
	})

	t.Run("a gang that does not fit has its sentence and the nearest domain", func(t *testing.T) {
		page := open(t, true)
		page.Drop("#map", "wide.yaml", gang("tried", 9))
		page.Says("What if wide.yaml were applied?")
		lines := browser.Evaluate[[]string](page, said)
		if len(lines) != 1 || !strings.HasPrefix(lines[0],
			"team/tried Infeasible, 0 pods given a node: the gang needs one") {
			t.Errorf("said %q", lines)
		}
		page.Says("Nearest: rack z/r")
		page.Says("What would help")
		page.Says("0 pods on nodes, 1 without")
		screenshot(t, page, "what-if-infeasible")
	})

	t.Run("another file takes the place of the last one", func(t *testing.T) {
		page := open(t, false)
		page.Drop("aside", "first.yaml", gang("first", 4))
		page.Says("team/first Placed")
		page.Drop("aside", "second.yaml", gang("second", 4))
		page.Says("What if second.yaml were applied?")
		page.Shortcut("Escape")
		page.Says("21 of 56 nvidia.com/gpu used")
	})

	t.Run("what is wrong with a file is said, and the cluster stays", func(t *testing.T) {
		page := open(t, false)
		page.Drop("#map", hostile, "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n")
		page.Says("there is no PodGroup, Pod, Node or Topology, only Service")
		if count := browser.Evaluate[int](page, "document.querySelectorAll('.attempt').length"); count != 0 {
			t.Error("something was tried")
		}
		page.Drop("#map", hostile, "a: [")
		page.Says(hostile + "[1]: yaml: ")
		page.Drop("#map", "large.yaml", strings.Repeat("#", 8<<20+1))
		page.Says("large.yaml has more than 8 MiB")
		screenshot(t, page, "what-if-wrong")
		page.Click(".tried button")
		page.Until("the cluster alone", "document.querySelector('.tried') === null")
		if title := browser.Evaluate[string](page, "document.title"); title != "Packtree" {
			t.Errorf("a name has become a script: the title is %q", title)
		}
	})

	t.Run("the button is used by keyboard, and opens the choice of a file", func(t *testing.T) {
		page := open(t, false)
		browser.Evaluate[bool](page, `(() => {
			const input = document.getElementById("manifests");
			input.addEventListener("click", (event) => { event.preventDefault(); document.body.dataset.asked = "yes"; });
			document.querySelector(".try").focus();
			return true;
		})()`)
		page.Press("\r")
		page.Until("the choice of a file", "document.body.dataset.asked === 'yes'")
	})

	script := axe(t)
	for _, dark := range []bool{false, true} {
		t.Run(fmt.Sprintf("everybody can read it, dark %v", dark), func(t *testing.T) {
			page := open(t, dark)
			page.Drop("#map", "fits.yaml", gang("fits", 4)+"---"+gang("wide", 9))
			page.Says("team/wide Infeasible")
			if found := violations(page, script); len(found) > 0 {
				t.Errorf("axe finds: %s", strings.Join(found, "\n"))
			}
			page.Drop("#map", "wrong.yaml", "a: [")
			page.Says("Not tried")
			if found := violations(page, script); len(found) > 0 {
				t.Errorf("axe finds: %s", strings.Join(found, "\n"))
			}
			screenshot(t, page, fmt.Sprintf("what-if-dark-%v", dark))
		})
	}
}
