package devcluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/keyutil"

	"packtree.dev/e2e/devcluster/internal/credentials"
	"packtree.dev/e2e/devcluster/internal/ports"
	"packtree.dev/e2e/devcluster/internal/processes"
	"packtree.dev/e2e/devcluster/internal/programs"
	"packtree.dev/e2e/devcluster/internal/statedir"
)

const (
	kubeconfigFile = "kubeconfig"
	adminUser      = "packtree:admin"
	adminGroup     = "system:masters"
)

// controlPlane is a launch that has ports and credentials.
type controlPlane struct {
	*launch
	layout    programs.Layout
	authority *credentials.Authority
	// authorityPEM is the certificate that everybody trusts.
	authorityPEM []byte
	config       *rest.Config
	client       kubernetes.Interface
	probe        *probe
}

func (l *launch) newControlPlane() (*controlPlane, error) {
	chosen, err := ports.Free(l.portNames(), l.basePort)
	if err != nil {
		return nil, err
	}
	c := &controlPlane{launch: l, layout: programs.Layout{Dir: l.dir.Path(), Ports: chosen}}
	if c.authority, err = credentials.NewAuthority("packtree-devcluster"); err != nil {
		return nil, err
	}
	if c.authorityPEM, err = c.authority.PEM(); err != nil {
		return nil, err
	}
	if err := c.writeKeys(); err != nil {
		return nil, fmt.Errorf("making certificates: %w", err)
	}
	kubeconfig, err := c.kubeconfig(kubeconfigFile, adminUser, adminGroup)
	if err != nil {
		return nil, err
	}
	return c, c.connect(kubeconfig)
}

func (c *controlPlane) connect(kubeconfig []byte) (err error) {
	if c.config, err = clientcmd.RESTConfigFromKubeConfig(kubeconfig); err != nil {
		return err
	}
	c.config.QPS = -1
	if c.client, err = kubernetes.NewForConfig(c.config); err != nil {
		return err
	}
	c.probe, err = newProbe(c.config)
	return err
}

func (l *launch) portNames() []string {
	names := []string{programs.APIServer, programs.Etcd, programs.EtcdPeer, programs.ControllerManager, programs.KWOK}
	for _, component := range l.components {
		names = append(names, componentPorts(component)...)
	}
	return names
}

func (c *controlPlane) writeKeys() error {
	serving, err := c.authority.Serving(ports.Host, "localhost", "kubernetes", "kubernetes.default",
		"kubernetes.default.svc", "kubernetes.default.svc.cluster.local", programs.APIServerService)
	if err != nil {
		return err
	}
	serviceAccounts, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return err
	}
	proxyAuthority, proxy, err := frontProxy()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		programs.AuthorityFile:      c.authorityPEM,
		programs.ProxyAuthorityFile: proxyAuthority,
		programs.ProxyCertificate:   proxy.Certificate,
		programs.ProxyKey:           proxy.Key,
		programs.ServingCertificate: serving.Certificate,
		programs.ServingKey:         serving.Key,
		programs.ServiceAccountKey:  serviceAccounts,
		programs.StagesFile:         programs.Stages,
	} {
		if err := c.write(name, content); err != nil {
			return err
		}
	}
	for file, user := range map[string]string{
		programs.ControllerManagerFile: programs.ControllerManagerUser,
		programs.KWOKFile:              programs.KWOKUser,
	} {
		if _, err := c.kubeconfig(file, user); err != nil {
			return err
		}
	}
	return nil
}

// frontProxy has an authority of its own: the API server believes the bearer of its certificate whatever name it gives.
func frontProxy() ([]byte, credentials.Pair, error) {
	authority, err := credentials.NewAuthority("packtree-devcluster-front-proxy")
	if err != nil {
		return nil, credentials.Pair{}, err
	}
	certificate, err := authority.PEM()
	if err != nil {
		return nil, credentials.Pair{}, err
	}
	pair, err := authority.Client(programs.ProxyUser)
	return certificate, pair, err
}

// kubeconfig makes a client certificate and writes a kubeconfig with it.
func (c *controlPlane) kubeconfig(file, user string, groups ...string) ([]byte, error) {
	pair, err := c.authority.Client(user, groups...)
	if err != nil {
		return nil, err
	}
	content, err := credentials.Kubeconfig(credentials.Access{
		Server: c.layout.Server(), Authority: c.authorityPEM, Client: pair,
	})
	if err != nil {
		return nil, err
	}
	return content, c.write(file, content)
}

// serve starts etcd and the API server, which waits for it.
func (c *controlPlane) serve(ctx context.Context) error {
	etcd, err := c.startTool(programs.Etcd, c.layout.EtcdArgs())
	if err != nil {
		return err
	}
	apiServer, err := c.startTool(programs.APIServer, c.layout.APIServerArgs())
	if err != nil {
		return err
	}
	if err := c.probe.await(ctx, c.layout.Health(programs.APIServer), apiServer, etcd); err != nil {
		return err
	}
	c.say("kube-apiserver answers at %s", c.layout.Server())
	return nil
}

// control starts the controllers.
func (c *controlPlane) control(ctx context.Context) error {
	process, err := c.startTool(programs.ControllerManager, c.layout.ControllerManagerArgs())
	if err != nil {
		return err
	}
	if err := c.probe.await(ctx, c.layout.Health(programs.ControllerManager), process); err != nil {
		return err
	}
	c.say("kube-controller-manager works")
	return nil
}

// simulate starts KWOK with the rights that it needs.
func (c *controlPlane) simulate(ctx context.Context) error {
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: programs.KWOKUser},
		Rules:      programs.KWOKRules(),
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: programs.KWOKUser},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: programs.KWOKUser}},
	}
	if _, err := c.client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("giving KWOK its rights: %w", err)
	}
	if _, err := c.client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("giving KWOK its rights: %w", err)
	}
	process, err := c.startTool(programs.KWOK, c.layout.KWOKArgs())
	if err != nil {
		return err
	}
	return c.probe.await(ctx, c.layout.Health(programs.KWOK), process)
}

func (c *controlPlane) startTool(name string, args []string) (*processes.Process, error) {
	return c.start(
		processes.Spec{Program: c.tool(name), Args: args},
		statedir.Process{Name: name, Health: c.layout.Health(name)},
	)
}

func (c *controlPlane) createNodes(ctx context.Context) error {
	for _, node := range c.nodes {
		if _, err := c.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating node %s: %w", node.Name, err)
		}
	}
	return nil
}

// awaitNodes waits until pods can be put on every node: the kubelet has reported, and the controller that keeps pods
// away from nodes that have not, knows it.
func (c *controlPlane) awaitNodes(ctx context.Context) error {
	err := poll(ctx, func() error {
		nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if ready := countReady(nodes.Items); ready < len(c.nodes) {
			return fmt.Errorf("%d of %d nodes are ready", ready, len(c.nodes))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("waiting for nodes: %w", err)
	}
	c.say("%d nodes are ready", len(c.nodes))
	return nil
}

func countReady(nodes []corev1.Node) int {
	count := 0
	for _, node := range nodes {
		if ready(node) {
			count++
		}
	}
	return count
}

func ready(node corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady {
			return false
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// awaitServiceAccount waits for what a controller makes and every pod without a service account of its own needs.
func (c *controlPlane) awaitServiceAccount(ctx context.Context) error {
	err := poll(ctx, func() error {
		_, err := c.client.CoreV1().ServiceAccounts(corev1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("waiting for kube-controller-manager to make service accounts: %w", err)
	}
	return err
}
