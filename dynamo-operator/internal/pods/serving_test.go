package pods_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// variables are those of a container except those with the pod's identity.
func variables(container *corev1.Container) map[string]string {
	all := map[string]string{}
	for _, variable := range container.Env {
		if !strings.HasPrefix(variable.Name, "POD_") && !strings.HasPrefix(variable.Name, "DYN_PARENT_") &&
			variable.Name != "LEVEL" && variable.Name != "SPEC" {
			all[variable.Name] = variable.Value
		}
	}
	return all
}

func laid(below, above map[string]string) map[string]string {
	all := maps.Clone(below)
	maps.Copy(all, above)
	return all
}

func TestThePodsGetTheInfrastructure(t *testing.T) {
	component := part("")
	component.PodTemplate.Spec.Containers[1].Env = []corev1.EnvVar{{Name: "ETCD_ENDPOINTS", Value: "mine"}}
	made := pods.Make(deployment(), component, pods.Infrastructure{
		NATSAddress: "nats://n", EtcdAddress: "e", ModelExpressURL: "m", PrometheusEndpoint: "p",
	})
	got := variables(made.Main())
	for name, want := range map[string]string{
		"NATS_SERVER": "nats://n", "ETCD_ENDPOINTS": "mine", "MODEL_EXPRESS_URL": "m", "PROMETHEUS_ENDPOINT": "p",
	} {
		assert.Equal(t, want, got[name], name)
	}
}

func TestDiscovery(t *testing.T) {
	const backend, enabled = "nvidia.com/dynamo-discovery-backend", "nvidia.com/dynamo-discovery-enabled"
	for name, c := range map[string]struct {
		deployment, component map[string]string
		labels, env           map[string]string
		backend, account      string
	}{
		"by Kubernetes, unless a user wants another": {
			labels: map[string]string{backend: "kubernetes", enabled: "true"}, backend: "kubernetes",
			account: "d-k8s-service-discovery",
			env:     map[string]string{"DYN_DISCOVERY_BACKEND": "kubernetes"},
		},
		"by etcd takes no rights": {
			deployment: map[string]string{backend: "etcd"}, backend: "etcd", env: map[string]string{},
		},
		"of a component as the component says": {
			deployment: map[string]string{backend: "etcd"}, component: map[string]string{backend: "kubernetes"},
			labels: map[string]string{backend: "kubernetes", enabled: "true"}, backend: "kubernetes",
			account: "d-k8s-service-discovery",
			env:     map[string]string{"DYN_DISCOVERY_BACKEND": "kubernetes"},
		},
		"of containers": {
			deployment: map[string]string{"nvidia.com/dynamo-kube-discovery-mode": "container"},
			labels:     map[string]string{backend: "kubernetes", enabled: "true"}, backend: "kubernetes",
			account: "d-k8s-service-discovery",
			env: map[string]string{"DYN_DISCOVERY_BACKEND": "kubernetes", "DYN_KUBE_DISCOVERY_MODE": "container",
				"CONTAINER_NAME": "main"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			whole, component := deployment(), part("")
			whole.Annotations, component.PodTemplate.Annotations = c.deployment, c.component
			made := pods.Make(whole, component, pods.Infrastructure{})
			labels := map[string]string{}
			for _, key := range []string{backend, enabled} {
				if value, set := made.Labels[key]; set {
					labels[key] = value
				}
			}
			assert.Empty(t, cmp.Diff(laid(map[string]string{}, c.labels), labels), "labels (-want +got)")
			env := variables(made.Main())
			delete(env, "DYN_NAMESPACE")
			delete(env, "DYN_COMPONENT")
			assert.Empty(t, cmp.Diff(c.env, env), "environment (-want +got)")
			assert.Equal(t, c.backend, made.Annotations[backend], "annotated")
			assert.Equal(t, c.account, made.Spec.ServiceAccountName, "annotated")
		})
	}
}

func TestLabels(t *testing.T) {
	for name, c := range map[string]struct {
		component *v1beta1.ComponentSpec
		change    func(*v1beta1.DynamoGraphDeployment, *v1beta1.ComponentSpec)
		key, want string
	}{
		"monitors find the pods": {part("worker"), nil, "nvidia.com/metrics-enabled", "true"},
		"monitors pass the pods by": {part("worker"), annotated("nvidia.com/enable-metrics", "false"),
			"nvidia.com/metrics-enabled", ""},
		"a part is given twice": {part("prefill"), nil,
			"nvidia.com/dynamo-sub-component-type", "prefill"},
		"a worker without a part is not":    {part("worker"), nil, "nvidia.com/dynamo-sub-component-type", ""},
		"the type is the part":              {part("decode"), nil, "nvidia.com/dynamo-component-type", "decode"},
		"the namespace is the deployment's": {part("worker"), nil, "nvidia.com/dynamo-namespace", "ns-d"},
		"or the one that all share":         {part("worker"), global, "nvidia.com/dynamo-namespace", "dynamo"},
		"a worker behind a picker is its class": {part("decode"), picked,
			"nvidia.com/dynamo-component-class", "worker"},
		"a frontend is not":               {part("frontend"), picked, "nvidia.com/dynamo-component-class", ""},
		"nor a worker that is not picked": {part("decode"), nil, "nvidia.com/dynamo-component-class", ""},
		"the model is known by its hash": {part("decode"), serving,
			"nvidia.com/dynamo-base-model-hash", "2c26b46b"},
		"discovery is not for the user to switch": {part("decode"), labelled,
			"nvidia.com/dynamo-discovery-enabled", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			whole := deployment()
			if c.change != nil {
				c.change(whole, c.component)
			}
			assert.Equal(t, c.want, pods.Make(whole, c.component, pods.Infrastructure{}).Labels[c.key], c.key)
		})
	}
}

func annotated(key, value string) func(*v1beta1.DynamoGraphDeployment, *v1beta1.ComponentSpec) {
	return func(whole *v1beta1.DynamoGraphDeployment, _ *v1beta1.ComponentSpec) {
		whole.Annotations = map[string]string{key: value}
	}
}

func global(_ *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec) {
	component.GlobalDynamoNamespace = true
}

func picked(whole *v1beta1.DynamoGraphDeployment, _ *v1beta1.ComponentSpec) {
	whole.Spec.Components = []v1beta1.ComponentSpec{{Name: "Picker", Type: "epp"}}
}

func serving(_ *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec) {
	component.ModelRef = &v1beta1.ModelReference{Name: "foo"}
}

func labelled(_ *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec) {
	component.PodTemplate.Labels = map[string]string{"nvidia.com/dynamo-discovery-enabled": "false"}
}

func TestTheSecurityContextIsTheUsersAsAWhole(t *testing.T) {
	made := makePod("worker", func(*corev1.PodTemplateSpec, *corev1.Container) {})
	require.NotNil(t, made.Spec.SecurityContext, "volumes are not for the images' user")
	assert.Equal(t, int64(1000), *made.Spec.SecurityContext.FSGroup, "volumes are not for the images' user")
	own := &corev1.PodSecurityContext{RunAsUser: new(int64(7))}
	made = makePod("worker", func(template *corev1.PodTemplateSpec, _ *corev1.Container) {
		template.Spec.SecurityContext = own.DeepCopy()
	})
	assert.Empty(t, cmp.Diff(own, made.Spec.SecurityContext), "(-want +got)")
}

func TestAccounts(t *testing.T) {
	for name, c := range map[string]struct{ componentType, named, want string }{
		"a planner's": {"planner", "", "d-planner"},
		"a planner's, by the name that it has elsewhere": {"planner", "planner-serviceaccount", "d-planner"},
		"a picker's": {"epp", "", "d-epp"},
		"a picker's, by the name that it has elsewhere": {"epp", "epp-serviceaccount", "d-epp"},
		"one that the user names":                       {"planner", "mine", "mine"},
		"that name means nothing for other types":       {"worker", "planner-serviceaccount", "planner-serviceaccount"},
	} {
		t.Run(name, func(t *testing.T) {
			made := makePod(c.componentType, func(template *corev1.PodTemplateSpec, _ *corev1.Container) {
				template.Spec.ServiceAccountName = c.named
			})
			assert.Equal(t, c.want, made.Spec.ServiceAccountName)
		})
	}
}

func TestAnEndpointPickerFindsItsConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		config    v1beta1.EPPConfig
		from, key string
	}{
		"that the deployment has": {v1beta1.EPPConfig{Config: &runtime.RawExtension{Raw: []byte("{}")}}, "d-epp-config",
			"epp-config-dynamo.yaml"},
		"in a ConfigMap": {
			v1beta1.EPPConfig{ConfigMapRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "mine"}, Key: "k",
			}}, "mine", "k",
		},
	} {
		t.Run(name, func(t *testing.T) {
			component := part("epp")
			component.EPPConfig = &c.config
			made := pods.Make(deployment(), component, pods.Infrastructure{})
			config := made.Spec.Volumes[0]
			assert.Equal(t, c.from, config.ConfigMap.Name)
			assert.Equal(t, c.key, config.ConfigMap.Items[0].Key)
			assert.Equal(t, "epp-config-dynamo.yaml", config.ConfigMap.Items[0].Path)
			var mounted []string
			for _, mount := range made.Main().VolumeMounts {
				mounted = append(mounted, mount.Name+":"+mount.MountPath)
			}
			want := []string{"epp-config:/etc/epp", "hf-cache:/home/nonroot/.cache", "shared-memory:/dev/shm"}
			assert.Empty(t, cmp.Diff(want, mounted), "mounts (-want +got)")
			assert.Equal(t, int64(130), *made.Spec.TerminationGracePeriodSeconds, "requests have")
		})
	}
}

func TestCompilationCache(t *testing.T) {
	for name, c := range map[string]struct {
		framework     v1beta1.BackendFramework
		path          string
		at, cacheRoot string
		userVolumes   []corev1.Volume
	}{
		"of vLLM, where it has it":   {framework: "vllm", at: "/root/.cache/vllm", cacheRoot: "/root/.cache/vllm"},
		"of vLLM, elsewhere":         {framework: "vllm", path: "/c", at: "/c", cacheRoot: "/c"},
		"of another is only mounted": {framework: "sglang", path: "/c", at: "/c"},
		"in a volume that the user made": {framework: "vllm", path: "/c", at: "/c", cacheRoot: "/c",
			userVolumes: []corev1.Volume{{Name: "compiled"}}},
	} {
		t.Run(name, func(t *testing.T) {
			whole, component := deployment(), part("worker")
			whole.Spec.BackendFramework = c.framework
			component.PodTemplate.Spec.Volumes = c.userVolumes
			component.CompilationCache = &v1beta1.CompilationCache{PVCName: "compiled", MountPath: c.path}
			made := pods.Make(whole, component, pods.Infrastructure{})
			mount := made.Main().VolumeMounts[0]
			assert.Equal(t, "compiled", mount.Name, "mounted: %v", mount)
			assert.Equal(t, c.at, mount.MountPath, "mounted: %v", mount)
			assert.Equal(t, c.cacheRoot, variables(made.Main())["VLLM_CACHE_ROOT"])
			assert.Equal(t, c.userVolumes != nil, made.Spec.Volumes[0].PersistentVolumeClaim == nil)
			assert.Equal(t, "compiled", made.Spec.Volumes[0].Name)
		})
	}
}

func TestAMountWithoutAVolumeIsAClaim(t *testing.T) {
	made := makePod("worker", func(template *corev1.PodTemplateSpec, main *corev1.Container) {
		template.Spec.Volumes = []corev1.Volume{{Name: "own"}}
		main.VolumeMounts = []corev1.VolumeMount{{Name: "own", MountPath: "/own"},
			{Name: "models", MountPath: "/models"}}
	})
	got := map[string]string{}
	for _, volume := range made.Spec.Volumes {
		if volume.PersistentVolumeClaim != nil {
			got[volume.Name] = volume.PersistentVolumeClaim.ClaimName
		}
	}
	assert.Empty(t, cmp.Diff(map[string]string{"models": "models"}, got), "(-want +got)")
}

func TestAFrontendBesideMain(t *testing.T) {
	component := part("decode")
	component.FrontendSidecar = new("beside")
	component.PodTemplate.Spec.Containers[1].VolumeMounts = []corev1.VolumeMount{{Name: "models", MountPath: "/models"}}
	made := pods.Make(deployment(), component, pods.Infrastructure{})
	beside := pods.Named(made.Spec.Containers, "beside")
	assert.Equal(t, "python3 -m dynamo.frontend", strings.Join(slices.Concat(beside.Command, beside.Args), " "))
	assert.Empty(t, cmp.Diff([]string{"http:8000"}, portsOf(beside)), "it serves")
	assert.Equal(t, "/health@http", asked(beside.ReadinessProbe), "it serves")
	env := variables(beside)
	assert.Equal(t, "frontend", env["DYN_COMPONENT"], "it gets %v", env)
	assert.Equal(t, "ns-d", env["DYN_NAMESPACE_PREFIX"], "it gets %v", env)
	assert.Empty(t, env["DYN_SYSTEM_ENABLED"], "it gets %v", env)
	assert.Empty(t, cmp.Diff([]corev1.VolumeMount{{Name: "models", MountPath: "/models"}}, beside.VolumeMounts),
		"it reads the model elsewhere (-want +got)")
	assert.Equal(t, "decode", variables(made.Main())["DYN_COMPONENT"], "main is no worker any more")
}

func TestDynamoBesideAnEngine(t *testing.T) {
	component := part("decode")
	component.DynamoSidecar = new("runtime")
	component.PodTemplate.Spec.InitContainers = []corev1.Container{{Name: "fetch"},
		{Name: "runtime", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
	made := pods.Make(deployment(), component, pods.Infrastructure{})
	main, sidecar := made.Main(), pods.Named(made.Spec.InitContainers, "runtime")
	assert.Empty(t, main.Ports, "main runs an engine that knows nothing of Dynamo, and became %v", main)
	assert.Nil(t, main.ReadinessProbe, "main runs an engine that knows nothing of Dynamo, and became %v", main)
	assert.Empty(t, variables(main), "main runs an engine that knows nothing of Dynamo, and became %v", main)
	assert.Empty(t, cmp.Diff([]string{"system:9090"},
		portsOf(sidecar)), "the runtime became %v", sidecar)
	assert.Equal(t, "/live@system", asked(sidecar.StartupProbe), "the runtime became %v", sidecar)
	assert.Empty(t, sidecar.Command, "the runtime became %v", sidecar)
	want := map[string]string{
		"DYN_NAMESPACE": "ns-d", "DYN_COMPONENT": "decode", "DYN_DISCOVERY_BACKEND": "kubernetes",
		"DYN_SYSTEM_ENABLED": "true", "DYN_SYSTEM_PORT": "9090",
	}
	assert.Empty(t, cmp.Diff(want, variables(sidecar)), "the runtime gets (-want +got)")
}

func TestWorkersKnowWhereTheyStand(t *testing.T) {
	for name, c := range map[string]struct {
		policy            v1beta1.KVTransferPolicy
		label, annotation string
		enforcement       string
	}{
		"by a label of the node": {
			v1beta1.KVTransferPolicy{Domain: "zone", LabelKey: "topology.kubernetes.io/zone"},
			"topology.kubernetes.io/zone",
			"nvidia.com/topology-label-key=topology.kubernetes.io/zone", "required",
		},
		"by a topology": {
			v1beta1.KVTransferPolicy{Domain: "rack", ClusterTopologyName: "gb200", Enforcement: "preferred",
				PreferredWeight: new(0.5)},
			"nvidia.com/dynamo-topology.rack", "nvidia.com/topology-cluster-topology-name=gb200", "preferred",
		},
	} {
		t.Run(name, func(t *testing.T) {
			whole := deployment()
			whole.Spec.Experimental = &v1beta1.DeploymentExperimental{KVTransferPolicy: &c.policy}
			made := pods.Make(whole, part("decode"), pods.Infrastructure{})
			file := made.Spec.Volumes[0].DownwardAPI.Items[0]
			assert.Equal(t, c.policy.Domain, file.Path, "the file is %v", file)
			assert.Equal(t, "metadata.labels['"+c.label+"']", file.FieldRef.FieldPath, "the file is %v", file)
			mount := made.Main().VolumeMounts[0]
			assert.Equal(t, "/etc/dynamo/topology", mount.MountPath, "mounted %v", mount)
			key, value, _ := strings.Cut(c.annotation, "=")
			assert.Equal(t, value, made.Annotations[key], "annotated %v", made.Annotations)
			env := variables(made.Main())
			assert.Equal(t, c.policy.Domain, env["DYN_KV_TRANSFER_DOMAIN"], "it gets %v", env)
			assert.Equal(t, c.enforcement, env["DYN_KV_TRANSFER_ENFORCEMENT"], "it gets %v", env)
			assert.Equal(t, "/etc/dynamo/topology", env["DYN_TOPOLOGY_MOUNT_PATH"], "it gets %v", env)
			_, weighed := env["DYN_KV_TRANSFER_PREFERRED_WEIGHT"]
			assert.Equal(t, c.policy.PreferredWeight != nil, weighed, "it gets %v", env)
			assert.Len(t, pods.Make(whole, part("frontend"), pods.Infrastructure{}).Spec.Volumes, 1,
				"a frontend transfers nothing, and has")
		})
	}
}

func TestWorkersAskForTheLabelByWhichTheyKnow(t *testing.T) {
	const asked = "packtree.dev/node-labels"
	byTopology := &v1beta1.KVTransferPolicy{Domain: "rack", ClusterTopologyName: "gb200"}
	for name, c := range map[string]struct {
		policy    *v1beta1.KVTransferPolicy
		component string
		own       string
		level     string
		want      string
	}{
		"a label of the node": {&v1beta1.KVTransferPolicy{Domain: "rack", LabelKey: "example.com/rack"},
			"decode", "", "", "example.com/rack"},
		"one that Kubernetes itself copies": {
			&v1beta1.KVTransferPolicy{Domain: "zone", LabelKey: "topology.kubernetes.io/zone"}, "decode", "", "", "",
		},
		"a level of a topology": {byTopology, "prefill", "", "example.com/rack",
			"nvidia.com/dynamo-topology.rack=example.com/rack"},
		"a level that is not known":         {byTopology, "prefill", "", "", ""},
		"beside what the template asks for": {byTopology, "worker", "b", "r", "b,nvidia.com/dynamo-topology.rack=r"},
		"a frontend gets none":              {byTopology, "frontend", "", "example.com/rack", ""},
	} {
		t.Run(name, func(t *testing.T) {
			whole, component := deployment(), part(c.component)
			whole.Spec.Experimental = &v1beta1.DeploymentExperimental{KVTransferPolicy: c.policy}
			if c.own != "" {
				component.PodTemplate.Annotations = map[string]string{asked: c.own}
			}
			made := pods.Make(whole, component, pods.Infrastructure{})
			made.AskForLevel(c.policy, c.level)
			assert.Equal(t, c.want, made.Annotations[asked])
			if got := pods.LevelAskedFor(made.Annotations, c.policy); c.policy == byTopology &&
				c.component != "frontend" &&
				got != c.level {
				t.Errorf("the level was %q, want %q", got, c.level)
			}
		})
	}
}

func TestRolesAreLaidOverTheComponent(t *testing.T) {
	component := part("worker")
	component.PodTemplate.Spec.Containers[1].Env = []corev1.EnvVar{{Name: "A", Value: "both"},
		{Name: "B", Value: "both"}}
	component.Multinode = &v1beta1.Multinode{NodeCount: 2,
		Leader: &v1beta1.MultinodeRole{PodTemplate: roleTemplate("older")}}
	component.Roles = []v1beta1.ComponentRole{
		{Name: "worker", MultinodeRole: v1beta1.MultinodeRole{PodTemplate: roleTemplate("own")}},
	}
	for role, want := range map[string]string{"leader": "older", "worker": "own"} {
		made, err := pods.OfRole(component, role)
		require.NoError(t, err)
		main := pods.Named(made.PodTemplate.Spec.Containers, "main")
		assert.Equal(t, "i", main.Image, "role %s became %v", role, main)
		require.Len(t, main.Env, 2, "role %s became %v", role, main)
		assert.Equal(t, want, values(main, "A", "B")["A"], "role %s became %v", role, main)
		assert.Equal(t, "both", values(main, "B")["B"], "role %s became %v", role, main)
		assert.Equal(t, want, made.PodTemplate.Spec.NodeSelector["role"])
		assert.Len(t, made.PodTemplate.Spec.Containers, 2)
	}
	component.Roles = []v1beta1.ComponentRole{{Name: "worker", MultinodeRole: v1beta1.MultinodeRole{
		PodTemplate: &corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeSelector: map[string]string{"a": "b"}}},
	}}}
	made, err := pods.OfRole(component, "worker")
	require.NoError(t, err, "a role that says nothing of its containers has %v", made)
	assert.Len(t, made.PodTemplate.Spec.Containers, 2, "a role that says nothing of its containers has %v", made)
}

func roleTemplate(value string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		NodeSelector: map[string]string{"role": value},
		Containers:   []corev1.Container{{Name: "main", Env: []corev1.EnvVar{{Name: "A", Value: value}}}},
	}}
}
