package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// language is PromQL without feature flags.
var language = parser.NewParser(parser.Options{})

// query is one expression of a chart.
type query struct {
	Chart string
	// Place of the query, in messages about it.
	Place string
	Text  string
	Uses  []use
	// wants are labels that the query shows besides those of the expression.
	wants []string
}

// dashboard has the fields of a Grafana dashboard with queries.
type dashboard struct {
	UID    string  `json:"uid"`
	Panels []panel `json:"panels"`

	Templating struct {
		List []variable `json:"list"`
	} `json:"templating"`
}

type panel struct {
	ID      int      `json:"id"`
	Type    string   `json:"type"`
	Title   string   `json:"title"`
	Targets []target `json:"targets"`
}

type target struct {
	Expr         string `json:"expr"`
	LegendFormat string `json:"legendFormat"`
}

type variable struct {
	Name  string          `json:"name"`
	Type  string          `json:"type"`
	Query json.RawMessage `json:"query"`
}

// chartsWith returns the charts in a folder that have a file.
func chartsWith(charts, file string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(charts, "*", "files", file))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no chart in %s has a %s", charts, file)
	}
	return found, err
}

func chartOf(file string) string { return filepath.Base(filepath.Dir(filepath.Dir(file))) }

// queriesOf returns the queries of the dashboards and alerts of all charts.
func queriesOf(charts string) ([]query, error) {
	var queries []query
	files, err := chartsWith(charts, "dashboard.json")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		board, err := readDashboard(file)
		if err != nil {
			return nil, err
		}
		found, err := board.queries(chartOf(file))
		if err != nil {
			return nil, err
		}
		queries = append(queries, found...)
	}
	if files, err = chartsWith(charts, "alerts.yaml"); err != nil {
		return nil, err
	}
	for _, file := range files {
		rules, err := readAlerts(file)
		if err != nil {
			return nil, err
		}
		for _, rule := range rules {
			text := rule.Annotations["summary"] + rule.Annotations["description"]
			queries = append(queries,
				query{Chart: chartOf(file), Place: "alert " + rule.Alert, Text: rule.Expr,
					wants: named(alertLabel, text)})
		}
	}
	for i := range queries {
		if queries[i].Uses, err = usesOf(queries[i]); err != nil {
			return nil, err
		}
	}
	return queries, nil
}

func readDashboard(file string) (*dashboard, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	board := &dashboard{}
	if err := json.Unmarshal(content, board); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return board, nil
}

// readAlerts reads rules as Prometheus does, which checks expressions, durations, labels and templates.
func readAlerts(file string) ([]rulefmt.Rule, error) {
	groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, language, slog.Default())
	if len(errs) > 0 {
		return nil, fmt.Errorf("reading %s: %w", file, errs[0])
	}
	var rules []rulefmt.Rule
	for _, group := range groups.Groups {
		rules = append(rules, group.Rules...)
	}
	return rules, nil
}

var (
	legendLabel = regexp.MustCompile(`\{\{(\w+)\}\}`)
	alertLabel  = regexp.MustCompile(`\$labels\.(\w+)`)
	// labelValues is a variable's query, which Grafana parses itself.
	labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)
)

func named(pattern *regexp.Regexp, text string) []string {
	var names []string
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}

func (d *dashboard) queries(chart string) ([]query, error) {
	var queries []query
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, query{
				Chart: chart, Place: "panel " + panel.Title, Text: interpolated(target.Expr),
				wants: named(legendLabel, target.LegendFormat),
			})
		}
	}
	for _, variable := range d.Templating.List {
		if variable.Type != "query" {
			continue
		}
		var asked struct {
			Query string `json:"query"`
		}
		if err := json.Unmarshal(variable.Query, &asked); err != nil {
			return nil, fmt.Errorf("%s: variable %s: %w", chart, variable.Name, err)
		}
		parts := labelValues.FindStringSubmatch(asked.Query)
		if parts == nil {
			return nil, fmt.Errorf("%s: variable %s: %q is not label_values(metric, label)", chart,
				variable.Name, asked.Query)
		}
		queries = append(queries,
			query{Chart: chart, Place: "variable " + variable.Name, Text: interpolated(parts[1]), wants: parts[2:]})
	}
	return queries, nil
}

// interpolated replaces variables as Grafana does before a query.
func interpolated(expr string) string {
	return strings.ReplaceAll(expr, "$__rate_interval", "5m")
}
