// Package load measures our scheduler against the unmodified kube-scheduler on one dev cluster: bindings a second, the
// time that a gang takes to start, memory, and the cost of a gang that cannot fit.
//
// Both schedulers take turns under the same conditions: pods exist before the measured scheduler starts, the clock runs
// from the moment in which it holds its lease until the last pod has a node, and all other programs (the API server,
// etcd and this program's own watch) do the same work for both. The kubelets, which KWOK simulates, rest meanwhile: how
// many of their writes fall into the time of a scheduler would depend on how it binds.
package load
