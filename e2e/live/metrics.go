package live

import (
	"context"
	"fmt"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"
)

// Metrics reads the metrics of a component, as an administrator. It trusts any server: components have made their
// certificates themselves.
func (o *Own) Metrics(ctx context.Context, component string) (map[string]*dto.MetricFamily, error) {
	administrator := rest.CopyConfig(o.Server)
	administrator.Insecure, administrator.CAData = true, nil
	client, err := rest.HTTPClientFor(administrator)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.Machine.Metrics(component), http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("the metrics of %s (%s): %w", component, answer.Status, err)
	}
	return families, nil
}
