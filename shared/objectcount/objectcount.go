// Package objectcount publishes at /metrics how many objects of a kind there are, by their state. It reads the
// program's cache on each scrape, so that a restart, a missed event or a deletion never leaves a wrong number behind.
package objectcount

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// patience is how long a scrape waits for a cache that is not filled yet.
const patience = 2 * time.Second

// Gauge is a metric with one label.
type Gauge struct {
	// Name of the metric, in full.
	Name string
	// Help says what is counted, and what it is for.
	Help string
	// Label is the name of the only label.
	Label string
	// Known are values of the label that are published even if no object has them, so that an alert can distinguish 0
	// from silence.
	Known []string
	// List makes an empty list of the kind. A controller of the same manager must watch the kind.
	List func() client.ObjectList
	// Stand returns the label's value for an object, one of a short list, and "" for an object that does not count. It
	// must not change the object, which belongs to the cache.
	Stand func(runtime.Object) string
}

// Add publishes the gauges in the metrics of a manager's program. They are empty until it leads: only then are the
// caches filled, and the same numbers from several replicas would be added up. A second manager of the same process
// takes the place of the first.
func Add(mgr manager.Manager, gauges ...Gauge) error {
	for _, gauge := range gauges {
		counted := newCollector(gauge, mgr.GetCache(), mgr.Elected())
		metrics.Registry.Unregister(counted) // Collectors are identified by what they describe.
		if err := metrics.Registry.Register(counted); err != nil {
			return fmt.Errorf("adding metric %s: %w", gauge.Name, err)
		}
	}
	return nil
}

// collector counts on each scrape.
type collector struct {
	gauge  Gauge
	desc   *prometheus.Desc
	reader client.Reader
	leads  <-chan struct{}
}

func newCollector(gauge Gauge, reader client.Reader, leads <-chan struct{}) *collector {
	return &collector{
		gauge: gauge, reader: reader, leads: leads,
		desc: prometheus.NewDesc(gauge.Name, gauge.Help, []string{gauge.Label}, nil),
	}
}

// Describe names the metric.
func (c *collector) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

// Collect counts. If the kind cannot be read it publishes nothing: a failed scrape would lose all other metrics too.
func (c *collector) Collect(found chan<- prometheus.Metric) {
	select {
	case <-c.leads:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	counts, err := c.count(ctx)
	if err != nil {
		log.Log.V(1).Info("metric left out", "metric", c.gauge.Name, "why", err.Error())
		return
	}
	for value, count := range counts {
		found <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(count), value)
	}
}

func (c *collector) count(ctx context.Context) (map[string]int, error) {
	list := c.gauge.List()
	// Objects are only read and not kept, and there may be thousands.
	if err := c.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing: %w", err)
	}
	counts := map[string]int{}
	for _, value := range c.gauge.Known {
		counts[value] = 0
	}
	err := meta.EachListItem(list, func(object runtime.Object) error {
		if value := c.gauge.Stand(object); value != "" {
			counts[value]++
		}
		return nil
	})
	return counts, err
}

// Unjudged is the label value of objects without the condition by which they are counted.
const Unjudged = "NotYetJudged"

// Reason is the reason of a condition, or Unjudged.
func Reason(conditions []metav1.Condition, kind string) string {
	if condition := meta.FindStatusCondition(conditions, kind); condition != nil {
		return condition.Reason
	}
	return Unjudged
}
