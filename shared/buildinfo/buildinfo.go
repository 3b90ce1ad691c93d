// Package buildinfo publishes at /metrics which build of a program is running.
package buildinfo

import (
	"github.com/prometheus/client_golang/prometheus"

	"packtree.dev/shared/version"
)

// Metric returns the gauge packtree_build_info of a component. It is always 1; the build is in its labels.
func Metric(component string) prometheus.Collector {
	labels := prometheus.Labels(version.Fields())
	labels["component"] = component
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "packtree_build_info",
		Help:        "Which build of which component of Packtree this is, by its labels. Always 1.",
		ConstLabels: labels,
	})
	gauge.Set(1)
	return gauge
}
