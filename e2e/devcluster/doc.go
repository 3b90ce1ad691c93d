// Package devcluster brings up a real Kubernetes control plane on this machine, without containers: etcd,
// kube-apiserver, kube-controller-manager and KWOK, which simulates the nodes and kubelets. Packtree's components are
// installed from their charts and run as local processes under their own service accounts.
//
// A cluster belongs to its state directory. The process that started it may crash at any moment: Down finds every
// process by the records in the directory.
package devcluster
