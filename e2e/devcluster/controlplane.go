package devcluster

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"packtree.dev/e2e/devcluster/internal/credentials"
	"packtree.dev/e2e/devcluster/internal/ports"
	"packtree.dev/e2e/devcluster/internal/processes"
	"packtree.dev/e2e/devcluster/internal/programs"
	"packtree.dev/e2e/devcluster/internal/statedir"
)

const (
	adminUser  = "packtree:admin"
	adminGroup = "system:masters"
)

// controlPlane is a start that has ports and credentials.
type controlPlane struct {
	*start
	layout    programs.Layout
	authority *credentials.Authority
	// authorityPEM is the certificate of the common authority.
	authorityPEM []byte
	config       *rest.Config
	client       kubernetes.Interface
	probe        *probe
}

func (s *start) newControlPlane() (*controlPlane, error) {
	chosen, release, err := ports.Free(s.portNames())
	if err != nil {
		return nil, err
	}
	s.releasePorts = release
	c := &controlPlane{start: s, layout: programs.Layout{Dir: s.dir.Path(), Ports: chosen, Heartbeat: s.Heartbeat,
		APIServer: s.APIServer}}
	if c.authority, err = credentials.NewAuthority("packtree-devcluster"); err != nil {
		return nil, err
	}
	if c.authorityPEM, err = c.authority.PEM(); err != nil {
		return nil, err
	}
	if err := c.writeKeys(); err != nil {
		return nil, fmt.Errorf("making certificates: %w", err)
	}
	kubeconfig, err := c.kubeconfig(programs.AdministratorFile, adminUser, adminGroup)
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

func (s *start) portNames() []string {
	names := []string{programs.APIServer, programs.Etcd, programs.EtcdPeer, programs.ControllerManager, programs.KWOK}
	for _, component := range s.Components {
		names = append(names, componentPorts(component)...)
	}
	return names
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
	c.say("etcd and kube-apiserver start")
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
	return c.keep(
		processes.Spec{Program: c.tool(name), Args: args},
		statedir.Process{Name: name, Health: c.layout.Health(name)},
	)
}
