// Package deployments turns a Deployment into the command that runs the same program, with the same arguments, mounts
// and identity, as a process of this machine.
package deployments

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"packtree.dev/e2e/devcluster/internal/ports"
)

// Process is the program of a Deployment's container.
type Process struct {
	// Args are the container's, with every mount path replaced by its local directory.
	Args []string
	// Env are the container's variables, as NAME=value.
	Env []string
	// ServiceAccount is the pods' identity.
	ServiceAccount string
	// Health is the readiness probe's URL.
	Health string
	// Mounts are to be filled before the start.
	Mounts []Mount
}

// Mount is a local directory in place of a volume. At most one of ConfigMap and Secret is set; without either, the
// directory is empty.
type Mount struct {
	Directory string
	ConfigMap string
	Secret    string
}

// Translate reads the Deployment's only container. Mounts get directories below root, unless their path is there
// already, as a chart value may have it. Fields that are impossible outside a pod are an error: the process would
// differ from the one that users run.
func Translate(deployment *appsv1.Deployment, root string) (Process, error) {
	process, err := translate(deployment.Spec.Template.Spec, deployment.Namespace, root)
	if err != nil {
		return Process{}, fmt.Errorf("running Deployment %s as a process: %w", deployment.Name, err)
	}
	return process, nil
}

func translate(pod corev1.PodSpec, namespace, root string) (Process, error) {
	if len(pod.Containers) != 1 || len(pod.InitContainers) > 0 {
		return Process{}, fmt.Errorf("it has %d containers and %d init containers, not one container",
			len(pod.Containers), len(pod.InitContainers))
	}
	container := pod.Containers[0]
	process := Process{Args: container.Args, ServiceAccount: pod.ServiceAccountName}
	for _, mounted := range container.VolumeMounts {
		mount, err := mountOf(mounted, pod.Volumes, root)
		if err != nil {
			return Process{}, err
		}
		process.Mounts = append(process.Mounts, mount)
		process.Args = relocate(process.Args, mounted.MountPath, mount.Directory)
	}
	for _, variable := range container.Env {
		value, err := valueOf(variable, pod, namespace)
		if err != nil {
			return Process{}, err
		}
		process.Env = append(process.Env, variable.Name+"="+value)
	}
	health, err := healthOf(container)
	process.Health = health
	return process, err
}

func mountOf(mounted corev1.VolumeMount, volumes []corev1.Volume, root string) (Mount, error) {
	mount := Mount{Directory: mounted.MountPath}
	if !within(mounted.MountPath, root) {
		mount.Directory = filepath.Join(root, mounted.MountPath)
	}
	for _, volume := range volumes {
		switch {
		case volume.Name != mounted.Name:
			continue
		case mounted.SubPath != "":
			return Mount{}, fmt.Errorf("the mount at %s has a subPath, which only pods can have", mounted.MountPath)
		case volume.ConfigMap != nil && len(volume.ConfigMap.Items) == 0:
			mount.ConfigMap = volume.ConfigMap.Name
		case volume.Secret != nil && len(volume.Secret.Items) == 0:
			mount.Secret = volume.Secret.SecretName
		case volume.EmptyDir == nil:
			return Mount{}, fmt.Errorf("volume %s is neither a whole ConfigMap or Secret nor an emptyDir", volume.Name)
		}
		return mount, nil
	}
	return Mount{}, fmt.Errorf("no volume %s", mounted.Name)
}

func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

// relocate replaces a path at the beginning of an argument or behind its first equals sign.
func relocate(args []string, from, to string) []string {
	var relocated []string
	for _, arg := range args {
		flag, value, ok := strings.Cut(arg, "=")
		if !ok {
			flag, value = "", arg
		}
		if within(value, from) {
			value = to + strings.TrimPrefix(value, from)
		}
		if ok {
			value = flag + "=" + value
		}
		relocated = append(relocated, value)
	}
	return relocated
}

func valueOf(variable corev1.EnvVar, pod corev1.PodSpec, namespace string) (string, error) {
	if variable.ValueFrom == nil {
		return variable.Value, nil
	}
	if field := variable.ValueFrom.FieldRef; field != nil {
		switch field.FieldPath {
		case "metadata.namespace":
			return namespace, nil
		case "spec.serviceAccountName":
			return pod.ServiceAccountName, nil
		}
	}
	return "", fmt.Errorf("variable %s takes its value from what only a pod has", variable.Name)
}

func healthOf(container corev1.Container) (string, error) {
	if container.ReadinessProbe == nil || container.ReadinessProbe.HTTPGet == nil {
		return "", fmt.Errorf("container %s has no readiness probe over HTTP", container.Name)
	}
	probe := container.ReadinessProbe.HTTPGet
	port := int(probe.Port.IntVal)
	if probe.Port.Type == intstr.String {
		for _, named := range container.Ports {
			if named.Name == probe.Port.StrVal {
				port = int(named.ContainerPort)
			}
		}
	}
	if port == 0 {
		return "", fmt.Errorf("container %s has no port %s", container.Name, strconv.Quote(probe.Port.String()))
	}
	scheme := strings.ToLower(string(probe.Scheme))
	if scheme == "" {
		scheme = "http"
	}
	return (&url.URL{Scheme: scheme, Host: ports.Address(port), Path: probe.Path}).String(), nil
}
