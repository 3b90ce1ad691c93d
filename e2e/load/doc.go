// Package load measures our scheduler against the unmodified kube-scheduler on one dev cluster: bindings a second, the time that a
// gang takes to start, memory, and what a gang costs that cannot fit.
//
// Both schedulers take turns under the same conditions: pods exist before the scheduler that is measured starts, the clock runs from
// the moment in which it holds its lease until the last pod has a node, and whatever else uses the machine (the API server, etcd, KWOK, which
// plays the kubelets, and this program's own watch) does the same work for either.
package load
