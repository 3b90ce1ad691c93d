package view_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"packtree.dev/e2e/browser"
)

// recorded simulates two gangs and a node that fails on the small cluster, and returns the file of the recording.
func recorded(t *testing.T) string {
	t.Helper()
	d := &dump{}
	d.topology("net", zone, rack, "kubernetes.io/hostname")
	for i := range 2 {
		d.node(fmt.Sprintf("n%d", i), 8, object{zone: "z", rack: "r1"}, object{})
	}
	stream := filepath.Join(t.TempDir(), "stream.jsonl")
	lines := []string{
		`{"at": 0, "name": "first", "duration": 100, "pods": 2, "requests": {"nvidia.com/gpu": "8"}, "topology": "net", "required": "example.com/rack"}`,
		`{"at": 10, "name": "second", "duration": 3600, "pods": 1, "requests": {"nvidia.com/gpu": "8"}, "topology": "net", "required": "example.com/rack"}`,
		`{"at": 4000, "node": "n0", "down": true}`,
	}
	if err := os.WriteFile(stream, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	simulate := exec.CommandContext(t.Context(), filepath.Join(root(t), "bin", "kai-topology-plugin"), "simulate", "-f",
		d.write(t), "--jobs", stream, "-o", "recording")
	simulate.Stderr = os.Stderr
	content, err := simulate.Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "week.recording")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestARecordingIsExported moves through a recording in a file, without a server.
func TestARecordingIsExported(t *testing.T) {
	chromium := browser.Start(t)
	file := filepath.Join(t.TempDir(), "week.html")
	if said, err := packtree(t.Context(), t, "view", "--recording", recorded(t), "--export",
		file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	page := chromium.Open(t, "file://"+file, false)
	page.Until("the picture", drawn)
	page.Says("of a recording, made into a page")
	to := func(place int) {
		browser.Evaluate[bool](page, fmt.Sprintf(`(() => {
			const slider = document.getElementById("moment");
			slider.value = %d;
			return slider.dispatchEvent(new Event("input", {bubbles: true}));
		})()`, place))
	}
	for _, moment := range []struct {
		place      int
		line, used string
	}{
		{2, "10 s of virtual time, moment 2 of 5. 1 gang running, 1 waiting.", "16 of 16"},
		{5, "1 h 6 min of virtual time, moment 5 of 5. 0 gangs running, 0 waiting.", "0 of 16"},
		{3, "1 min 40 s of virtual time, moment 3 of 5. 1 gang running, 0 waiting.", "8 of 16"},
		{0, "0 s of virtual time, moment 0 of 5. Before anything happens.", "0 of 16"},
	} {
		to(moment.place)
		page.Says(moment.line)
		page.Says(moment.used + " nvidia.com/gpu used")
		screenshot(t, page, fmt.Sprintf("timeline-export-%d", moment.place))
	}
	to(2)
	page.Click(".card")
	for _, text := range []string{
		"Gang default/second", "the gang needs one example.com/rack", "Nearest: rack z/r1", "What would help",
	} {
		page.Says(text)
	}
	if count := browser.Evaluate[int](page, "document.querySelectorAll('.try, .failures').length"); count != 0 {
		t.Error("it offers what nobody is there to answer")
	}
	if requests := page.Requests(); len(requests) != 1 || len(page.Complaints()) > 0 {
		t.Errorf("it asked for %q, and complains %q", requests, page.Complaints())
	}
}

// TestARecordingHasATimeLine moves through the recording of a simulation.
func TestARecordingHasATimeLine(t *testing.T) {
	chromium := browser.Start(t)
	address := serve(t, "--recording", recorded(t))
	open := func(t *testing.T, hash string, dark bool) *browser.Page {
		page := chromium.Open(t, address+hash, dark)
		page.Until("the picture", drawn)
		t.Cleanup(func() {
			if complaints := page.Complaints(); len(complaints) > 0 {
				t.Errorf("the page complains: %q", complaints)
			}
		})
		return page
	}
	line := "document.querySelector('.timeline p').innerText"
	to := func(page *browser.Page, place int) {
		browser.Evaluate[bool](page, fmt.Sprintf(`(() => {
			const slider = document.getElementById("moment");
			slider.value = %d;
			return slider.dispatchEvent(new Event("input", {bubbles: true}));
		})()`, place))
	}

	t.Run("each moment is shown as it was, and said to be simulated", func(t *testing.T) {
		page := open(t, "", false)
		page.Until(
			"the beginning", line+" === 'Simulated: 0 s of virtual time, moment 0 of 5. Before anything happens.'")
		page.Says("0 of 16 nvidia.com/gpu used")
		for place, want := range []struct{ time, gangs, used string }{
			1: {"0 s", "1 gang running, 0 waiting.", "16 of 16"},
			2: {"10 s", "1 gang running, 1 waiting.", "16 of 16"},
			3: {"1 min 40 s", "1 gang running, 0 waiting.", "8 of 16"},
			4: {"1 h 1 min", "0 gangs running, 0 waiting.", "0 of 16"},
			5: {"1 h 6 min", "0 gangs running, 0 waiting.", "0 of 16"},
		} {
			if place == 0 {
				continue
			}
			to(page, place)
			page.Until("the moment", fmt.Sprintf("%s === 'Simulated: %s of virtual time, moment %d of 5. %s'", line,
				want.time, place, want.gangs))
			page.Says(want.used + " nvidia.com/gpu used")
		}
		page.Says("1 not ready")
		page.Says("a recording")
		if count := browser.Evaluate[int](page, "document.querySelectorAll('.try, .state.live').length"); count != 0 {
			t.Error("it says that it is live, or tries manifests in the past")
		}
	})

	t.Run("a link leads to a moment and a gang, with its reason then", func(t *testing.T) {
		page := open(t, "#gang=default%2Fsecond&moment=2", false)
		page.Says("Gang default/second")
		page.Says("the gang needs one example.com/rack")
		page.Says("Nearest: rack z/r1, 0 of 1 pods fit there.")
		screenshot(t, page, "timeline")
		to(page, 3)
		page.Says("1 pod on nodes, 0 without")
		if hash := browser.Evaluate[string](page, "location.hash"); !strings.Contains(hash, "moment=3") ||
			!strings.Contains(hash, "gang=default%2Fsecond") {
			t.Errorf("the address ends in %q", hash)
		}
	})

	t.Run("keys move the slider, and it plays to the end", func(t *testing.T) {
		page := open(t, "", false)
		browser.Evaluate[bool](page, "document.getElementById('moment').focus() || true")
		page.Press("\u0303") // Arrow to the right.
		page.Until("the next moment", line+".includes('moment 1 of 5')")
		if said := browser.Evaluate[string](page, "document.getElementById('moment').getAttribute('aria-valuetext')"); said != "0 s of virtual time, moment 1 of 5" {
			t.Errorf("the slider says %q", said)
		}
		// It may be at the end before anybody looks.
		browser.Evaluate[bool](page, `(() => {
			const button = document.querySelector(".timeline button");
			new MutationObserver(() => { if (button.innerText === "Pause") document.body.dataset.played = "yes"; })
				.observe(button, {childList: true, characterData: true, subtree: true});
			return true;
		})()`)
		page.Click(".timeline button")
		page.Until("it plays", "document.body.dataset.played === 'yes'")
		page.Until("the end", line+".includes('moment 5 of 5') && document.querySelector('.timeline button').innerText === 'Play'")
		browser.Evaluate[bool](page, "history.length < 5 || (() => { throw new Error('each moment is a step back: ' + history.length) })()")
	})

	t.Run("a moment that is not there is the last", func(t *testing.T) {
		open(t, "#moment=99", false).Says("moment 5 of 5")
	})

	script := axe(t)
	for _, dark := range []bool{false, true} {
		t.Run(fmt.Sprintf("everybody can read it, dark %v", dark), func(t *testing.T) {
			page := open(t, "#moment=2", dark)
			page.Says("moment 2 of 5")
			if found := violations(page, script); len(found) > 0 {
				t.Errorf("axe finds: %s", strings.Join(found, "\n"))
			}
			screenshot(t, page, fmt.Sprintf("timeline-dark-%v", dark))
		})
	}
}
