// Package monitoring checks the dashboards and alerts of the charts against the metrics of the programs.
package monitoring
