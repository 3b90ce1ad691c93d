package kind_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
)

// query is a query of a dashboard or an alert, as the command e2e/tools/promql prints it.
type query struct{ Chart, Place, Text string }

var variable = regexp.MustCompile(`="\$\w+"`)

// answers returns how many series Prometheus has for a query. A wrong query is an error.
func answers(ctx context.Context, text string) (int, error) {
	said, err := kubectl(ctx, "get", "--raw",
		"/api/v1/namespaces/monitoring/pods/prometheus:9090/proxy/api/v1/query?query="+url.QueryEscape(text))
	if err != nil {
		return 0, err
	}
	var answer struct {
		Status, Error string
		Data          struct{ Result []any }
	}
	if err := json.Unmarshal([]byte(said), &answer); err != nil {
		return 0, fmt.Errorf("reading %q: %w", said, err)
	}
	if answer.Status != "success" {
		return 0, fmt.Errorf("%s: %s", answer.Status, answer.Error)
	}
	return len(answer.Data.Result), nil
}

// metricsAreRead waits until Prometheus has scraped each program, each as the job in alerts and dashboards.
func metricsAreRead(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for _, component := range components {
		until(ctx, t, "Prometheus reads "+component, func(ctx context.Context) (bool, string, error) {
			series, err := answers(ctx, fmt.Sprintf("up{job=%q} == 1 and on (job, pod) packtree_build_info", component))
			return series == 1, fmt.Sprintf("%d of its pods are read", series), err
		})
	}
	return ctx
}

// queriesAreAnswered runs all queries of dashboards and alerts. Panels without data are listed, and no alert may fire
// after what this suite has done so far.
func queriesAreAnswered(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	content, err := os.ReadFile(filepath.Join(root, "dist", "kind", "queries.json"))
	require.NoError(t, err)
	var queries []query
	if err := json.Unmarshal(content, &queries); err != nil || len(queries) == 0 {
		t.Fatalf("%d queries, %v", len(queries), err)
	}
	shown := map[string]int{}
	for _, query := range queries {
		// All values that a variable of the dashboard can have.
		text := variable.ReplaceAllString(query.Text, `=~".+"`)
		series, err := answers(ctx, text)
		switch {
		case err != nil:
			t.Errorf("%s, %s: %v\n%s", query.Chart, query.Place, err, text)
		case strings.HasPrefix(query.Place, "alert "):
			if series > 0 {
				t.Errorf("%s: %s would be raised", query.Chart, query.Place)
			}
		case series == 0:
			t.Logf("%s: %s has no data: %s", query.Chart, query.Place, text)
		default:
			shown[query.Chart]++
		}
	}
	for _, component := range components {
		if shown[component] == 0 {
			t.Errorf("the dashboard of %s shows nothing", component)
		}
	}
	t.Logf("queries with data: %v of %d", shown, len(queries))
	return ctx
}
