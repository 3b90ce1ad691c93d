package load

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kai "packtree.dev/shared/api/kai/v1alpha1"
)

// GroupedJob is what a Job cost that was created.
type GroupedJob struct {
	Pods int `json:"pods"`
	// Created is the time until its last pod was there, which is the Job controller's doing; Grouped until the last one named its
	// PodGroup.
	Created float64 `json:"createdSeconds"`
	Grouped float64 `json:"groupedSeconds"`
	// CPUSeconds are those of podgrouper, APIServerCPUSeconds those of the API server.
	CPUSeconds          float64 `json:"cpuSeconds"`
	APIServerCPUSeconds float64 `json:"apiServerCPUSeconds"`
	// Writes are all that anybody wrote meanwhile, by verb and resource.
	Writes map[string]int `json:"writes"`
}

// job creates a Job, whose pods come from the Job controller.
func (b *groupsBench) job(ctx context.Context, report *GroupsReport) error {
	for i := range b.options.Repeats {
		made, err := b.oneJob(ctx, fmt.Sprintf("large-%d", i))
		if err != nil {
			return err
		}
		report.Jobs = append(report.Jobs, made)
		b.say("Job: last of %d pods created after %.1f s, grouped after %.1f s", made.Pods, made.Created, made.Grouped)
	}
	return nil
}

func (b *groupsBench) oneJob(ctx context.Context, name string) (GroupedJob, error) {
	before, err := b.read(ctx)
	if err != nil {
		return GroupedJob{}, err
	}
	profile := b.profile(ctx, name, profiled)
	began, counted := time.Now(), b.pods.now()
	job, err := b.core.BatchV1().Jobs(namespace).Create(ctx, jobOf(name, b.options.Pods), metav1.CreateOptions{})
	if err != nil {
		return GroupedJob{}, fmt.Errorf("creating the Job: %w", err)
	}
	now, err := b.grouping(ctx, counted, b.options.Pods)
	if err != nil {
		return GroupedJob{}, err
	}
	if _, err := b.settle(ctx); err != nil {
		return GroupedJob{}, err
	}
	if err := profile(); err != nil {
		return GroupedJob{}, err
	}
	after, err := b.read(ctx)
	if err != nil {
		return GroupedJob{}, err
	}
	return GroupedJob{
		Pods: b.options.Pods, Created: now.lastCreated.Sub(began).Seconds(), Grouped: now.lastGrouped.Sub(began).Seconds(),
		CPUSeconds: (after.operatorCPU - before.operatorCPU).Seconds(), APIServerCPUSeconds: (after.restCPU - before.restCPU).Seconds(),
		Writes: writes(before, after),
	}, b.checkPodGroup(ctx, job)
}

// checkPodGroup makes sure that the Job has the PodGroup that it asks for, and that its spec was written once.
func (b *groupsBench) checkPodGroup(ctx context.Context, job *batchv1.Job) error {
	name := fmt.Sprintf("pg-%s-%s", job.Name, job.UID)
	podGroup, err := b.kai.SchedulingV2alpha2().PodGroups(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if podGroup.Generation != 1 || podGroup.Spec.Queue != queue || podGroup.Spec.MinMember == nil {
		return fmt.Errorf("PodGroup %s has generation %d and spec %+v: want it written once, with the Job's queue", name, podGroup.Generation, podGroup.Spec)
	}
	return nil
}

const queue = "team"

// jobOf is a Job whose pods no scheduler takes, with the queue on its template, as users write it.
func jobOf(name string, pods int) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	job.Spec.Parallelism, job.Spec.Completions = new(int32(pods)), new(int32(pods))
	template := workerOf("", name)
	job.Spec.Template.Labels, job.Spec.Template.Spec = template.Labels, template.Spec
	return job
}

// workerOf is a pod of a size that pods have.
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

func (b *groupsBench) quietly(ctx context.Context, report *GroupsReport) (err error) {
	report.Rest, err = b.rest(ctx, b.options.Quiet)
	return err
}

// beside fills the cluster with pods of Jobs that no controller acts on, looks at the program's memory, and starts it
// anew.
func (b *groupsBench) beside(ctx context.Context, report *GroupsReport) error {
	filled, err := b.fillWithJobs(ctx)
	if err != nil {
		return err
	}
	restarted, err := b.startAnew(ctx)
	if err != nil {
		return err
	}
	report.Beside = []Restarted{filled, restarted}
	return nil
}

func (b *groupsBench) fillWithJobs(ctx context.Context) (Restarted, error) {
	before, err := b.read(ctx)
	if err != nil {
		return Restarted{}, err
	}
	began, counted := time.Now(), b.pods.now()
	for i := 0; i*b.options.OfJob < b.options.Standing; i++ {
		if err := b.standingJob(ctx, fmt.Sprintf("standing-%04d", i), min(b.options.OfJob, b.options.Standing-i*b.options.OfJob)); err != nil {
			return Restarted{}, err
		}
	}
	b.say("%d pods created after %.0f s", b.options.Standing, time.Since(began).Seconds())
	if _, err := b.grouping(ctx, counted, b.options.Standing); err != nil {
		return Restarted{}, err
	}
	return b.stands(ctx, "filled", began, before)
}

func (b *groupsBench) standingJob(ctx context.Context, name string, count int) error {
	job := jobOf(name, count)
	job.Spec.ManagedBy = new("load.packtree.dev/nobody")
	job, err := b.core.BatchV1().Jobs(namespace).Create(ctx, job, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating Job %s: %w", name, err)
	}
	pods := make([]*corev1.Pod, count)
	for i := range pods {
		pods[i] = workerOf(fmt.Sprintf("%s-%05d", name, i), name)
		pods[i].OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
		for key, value := range job.Spec.Template.Labels {
			pods[i].Labels[key] = value
		}
	}
	return b.create(ctx, nil, pods)
}

// startAnew starts the program again and waits until it has looked at all pods.
func (b *groupsBench) startAnew(ctx context.Context) (Restarted, error) {
	if err := b.cluster.Stop(ctx, grouper); err != nil {
		return Restarted{}, err
	}
	apiServer, err := b.apiServerMetrics(ctx)
	if err != nil {
		return Restarted{}, err
	}
	began := time.Now()
	if err := b.cluster.Start(ctx, grouper); err != nil {
		return Restarted{}, err
	}
	all := b.pods.now().created
	err = b.until(ctx, "podgrouper has looked at all pods", func(ctx context.Context) (bool, string, error) {
		counted, err := b.measured.read(ctx)
		if err != nil {
			return false, "", err
		}
		seen := counted.sum("controller_runtime_reconcile_total", `controller="pods"`)
		return int(seen) >= all, fmt.Sprintf("%.0f of %d", seen, all), nil
	})
	if err != nil {
		return Restarted{}, err
	}
	return b.stands(ctx, "restarted", began, reading{apiServer: apiServer})
}

// stands waits until the program rests, and looks at its memory.
func (b *groupsBench) stands(ctx context.Context, name string, began time.Time, before reading) (Restarted, error) {
	settled, err := b.settle(ctx)
	if err != nil {
		return Restarted{}, err
	}
	after, err := b.read(ctx)
	if err != nil {
		return Restarted{}, err
	}
	now, most, err := memoryOf(b.cluster.PID(grouper))
	if err != nil {
		return Restarted{}, err
	}
	if b.profiles != "" {
		if err := b.save(ctx, name+"-heap", "heap"); err != nil {
			return Restarted{}, err
		}
	}
	r := Restarted{
		Pods: b.pods.now().created, Seconds: settled.Sub(began).Seconds(), CPUSeconds: (after.operatorCPU - before.operatorCPU).Seconds(),
		Writes: writes(before, after), MiB: mebibytes(now), MostMiB: mebibytes(most),
	}
	b.say("%s beside %d pods: at rest after %.1f s, %v written, %.0f MiB, at most %.0f", name, r.Pods, r.Seconds, r.Writes, r.MiB, r.MostMiB)
	return r, nil
}
