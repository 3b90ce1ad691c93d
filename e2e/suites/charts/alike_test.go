package charts_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
)

// Each chart has its own copy of common templates, because each is released alone. The copies differ only by the
// chart's name.
func TestCopiesOfTemplatesAreAlike(t *testing.T) {
	all := charts["packtree"].deployments
	for file, of := range map[string][]string{
		"poddisruptionbudget.yaml": all,
		"serviceaccount.yaml":      all,
		"monitoring.yaml":          all,
		"networkpolicy.yaml":       withWebhooks,
		"servicemonitor.yaml":      withWebhooks,
		"certificate.yaml":         withWebhooks,
		"webhook-secret.yaml":      withWebhooks,
		"service.yaml":             withWebhooks,
		"deployment.yaml":          {"dynamo-operator", "podgrouper"},
	} {
		t.Run(file, func(t *testing.T) {
			plain := func(chart string) string {
				return strings.ReplaceAll(string(read(t, chart, "templates/"+file)), chart, "CHART")
			}
			for _, chart := range of[1:] {
				assert.Empty(t, cmp.Diff(plain(of[0]), plain(chart)), "templates/%s (-%s +%s)", file, of[0], chart)
			}
		})
	}
}
