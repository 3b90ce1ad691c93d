package load

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
)

// ask reads a path of the scheduler's own server, as the administrator.
func (t *turn) ask(ctx context.Context, path string) ([]byte, error) {
	verified, err := rest.TLSConfigFor(t.config)
	if err != nil {
		return nil, err
	}
	// The scheduler makes its own certificate.
	transport := &http.Transport{TLSClientConfig: &tls.Config{Certificates: verified.Certificates, GetClientCertificate: verified.GetClientCertificate, InsecureSkipVerify: true}} //nolint:gosec // see above
	defer transport.CloseIdleConnections()
	url := strings.TrimSuffix(t.cluster.Health(t.program), "/readyz") + path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, fmt.Errorf("reading %s of %s: %w", path, t.program, err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("reading %s of %s: %s: %s", path, t.program, response.Status, content)
	}
	return content, err
}

// metrics are samples by name and labels, as Prometheus writes them.
type metrics map[string]float64

func (t *turn) metrics(ctx context.Context) (metrics, error) {
	content, err := t.ask(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	return parseMetrics(string(content)), nil
}

func parseMetrics(text string) metrics {
	samples := metrics{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		space := strings.LastIndexByte(line, ' ')
		if space < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if value, err := strconv.ParseFloat(line[space+1:], 64); err == nil {
			samples[line[:space]] = value
		}
	}
	return samples
}

// sum adds the samples of a name over all labels that hold the given pairs, each written as name="value".
func (m metrics) sum(name string, labels ...string) float64 {
	total := 0.0
samples:
	for sample, value := range m {
		if base, _, _ := strings.Cut(sample, "{"); base != name {
			continue
		}
		for _, label := range labels {
			if !strings.Contains(sample, label) {
				continue samples
			}
		}
		total += value
	}
	return total
}
