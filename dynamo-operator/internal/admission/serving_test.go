package admission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/dynamo-operator/internal/admission"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// TestWhatServesHasToBeWhole has every error about the fields that Dynamo's runtime needs in its pods.
func TestWhatServesHasToBeWhole(t *testing.T) {
	const at = "spec.services[0]."
	for name, c := range map[string]struct {
		services string
		want     []string
	}{
		"a picker without configuration": {
			"[{name: A, componentType: epp}]",
			[]string{
				at +
					`eppConfig: Required value: an endpoint picker has no configuration of its own: set configMapRef to the key of a ConfigMap that holds an EndpointPickerConfig, or config to one (service "A")`,
			},
		},
		"a picker with an empty one": {
			"[{name: A, componentType: epp, eppConfig: {}}]",
			[]string{
				at +
					`eppConfig: Required value: an endpoint picker has no configuration of its own: set configMapRef to the key of a ConfigMap that holds an EndpointPickerConfig, or config to one (service "A")`,
			},
		},
		"a picker with two": {
			"[{name: A, componentType: epp, eppConfig: {config: {}, configMapRef: {name: c, key: k}}}]",
			[]string{
				at + `eppConfig.config: Forbidden: configMapRef is the configuration already: leave one of them out (service "A")`,
			},
		},
		"a picker with one of no ConfigMap": {
			"[{name: A, componentType: epp, eppConfig: {configMapRef: {key: k}}}]",
			[]string{at + `eppConfig.configMapRef.name: Required value: the name of the ConfigMap (service "A")`},
		},
		"a picker whose command names one": {
			"[{name: A, componentType: epp, extraPodSpec: {mainContainer: {image: i, args: [--config-file=/mine]}}}]",
			nil,
		},
		"a second picker": {
			"[{name: B, componentType: epp, eppConfig: {config: {}}}, {name: A, componentType: epp, eppConfig: {config: {}}}]",
			[]string{
				`spec.services[1].componentType: Invalid value: "epp": service "B" has that type, and a deployment has one endpoint picker (service "A")`,
			},
		},
		"a configuration that is not read": {
			"[{name: A, componentType: worker, eppConfig: {config: {}}}]",
			[]string{at + `eppConfig: Forbidden: only type epp has one, and this is "worker" (service "A")`},
		},
		"an older description of a frontend, twice": {
			"[{name: A, frontendSidecar: {image: ' ', envs: [{name: X}, {name: X}]}, extraPodSpec: {mainContainer: {image: " +
				"i}, containers: [{name: sidecar-frontend}]}}]",
			[]string{
				at + `frontendSidecar.image: Required value: the container needs an image (service "A")`,
				at +
					`frontendSidecar: Forbidden: extraPodSpec has a container sidecar-frontend already, which is the name of this one: rename that (service "A")`,
				at + `frontendSidecar.envs[1].name: Duplicate value: "X": service "A"`,
			},
		},
		"a runtime in no container": {
			"[{name: A, componentType: worker, dynamoSidecar: dynamo}]",
			[]string{
				at +
					`dynamoSidecar: Invalid value: "dynamo": names no container of spec.services[0].extraPodSpec.initContainers: add one of that name, or name one of those there are: none (service "A")`,
			},
		},
		"a runtime that ends": {
			"[{name: A, componentType: worker, dynamoSidecar: d, extraPodSpec: {mainContainer: {image: i}, initContainers: " +
				"[{name: d}]}}]",
			[]string{
				at +
					`dynamoSidecar: Invalid value: "d": main would wait for it to end: set restartPolicy Always on container d of spec.services[0].extraPodSpec.initContainers (service "A")`,
			},
		},
		"a runtime beside an engine of several nodes": {
			"[{name: A, componentType: worker, multinode: {nodeCount: 2}, dynamoSidecar: d, extraPodSpec: {mainContainer: " +
				"{image: i}, initContainers: [{name: d, restartPolicy: Always}]}}]",
			[]string{
				at +
					`dynamoSidecar: Forbidden: the flags of several nodes are for a main container that runs Dynamo itself: leave it out, or multinode (service "A")`,
			},
		},
		"a runtime beside what is no engine": {
			"[{name: A, componentType: frontend, dynamoSidecar: d, extraPodSpec: {mainContainer: {image: i}, initContainers: " +
				"[{name: d, restartPolicy: Always}]}}]",
			[]string{
				at + `dynamoSidecar: Forbidden: it is for types worker, prefill and decode, and this is "frontend" (service "A")`,
			},
		},
		"a model without a name": {
			"[{name: A, modelRef: {}}]",
			[]string{at + `modelRef.name: Required value: the name of the model, as the command has it (service "A")`},
		},
		"a cache in no directory": {
			"[{name: A, volumeMounts: [{name: c, useAsCompilationCache: true}]}]",
			[]string{
				at +
					`volumeMounts.mountPoint: Required value: only of vLLM it is known where it compiles: set the directory that the command has (service "A")`,
			},
		},
		"roles of one node": {
			"[{name: A, roles: [{name: leader}]}]",
			[]string{
				at +
					`roles[0]: Forbidden: only a component of several nodes has roles: set multinode.nodeCount, or leave the role out and write podTemplate (service "A")`,
			},
		},
		"roles that several nodes do not have": {
			"[{name: A, multinode: {nodeCount: 3}, roles: [{name: boss}, {name: leader}, {name: leader}, {name: worker, " +
				"replicas: 3}]}]",
			[]string{
				at + `roles[0].name: Unsupported value: "boss": supported values: "leader", "worker" (service "A")`,
				at + `roles[2].name: Duplicate value: "leader": service "A"`,
				at +
					`roles[3].replicas: Invalid value: 3: must be 2 with 3 nodes: leave it out, or change multinode.nodeCount (service "A")`,
			},
		},
		"a role in both spellings": {
			"[{name: A, multinode: {nodeCount: 2, leader: {}}, roles: [{name: leader}]}]",
			[]string{at + `multinode.leader: Forbidden: roles has it too: leave this out (service "A")`},
		},
		"a mount of what has no name": {
			"[{name: A, volumeMounts: [{mountPoint: /m}]}]",
			[]string{
				at + `volumeMounts[0].name: Required value: the name of a claim, or of a volume of extraPodSpec (service "A")`,
			},
		},
		"a claim that pvcs do not list":   {"[{name: A, volumeMounts: [{name: c, mountPoint: /c}]}]", nil},
		"several nodes, as many as usual": {"[{name: A, componentType: worker, multinode: {nodeCount: 2}}]", nil},
	} {
		t.Run(name, func(t *testing.T) {
			compare(t, c.want, alpha(t, "", c.services).ValidateCreate(levels).ToAggregate())
		})
	}
}

func TestV1Beta1NamesWhatServesInItsOwnWords(t *testing.T) {
	written := &v1beta1.DynamoGraphDeployment{}
	read(t, `
metadata: {name: d}
spec:
  components:
    - name: A
      frontendSidecar: proxy
      compilationCache: {pvcName: '', mountPath: c}
      podTemplate: {spec: {containers: [{name: main, image: i}, {name: logs}]}}
    - name: B
      frontendSidecar: main
      compilationCache: {pvcName: c, mountPath: c}
      podTemplate: {spec: {containers: [{name: main, image: i}]}}
`, written)
	compare(t, []string{
		`spec.components[0].frontendSidecar: Invalid value: "proxy": names no container of spec.components[0].podTemplate.spec.containers: add one of that name, or name one of those there are: logs`,
		"spec.components[0].compilationCache.pvcName: Required value: the name of a claim, " +
			"in which the framework keeps what it compiles",
		`spec.components[1].frontendSidecar: Invalid value: "main": main is the workload, and the frontend runs beside it: name another container, or set type frontend`,
		`spec.components[1].compilationCache.mountPath: Invalid value: "c": must be an absolute path`,
	}, admission.FromV1Beta1(written).ValidateCreate(levels).ToAggregate())
}

func TestTransferPolicies(t *testing.T) {
	const at = "spec.experimental.kvTransferPolicy."
	for policy, want := range map[string][]string{
		"labelKey: z": {at + "domain: Required value: the name of the level, such as zone or rack"},
		"domain: zone": {at +
			"labelKey: Required value: exactly one of labelKey, the node label of the level, and clusterTopologyName"},
		"domain: zone, labelKey: z, clusterTopologyName: t": {
			at + "labelKey: Required value: exactly one of labelKey, the node label of the level, and clusterTopologyName",
		},
		"domain: zone, labelKey: z, enforcement: preferred": {
			at + "preferredWeight: Required value: how much is preferred, from 0 to 1, with enforcement preferred",
		},
		"domain: zone, labelKey: z, preferredWeight: 0.5": {
			at + "preferredWeight: Forbidden: only enforcement preferred has a weight: leave it out, or set that",
		},
		"domain: zone, labelKey: z": nil,
	} {
		compare(t, want,
			alpha(t, "experimental: {kvTransferPolicy: {"+policy+"}}", "[{name: A}]").ValidateCreate(
				levels).ToAggregate())
	}
}

func TestAScalingGroupCannotBeMadeLater(t *testing.T) {
	forced := alpha(t, "", "[{name: A, experimental: {grove: {forceScalingGroup: true}}}]")
	compare(t, []string{
		`spec.services[0].experimental.grove.forceScalingGroup: Forbidden: cannot be changed: immutable: delete the deployment and create it again (service "A")`,
	}, forced.ValidateUpdate(alpha(t, "", "[{name: A}]")).ToAggregate())
}

func TestLongNames(t *testing.T) {
	for name, deployment := range map[string]string{
		"with dots": "qwen3-0.6b-disagg", "longer than a label": "a" + strings.Repeat("-long", 20),
	} {
		written := &v1beta1.DynamoGraphDeployment{}
		read(t, "metadata: {name: "+deployment+
			"}\nspec: {components: [{name: A, podTemplate: {spec: {containers: [{name: main, image: i}]}}}]}", written)
		assert.Empty(t, admission.FromV1Beta1(written).ValidateCreate(levels), name)
	}
	written := &v1beta1.DynamoGraphDeployment{}
	read(t, "metadata: {name: d}\nspec: {components: [{name: "+strings.Repeat("a", 63)+
		", podTemplate: {spec: {containers: [{name: main, image: i}]}}}]}", written)
	written.Name = strings.Repeat("d", 9)
	errs := admission.FromV1Beta1(written).ValidateCreate(levels)
	require.Len(t, errs, 1, "a name of 63 characters")
	assert.Contains(t, errs[0].Error(), "use at most 37 characters", "a name of 63 characters")
}

// TestFeaturesThatAreNotCarriedOut has every warning of fields without effect.
func TestFeaturesThatAreNotCarriedOut(t *testing.T) {
	candidate := alpha(t,
		"providerOverride: {value: {}}\n  experimental: {kvTransferPolicy: {domain: rack, clusterTopologyName: t}}", `[
    {name: A, providerOverride: {value: {}}, gpuMemoryService: {enabled: true}, failover: {enabled: true}, checkpoint: {enabled: false},
     experimental: {checkpoint: {enabled: true}, flagsInjection: Disabled}, lpx: {buildId: x}, runtimeVersionOverride: 1.5.0,
     modelRef: {name: m, revision: r}, componentType: worker, multinode: {nodeCount: 2, worker: {providerOverride: {value: {}}}},
     roles: [{name: leader, providerOverride: {value: {}}}],
     extraPodSpec: {mainContainer: {image: i, command: [python3, -m, dynamo.sglang]}}}]`)
	candidate.Hub.Annotations = map[string]string{
		"nvidia.com/enable-grove": "true", "dynamo.nvidia.com/gpu-power-limit": "300",
		"nvidia.com/kai-scheduler-queue":      "q",
		"nvidia.com/dynamo-discovery-backend": "consul", "example.com/other": "x",
	}
	want := []string{
		`spec.services[0].gpuMemoryService: gpuMemoryService has no effect: no service keeps weights in the memory of GPUs; each engine loads its own, on GPUs of its own (service "A")`,
		`spec.services[0].failover: failover has no effect: there is no engine on standby; one that fails is started again (service "A")`,
		`metadata.annotations[dynamo.nvidia.com/gpu-power-limit]: has no effect: nothing here reads it`,
		`metadata.annotations[nvidia.com/dynamo-discovery-backend]: "consul" is taken for kubernetes; there are kubernetes and etcd`,
		`metadata.annotations[nvidia.com/enable-grove]: has no effect: nothing here reads it`,
		`spec.providerOverride: has no effect: it sets nothing; of an override spec.template.topologyConstraint is carried out`,
		`spec.services[0].experimental.checkpoint: checkpoint has no effect: nothing takes checkpoints of containers here; pods start cold (service "A")`,
		`spec.services[0].experimental.flagsInjection: flagsInjection has no effect: the flags of several nodes are added as always; one that the command has stays (service "A")`,
		`spec.services[0].providerOverride: has no effect: it sets nothing; of an override topologyConstraint is carried out (service "A")`,
		`spec.services[0].lpx: lpx has no effect: no pods are placed onto LPUs; they run as their template says (service "A")`,
		`spec.services[0].runtimeVersionOverride: has no effect: the pods are the same for every version of the runtime (service "A")`,
		`spec.services[0].modelRef.revision: has no effect: the Service is by the model's name alone (service "A")`,
		`spec.services[0].roles[0].providerOverride: has no effect: one constraint holds leader and workers together; set topologyConstraint (service "A")`,
		`spec.services[0].multinode.worker.providerOverride: has no effect: one constraint holds leader and workers together; set topologyConstraint (service "A")`,
	}
	assert.Empty(t, cmp.Diff(want, candidate.Warnings()), "(-want +got)")
	compare(t, nil, candidate.ValidateCreate(levels).ToAggregate())
}

func TestALevelThatNobodyKnowsIsWarnedOf(t *testing.T) {
	const unlabelled = `until it is no pod gets the label nvidia.com/dynamo-topology.rack, and workers do not know where they stand`
	topology := admission.Topology{Kind: "ClusterTopology", Name: "t", Domains: []string{"zone", "rack", "numa"},
		Labels: []string{"z", "r", "n"}}
	for name, c := range map[string]struct {
		policy   string
		topology admission.Topology
		want     []string
	}{
		"no policy": {policy: "", topology: admission.Topology{}},
		"a label of the node": {policy: "{domain: rack, labelKey: example.com/rack}",
			topology: admission.Topology{}},
		"a level that the topology has": {policy: "{domain: rack, clusterTopologyName: t}", topology: topology},
		"a level that no node label names": {
			policy: "{domain: numa, clusterTopologyName: t}", topology: topology,
			want: []string{"spec.experimental.kvTransferPolicy.domain: no node label names the domains of numa, so that no " +
				"pod gets the label nvidia.com/dynamo-topology.numa, and workers do not know where they stand"},
		},
		"a level that it has not": {
			policy:   "{domain: rack, clusterTopologyName: t}",
			topology: admission.Topology{Kind: "ClusterTopology", Name: "t", Domains: []string{"zone", "host"}},
			want: []string{
				`spec.experimental.kvTransferPolicy.domain: "rack" is not a level of ClusterTopology "t"; available domains: zone, host; ` + unlabelled,
			},
		},
		"a topology that does not exist": {
			policy:   "{domain: rack, clusterTopologyName: t}",
			topology: admission.Topology{Name: "t", Problem: `ClusterTopology "t" does not exist`},
			want: []string{
				`spec.experimental.kvTransferPolicy.clusterTopologyName: ClusterTopology "t" does not exist; until then no pod gets ` +
					`the label nvidia.com/dynamo-topology.rack, and workers do not know where they stand`},
		},
	} {
		spec := ""
		if c.policy != "" {
			spec = "experimental: {kvTransferPolicy: " + c.policy + "}"
		}
		assert.Empty(t, cmp.Diff(c.want, alpha(t, spec, "[{name: A}]").TransferWarnings(c.topology)),
			"%s (-want +got)", name)
	}
}

func TestAMountThatNoVolumeHasMayBeMisspelt(t *testing.T) {
	written := &v1beta1.DynamoGraphDeployment{}
	read(t, `
metadata: {name: d}
spec:
  pvcs: [{name: models}]
  components:
    - name: A
      podTemplate: {spec: {volumes: [{name: own}], containers: [{name: main, image: i, volumeMounts: [{name: own}, {name: models}, {name: model}]}]}}
`, written)
	want := []string{
		`spec.components[0].podTemplate.spec.containers[0].volumeMounts[2].name: no volume of the pod is called "model": taken for the claim of that name, for which the pods wait`,
	}
	assert.Empty(t, cmp.Diff(want, admission.FromV1Beta1(written).Warnings()), "(-want +got)")
}

// Fields of today's schemas are known, even without effect; misspelt ones are not.
func TestTodaysFieldsAreKnown(t *testing.T) {
	for version, manifest := range map[string]string{
		"v1alpha1": `
status: {placement: {score: 1}}
spec:
  providerOverride: {apiVersion: grove.io/v1alpha1, target: PodCliqueSet, value: {spec: {template: {}}}}
  experimental: {kvTransferPolicy: {domain: zone, labelKey: z}, componentGroups: [{name: g}]}
  services:
    A: {serviceName: A, checkpoint: {enabled: true}, gpuMemoryService: {enabled: true}, failover: {enabled: true}, minAvailable: 1, multinode: {},
        eppConfig: {config: {}}, frontendSidecar: {image: i, args: [a], envFromSecret: s, envs: []}, runtimeVersionOverride: 1.4.0, lpx: {buildId: b},
        roles: [{name: leader, replicas: 1, podTemplate: {spec: {nodeSelector: {a: b}}}}], dynamoSidecar: d, experimental: {grove: {forceScalingGroup: true}}}`,
		"v1beta1": `
status: {components: {A: {componentNames: [a]}}, checkpoints: {}}
spec:
  experimental: {kvTransferPolicy: {domain: zone, clusterTopologyName: t, enforcement: preferred, preferredWeight: 0.5}}
  components:
    - {name: A, type: lpx, modelRef: {name: m, revision: r}, globalDynamoNamespace: true, compilationCache: {pvcName: p, mountPath: /m}, frontendSidecar: f,
       multinode: {leader: {podTemplate: {}}, worker: {podTemplate: {}}}, providerOverride: {value: {topologyConstraint: {}}},
       experimental: {gpuMemoryService: {mode: IntraPod}, failover: {}, checkpoint: {enabled: true, job: {}}, flagsInjection: {enabled: false}}, podTemplate: {}}`,
	} {
		var fields map[string]any
		read(t, manifest, &fields)
		problems := admission.Complete(version, fields)
		problems = append(problems, admission.Unknown(version, fields)...)
		assert.Empty(t, problems, version)
	}
	var fields map[string]any
	read(t, "spec: {components: [{name: A, compilationCach: {}}]}", &fields)
	problems := admission.Unknown("v1beta1", fields)
	require.Len(t, problems, 1, "a misspelt field")
	assert.Contains(t, problems[0].Reason, "compilationCache", "a misspelt field")
}

func TestAConstraintInGrovesWordsIsJudgedWhereItStands(t *testing.T) {
	const whole = "providerOverride: {apiVersion: grove.io/v1alpha1, target: PodCliqueSet, value: {spec: {replicas: 3, " +
		"template: {topologyConstraint: {packDomain: rack}}}}}"
	candidate := alpha(t, whole, "[{name: A, providerOverride: {value: {topologyConstraint: {packDomain: zone}}}}, "+
		"{name: B, topologyConstraint: {packDomain: host}, providerOverride: {value: {topologyConstraint: {packDomain: "+
		"rack}}}}, "+
		"{name: C, providerOverride: {value: {topologyConstraint: {pack: {preferred: shelf}}}}}]")
	compare(t, []string{
		`spec.services[2].providerOverride.value.topologyConstraint.preferredDomain: Invalid value: "shelf": not a level of ClusterTopology "grove-topology"; available domains: zone, block, rack, host (service "C")`,
		`spec.services[0].providerOverride.value.topologyConstraint.packDomain: Invalid value: "zone": broader than the deployment's packDomain "rack": choose rack, host or numa (service "A")`,
	}, candidate.ValidateCreate(levels).ToAggregate())
	assert.Empty(t, cmp.Diff([]string{
		"spec.providerOverride.value.spec.replicas: has no effect: what is made in Grove follows from the deployment's " +
			"own fields; of an override spec.template.topologyConstraint is carried out",
		`spec.services[1].providerOverride.value.topologyConstraint: has no effect: spec.services[1].topologyConstraint counts (service "B")`,
	}, candidate.Warnings()), "warnings (-want +got)")
	same := alpha(t, "topologyConstraint: {packDomain: rack}", "[{name: A}]")
	compare(t, nil,
		same.ValidateUpdate(
			alpha(t, "providerOverride: {value: {spec: {template: {topologyConstraint: {packDomain: rack}}}}}",
				"[{name: A}]")).ToAggregate())
	compare(t, []string{
		"spec.topologyConstraint: Forbidden: cannot be removed: immutable: delete the deployment and create it again",
	},
		alpha(t, "", "[{name: A}]").ValidateUpdate(alpha(t, whole, "[{name: A}]")).ToAggregate())
}
