package devcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"packtree.dev/e2e/devcluster/internal/credentials"
	"packtree.dev/e2e/devcluster/internal/deployments"
	"packtree.dev/e2e/devcluster/internal/ports"
	"packtree.dev/e2e/devcluster/internal/processes"
	"packtree.dev/e2e/devcluster/internal/programs"
	"packtree.dev/e2e/devcluster/internal/statedir"
)

// namespace is where the components are installed.
const namespace = "packtree-system"

// installComponents installs the charts as a user would, with no replicas, and then runs the controllers and the
// programs of the Deployments. The garbage collector learns of kinds when it starts, and every 30 s after that: it
// starts when there are all.
func (c *controlPlane) installComponents(ctx context.Context) error {
	if len(c.Components) == 0 {
		return c.control(ctx)
	}
	if err := c.prepareNamespace(ctx); err != nil {
		return err
	}
	if err := c.helm(ctx, "install"); err != nil {
		return err
	}
	c.say("charts are installed")
	if err := c.awaitDefinitions(ctx); err != nil {
		return err
	}
	return together(ctx, c.control, c.runComponents)
}

// runComponents starts the programs of the Deployments, once every kind is served.
func (c *controlPlane) runComponents(ctx context.Context) error {
	if err := c.awaitDefinitions(ctx); err != nil {
		return err
	}
	var steps []func(context.Context) error
	for _, component := range c.Components {
		steps = append(steps, func(ctx context.Context) error { return c.runComponent(ctx, component) })
	}
	return together(ctx, steps...)
}

// prepareNamespace creates the serving certificates before the charts, as a user does with certificates of their own.
func (c *controlPlane) prepareNamespace(ctx context.Context) error {
	packtree := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := c.client.CoreV1().Namespaces().Create(ctx, packtree, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating namespace: %w", err)
	}
	for _, component := range c.Components {
		if component == scheduler {
			continue
		}
		secret, err := c.newWebhookSecret(component)
		if err != nil {
			return err
		}
		if _, err := c.client.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating certificate of %s: %w", component, err)
		}
	}
	return nil
}

// newWebhookSecret has a new certificate for the webhooks of a component.
func (c *controlPlane) newWebhookSecret(component string) (*corev1.Secret, error) {
	pair, err := c.authority.Serving(ports.Host)
	if err != nil {
		return nil, fmt.Errorf("making certificate of %s: %w", component, err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: webhookSecret(component)},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key},
	}, nil
}

// helm installs or upgrades the charts.
func (c *controlPlane) helm(ctx context.Context, verb string) error {
	content, err := yaml.Marshal(overlay(chartValues(c.Components, c.layout.Ports, c.authorityPEM,
		c.componentDirectory), c.Values))
	if err != nil {
		return err
	}
	if err := c.write(programs.ValuesFile, content); err != nil {
		return err
	}
	return c.runHelm(ctx, c.layout.HelmArgs(verb, c.chart("packtree"), namespace))
}

func (c *controlPlane) runHelm(ctx context.Context, args []string) error {
	run := processes.Spec{Name: programs.Helm, Program: c.tool(programs.Helm), Args: args, Env: c.layout.HelmEnv()}
	if err := c.finish(ctx, run); err != nil {
		return fmt.Errorf("helm %s: %w", args[0], err)
	}
	return nil
}

// awaitDefinitions waits until the API server serves every kind: a component that starts earlier would not find its
// own.
func (c *controlPlane) awaitDefinitions(ctx context.Context) error {
	client, err := apiextensions.NewForConfig(c.config)
	if err != nil {
		return err
	}
	err = poll(ctx, patience, func() error {
		definitions, err := client.ApiextensionsV1().CustomResourceDefinitions().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, definition := range definitions.Items {
			if !established(definition) {
				return fmt.Errorf("%s is not served yet", definition.Name)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("waiting for custom resources: %w", err)
	}
	return nil
}

func established(definition apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(definition.Status.Conditions, func(
		c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// runComponent starts the program that the component's Deployment would run, and waits until its readiness probe
// succeeds.
func (c *controlPlane) runComponent(ctx context.Context, name string) error {
	translated, err := c.translated(ctx, name)
	if err != nil {
		return err
	}
	if err := c.fillAll(ctx, name, translated.Mounts); err != nil {
		return err
	}
	kubeconfig, err := c.identity(ctx, name, translated.ServiceAccount)
	if err != nil {
		return err
	}
	process, err := c.keep(
		processes.Spec{
			Program: c.component(name),
			Args:    append(translated.Args, "--kubeconfig="+kubeconfig),
			Env:     translated.Env,
		},
		statedir.Process{Name: name, Component: true, Health: translated.Health},
	)
	if err != nil {
		return err
	}
	if err := c.probe.await(ctx, translated.Health, process); err != nil {
		return err
	}
	c.say("%s works", name)
	return nil
}

// translated is the process that the component's Deployment describes.
func (c *controlPlane) translated(ctx context.Context, component string) (deployments.Process, error) {
	deployment, err := c.client.AppsV1().Deployments(namespace).Get(ctx, component, metav1.GetOptions{})
	if err != nil {
		return deployments.Process{}, fmt.Errorf("reading what the chart installed: %w", err)
	}
	return deployments.Translate(deployment, c.componentDirectory(component))
}

func (c *controlPlane) fillAll(ctx context.Context, component string, mounts []deployments.Mount) error {
	for _, mount := range mounts {
		if err := c.fill(ctx, mount); err != nil {
			return fmt.Errorf("filling the mounts of %s: %w", component, err)
		}
	}
	return nil
}

// fill writes the files that the mount would have.
func (c *controlPlane) fill(ctx context.Context, mount deployments.Mount) error {
	content := map[string][]byte{}
	switch {
	case mount.ConfigMap != "":
		source, err := c.client.CoreV1().ConfigMaps(namespace).Get(ctx, mount.ConfigMap, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for key, value := range source.Data {
			content[key] = []byte(value)
		}
		for key, value := range source.BinaryData {
			content[key] = value
		}
	case mount.Secret != "":
		source, err := c.client.CoreV1().Secrets(namespace).Get(ctx, mount.Secret, metav1.GetOptions{})
		if err != nil {
			return err
		}
		content = source.Data
	}
	if err := os.MkdirAll(mount.Directory, 0o700); err != nil {
		return err
	}
	for key, value := range content {
		if err := os.WriteFile(filepath.Join(mount.Directory, key), value, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// identity returns a kubeconfig with a token of the service account, so that missing rights show.
func (c *controlPlane) identity(ctx context.Context, component, serviceAccount string) (string, error) {
	// Longer than any dev cluster lives: nothing here renews it as a kubelet would.
	seconds := int64(365 * 24 * 60 * 60)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	token, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, serviceAccount, request,
		metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("requesting a token of service account %s: %w", serviceAccount, err)
	}
	content, err := credentials.Kubeconfig(credentials.Access{
		Server: c.layout.Server(), Authority: c.authorityPEM, Token: token.Status.Token, Namespace: namespace,
	})
	if err != nil {
		return "", err
	}
	file := kubeconfigOf(component)
	return c.dir.Path(file), c.write(file, content)
}

func kubeconfigOf(component string) string {
	return filepath.Join(componentsDirectory, component, "kubeconfig")
}

const componentsDirectory = "components"

func (c *controlPlane) componentDirectory(name string) string {
	return c.dir.Path(componentsDirectory, name)
}
