package view_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// details is the text beside the map.
const details = "document.querySelector('aside').innerText"

// drawn reports whether a page shows what it has to show, on a map if it has one.
const drawn = `performance.getEntriesByName("packtree:picture").length > 0 &&
	(!document.getElementById("map") || performance.getEntriesByName("packtree:frame").length > 0)`

// TestThePage uses the page of a small cluster, as one file.
func TestThePage(t *testing.T) {
	browser := startChromium(t)
	file := "file://" + export(t, small())
	open := func(t *testing.T, hash string) *tab {
		t.Helper()
		page := browser.open(t, file+hash, "light")
		page.until("the picture", drawn)
		t.Cleanup(func() {
			if complaints := page.complaints(); len(complaints) > 0 {
				t.Errorf("the page complains: %q", complaints)
			}
			if title := evaluate[string](page, "document.title"); title != "Packtree" {
				t.Errorf("a name has become a script: the title is %q", title)
			}
			for _, request := range page.requests() {
				if !strings.HasPrefix(request, "file://") {
					t.Errorf("the page asked for %s", request)
				}
			}
		})
		return page
	}

	t.Run("it shows what there is and what waits", func(t *testing.T) {
		page := open(t, "")
		for _, text := range []string{"17 of 56 nvidia.com/gpu used", "1 cordoned", "team/wide", "Infeasible",
			"the nearest is z/r1", "team/runs"} {
			page.says(text)
		}
		if requests := page.requests(); len(requests) != 1 {
			t.Errorf("it asked for %q", requests)
		}
		page.screenshot("start")
	})

	t.Run("a gang that waits is found by its name, with its nearest domain and what would help", func(t *testing.T) {
		page := open(t, "")
		page.shortcut("/")
		page.press("wide")
		page.until("what is found", "document.querySelectorAll('#found [role=option]').length >= 5")
		page.press("\r")
		for _, text := range []string{"Gang team/wide", "0 pods on nodes, 4 without",
			"Nearest: rack z/r1, 1 of 4 pods fit there.", "lower the minimum of the gang from 4 to 1",
			"requires to be in one rack"} {
			page.says(text)
		}
		if hash := evaluate[string](page, "location.hash"); hash != "#topology=net&gang=team%2Fwide" &&
			hash != "#gang=team%2Fwide" {
			t.Errorf("the address ends in %q", hash)
		}
		page.screenshot("waiting-gang")
		page.press("\x1b")
		page.until("the start", details+".includes('Waiting')")
	})

	t.Run("a gang that runs says where its groups stand and that its constraint holds", func(t *testing.T) {
		page := open(t, "#gang=team/runs")
		for _, text := range []string{
			"Gang team/runs", "Runs", "4 of 4 needed", "in one rack: z/r1",
			"Placed in 2 domains of the levels that it prefers; whether fewer were possible when it was placed is not proved.",
			"Repair: moving subgroup workers would help.",
		} {
			page.says(text)
		}
		relations := "[...document.querySelectorAll('aside .plain li')].map((item) => item.innerText.replace(/\\s+/g, ' '))"
		want := []string{
			"✓ holds: hosts at most 2 per domain of kubernetes.io/hostname",
			"✗ does not hold: racks at most 1 per domain of example.com/rack, if that can be had: 3 items would have to go or to come",
		}
		if got := evaluate[[]string](page, relations); !slices.Equal(got, want) {
			t.Errorf("relations %q, want %q", got, want)
		}
		page.says("2026-01-01T00:02:00Z")
		page.screenshot("running-gang")
		page.until("its seat", "[...document.querySelectorAll('aside .link')].filter((b) => b.innerText === 'r1-n2')[0]?.click() || true")
		page.says("Node r1-n2")
		page.says("Seats held for successors")
		page.click("aside th .link")
		page.says("Gang team/runs")
		if tick := evaluate[string](page,
			"document.querySelector('.groups .good').innerText"); !strings.Contains(tick, "✓") ||
			!strings.Contains(tick, "holds:") {
			t.Errorf("the constraint says %q", tick)
		}
	})

	t.Run("room that is kept for a gang is shown with gang, node, and on the map", func(t *testing.T) {
		overdue := "team/wide: room for 1 pod on r2-n0, because other gangs have overtaken it, until 2026-01-01T00:05:00Z"
		nodes := "team/wide: room for 2 pods on r2-n0, r2-n1, which others leave for it"
		for hash, want := range map[string][]string{
			"": {overdue, nodes}, "#node=r2-n0": {overdue, nodes}, "#node=r2-n1": {nodes}, "#node=r2-n2": {},
			"#gang=team/runs": {},
			"#gang=team/wide": {strings.TrimPrefix(overdue, "team/wide: "), strings.TrimPrefix(nodes, "team/wide: ")},
		} {
			page := open(t, hash)
			page.until("what is chosen", details+" !== ''")
			if got := evaluate[[]string](page, listed("aside .kept li")); !slices.Equal(got, want) {
				t.Errorf("%q says %q, want %q", hash, got, want)
			}
			page.until("its sign in the legend", "document.querySelector('.legend .dotted') !== null")
		}
		page := open(t, "#gang=team/wide")
		page.screenshot("reservations")
		page.shortcut("t")
		page.until("the table", "[...document.querySelectorAll('.tables nav button')].find((b) => b.innerText === 'Reservations')?.click() || true")
		page.until("its rows", "document.querySelectorAll('.tables tbody tr').length === 2")
		page.click("tbody .link")
		page.says("Gang team/wide")
		page.says("Room that is kept for it")
	})

	t.Run("a gang has its events in the order in which they happened", func(t *testing.T) {
		page := open(t, "#gang=team/runs")
		want := []string{
			"2026-01-01 12:02:30 UTC Infeasible (warning) PodGroup runs, 5 times since 2026-01-01 12:01:00 UTC no rack has room: " + hostile,
			"2026-01-01 12:03:00 UTC Scheduled Pod runs-0 assigned to r1-n0",
		}
		if got := evaluate[[]string](page, listed(".events li")); !slices.Equal(got, want) {
			t.Errorf("events %q, want %q", got, want)
		}
		page = open(t, "#gang=team/wide")
		page.says("What would help")
		if count := evaluate[int](page, "document.querySelectorAll('.events').length"); count != 0 {
			t.Error("a gang without events has a history")
		}
	})

	t.Run("manifests cannot be tried where nobody is there to decide", func(t *testing.T) {
		page := open(t, "")
		if count := evaluate[int](page,
			"document.querySelectorAll('.try, input[type=file]').length"); count != 0 {
			t.Errorf("%d controls", count)
		}
	})

	t.Run("a node is chosen by a click, and its gang from there", func(t *testing.T) {
		page := open(t, "")
		page.do("clicking", chromedp.MouseClickXY(100, 200))
		page.says("Node r1-n0")
		page.says("team/runs-0")
		page.click("aside td .link")
		page.says("Gang team/runs")
		evaluate[bool](page, "history.back() || true")
		page.says("Node r1-n0")
	})

	t.Run("a name with markup is text", func(t *testing.T) {
		d := &dump{}
		d.topology("net", zone, rack, "kubernetes.io/hostname")
		d.node("n0", 8, object{zone: "z", rack: hostile}, object{})
		page := browser.open(t, "file://"+export(t, d), "light")
		page.says("1 node,")
		page.shortcut("/")
		page.press("<img")
		page.until("the rack among what is found",
			"document.querySelector('#found [role=option]')?.innerText.includes('<img src=x')")
		page.press("\r")
		page.says("rack z/" + strings.ReplaceAll(hostile, "</", "<%2F"))
		bare := open(t, "#node=bare")
		bare.says("taint dedicated=" + hostile)
		for _, shown := range []*tab{page, bare} {
			if count := evaluate[int](shown,
				"document.images.length + document.querySelectorAll('#page script').length"); count != 0 {
				t.Errorf("names have made %d elements", count)
			}
		}
	})

	t.Run("the map is used by keyboard", func(t *testing.T) {
		page := open(t, "")
		evaluate[bool](page, "document.getElementById('map').focus() || true")
		spoken := "document.querySelector('.picture [aria-live]').innerText"
		page.shortcut("ArrowRight")
		page.until("the zone", spoken+".startsWith('zone z, 6 nodes: 17 of 48')")
		page.shortcut("PageDown")
		page.until("its first rack", spoken+".startsWith('rack r1, 3 nodes: 16 of 24')")
		page.shortcut("ArrowDown")
		page.until("the rack below", spoken+".startsWith('rack r2, 3 nodes: 1 of 24')")
		page.shortcut("PageDown")
		page.until("its first node", spoken+".startsWith('node r2-n0: 1 of 8')")
		page.shortcut("Enter")
		page.says("Node r2-n0")
		page.shortcut("PageUp")
		page.shortcut("Enter")
		page.says("rack z/r2")
		page.shortcut("0")
		page.until("all of it", "!document.querySelector('.home')")
		evaluate[bool](page, `new Promise((done) => {
			const press = (key) => document.getElementById("map").dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
			new MutationObserver((_, observer) => {
				if (!document.querySelector("aside").innerText.includes("rack z/r2")) return;
				observer.disconnect();
				press("0");
				setTimeout(() => done(true), 500);
			}).observe(document.body, {subtree: true, childList: true, characterData: true});
			press("Enter");
		})`)
		page.until("all of it, for who is quick", "!document.querySelector('.home')")
	})

	t.Run("what is chosen stands out", func(t *testing.T) {
		plain, chosen := open(t, "#node=bare"), open(t, "#gang=team/wide")
		before, after := pixel(plain, 100, 200), pixel(chosen, 100, 200)
		if before != pixel(open(t, "#gang=team/runs"), 100, 200) {
			t.Error("the gang that is chosen has not kept its colour")
		}
		if before == after || after[0]+after[1]+after[2] < before[0]+before[1]+before[2] {
			t.Errorf("another gang is %v, and %v while one is chosen: it should be fainter", before, after)
		}
		if used := pixel(open(t, "#by=use"), 100, 200); used == before {
			t.Error("by use it has the colour of a gang")
		}
	})

	t.Run("tables have all that is drawn", func(t *testing.T) {
		page := open(t, "#page=tables")
		for table, want := range map[string]int{"Domains": 5, "Nodes": 7, "Gangs": 2, "Pods": 9, "Reservations": 2} {
			page.until(
				table, fmt.Sprintf(
					"[...document.querySelectorAll('.tables nav button')].find((b) => b.innerText === %q)?.click() || true",
					table))
			page.until(table, fmt.Sprintf("document.querySelector('.tables nav [aria-current=true]').innerText === %q",
				table))
			if rows := evaluate[int](page,
				"document.querySelectorAll('.tables tbody tr').length"); rows != want {
				t.Errorf("%s has %d rows, want %d", table, rows, want)
			}
		}
		page = open(t, "#page=tables&table=nodes")
		page.says("dedicated=" + hostile)
		page.click("thead th:nth-child(2) button")
		page.until("the fullest node first", "document.querySelector('tbody tr').innerText.startsWith('r1-n0')")
		page.click(".filter input")
		page.press("cordoned")
		page.until("one row", "document.querySelectorAll('.tables tbody tr').length === 1")
		page.click("tbody .link")
		page.says("Node r2-n2")
		page.shortcut("t")
		page.until("the tables again", "document.querySelector('.tables') !== null")
	})

	t.Run("what is not there is said", func(t *testing.T) {
		open(t, "#gang=team/gone").says("There is no gang team/gone (any more).")
		open(t, "#node=gone").says("There is no node gone (any more).")
		open(t, "#domain=gone").says("has no domain gone (any more).")
	})
}

// listed are the texts of some elements, one a line.
func listed(selector string) string {
	return fmt.Sprintf("[...document.querySelectorAll(%q)].map((item) => item.innerText.replace(/\\s+/g, ' ').trim())",
		selector)
}

// pixel is the colour of a point of the window, in which the map is drawn: red, green, blue.
func pixel(page *tab, x, y int) [3]int {
	return evaluate[[3]int](page, fmt.Sprintf(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
		const canvas = document.getElementById("map"), at = canvas.getBoundingClientRect(), ratio = canvas.width / at.width;
		done([...canvas.getContext("2d").getImageData((%d - at.x) * ratio, (%d - at.y) * ratio, 1, 1).data].slice(0, 3));
	})))`, x, y))
}

// TestEverybodyCanReadIt lets axe check all views, in light and dark.
func TestEverybodyCanReadIt(t *testing.T) {
	script := axe(t)
	browser := startChromium(t)
	file := "file://" + export(t, small())
	for _, scheme := range []string{"light", "dark"} {
		for name, hash := range map[string]string{
			"start": "", "gang": "#gang=team/wide", "group": "#gang=team/runs", "node": "#node=bare",
			"domain": "#domain=z/r1", "use": "#by=use",
			"domains": "#page=tables", "nodes": "#page=tables&table=nodes", "gangs": "#page=tables&table=gangs",
			"pods":         "#page=tables&table=pods",
			"reservations": "#page=tables&table=reservations",
		} {
			t.Run(name+", "+scheme, func(t *testing.T) {
				page := browser.open(t, file+hash, scheme)
				page.until("the picture", drawn)
				if found := violations(page, script); len(found) > 0 {
					t.Errorf("axe finds: %s", strings.Join(found, "\n"))
				}
				page.screenshot(name + "-" + scheme)
			})
		}
	}
}

// TestALargeClusterIsDrawn zooms into 5,000 nodes, and logs how long pictures take: the numbers are reported, not
// required.
func TestALargeClusterIsDrawn(t *testing.T) {
	browser := startChromium(t)
	const nodes = 5000
	page := browser.open(t, "file://"+export(t, large(nodes)), "light")
	page.until("the picture", drawn)
	page.says("5,000 nodes, 1,250 gangs, 20,000 pods")
	first := evaluate[float64](page, "performance.getEntriesByName('packtree:frame')[0].startTime + performance.getEntriesByName('packtree:frame')[0].duration")
	page.screenshot("large")
	for range 5 {
		page.scroll(300, 300, -240)
	}
	page.until("a part of it", "document.querySelector('.home') !== null")
	page.until("it is drawn sharply", "new Promise((done) => setTimeout(() => done(true), 500))")
	page.screenshot("large-zoomed")
	page.click(".home")
	page.until("all of it", "document.querySelector('.home') === null")
	// One turn of the wheel after the other, each once the last one is drawn: a frame lasts from the turn to the
	// picture.
	frames := evaluate[[]float64](page, `(async () => {
		const canvas = document.getElementById("map"), times = [];
		const count = () => performance.getEntriesByName("packtree:frame").length;
		for (let turn = 0; turn < 60; turn++) {
			const before = count(), started = performance.now();
			canvas.dispatchEvent(new WheelEvent("wheel", {deltaY: turn % 20 < 10 ? -60 : 60, bubbles: true, cancelable: true}));
			while (count() === before && performance.now() - started < 1000) await new Promise(requestAnimationFrame);
			times.push(performance.now() - started);
		}
		return times.sort((a, b) => a - b);
	})()`)
	page.until("it is drawn sharply again", `new Promise((done) => {
		const count = () => performance.getEntriesByName("packtree:frame").length, before = count();
		setTimeout(() => done(count() > before), 1000);
	}).then((sharp) => sharp || true)`)
	drawing := evaluate[[]float64](page,
		"performance.getEntriesByName('packtree:frame').map((e) => e.duration).sort((a, b) => a - b)")
	t.Logf("%d nodes: the first picture after %.0f ms; from a turn of the wheel to its picture %.0f ms (middle) and %.0f ms (95 of 100), of which drawing %.0f ms and %.0f ms",
		nodes, first, frames[len(frames)/2], frames[len(frames)*95/100], drawing[len(drawing)/2],
		drawing[len(drawing)*95/100])
	page.shortcut("/")
	page.press("node-4321")
	page.screenshot("large-search")
	page.until("the node is found", "document.querySelector('#found [role=option]')?.innerText.includes('node-4321')")
	page.press("\r")
	page.says("Node node-4321")
	if complaints := page.complaints(); len(complaints) > 0 {
		t.Errorf("the page complains: %q", complaints)
	}
}
