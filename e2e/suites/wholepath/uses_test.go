package wholepath_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// use is a metric in a panel, variable or alert, as the command e2e/tools/promql prints it.
type use struct {
	Chart, Place, Metric string
	Labels               []string
	Values               map[string][]string
}

// uses runs the command, which is a module by itself because of Prometheus's libraries.
func uses(t *testing.T, root string) []use {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "run", ".", filepath.Join(root, "charts"))
	command.Dir = filepath.Join(root, "e2e", "tools", "promql")
	command.Env = append(os.Environ(), "GOWORK=off")
	output, err := command.Output()
	if err != nil {
		var failed *exec.ExitError
		errors.As(err, &failed)
		t.Fatalf("reading dashboards and alerts: %v\n%s", err, failed.Stderr)
	}
	var queries []struct {
		Chart, Place string
		Uses         []use
	}
	require.NoError(t, json.Unmarshal(output, &queries))
	var found []use
	for _, query := range queries {
		for _, one := range query.Uses {
			one.Chart, one.Place = query.Chart, query.Place
			found = append(found, one)
		}
	}
	require.NotEmpty(t, found, "no chart has a dashboard or an alert")
	return found
}

// families are metrics by name, as a program exports them.
type families map[string]*dto.MetricFamily

func parse(text io.Reader) (families, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	found, err := parser.TextToMetricFamilies(text)
	return found, err
}

// fromScraping are labels that Prometheus adds when it scrapes, and up is the metric that it makes itself.
var fromScraping = []string{"job", "instance", "namespace", "pod", "service", "endpoint", "container"}

const up = "up"

// missing says what a use needs that is not exported; empty if nothing is missing. Words are further values of a
// metric's labels.
func missing(asked use, exported families, words map[string][]string) string {
	if asked.Metric == up {
		return ""
	}
	family, series := exported[asked.Metric], asked.Metric
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		if base, cut := strings.CutSuffix(asked.Metric, suffix); cut && family == nil {
			family, series = exported[base], base
		}
	}
	if family == nil || len(family.Metric) == 0 {
		return "no series"
	}
	own := strings.HasPrefix(series, "packtree_")
	for _, label := range asked.Labels {
		if slices.Contains(fromScraping, label) ||
			label == model.BucketLabel && family.GetType() == dto.MetricType_HISTOGRAM {
			continue
		}
		published := valuesOf(family, label)
		if len(published) == 0 {
			return "no label " + label
		}
		// Values of others, such as a response's code, appear when they happen; our own words are known.
		published = append(published, words[series]...)
		for _, value := range asked.Values[label] {
			if own && !slices.Contains(published, value) {
				return fmt.Sprintf("label %s is never %q", label, value)
			}
		}
	}
	return ""
}

func valuesOf(family *dto.MetricFamily, label string) []string {
	var values []string
	for _, metric := range family.Metric {
		for _, pair := range metric.Label {
			if pair.GetName() == label {
				values = append(values, pair.GetValue())
			}
		}
	}
	return values
}

func TestWhatIsNotExportedIsNamed(t *testing.T) {
	exported, err := parse(strings.NewReader(`# TYPE packtree_x gauge
packtree_x{reason="Known"} 1
# TYPE took_seconds histogram
took_seconds_bucket{name="a",le="+Inf"} 1
took_seconds_sum{name="a"} 1
took_seconds_count{name="a"} 1
`))
	require.NoError(t, err)
	words := map[string][]string{"packtree_x": {"Possible"}}
	for name, c := range map[string]struct {
		asked use
		want  string
	}{
		"a metric that is there": {
			use{Metric: "packtree_x", Labels: []string{"job", "reason"},
				Values: map[string][]string{"reason": {"Known", "Possible"}}}, "",
		},
		"a metric that is not there": {use{Metric: "packtree_y"}, "no series"},
		"a label that is not there":  {use{Metric: "packtree_x", Labels: []string{"phase"}}, "no label phase"},
		"a word that is never published": {
			use{Metric: "packtree_x", Labels: []string{"reason"}, Values: map[string][]string{"reason": {"Knwon"}}},
			`label reason is never "Knwon"`,
		},
		"buckets of a histogram":        {use{Metric: "took_seconds_bucket", Labels: []string{"le", "name"}}, ""},
		"buckets of what has none":      {use{Metric: "packtree_x_bucket", Labels: []string{"le"}}, "no label le"},
		"what Prometheus makes itself":  {use{Metric: "up", Labels: []string{"job"}}, ""},
		"a bound of what has no bounds": {use{Metric: "packtree_x", Labels: []string{"le"}}, "no label le"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := missing(c.asked, exported, words); got != c.want {
				t.Errorf("missing is %q, want %q", got, c.want)
			}
		})
	}
}
