package endure

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kai "packtree.dev/shared/api/kai/v1alpha1"
)

// The nodes: racks of four in blocks of two racks, with eight GPUs each. A pod takes two GPUs.
const (
	topologyName  = "endure"
	rackLabel     = "topology.packtree.dev/rack"
	blockLabel    = "topology.packtree.dev/block"
	nodesPerRack  = 4
	racksPerBlock = 2
	gpusPerNode   = 8
)

// kind is a kind of workload: its manifest, and how it is scaled and rolled out. A kind without a rollout has none.
type kind struct {
	manifest string
	// scale and rollout are paths of fields.
	scale, rollout string
	// unlimited workloads never meet the quota: their controller gives up on refused pods for minutes.
	unlimited bool
}

const podSpec = `{schedulerName: ` + kai.SchedulerName + `, terminationGracePeriodSeconds: 0, restartPolicy: %s,
  containers: [{name: c, image: "image:1", resources: {limits: {nvidia.com/gpu: "2"}}}]}`

var kinds = []kind{
	{manifest: `
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: dgd-{{.}}}
spec:
  backendFramework: vllm
  services:
  - name: Frontend
    componentType: frontend
    extraPodSpec: {terminationGracePeriodSeconds: 0, mainContainer: {image: "image:1"}}
  - name: Worker
    componentType: worker
    multinode: {nodeCount: {{n 2 9}}}
    replicas: {{n 1 3}}
    topologyConstraint: {packDomain: rack}
    resources: {limits: {gpu: "2"}}
    extraPodSpec:
      terminationGracePeriodSeconds: 0
      mainContainer: {image: "image:1", command: [python3], args: [-m, dynamo.vllm]}
`, scale: "/spec/services/1/replicas", rollout: "/spec/services/1/extraPodSpec/mainContainer/image"},
	{manifest: `
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: set-{{.}}}
spec:
  replicas: {{n 1 3}}
  template:
    topologyConstraint: {topologyName: ` + editedName + `, packDomain: block}
    cliques:
    - {name: leader, spec: {roleName: leader, replicas: 1, podSpec: ` + fmt.Sprintf(podSpec, "Always") + `}}
    - name: worker
      topologyConstraint: {packDomain: rack}
      spec: {roleName: worker, replicas: {{n 1 6}}, podSpec: ` + fmt.Sprintf(podSpec, "Always") + `}
`, scale: "/spec/replicas", rollout: "/spec/template/cliques/1/spec/podSpec/containers/0/image"},
	{manifest: `
apiVersion: batch/v1
kind: Job
metadata:
  name: job-{{.}}
  annotations: {kai.scheduler/topology: ` + topologyName + `,
    kai.scheduler/topology-required-placement: ` + rackLabel + `}
spec:
  parallelism: {{n 2 16}}
  completions: 100
  podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: "True"}]}]}
  template: {spec: ` + fmt.Sprintf(podSpec, "Never") + `}
`, scale: "/spec/parallelism", unlimited: true},
	{manifest: `
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: group-{{.}}}
spec:
  stalenessGracePeriod: 10s
  topologyConstraint: {topology: ` + topologyName + `, requiredTopologyLevel: ` + blockLabel + `}
  subGroups:
{{- range $leaf := leaves}}
  - {name: {{$leaf}}, minMember: {{n 1 4}}, topologyConstraint: {topology: ` + topologyName +
		`, requiredTopologyLevel: ` + rackLabel + `}}
{{- end}}
{{- range $leaf := leaves}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: group-{{$}}-{{$leaf}}}
spec:
  replicas: {{n 4 7}}
  selector: {matchLabels: {app: group-{{$}}-{{$leaf}}}}
  template:
    metadata:
      labels: {app: group-{{$}}-{{$leaf}}, kai.scheduler/subgroup-name: {{$leaf}}}
      annotations: {pod-group-name: group-{{$}}, ` + kai.AnnotationSkipPodGrouper + `: "true"}
    spec: ` + fmt.Sprintf(podSpec, "Always") + `
{{- end}}
`, scale: "/spec/replicas"},
}

// workload is one that has come and was not ended.
type workload struct {
	kind
	objects []*unstructured.Unstructured
}

// write makes the objects of a workload.
func (k kind) write(number int, namespace string, random *rand.Rand) (*workload, error) {
	functions := template.FuncMap{
		"n":      func(least, below int) int { return least + random.IntN(below-least) },
		"leaves": func() []string { return []string{"left", "right"} },
	}
	var text strings.Builder
	parsed, err := template.New("").Funcs(functions).Parse(k.manifest)
	if err == nil {
		err = parsed.Execute(&text, number)
	}
	if err != nil {
		return nil, err
	}
	objects, err := parse(text.String())
	for _, object := range objects {
		object.SetNamespace(namespace)
	}
	return &workload{k, objects}, err
}

func parse(manifest string) (objects []*unstructured.Unstructured, err error) {
	for _, document := range strings.Split(manifest, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return nil, fmt.Errorf("reading a manifest: %w: %s", err, document)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// edit sets a field of the object that has the pods: the last one.
func (w *workload) edit(ctx context.Context, c client.Client, path, value string) error {
	object := w.objects[len(w.objects)-1].DeepCopy()
	patch := fmt.Appendf(nil, `[{"op":"replace","path":%q,"value":%s}]`, path, value)
	return c.Patch(ctx, object, client.RawPatch(types.JSONPatchType, patch))
}
