package admission_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"packtree.dev/dynamo-operator/internal/admission"
	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

var levels = admission.Topology{Kind: "ClusterTopology", Name: "grove-topology",
	Domains: []string{"zone", "block", "rack", "host"}}

func TestCreation(t *testing.T) {
	for name, c := range map[string]struct {
		services string
		spec     string
		want     []string
	}{
		"a service may have a constraint without one on the deployment": {
			services: "[{name: A, topologyConstraint: {packDomain: rack}}]",
		},
		"equal domains are fine": {
			spec:     "topologyConstraint: {packDomain: rack}",
			services: "[{name: A, topologyConstraint: {packDomain: rack}}]",
		},
		"a narrower service is fine": {
			spec:     "topologyConstraint: {packDomain: zone}",
			services: "[{name: A, topologyConstraint: {packDomain: host}}, {name: B}]",
		},
		"a broader service is not": {
			spec:     "topologyConstraint: {packDomain: rack}",
			services: "[{name: A}, {name: B}, {name: C, topologyConstraint: {packDomain: zone}}]",
			want: []string{
				`spec.services[2].topologyConstraint.packDomain: Invalid value: "zone": broader than the deployment's packDomain "rack": choose rack, host or numa (service "C")`,
			},
		},
		"a preference may not be broader than the deployment's requirement": {
			spec:     "topologyConstraint: {packDomain: host}",
			services: "[{name: A, topologyConstraint: {preferredDomain: rack}}]",
			want: []string{
				`spec.services[0].topologyConstraint.preferredDomain: Invalid value: "rack": broader than the deployment's packDomain "host": choose host or numa (service "A")`,
			},
		},
		"a preference may not be broader than the requirement beside it": {
			services: "[{name: A, topologyConstraint: {packDomain: rack, preferredDomain: zone}}]",
			want: []string{
				`spec.services[0].topologyConstraint.preferredDomain: Invalid value: "zone": broader than packDomain "rack", which holds all pods together already: choose one inside it (service "A")`,
			},
		},
		"a preference alone is a constraint": {
			spec: "topologyConstraint: {preferredDomain: rack}", services: "[{name: A}]",
		},
		"what may be moved": {
			spec:     "repair: {move: gang, after: 2m}\n  annotations: {packtree.dev/repair-after: 120s}",
			services: "[{name: A}]",
		},
		"what may be moved, in words that are none": {
			spec: "repair: {move: all, after: -1m}", services: "[{name: A}]",
			want: []string{
				`spec.repair.move: Invalid value: "all": must be none, subgroup or gang`,
				`spec.repair.after: Invalid value: "-1m": must be a duration of at least 0, such as 2m`,
			},
		},
		"an annotation contradicts what may be moved": {
			spec: "repair: {move: gang}\n  annotations: {packtree.dev/repair-move: subgroup}", services: "[{name: A}]",
			want: []string{
				`spec.repair.move: Invalid value: "gang": contradicts spec.annotations[packtree.dev/repair-move], which is "subgroup": leave one of them out`,
			},
		},
		"an unknown domain silences the hierarchy": {
			spec:     "topologyConstraint: {packDomain: shelf}",
			services: "[{name: A, topologyConstraint: {packDomain: zone}}]",
			want: []string{
				`spec.topologyConstraint.packDomain: Invalid value: "shelf": not a level of ClusterTopology "grove-topology"; available domains: zone, block, rack, host`,
			},
		},
		"a domain that the cluster's topology lacks": {
			spec:     "topologyConstraint: {packDomain: region}",
			services: "[{name: A, topologyConstraint: {packDomain: datacenter, preferredDomain: rack}}]",
			want: []string{
				`spec.topologyConstraint.packDomain: Invalid value: "region": not a level of ClusterTopology "grove-topology"; available domains: zone, block, rack, host`,
				`spec.services[0].topologyConstraint.packDomain: Invalid value: "datacenter": not a level of ClusterTopology "grove-topology"; available domains: zone, block, rack, host (service "A")`,
			},
		},
		"an empty constraint of a service": {
			services: "[{name: A, topologyConstraint: {}}]",
			want:     []string{`spec.services[0].topologyConstraint.packDomain: Required value: a topologyConstraint has a packDomain or a preferredDomain (service "A")`},
		},
		"a topology without a constraint": {
			spec: "topologyConstraint: {topologyProfile: aws}", services: "[{name: A}]",
			want: []string{`spec.topologyConstraint.topologyProfile: Forbidden: no constraint refers to it: set packDomain here or on a service, or leave it out`},
		},
		"a topology for a service's constraint": {
			spec:     "topologyConstraint: {topologyProfile: aws}",
			services: "[{name: A, topologyConstraint: {packDomain: rack}}]",
		},
		"names that differ in case only": {
			services: "[{name: Worker}, {name: worker}]",
			want: []string{
				`spec.services[1].name: Invalid value: "worker": differs from "Worker" only in case, and what is made for them has names in lower case: rename one`,
			},
		},
		"the same name twice": {
			services: "[{name: A}, {name: A}]",
			want:     []string{`spec.services[1].name: Duplicate value: "A"`},
		},
		"a name that is no DNS label": {
			services: "[{name: my_worker}]",
			want:     []string{`spec.services[0].name: Invalid value: "my_worker": in lower case: a lowercase RFC 1123 label must…`},
		},
		"a multinode name that leaves no room": {
			services: "[{name: AVeryLongWorkerNameIndeed, multinode: {nodeCount: 2}}]",
			want: []string{
				`spec.services[0].name: Invalid value: "AVeryLongWorkerNameIndeed": too long: pods are named after the deployment and the service, with 45 characters together; this name takes 54 (25 for the multinode group and 29 for its pods) and leaves 0 for the deployment; use at most 16 characters`,
			},
		},
		"no service": {
			services: "[]",
			want:     []string{"spec.services: Required value: a deployment has at least one service"},
		},
		"one node is not multinode": {
			services: "[{name: A, multinode: {nodeCount: 1}}]",
			want:     []string{`spec.services[0].multinode.nodeCount: Invalid value: 1: must be 2 or more; leave multinode out for one pod a replica (service "A")`},
		},
		"numbers below their bounds": {
			services: "[{name: A, replicas: -1, minAvailable: 0}]",
			want: []string{
				`spec.services[0].replicas: Invalid value: -1: must be 0 or more (service "A")`,
				`spec.services[0].minAvailable: Invalid value: 0: must be 1 or more (service "A")`,
			},
		},
		"numbers above their bounds": {
			services: "[{name: A, replicas: 10001, minAvailable: 10001, multinode: {nodeCount: 1001}}]",
			want: []string{
				`spec.services[0].replicas: Invalid value: 10001: must be at most 10000 (service "A")`,
				`spec.services[0].minAvailable: Invalid value: 10001: must be at most 10000 (service "A")`,
				`spec.services[0].multinode.nodeCount: Invalid value: 1001: must be at most 1000 (service "A")`,
			},
		},
		"numbers at their bounds": {
			services: "[{name: A, replicas: 10000, minAvailable: 10000}, {name: B, multinode: {nodeCount: 1000}}]",
		},
		"fewer replicas than must be available": {
			services: "[{name: A, replicas: 1, minAvailable: 2}]",
			want:     []string{`spec.services[0].replicas: Invalid value: 1: must be 0 or at least minAvailable, which is 2 (service "A")`},
		},
		"no replicas at all is a service that is switched off": {
			services: "[{name: A, replicas: 0, minAvailable: 2}]",
		},
		"a mount of the shared memory": {
			services: "[{name: A, extraPodSpec: {mainContainer: {image: i, volumeMounts: [{name: shared-memory, mountPath: /dev/shm}]}}}]",
		},
		"a mount of the shared memory that is disabled": {
			services: "[{name: A, sharedMemory: {disabled: true}, extraPodSpec: {mainContainer: {image: i, volumeMounts: [{name: shared-memory, mountPath: /dev/shm}]}}}]",
			want:     []string{`spec.services[0].extraPodSpec.mainContainer.volumeMounts[0].name: Invalid value: "shared-memory": no volume of the pod; known: none (service "A")`},
		},
		"a request of GPUs that is not their limit": {
			services: "[{name: A, resources: {requests: {gpu: '4'}, limits: {gpu: '8'}}}]",
			want:     []string{`spec.services[0].resources.requests[nvidia.com/gpu]: Invalid value: "4": must equal the limit, which is 8: leave the request out (service "A")`},
		},
		"requests above their limits": {
			services: "[{name: A, resources: {requests: {cpu: '8', memory: 2Gi}, limits: {cpu: '4', memory: 1Gi}}}]",
			want: []string{
				`spec.services[0].resources.requests[cpu]: Invalid value: "8": must be at most the limit, which is 4 (service "A")`,
				`spec.services[0].resources.requests[memory]: Invalid value: "2Gi": must be at most the limit, which is 1Gi (service "A")`,
			},
		},
		"requests up to their limits, and without one": {
			services: "[{name: A, resources: {requests: {cpu: '2', memory: 1Gi, gpu: '8', custom: {rdma/ib: '1'}}, limits: {cpu: '4', memory: 1Gi, gpu: '8'}}}]",
		},
		"no image": {
			services: "[{name: A, extraPodSpec: {mainContainer: {args: [x]}}}]",
			want:     []string{"spec.services[0].extraPodSpec.mainContainer.image: Required value: service A needs a container image"},
		},
		"no image, and a domain that the cluster's topology lacks": {
			spec:     "topologyConstraint: {packDomain: shelf}",
			services: "[{name: Decode, topologyConstraint: {packDomain: datacenter}, extraPodSpec: {mainContainer: {args: [x]}}}]",
			want: []string{
				"spec.services[0].extraPodSpec.mainContainer.image: Required value: service Decode needs a container image",
				`spec.topologyConstraint.packDomain: Invalid value: "shelf": not a level of ClusterTopology "grove-topology"; available domains: zone, block, rack, host`,
				`spec.services[0].topologyConstraint.packDomain: Invalid value: "datacenter": not a level of ClusterTopology "grove-topology"; available domains: zone, block, rack, host (service "Decode")`,
			},
		},
		"a service of a map is named beside its place in the list": {
			services: "{Worker: {replicas: -1}, Decode: {envs: [{name: X}, {name: X}]}}",
			want: []string{
				`spec.services[0].envs[1].name: Duplicate value: "X": service "Decode"`,
				`spec.services[1].replicas: Invalid value: -1: must be 0 or more (service "Worker")`,
			},
		},
		"a second main container": {
			services: "[{name: A, extraPodSpec: {containers: [{name: main}]}}]",
			want:     []string{`spec.services[0].extraPodSpec.containers: Duplicate value: "main": service "A"`},
		},
		"a main container of another name": {
			services: "[{name: A, extraPodSpec: {mainContainer: {name: worker, image: i}}}]",
			want:     []string{`spec.services[0].extraPodSpec.mainContainer.name: Unsupported value: "worker": supported values: "main" (service "A")`},
		},
		"amounts that are none": {
			services: "[{name: A, resources: {requests: {cpu: many}, limits: {gpu: eight, custom: {rdma/ib: '-1'}}}}]",
			want: []string{
				`spec.services[0].resources.requests.cpu: Invalid value: "many": must be an amount such as 4, 500m or 16Gi (service "A")`,
				`spec.services[0].resources.limits.gpu: Invalid value: "eight": must be a whole number of GPUs, such as "8" (service "A")`,
				`spec.services[0].resources.limits.custom[rdma/ib]: Invalid value: "-1": must be an amount such as 4, 500m or 16Gi (service "A")`,
			},
		},
		"half a GPU": {
			services: "[{name: A, resources: {limits: {gpu: '0.5'}}}]",
			want:     []string{`spec.services[0].resources.limits.gpu: Invalid value: "0.5": must be a whole number of GPUs, such as "8" (service "A")`},
		},
		"a variable twice": {
			services: "[{name: A, envs: [{name: X}, {name: X}]}]",
			want:     []string{`spec.services[0].envs[1].name: Duplicate value: "X": service "A"`},
		},
		"a mount at no path": {
			spec:     "pvcs: [{name: models}]",
			services: "[{name: A, volumeMounts: [{name: model, mountPoint: models}]}]",
			want: []string{
				`spec.services[0].volumeMounts[0].mountPoint: Invalid value: "models": must be an absolute path (service "A")`,
			},
		},
		"a claim to create without a size": {
			spec: "pvcs: [{name: models, create: true}]", services: "[{name: A}]",
			want: []string{"spec.pvcs[0].size: Required value: a claim with create: true needs a size above 0, such as 100Gi"},
		},
		"an unknown framework": {
			spec: "backendFramework: torch", services: "[{name: A}]",
			want: []string{`spec.backendFramework: Unsupported value: "torch": supported values: "vllm", "sglang", "trtllm"`},
		},
		"a restart order that is not all services once": {
			spec: "restart: {id: '1', strategy: {order: [A, C, A]}}", services: "[{name: A}, {name: B}]",
			want: []string{
				"spec.restart.strategy.order: Required value: names every service once; missing: B",
				`spec.restart.strategy.order[1]: Not found: "C"`,
				`spec.restart.strategy.order[2]: Duplicate value: "A"`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			candidate := alpha(t, c.spec, c.services)
			compare(t, c.want, candidate.ValidateCreate(levels).ToAggregate())
		})
	}
}

func TestV1Beta1NamesItsOwnFields(t *testing.T) {
	written := &v1beta1.DynamoGraphDeployment{}
	read(t, `
metadata: {name: d}
spec:
  topologyConstraint: {clusterTopologyName: aws, packDomain: rack}
  components:
    - name: A
      topologyConstraint: {packDomain: zone}
      podTemplate: {spec: {containers: [{name: side}, {name: main, env: [{name: X}, {name: X}]}]}}
    - name: B
      type: no label
      podTemplate: {spec: {containers: [{name: worker, image: i}]}}
`, written)
	compare(t, []string{
		"spec.components[0].podTemplate.spec.containers[1].image: Required value: component A needs a container image",
		`spec.components[0].podTemplate.spec.containers[1].env[1].name: Duplicate value: "X"`,
		`spec.components[1].type: Invalid value: "no label": a valid label must be an empty string or consist of…`,
		"spec.components[1].podTemplate.spec.containers: Required value: one container is named main and does the work of component B",
		`spec.components[0].topologyConstraint.packDomain: Invalid value: "zone": broader than the deployment's packDomain "rack": choose rack, host or numa`,
	}, admission.FromV1Beta1(written).ValidateCreate(levels).ToAggregate())
}

func TestAMissingTopologyIsNamedWhereItIsChosen(t *testing.T) {
	gone := admission.Topology{Name: "aws", Problem: `ClusterTopology "aws" does not exist; existing ones: gcp`}
	compare(t, []string{`spec.topologyConstraint.topologyProfile: Invalid value: "aws": ClusterTopology "aws" does not exist; existing ones: gcp`},
		alpha(t, "topologyConstraint: {topologyProfile: aws, packDomain: rack}", "[{name: A}]").ValidateCreate(
			gone).ToAggregate())
	compare(t, []string{`spec.services[0].topologyConstraint.packDomain: Invalid value: "rack": ClusterTopology "aws" does not exist; existing ones: gcp (service "A")`},
		alpha(t, "", "[{name: A, topologyConstraint: {packDomain: rack}}]").ValidateCreate(gone).ToAggregate())
	compare(t, nil, alpha(t, "", "[{name: A}]").ValidateCreate(gone).ToAggregate())
}

func TestWarnings(t *testing.T) {
	candidate := alpha(t, "", `[
    {name: A, serviceName: B, autoscaling: {enabled: true}, ingress: {}, dynamoNamespace: x, globalDynamoNamespace: true, modelRef: {name: m},
     volumeMounts: [{name: models, mountPoint: /models}, {name: cache, mountPoint: /cache, useAsCompilationCache: true}]},
    {name: B, multinode: {nodeCount: 2}, extraPodSpec: {mainContainer: {image: i, command: [./start]}}},
    {name: C, multinode: {nodeCount: 2}, resources: {limits: {gpu: '8'}}, extraPodSpec: {mainContainer: {image: i, command: [python3], args: [-m, dynamo.vllm, -tp=8]}}},
    {name: E, resources: {requests: {gpu: '8'}, limits: {gpu: '8', gpuType: amd.com/gpu}}},
    {name: D, multinode: {nodeCount: 2}, resources: {limits: {gpu: '8'}}, extraPodSpec: {mainContainer: {image: i, command: [python3], args: [-m, dynamo.vllm, -tp=16]}}}]`)
	want := []string{
		`spec.services[0].autoscaling: has no effect; set scalingAdapter, and point a HorizontalPodAutoscaler at the DynamoGraphDeploymentScalingAdapter (service "A")`,
		`spec.services[0].ingress: has no effect; write an Ingress for the service's Service (service "A")`,
		`spec.services[0].dynamoNamespace: has no effect; it is always <namespace>-<name> of the deployment (service "A")`,
		`spec.services[0].serviceName: has no effect; the service is called by its name (service "A")`,
		`spec.services[3].resources.requests.gpu: counts nvidia.com/gpu and the limit amd.com/gpu, so that each pod needs both; leave the request out (service "E")`,
		`spec.services[1].extraPodSpec.mainContainer.args: starts no framework that is known, so its 2 nodes get no flags to find one another; set spec.backendFramework (service "B")`,
		`spec.services[2].extraPodSpec.mainContainer.args: all parallel ranks fit into the GPUs of one pod, so that 2 nodes run as many engines; raise --tensor-parallel-size, --pipeline-parallel-size or --data-parallel-size, or leave multinode out (service "C")`,
	}
	assert.Empty(t, cmp.Diff(want, candidate.Warnings()), "(-want +got)")
	named := alpha(t, "backendFramework: vllm",
		`[{name: B, multinode: {nodeCount: 2}, extraPodSpec: {mainContainer: {image: i, command: [./start]}}}]`)
	want = []string{"spec.services[0].extraPodSpec.mainContainer.args: no place for the flags by which 2 nodes of vllm find one another; start it with python3 -m dynamo.vllm (service \"B\")"}
	assert.Empty(t, cmp.Diff(want, named.Warnings()), "(-want +got)")
	misnamed := alpha(t, "backendFramework: vlm", `[{name: B, multinode: {nodeCount: 2}, extraPodSpec: {mainContainer: {image: i, command: [sh, -c], args: [python3 -m dynamo.vllm]}}}]`)
	assert.Empty(t, misnamed.Warnings(), "a framework that does not exist is an error and cannot be started")
}

func TestUnknownFields(t *testing.T) {
	for name, c := range map[string]struct {
		manifest string
		want     []string
	}{
		"in a service of a map, by its place in the list": {
			manifest: "spec: {services: {B: {replcas: 1}, A: {}}}",
			want:     []string{`spec.services[1].replcas: unknown field, did you mean "replicas"? (service "B")`},
		},
		"deep in a pod": {
			manifest: "spec: {services: [{name: A, extraPodSpec: {mainContainer: {imagee: x}}}]}",
			want:     []string{`spec.services[0].extraPodSpec.mainContainer.imagee: unknown field, did you mean "image"? (service "A")`},
		},
		"on the deployment": {
			manifest: "spec: {services: [], topologyConstrain: {packDomain: rack}}",
			want:     []string{`spec.topologyConstrain: unknown field, did you mean "topologyConstraint"?`},
		},
		"a value of the wrong type": {
			manifest: "spec: {services: [{name: A, replicas: two}]}",
			want:     []string{`spec.services[0].replicas: must be a whole number, not "two" (service "A")`},
		},
		"a service that is none": {
			manifest: "spec: {services: {A: {}, B: 3}}",
			want:     []string{`spec.services[1]: must be an object (service "B")`},
		},
		"an item of the list that is no service": {
			manifest: "spec: {services: [{name: A}, 3]}",
			want:     []string{"spec.services[1]: must be an object"},
		},
		"services that are neither list nor map, and another mistake": {
			manifest: "spec: {services: 3, topologyConstrain: {}}",
			want: []string{
				"spec.services: must be a list of services, or a map of them by name",
				`spec.topologyConstrain: unknown field, did you mean "topologyConstraint"?`,
			},
		},
		"what manifests in the field carry": {
			manifest: "spec: {services: [{name: A, globalDynamoNamespace: true, modelRef: {name: m}, volumeMounts: [{name: c, mountPoint: /c, useAsCompilationCache: true}]}]}",
		},
		"a service of two names": {
			manifest: "spec: {services: {A: {name: B}}}",
			want:     []string{`spec.services[0].name: Invalid value: "B": the key says "A"; leave the name out`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var fields map[string]any
			read(t, c.manifest, &fields)
			problems := admission.Complete("v1alpha1", fields)
			if len(problems) == 0 {
				problems = admission.Unknown("v1alpha1", fields)
			}
			var got []string
			for _, problem := range problems {
				got = append(got, problem.Path+": "+problem.Reason)
			}
			assert.Empty(t, cmp.Diff(c.want, got), "(-want +got)")
		})
	}
}

// alpha is a deployment with that spec and those services, with an image if the services have none.
func alpha(t *testing.T, spec, services string) admission.Candidate {
	t.Helper()
	written := &v1alpha1.DynamoGraphDeployment{}
	read(t, "metadata: {name: d}\nspec:\n  services: "+services+"\n  "+spec, written)
	for i := range written.Spec.Services {
		service := &written.Spec.Services[i]
		if service.ExtraPodSpec == nil {
			service.ExtraPodSpec = &v1alpha1.ExtraPodSpec{}
		}
		if service.ExtraPodSpec.MainContainer == nil {
			read(t, "image: i", &service.ExtraPodSpec.MainContainer)
		}
	}
	candidate, err := admission.FromV1Alpha1(written)
	require.NoError(t, err)
	return candidate
}

func read(t *testing.T, manifest string, into any) {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(manifest))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(asJSON, into))
}

// compare expects exactly these errors; messages of Kubernetes may be shortened with an ellipsis.
func compare(t *testing.T, want []string, got interface{ Errors() []error }) {
	t.Helper()
	var lines []string
	if got != nil {
		for _, err := range got.Errors() {
			lines = append(lines, err.Error())
		}
	}
	for i := range min(len(want), len(lines)) {
		if start, cut := strings.CutSuffix(want[i], "…"); cut && strings.HasPrefix(lines[i], start) {
			lines[i] = want[i]
		}
	}
	assert.Empty(t, cmp.Diff(want, lines), "(-want +got)")
}

func TestDomainsOfABindingHaveItsOwnOrder(t *testing.T) {
	binding := admission.Topology{Kind: "ClusterTopologyBinding", Name: "net",
		Domains: []string{"rack", "spine", "zone"}}
	const named = "topologyConstraint: {topologyProfile: net, packDomain: spine}"
	compare(t, nil, alpha(t, named, "[{name: A, topologyConstraint: {packDomain: zone}}]").ValidateCreate(
		binding).ToAggregate())
	compare(t, []string{
		`spec.services[0].topologyConstraint.packDomain: Invalid value: "rack": broader than the deployment's packDomain "spine": choose spine or zone (service "A")`,
	}, alpha(t, named, "[{name: A, topologyConstraint: {packDomain: rack}}]").ValidateCreate(binding).ToAggregate())
	compare(t, []string{
		`spec.services[0].topologyConstraint.packDomain: Invalid value: "host": not a level of ClusterTopologyBinding "net"; available domains: rack, spine, zone (service "A")`,
	}, alpha(t, named, "[{name: A, topologyConstraint: {packDomain: host}}]").ValidateCreate(binding).ToAggregate())
	young := alpha(t, named, "[{name: A, topologyConstraint: {packDomain: zone}}]")
	compare(t, nil, young.ValidateUpdate(young).ToAggregate())
}
