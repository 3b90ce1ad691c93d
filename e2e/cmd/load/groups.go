package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

const groupsExplanation = `Brings up a dev cluster with podgrouper and no scheduler, so that no pod gets a node after it
is grouped.

job     A Job is created; kube-controller-manager makes its pods. The clock runs from the request until the last pod is
        there, and until the last one names its PodGroup.
quiet   Nothing happens: what is written, and what podgrouper computes.
beside  There are pods of many Jobs, which no controller acts on: the memory of podgrouper once all are grouped, and
        after its restart, and its writes then.

WRITTEN is what the API server counted, for all programs, without leases and nodes.`

// groupsOptions choose the measurements of podgrouper; the flags say what they mean.
type groupsOptions struct {
	common
	Pods, Repeats, Standing, OfJob int
	Quiet                          time.Duration
}

func groupsCommand() *cobra.Command {
	o := groupsOptions{}
	command := measurement(cobra.Command{
		Use: "groups", Short: "Measure podgrouper: how soon pods are grouped, writes, memory", Long: groupsExplanation,
	}, &o.common, func(ctx context.Context) (report, error) { return measureGroups(ctx, o) }, "job", "quiet", "beside")
	flags := command.Flags()
	flags.IntVar(&o.Pods, "pods", 1000, "pods of the Job")
	flags.IntVar(&o.Repeats, "repeats", 3, "how many Jobs are created, one after the other")
	flags.DurationVar(&o.Quiet, "quiet", time.Minute, "how long the part quiet looks")
	flags.IntVar(&o.Standing, "standing", 50000, "pods in the part beside")
	flags.IntVar(&o.OfJob, "of-job", 500, "how many of them a Job has")
	return command
}

const grouper = "podgrouper"

// measureGroups brings up a dev cluster with podgrouper and no scheduler, measures, and takes it down again.
func measureGroups(ctx context.Context, o groupsOptions) (*operatorReport, error) {
	grouped := func(pod metav1.Object) bool { return pod.GetAnnotations()[scheduling.AnnotationPodGroupName] != "" }
	return o.observe(ctx, &counter{done: grouped}, func(ctx context.Context,
		seen *observed) error {
		b := &groupsBench{observed: seen, options: o}
		quiet := func(ctx context.Context) error { return b.rest(ctx, o.Quiet) }
		return o.takeParts(ctx, part{"job", b.job}, part{"quiet", quiet}, part{"beside", b.beside})
	}, grouper)
}

// groupsBench is the cluster for measurements of podgrouper.
type groupsBench struct {
	*observed
	options groupsOptions
}

// job creates Jobs, whose pods are made by the Job controller.
func (b *groupsBench) job(ctx context.Context) error {
	for i := range b.options.Repeats {
		job := jobOf(fmt.Sprintf("large-%d", i), b.options.Pods)
		create := func() error { return b.Create(ctx, job) }
		if err := b.step(ctx, fmt.Sprintf("Job %d", i+1), create, b.are(b.pods.count()+b.options.Pods)); err != nil {
			return err
		}
		if err := b.checkPodGroup(ctx, job); err != nil {
			return err
		}
	}
	return nil
}

// checkPodGroup makes sure that the Job has the PodGroup that it asks for, and that its spec was written once.
func (b *groupsBench) checkPodGroup(ctx context.Context, job *batchv1.Job) error {
	podGroup := &scheduling.PodGroup{ObjectMeta: named(fmt.Sprintf("pg-%s-%s", job.Name, job.UID))}
	if err := b.Get(ctx, client.ObjectKeyFromObject(podGroup), podGroup); err != nil {
		return err
	}
	if podGroup.Generation != 1 || podGroup.Spec.Queue != queue || podGroup.Spec.MinMember == nil {
		return fmt.Errorf("PodGroup %s has generation %d and spec %+v: want it written once, with the Job's queue",
			podGroup.Name, podGroup.Generation, podGroup.Spec)
	}
	return nil
}

const queue = "team"

// jobOf is a Job whose pods no scheduler places, with the queue in its template, as users write it.
func jobOf(name string, pods int) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: named(name)}
	job.Spec.Parallelism, job.Spec.Completions = new(int32(pods)), new(int32(pods))
	template := workerOf("", name)
	job.Spec.Template.Labels, job.Spec.Template.Spec = template.Labels, template.Spec
	return job
}

// workerOf is a pod of a usual size.
func workerOf(name, run string) *corev1.Pod {
	pod := podOf(run, name, kai.SchedulerName)
	pod.Labels[kai.LabelQueue] = queue
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	for i := range 20 {
		pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, corev1.EnvVar{
			Name: fmt.Sprintf("SETTING_%d", i), Value: fmt.Sprintf("the value of setting %d of %s", i, run),
		})
	}
	return pod
}

// beside fills the cluster with pods of Jobs that no controller acts on, and restarts the program beside them.
func (b *groupsBench) beside(ctx context.Context) error {
	all := b.pods.count() + b.options.Standing
	err := b.step(ctx, "filled", func() error {
		for i := 0; i*b.options.OfJob < b.options.Standing; i++ {
			if err := b.standingJob(ctx, fmt.Sprintf("standing-%04d", i),
				min(b.options.OfJob, b.options.Standing-i*b.options.OfJob)); err != nil {
				return err
			}
		}
		return nil
	}, b.are(all))
	if err != nil {
		return err
	}
	return b.startAnew(ctx, "restarted", "pods", all)
}

func (b *groupsBench) standingJob(ctx context.Context, name string, count int) error {
	job := jobOf(name, count)
	job.Spec.ManagedBy = new("load.packtree.dev/nobody")
	if err := b.Create(ctx, job); err != nil {
		return fmt.Errorf("creating Job %s: %w", name, err)
	}
	pods := make([]*corev1.Pod, count)
	for i := range pods {
		pods[i] = workerOf(fmt.Sprintf("%s-%05d", name, i), name)
		pods[i].OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job")),
		}
		maps.Copy(pods[i].Labels, job.Spec.Template.Labels)
	}
	return createAll(ctx, b.bench, pods)
}
