package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// use is one metric in a query.
type use struct {
	Metric string
	// Labels that the metric must have: the ones that are selected by, grouped by, or shown.
	Labels []string
	// Values by which labels are selected, without a dashboard's variables.
	Values map[string][]string
}

// usesOf parses a query and returns the metrics that it uses.
func usesOf(q query) ([]use, error) {
	expr, err := language.ParseExpr(q.Text)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %s: %w", q.Chart, q.Place, q.Text, err)
	}
	var uses []use
	parser.Inspect(expr, func(node parser.Node, path []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		found := use{Metric: selector.Name, Values: map[string][]string{}}
		wanted := slices.Clone(q.wants)
		for _, matcher := range selector.LabelMatchers {
			if matcher.Name == labels.MetricName {
				continue
			}
			wanted = append(wanted, matcher.Name)
			found.Values[matcher.Name] = append(found.Values[matcher.Name], valuesOf(matcher)...)
		}
		for _, above := range path {
			if aggregate, ok := above.(*parser.AggregateExpr); ok && !aggregate.Without {
				wanted = append(wanted, aggregate.Grouping...)
			}
		}
		slices.Sort(wanted)
		found.Labels = slices.Compact(wanted)
		uses = append(uses, found)
		return nil
	})
	return uses, nil
}

// valuesOf returns the values in a matcher. A regular expression is read as a list of words.
func valuesOf(matcher *labels.Matcher) []string {
	if strings.HasPrefix(matcher.Value, "$") {
		return nil
	}
	if matcher.Type == labels.MatchRegexp {
		return strings.Split(matcher.Value, "|")
	}
	return []string{matcher.Value}
}
