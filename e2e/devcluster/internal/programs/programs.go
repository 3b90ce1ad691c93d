// Package programs knows the command lines of the programs that make a control plane: etcd, kube-apiserver,
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

// Files that the command lines name, below the state directory.
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

// User names that the control plane's own programs come under.
const (
	ControllerManagerUser = "system:kube-controller-manager"
	KWOKUser              = "packtree:kwok"
	ProxyUser             = "front-proxy"
)

// ServiceRange holds the addresses of Services, the first of which is the API server's own.
const (
	ServiceRange     = "10.96.0.0/16"
	APIServerService = "10.96.0.1"
	podRange         = "10.244.0.0/16"
)

// Layout is where things are.
type Layout struct {
	// Dir is the state directory, absolute.
	Dir string
	// Ports are by the names above.
	Ports map[string]int
	// Heartbeat is how long a node is believed to live after the last renewal of its lease.
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

// EtcdArgs has everything encrypted, for loopback is open to every user of the machine.
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
		// The data does not outlive the cluster, so there is no power failure to guard it against.
		"--unsafe-no-fsync=true",
	}
}

// APIServerArgs leaves admission plugins and feature gates at their defaults, unless further arguments say otherwise.
func (l Layout) APIServerArgs() []string {
	return append([]string{
		"--bind-address=" + ports.Host,
		"--advertise-address=" + ports.Host,
		fmt.Sprintf("--secure-port=%d", l.Ports[APIServer]),
		// There are no nodes from which the kubernetes Service could be reached, and loopback addresses are refused in
		// Endpoints.
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
		// Mostly nothing is aggregated, but every program with delegated authentication reads these and complains without them.
		"--requestheader-client-ca-file=" + l.file(ProxyAuthorityFile),
		"--requestheader-allowed-names=" + ProxyUser,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + l.file(ProxyCertificate),
		"--proxy-client-key-file=" + l.file(ProxyKey),
		// KWOK listens on the nodes' address, and their names mean nothing to the resolver.
		"--kubelet-preferred-address-types=InternalIP",
		"--allow-privileged=true",
		"--profiling=false",
	}, l.APIServer...)
}

// ControllerManagerArgs runs the controllers that are on by default, each under its own service account, but for three that nothing here needs: one
// marks every new node for kubelets, two make Endpoints of Services and slices of Endpoints, which EndpointSlices replace.
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
		// At the default of 20 requests a second the taints of new nodes take longer than everything else.
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
		// And a new node waits for this one, 5s by default.
		"--node-monitor-period=1s",
		// Whoever tries an autoscaler out here will not wait for minutes to see it scale in.
		"--horizontal-pod-autoscaler-sync-period=5s",
		"--horizontal-pod-autoscaler-downscale-stabilization=10s",
		// Pods of a Service that become ready one after the other are one write of its EndpointSlice, not one each.
		"--endpointslice-updates-batch-period=500ms",
		// Some seconds beyond the lease, as the defaults of both have it.
		"--node-monitor-grace-period=" + (l.Heartbeat + 10*time.Second).String(),
	}
}

// KWOKArgs has KWOK play the kubelet of every node with its annotation.
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

// listItem is for flags that take several values as CSV: a comma in the path is not to end it.
func listItem(path string) string {
	return `"` + strings.ReplaceAll(path, `"`, `""`) + `"`
}
