// Package programs has the command lines of the programs of a control plane: etcd, kube-apiserver,
// kube-controller-manager and KWOK, and helm, which installs the components.
package programs

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"packtree.dev/e2e/devcluster/internal/ports"
)

// The names of the programs, of their processes and of their ports.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	KWOK              = "kwok"
	Helm              = "helm"
)

// EtcdPeer is etcd's other port.
const EtcdPeer = "etcd-peer"

// Files in the command lines, below the state directory.
const (
	AuthorityFile         = "pki/ca.crt"
	ServingCertificate    = "pki/serving.crt"
	ServingKey            = "pki/serving.key"
	ServiceAccountKey     = "pki/service-accounts.key"
	ProxyAuthorityFile    = "pki/front-proxy-ca.crt"
	ProxyCertificate      = "pki/front-proxy.crt"
	ProxyKey              = "pki/front-proxy.key"
	ControllerManagerFile = "kube-controller-manager.kubeconfig"
	KWOKFile              = "kwok.kubeconfig"
	AdministratorFile     = "kubeconfig"
	ValuesFile            = "values.yaml"
	StagesFile            = "stages.yaml"
	dataDirectory         = "etcd"
)

// User names of the control plane's own programs.
const (
	ControllerManagerUser = "system:kube-controller-manager"
	KWOKUser              = "packtree:kwok"
	ProxyUser             = "front-proxy"
)

// ServiceRange has the addresses of Services. The first is the API server's own.
const (
	ServiceRange     = "10.96.0.0/16"
	APIServerService = "10.96.0.1"
	podRange         = "10.244.0.0/16"
)

// Layout has directories, ports and settings.
type Layout struct {
	// Dir is the state directory, absolute.
	Dir string
	// Ports are by the names above.
	Ports map[string]int
	// Heartbeat is how long a node counts as alive after the last renewal of its lease.
	Heartbeat time.Duration
	// APIServer are further arguments of the API server.
	APIServer []string
}

// DefaultHeartbeat is that of kubelets.
const DefaultHeartbeat = 40 * time.Second

func (l Layout) file(name string) string {
	return filepath.Join(l.Dir, name)
}

func (l Layout) address(name string) string {
	return ports.Address(l.Ports[name])
}

// Server is the URL of the API server.
func (l Layout) Server() string {
	return "https://" + l.address(APIServer)
}

// Storage is the URL of etcd.
func (l Layout) Storage() string {
	return "https://" + l.address(Etcd)
}

// Health is the URL that reports whether the program works.
func (l Layout) Health(name string) string {
	switch name {
	case Etcd:
		return "https://" + l.address(name) + "/health"
	case KWOK:
		return "http://" + l.address(name) + "/healthz"
	case APIServer:
		return l.Server() + "/readyz"
	default:
		return "https://" + l.address(name) + "/healthz"
	}
}

// EtcdArgs encrypts everything, since every user of the machine can reach loopback.
func (l Layout) EtcdArgs() []string {
	return []string{
		"--name=devcluster",
		"--data-dir=" + l.file(dataDirectory),
		"--listen-client-urls=https://" + l.address(Etcd),
		"--advertise-client-urls=https://" + l.address(Etcd),
		"--listen-peer-urls=https://" + l.address(EtcdPeer),
		"--initial-advertise-peer-urls=https://" + l.address(EtcdPeer),
		"--initial-cluster=devcluster=https://" + l.address(EtcdPeer),
		"--client-cert-auth=true",
		"--trusted-ca-file=" + l.file(AuthorityFile),
		"--cert-file=" + l.file(ServingCertificate),
		"--key-file=" + l.file(ServingKey),
		"--peer-client-cert-auth=true",
		"--peer-trusted-ca-file=" + l.file(AuthorityFile),
		"--peer-cert-file=" + l.file(ServingCertificate),
		"--peer-key-file=" + l.file(ServingKey),
		"--log-level=warn",
		// The data does not outlive the cluster, so it need not survive a power failure.
		"--unsafe-no-fsync=true",
	}
}

// APIServerArgs leaves admission plugins and feature gates at their defaults, unless further arguments set them.
func (l Layout) APIServerArgs() []string {
	return append([]string{
		"--bind-address=" + ports.Host,
		"--advertise-address=" + ports.Host,
		fmt.Sprintf("--secure-port=%d", l.Ports[APIServer]),
		// There are no nodes from which the kubernetes Service could be reached, and Endpoints may not have loopback
		// addresses.
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + l.file(ServingCertificate),
		"--tls-private-key-file=" + l.file(ServingKey),
		"--client-ca-file=" + l.file(AuthorityFile),
		"--authorization-mode=RBAC",
		"--etcd-servers=https://" + l.address(Etcd),
		"--etcd-cafile=" + l.file(AuthorityFile),
		"--etcd-certfile=" + l.file(ServingCertificate),
		"--etcd-keyfile=" + l.file(ServingKey),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + l.file(ServiceAccountKey),
		"--service-account-signing-key-file=" + l.file(ServiceAccountKey),
		"--service-cluster-ip-range=" + ServiceRange,
		// Usually nothing is aggregated, but every program with delegated authentication reads these and logs errors
		// without them.
		"--requestheader-client-ca-file=" + l.file(ProxyAuthorityFile),
		"--requestheader-allowed-names=" + ProxyUser,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + l.file(ProxyCertificate),
		"--proxy-client-key-file=" + l.file(ProxyKey),
		// KWOK listens on the nodes' address, and the nodes' names cannot be resolved.
		"--kubelet-preferred-address-types=InternalIP",
		"--allow-privileged=true",
		"--profiling=false",
	}, l.APIServer...)
}

// ControllerManagerArgs runs the controllers that are on by default, each under its own service account, except three
// that are not needed here: one marks every new node for kubelets, two make Endpoints and their slices, which
// EndpointSlices replace.
func (l Layout) ControllerManagerArgs() []string {
	kubeconfig := l.file(ControllerManagerFile)
	return []string{
		"--bind-address=" + ports.Host,
		fmt.Sprintf("--secure-port=%d", l.Ports[ControllerManager]),
		"--tls-cert-file=" + l.file(ServingCertificate),
		"--tls-private-key-file=" + l.file(ServingKey),
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--controllers=*,-ttl-controller,-endpoints-controller,-endpointslice-mirroring-controller",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + l.file(ServiceAccountKey),
		"--root-ca-file=" + l.file(AuthorityFile),
		"--leader-elect=false",
		"--profiling=false",
		// With the default of 20 requests a second the taints of new nodes take longer than everything else.
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
		// A new node waits for this period, 5s by default.
		"--node-monitor-period=1s",
		// A scale-in by an autoscaler must not take minutes here.
		"--horizontal-pod-autoscaler-sync-period=2s",
		"--horizontal-pod-autoscaler-downscale-stabilization=4s",
		// Pods of a Service that become ready one after the other cause one write of its EndpointSlice, not one each.
		"--endpointslice-updates-batch-period=500ms",
		// Some seconds longer than the lease, as in the defaults of both.
		"--node-monitor-grace-period=" + (l.Heartbeat + 10*time.Second).String(),
	}
}

// KWOKArgs makes KWOK simulate the kubelet of every node with its annotation.
func (l Layout) KWOKArgs() []string {
	return []string{
		"--kubeconfig=" + l.file(KWOKFile),
		"--config=" + listItem(l.file(StagesFile)),
		"--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
		fmt.Sprintf("--node-lease-duration-seconds=%d", int(l.Heartbeat.Seconds())),
		"--node-ip=" + ports.Host,
		fmt.Sprintf("--node-port=%d", l.Ports[KWOK]),
		"--cidr=" + podRange,
		"--server-address=" + l.address(KWOK),
	}
}

// HelmArgs installs or upgrades a chart with the values of ValuesFile.
func (l Layout) HelmArgs(verb, chart, namespace string) []string {
	return []string{
		verb, release, chart,
		"--namespace=" + namespace,
		"--kubeconfig=" + l.file(AdministratorFile),
		"--values=" + listItem(l.file(ValuesFile)),
	}
}

// HelmUninstallArgs uninstalls what HelmArgs installed.
func (l Layout) HelmUninstallArgs(namespace string) []string {
	return []string{"uninstall", release, "--namespace=" + namespace, "--kubeconfig=" + l.file(AdministratorFile)}
}

const release = "packtree"

// HelmEnv keeps helm's cache and configuration out of the user's home.
func (l Layout) HelmEnv() []string {
	return []string{
		"HELM_CACHE_HOME=" + l.file("helm/cache"),
		"HELM_CONFIG_HOME=" + l.file("helm/config"),
		"HELM_DATA_HOME=" + l.file("helm/data"),
	}
}

// listItem quotes a path for flags that take several values as CSV: the path may have a comma.
func listItem(path string) string {
	return `"` + strings.ReplaceAll(path, `"`, `""`) + `"`
}
