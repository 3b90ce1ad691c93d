package pods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/grove-operator/internal/layout"
)

const (
	// accessPath is where in-cluster programs read their service account. The mount there also keeps the API server
	// from adding its own.
	accessPath = "/var/run/secrets/kubernetes.io/serviceaccount"
	// tokenSeconds is how long a token is valid; the kubelet renews it in time.
	tokenSeconds = 3600
	// nonroot is the user of this name in distroless images.
	nonroot = 65532
)

// startAfter makes a pod wait for its parents, before the user's own init containers run.
func (m Maker) startAfter(spec *corev1.PodSpec) {
	spec.ServiceAccountName = layout.Account(m.Set, m.Member.Clique, spec)
	parents := layout.Parents(m.Set, m.Member)
	if len(parents) == 0 {
		return
	}
	spec.InitContainers = slices.Insert(spec.InitContainers, 0, m.waiting(parents))
	spec.Volumes = append(spec.Volumes, access())
}

// waiting is the init container. It can only read from the API server, and is allowed in any namespace that enforces
// the restricted Pod Security Standard.
func (m Maker) waiting(parents []layout.Parent) corev1.Container {
	container := corev1.Container{
		Name:            layout.StartupContainer,
		Image:           m.Startup.Image,
		ImagePullPolicy: m.Startup.ImagePullPolicy,
		VolumeMounts:    []corev1.VolumeMount{{Name: layout.StartupVolume, MountPath: accessPath, ReadOnly: true}},
		SecurityContext: &corev1.SecurityContext{
			Privileged:               new(false),
			AllowPrivilegeEscalation: new(false),
			ReadOnlyRootFilesystem:   new(true),
			RunAsNonRoot:             new(true),
			RunAsUser:                new(int64(nonroot)), // The pod's user may be root.
			RunAsGroup:               new(int64(nonroot)),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	for _, parent := range parents {
		container.Args = append(container.Args, "--after="+parent.String())
	}
	if m.Startup.Resources != nil {
		container.Resources = *m.Startup.Resources.DeepCopy()
	}
	return container
}

// access is the token of the pod's service account, for the init container alone: a pod, or its account, may switch the
// usual mount off.
func access() corev1.Volume {
	return corev1.Volume{Name: layout.StartupVolume,
		VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token",
					ExpirationSeconds: new(int64(tokenSeconds))}},
				{ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
					Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
				}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
					{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1",
						FieldPath: "metadata.namespace"}},
				}}},
			},
		}}}
}
