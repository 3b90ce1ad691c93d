// Package monitoring holds the dashboards and alerts of the charts against what the programs export.
package monitoring
