package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	charts   = "../../../charts"
	runbooks = "../../../docs/runbooks"
)

// A user with all four charts sees one component in a panel, and gets its alerts only.
func TestEveryQueryIsPromQLAboutItsOwnComponent(t *testing.T) {
	queries, err := queriesOf(charts)
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range queries {
		if len(query.Uses) == 0 {
			t.Errorf("%s, %s: %s asks for no metric", query.Chart, query.Place, query.Text)
		}
		for _, use := range query.Uses {
			if !slices.Equal(use.Values["job"], []string{query.Chart}) {
				t.Errorf("%s, %s: %s has job %v", query.Chart, query.Place, use.Metric, use.Values["job"])
			}
		}
	}
}

func TestWhatAQueryNeeds(t *testing.T) {
	uses, err := usesOf(query{
		Chart: "c", Place: "p", wants: []string{"shown"},
		Text: `sum by (a) (rate(one{b="x", c=~"y|z"}[5m])) / sum without (d) (two{e="$variable"})`,
	})
	if err != nil || len(uses) != 2 {
		t.Fatalf("uses %v, error %v", uses, err)
	}
	if one := uses[0]; one.Metric != "one" || !slices.Equal(one.Labels, []string{"a", "b", "c", "shown"}) ||
		!slices.Equal(one.Values["c"], []string{"y", "z"}) {
		t.Errorf("one is %+v", one)
	}
	if two := uses[1]; two.Metric != "two" || !slices.Equal(two.Labels, []string{"e", "shown"}) ||
		len(two.Values["e"]) != 0 {
		t.Errorf("two is %+v", two)
	}
	if _, err := usesOf(query{Text: "sum(rate(one)"}); err == nil {
		t.Error("what is no PromQL is taken")
	}
}

func TestPanelsAndAlertsAreDistinguished(t *testing.T) {
	files, err := chartsWith(charts, "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, file := range files {
		board, err := readDashboard(file)
		if err != nil {
			t.Fatal(err)
		}
		ids := map[int]bool{}
		for _, panel := range board.Panels {
			if ids[panel.ID] {
				t.Errorf("%s: two panels have the id %d", file, panel.ID)
			}
			ids[panel.ID] = true
			if panel.Type != "row" && len(panel.Targets) == 0 {
				t.Errorf("%s: panel %s shows nothing", file, panel.Title)
			}
		}
		if other, taken := seen[board.UID]; taken || board.UID == "" {
			t.Errorf("%s and %s have the uid %q", file, other, board.UID)
		}
		seen[board.UID] = file
	}
}

// alertNames returns in how many charts each alert is.
func alertNames(t *testing.T) map[string]int {
	t.Helper()
	files, err := chartsWith(charts, "alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]int{}
	for _, file := range files {
		rules, err := readAlerts(file)
		if err != nil {
			t.Fatal(err)
		}
		own := map[string]bool{}
		for _, rule := range rules {
			if own[rule.Alert] {
				t.Errorf("%s has %s twice", file, rule.Alert)
			}
			own[rule.Alert] = true
			names[rule.Alert]++
			if rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
				t.Errorf("%s: %s lacks a severity, a summary or a description", file, rule.Alert)
			}
		}
	}
	return names
}

func TestEveryAlertHasARunbookAndEveryRunbookAnAlert(t *testing.T) {
	names := alertNames(t)
	for name := range names {
		page, err := os.ReadFile(filepath.Join(runbooks, name+".md"))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.HasPrefix(string(page), "# "+name+"\n") {
			t.Errorf("%s.md does not begin with the name of its alert", name)
		}
	}
	index, err := os.ReadFile(filepath.Join(runbooks, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(runbooks, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		file := filepath.Base(page)
		if file == "README.md" {
			continue
		}
		if names[strings.TrimSuffix(file, ".md")] == 0 {
			t.Errorf("%s is the runbook of no alert", file)
		}
		if !strings.Contains(string(index), "("+file+")") {
			t.Errorf("%s is not in the index", file)
		}
	}
}
