package load

import (
	"context"
	"fmt"
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

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
