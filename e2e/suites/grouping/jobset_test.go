package grouping_test

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
)

var jobSetKind = schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}

// Labels that the JobSet controller puts on Jobs and pods.
const (
	labelJobSet        = "jobset.sigs.k8s.io/jobset-name"
	labelReplicatedJob = "jobset.sigs.k8s.io/replicatedjob-name"
	labelJobIndex      = "jobset.sigs.k8s.io/job-index"
)

// jobSet has a driver, and two slices of workers. The last slice is created when all others are grouped already.
func jobSet(w *world) *features.FeatureBuilder {
	slice := func(index string) selector {
		ofSlices, ofIndex := labelled(labelReplicatedJob, "slices"), labelled(labelJobIndex, index)
		return func(pod *corev1.Pod) bool { return ofSlices(pod) && ofIndex(pod) }
	}
	all := labelled(labelJobSet, "train")
	const tree = "root all groups, driver-0 1 pods, slices-0 3 pods, slices-1 3 pods"
	comes := suite.AllOf(
		w.Applies("jobset.yaml"), w.makesJob("driver", 0), w.makesJob("slices", 0), w.grouped(4, all),
		w.isOnlyGroupOf("jobset", "train", tree),
		w.WhileTheOperatorIsDead(w.makesJob("slices", 1)))
	stands := w.stands(w.inZone("all", 7, all), w.inRack("slice 0", 3, slice("0")), w.inRack("slice 1", 3, slice("1")))
	return features.New("jobset").
		Setup(suite.AllOf(w.create, w.jobSetsAreKnown)).
		Assess("each slice stands in one rack, all of it in one zone", suite.AllOf(comes, stands)).
		Assess("a JobSet of the same name begins anew", suite.AllOf(
			w.WhileTheOperatorIsDead(w.Kubectl("delete", "jobset", "train", "--cascade=foreground")),
			comes, stands, w.isOnlyGroupOf("jobset", "train", tree))).
		Teardown(w.remove)
}

// known lets one story make the kind that all share.
var known sync.Mutex

func (w *world) jobSetsAreKnown(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	known.Lock()
	defer known.Unlock()
	// A kind that is established is not yet among those that the API server lists.
	return suite.AllOf(w.Applies("jobset-crd.yaml"), w.Shows(nil, "get", "jobsets.jobset.x-k8s.io"))(ctx, t, config)
}

// makesJob makes one of the JobSet's Jobs, as its controller would.
func (w *world) makesJob(replicated string, index int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		set := &unstructured.Unstructured{}
		set.SetGroupVersionKind(jobSetKind)
		w.Must(ctx, t, cluster.Get(ctx, client.ObjectKey{Namespace: w.Name, Name: "train"}, set))
		job, err := jobOf(set, replicated, index)
		w.Must(ctx, t, err)
		w.Must(ctx, t, cluster.Create(ctx, job))
		return ctx
	}
}

func jobOf(set *unstructured.Unstructured, replicated string, index int) (*batchv1.Job, error) {
	var spec struct {
		Spec struct {
			ReplicatedJobs []struct {
				Name     string                  `json:"name"`
				Template batchv1.JobTemplateSpec `json:"template"`
			} `json:"replicatedJobs"`
		} `json:"spec"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(set.Object, &spec); err != nil {
		return nil, err
	}
	for _, entry := range spec.Spec.ReplicatedJobs {
		if entry.Name != replicated {
			continue
		}
		marks := map[string]string{labelJobSet: set.GetName(), labelReplicatedJob: replicated,
			labelJobIndex: strconv.Itoa(index)}
		job := &batchv1.Job{ObjectMeta: entry.Template.ObjectMeta, Spec: entry.Template.Spec}
		job.Name, job.Namespace = fmt.Sprintf("%s-%s-%d", set.GetName(), replicated, index), set.GetNamespace()
		job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, jobSetKind)}
		job.Labels, job.Spec.Template.Labels = marks, maps.Clone(marks)
		job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
		return job, nil
	}
	return nil, fmt.Errorf("JobSet %s has no replicated job %s", set.GetName(), replicated)
}
