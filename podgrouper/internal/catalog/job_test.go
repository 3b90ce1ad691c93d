package catalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kai "packtree.dev/shared/api/kai/v1alpha1"

	"packtree.dev/podgrouper/internal/groupers/job"
	"packtree.dev/podgrouper/internal/grouping"
)

var jobKind = batchv1.SchemeGroupVersion.WithKind("Job")

func TestMinMember(t *testing.T) {
	four := map[string]any{"spec": map[string]any{"parallelism": int64(4)}}
	cases := map[string]struct {
		annotation string
		content    map[string]any
		want       int32
		problem    string
	}{
		"one pod without the annotation": {want: 1, content: four},
		"as the annotation says":         {annotation: "3", want: 3, content: four},
		"all of them":                    {annotation: "4", want: 4, content: four},
		"no number": {annotation: "all", want: 1,
			problem: `Invalid value: "all": must be a whole number above 0; 1 is used instead`},
		"a fraction": {annotation: "1.5", want: 1,
			problem: `Invalid value: "1.5": must be a whole number above 0; 1 is used instead`},
		"zero": {annotation: "0", want: 1,
			problem: `Invalid value: "0": must be a whole number above 0; 1 is used instead`},
		"negative": {annotation: "-2", want: 1,
			problem: `Invalid value: "-2": must be a whole number above 0; 1 is used instead`},
		"more than a number holds": {annotation: "99999999999", want: 1,
			problem: `Invalid value: "99999999999": must be a whole number above 0; 1 is used instead`},
		"more than run at a time": {annotation: "5", content: four, want: 5,
			problem: `Invalid value: "5": at most 4 run at a time, so that none ever starts: lower it, or raise spec.parallelism`},
		"a Job of which only metadata is read": {annotation: "5", want: 5},
		"a Job without parallelism runs one pod": {
			annotation: "2", content: map[string]any{"spec": map[string]any{}}, want: 2,
			problem: `Invalid value: "2": at most 1 run at a time, so that none ever starts: lower it, or raise spec.parallelism`,
		},
		"fewer completions than parallelism": {
			annotation: "3", content: map[string]any{"spec": map[string]any{"parallelism": int64(4),
				"completions": int64(2)}},
			want:    3,
			problem: `Invalid value: "3": at most 2 run at a time, so that none ever starts: lower it, or raise spec.completions`,
		},
		"a halted Job may be scaled up again": {annotation: "3",
			content: map[string]any{"spec": map[string]any{"parallelism": int64(0)}}, want: 3},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			meta := &metav1.ObjectMeta{Name: "train"}
			if c.annotation != "" {
				meta.Annotations = map[string]string{kai.AnnotationBatchMinMember: c.annotation}
			}
			group := job.Grouper.Group(grouping.Workload{Owner: grouping.Owner{Object: meta, Kind: jobKind,
				Content: c.content}})
			if *group.MinMember != c.want {
				t.Errorf("minMember is %d, want %d", *group.MinMember, c.want)
			}
			var problems, want []string
			for _, problem := range group.Problems {
				problems = append(problems, problem.Error())
			}
			if c.problem != "" {
				want = []string{"metadata.annotations[kai.scheduler/batch-min-member]: " + c.problem}
			}
			if diff := cmp.Diff(want, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJob(t *testing.T) {
	checkGroups(t, job.Grouper, map[string]groupCase{
		"an empty annotation": {
			Manifest: `{apiVersion: batch/v1, kind: Job, metadata: {name: train, annotations: {kai.scheduler/batch-min-member: ""}}, spec: {parallelism: 4}}`,
			Want:     `minMember: 1`,
			Expected: `{"":4}`,
			Problems: []string{
				`metadata.annotations[kai.scheduler/batch-min-member]: Required value: must not be empty: give it a value or remove it; 1 is used instead`,
			},
		},
		"the last pods do not wait for those that are complete": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/batch-min-member: "4"}}
spec: {parallelism: 4, completions: 6}
status: {succeeded: 4, active: 2}`,
			Want: `minMember: 2`,
		},
		"nor for those whose index has failed for good": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/batch-min-member: "4"}}
spec: {parallelism: 4, completions: 4, completionMode: Indexed, backoffLimitPerIndex: 1}
status: {succeeded: 1, completedIndexes: "0", failed: 2, failedIndexes: "2", active: 2}`,
			Want: `minMember: 2`,
		},
		"as long as enough are left it stays as it is": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/batch-min-member: "4"}}
spec: {parallelism: 4, completions: 100}
status: {succeeded: 96, active: 4}`,
			Want: `minMember: 4`,
		},
		"a Job that is over": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/batch-min-member: "4"}}
spec: {parallelism: 4}
status: {succeeded: 4}`,
			Want: `minMember: 1`,
		},
		"as many pods are expected as run at a time": {
			Manifest: `{apiVersion: batch/v1, kind: Job, metadata: {name: train}, spec: {parallelism: 4, completions: 100}}`,
			Want:     `minMember: 1`,
			Expected: `{"":4}`,
		},
		"no more than are to complete": {
			Manifest: `{apiVersion: batch/v1, kind: Job, metadata: {name: train}, spec: {parallelism: 4, completions: 3}}`,
			Want:     `minMember: 1`,
			Expected: `{"":3}`,
		},
		"nor than are left": {
			Manifest: `{apiVersion: batch/v1, kind: Job, metadata: {name: train}, spec: {parallelism: 4, completions: 6}, status: {succeeded: 4}}`,
			Want:     `minMember: 1`,
			Expected: `{"":2}`,
		},
		"a Job of one pod expects nothing else": {
			Manifest: `{apiVersion: batch/v1, kind: Job, metadata: {name: train}, spec: {template: {}}}`,
			Want:     `minMember: 1`,
		},
		"a halted Job": {
			Manifest: `{apiVersion: batch/v1, kind: Job, metadata: {name: train}, spec: {parallelism: 0, completions: 4}}`,
			Want:     `minMember: 1`,
			Expected: `{"":0}`,
		},
		"the constraint may stand in the pod template": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template: {metadata: {annotations: {kai.scheduler/topology: network, kai.scheduler/topology-required-placement: zone}}}`,
			Want: `{minMember: 1, topologyConstraint: {topology: network, requiredTopologyLevel: zone}}`,
		},
		"what the Job says goes before its pod template": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/topology: network, kai.scheduler/topology-required-placement: rack}}
spec:
  template: {metadata: {annotations: {kai.scheduler/topology-preferred-placement: zone}}}`,
			Want: `{minMember: 1, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}`,
		},
		"a level without a topology in the pod template": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec: {template: {metadata: {annotations: {kai.scheduler/topology-required-placement: zone}}}}`,
			Want: `{minMember: 1, topologyConstraint: {requiredTopologyLevel: zone}}`,
			Problems: []string{
				`spec.template.metadata.annotations[kai.scheduler/topology]: Required value: a level needs the name of the Topology that it belongs to`,
			},
		},
	})
}
