package admission_test

import (
	"strings"
	"testing"

	"packtree.dev/dynamo-operator/internal/admission"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// The objects that are made for a deployment have rules too. Errors name the fields of the deployment, where its writer
// can mend them.
func TestWhatIsMadeHasToBePossible(t *testing.T) {
	for name, c := range map[string]struct {
		services string
		spec     string
		want     []string
	}{
		"labels and annotations at every level": {
			spec:     "labels: {team: 'no value!'}\n  annotations: {'no key!': x}",
			services: `[{name: A, labels: {a/b/c: x}, annotations: {'-': x}, extraPodMetadata: {labels: {good: 'too, bad'}, annotations: {fine: 'any thing!'}}}]`,
			want: []string{
				`spec.services[0].labels[a/b/c]: Invalid value: "a/b/c": a valid label key must…`,
				`spec.services[0].annotations[-]: Invalid value: "-": name part must consist of…`,
				`spec.services[0].extraPodMetadata.labels[good]: Invalid value: "too, bad": a valid label must be…`,
				`spec.labels[team]: Invalid value: "no value!": a valid label must be…`,
				`spec.annotations[no key!]: Invalid value: "no key!": name part must consist of…`,
			},
		},
		"a node that is chosen, and pods that are spread": {
			services: `[{name: A}, {name: B, extraPodSpec: {nodeName: node-1, topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}}]`,
			want: []string{
				`spec.services[1].extraPodSpec.nodeName: Forbidden: the scheduler chooses the node: use nodeSelector or affinity (service "B")`,
				`spec.services[1].extraPodSpec.topologySpreadConstraints: Forbidden: they contradict packing: use topologyConstraint and topologySpread (service "B")`,
			},
		},
		"two schedulers": {
			services: `[{name: A}, {name: B, extraPodSpec: {schedulerName: volcano}}, {name: C, extraPodSpec: {schedulerName: kai-scheduler}}]`,
			want: []string{
				`spec.services[1].extraPodSpec.schedulerName: Invalid value: "volcano": all pods of a deployment are placed by one scheduler, ` +
					`and those of service A are by kai-scheduler: name the same one (service "B")`,
			},
		},
		"one scheduler that is not the default": {
			services: `[{name: A, extraPodSpec: {schedulerName: volcano}}, {name: B, extraPodSpec: {schedulerName: volcano}}]`,
		},
		"a service that is named like another's leader or workers": {
			services: `[{name: Decode, multinode: {nodeCount: 2}}, {name: decode-WKR}, {name: decode-ldr, multinode: {nodeCount: 2}}]`,
			want: []string{
				`spec.services[1].name: Invalid value: "decode-WKR": the workers of multinode service "Decode" have that name: rename one`,
			},
		},
		"a service that is named like the Service of another's leaders": {
			services: `[{name: Decode-Leader}, {name: Decode, multinode: {nodeCount: 2}}]`,
			want: []string{
				`spec.services[0].name: Invalid value: "Decode-Leader": the Service of the leaders of multinode service "Decode" has that name: rename one`,
			},
		},
		"which of the two comes first does not matter": {
			services: `[{name: Decode-ldr}, {name: Decode, multinode: {nodeCount: 2}}]`,
			want: []string{
				`spec.services[0].name: Invalid value: "Decode-ldr": the leader of multinode service "Decode" has that name: rename one`,
			},
		},
		"a service whose Service is what the pods have their host names under": {
			services: "[{name: '0'}, {name: '1'}]",
			want: []string{
				`spec.services[0].name: Invalid value: "0": the pods' host names stand under a Service d-0 already: rename it`,
			},
		},
		"more pods than can be made": {
			services: `[{name: A}, {name: B, replicas: 200, multinode: {nodeCount: 400}}, {name: C, replicas: 0, minAvailable: 50, multinode: {nodeCount: 400}}]`,
			want: []string{
				`spec.services[1].replicas: Invalid value: 200: 80000 of the deployment's 100001 pods, and it may have 100000; use more than one deployment (service "B")`,
			},
		},
		"as many pods as can be made": {
			services: `[{name: B, replicas: 200, multinode: {nodeCount: 400}}, {name: C, replicas: 0, minAvailable: 50, multinode: {nodeCount: 400}}]`,
		},
		"an executor that vLLM does not have": {
			spec:     "annotations: {nvidia.com/vllm-distributed-executor-backend: Ray}",
			services: `[{name: A, annotations: {nvidia.com/vllm-distributed-executor-backend: uni}, extraPodMetadata: {annotations: {nvidia.com/vllm-distributed-executor-backend: ray}}}]`,
			want: []string{
				`spec.services[0].annotations[nvidia.com/vllm-distributed-executor-backend]: Unsupported value: "uni": supported values: "mp", "ray" (service "A")`,
				`spec.annotations[nvidia.com/vllm-distributed-executor-backend]: Unsupported value: "Ray": supported values: "mp", "ray"`,
			},
		},
		"a claim whose name no volume can have": {
			spec:     "pvcs: [{name: models.v2}]",
			services: "[{name: A, volumeMounts: [{name: models.v2, mountPoint: /models}]}]",
			want: []string{
				`spec.services[0].volumeMounts[0].name: Invalid value: "models.v2": the volume in the pods would be named like that, and a dot cannot be in it: add a volume of another name to extraPodSpec for this claim, and mount that (service "A")`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			compare(t, c.want, alpha(t, c.spec, c.services).ValidateCreate(levels).ToAggregate())
		})
	}
}

func TestTheWorkersOfARoleHaveTheirDeploymentsScheduler(t *testing.T) {
	written := &v1beta1.DynamoGraphDeployment{}
	read(t,
		`{metadata: {name: d}, spec: {components: [{name: A, podTemplate: {spec: {containers: [{name: main, image: i}]}},
    multinode: {nodeCount: 2, worker: {podTemplate: {spec: {schedulerName: volcano}}}}}]}}`, written)
	compare(t, []string{
		`spec.components[0].podTemplate.spec.schedulerName: Invalid value: "volcano": all pods of a deployment are placed by one scheduler, ` +
			`and those of component A are by kai-scheduler: name the same one`,
	}, admission.FromV1Beta1(written).ValidateCreate(levels).ToAggregate())
}

func TestADeploymentThatHadTwoSchedulersCanStillBeChanged(t *testing.T) {
	one, two := `[{name: A}, {name: B}]`, `[{name: A}, {name: B, extraPodSpec: {schedulerName: volcano}}]`
	scaled := `[{name: A, replicas: 2}, {name: B, extraPodSpec: {schedulerName: volcano}}]`
	compare(t, nil, alpha(t, "", scaled).ValidateUpdate(alpha(t, "", two)).ToAggregate())
	compare(t, []string{
		`spec.services[1].extraPodSpec.schedulerName: Invalid value: "volcano": all pods of a deployment are placed by one scheduler, ` +
			`and those of service A are by kai-scheduler: name the same one (service "B")`,
	}, alpha(t, "", two).ValidateUpdate(alpha(t, "", one)).ToAggregate())
}

// A map by name cannot have a name twice, but it can have two spellings of it, and so can a list of v1beta1.
func TestNamesThatDifferInCaseOnly(t *testing.T) {
	compare(t, []string{
		`spec.services[2].name: Invalid value: "worker": differs from "Worker" only in case, and what is made for them has names in lower case: rename one`,
	}, alpha(t, "", "{worker: {}, Frontend: {}, Worker: {}}").ValidateCreate(levels).ToAggregate())

	written := &v1beta1.DynamoGraphDeployment{}
	read(t, `{metadata: {name: d}, spec: {components: [
    {name: Worker, podTemplate: {spec: {containers: [{name: main, image: i}]}}},
    {name: WORKER, podTemplate: {spec: {containers: [{name: main, image: i}]}}}]}}`, written)
	compare(t, []string{
		`spec.components[1].name: Invalid value: "WORKER": differs from "Worker" only in case, and what is made for them has names in lower case: rename one`,
	}, admission.FromV1Beta1(written).ValidateCreate(levels).ToAggregate())
}

func TestADeploymentIsNotNamedLikeTheServiceAccountOfEveryNamespace(t *testing.T) {
	written := &v1beta1.DynamoGraphDeployment{}
	read(t,
		`{metadata: {name: default}, spec: {components: [{name: A, podTemplate: {spec: {containers: [{name: main, image: i}]}}}]}}`, written)
	compare(t, []string{
		`metadata.name: Invalid value: "default": a ServiceAccount is made of this name, and every namespace has one already: choose another name`,
	}, admission.FromV1Beta1(written).ValidateCreate(levels).ToAggregate())
}

func TestServicesThatAreTooLargeToBeKept(t *testing.T) {
	large := func(bytes int) string {
		return "[{name: A, envs: [{name: X, value: " + strings.Repeat("x", bytes) + "}]}]"
	}
	compare(t, nil, alpha(t, "", large(200_000)).ValidateCreate(levels).ToAggregate())
	compare(t, []string{
		`spec.services: Invalid value: "300094 bytes": services and annotations have at most 262144 bytes together: put scripts into a ConfigMap, or write components of v1beta1`,
	}, alpha(t, "", large(300_000)).ValidateCreate(levels).ToAggregate())
}

func TestWhatIsMadeOfV1Beta1HasToBePossible(t *testing.T) {
	written := &v1beta1.DynamoGraphDeployment{}
	read(t, `
metadata:
  name: 1d
  annotations: {nvidia.com/kai-scheduler-queue: "no queue!", nvidia.com/vllm-distributed-executor-backend: none}
spec:
  components:
    - name: A
      podTemplate:
        metadata: {labels: {a: "b c"}, annotations: {nvidia.com/vllm-distributed-executor-backend: x}}
        spec: {nodeName: node-1, containers: [{name: main, image: i}]}
`, written)
	compare(t, []string{
		`metadata.name: Invalid value: "1d": it starts the names of pods and Services: a DNS-1035 label must…`,
		`metadata.annotations[nvidia.com/vllm-distributed-executor-backend]: Unsupported value: "none": supported values: "mp", "ray"`,
		`metadata.annotations[nvidia.com/kai-scheduler-queue]: Invalid value: "no queue!": a valid label must be…`,
		`spec.components[0].podTemplate.metadata.labels[a]: Invalid value: "b c": a valid label must be…`,
		`spec.components[0].podTemplate.metadata.annotations[nvidia.com/vllm-distributed-executor-backend]: Unsupported value: "x": supported values: "mp", "ray"`,
		`spec.components[0].podTemplate.spec.nodeName: Forbidden: the scheduler chooses the node: use nodeSelector or affinity`,
	}, admission.FromV1Beta1(written).ValidateCreate(levels).ToAggregate())
}
