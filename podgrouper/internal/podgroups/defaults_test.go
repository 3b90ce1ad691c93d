package podgroups_test

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/podgroups"
)

func TestDefaultsFillInWhatAWorkloadDoesNotSay(t *testing.T) {
	for name, c := range map[string]struct {
		flags           []string
		kind            string
		labels          map[string]string
		queue, priority string
	}{
		"nothing is set": {kind: "Job"},
		"a queue":        {flags: []string{"--default-queue=default-queue"}, kind: "Job", queue: "default-queue"},
		"the workload's queue": {flags: []string{"--default-queue=default-queue"}, kind: "Job",
			labels: map[string]string{"kai.scheduler/queue": "team-a"}, queue: "team-a"},
		"the kind's class": {flags: []string{"--default-priority-classes=Deployment=inference,*=train"},
			kind: "Deployment", priority: "inference"},
		"the class of others": {flags: []string{"--default-priority-classes=Deployment=inference,*=train"}, kind: "Job",
			priority: "train"},
		"no class for others": {flags: []string{"--default-priority-classes=Deployment=inference"}, kind: "Job"},
		"the workload's class": {
			flags: []string{"--default-priority-classes=*=train"}, kind: "Job",
			labels: map[string]string{"priorityClassName": "high"}, priority: "high",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var defaults podgroups.Defaults
			flags := pflag.NewFlagSet("podgrouper", pflag.ContinueOnError)
			defaults.BindFlags(flags)
			require.NoError(t, flags.Parse(c.flags))
			owner := &unstructured.Unstructured{}
			owner.SetName("w")
			owner.SetLabels(c.labels)
			spec := defaults.Decide(
				grouping.Workload{Owner: grouping.Owner{Object: owner,
					Kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: c.kind}}}, nil).PodGroup.Spec
			assert.Equal(t, c.queue, spec.Queue, "queue")
			assert.Equal(t, c.priority, spec.PriorityClassName, "queue")
		})
	}
}
