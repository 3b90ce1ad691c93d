package load

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dynamov1beta1 "packtree.dev/shared/api/dynamo/v1beta1"
)

// DeploymentsOptions choose what is measured of dynamo-operator.
type DeploymentsOptions struct {
	Common
	// Deployments is how many stand, of a frontend and a worker each; 0 leaves all of that out.
	Deployments int
	// Services is how many services the deployment has whose start is measured, of a pod each.
	Services int
	// Repeats is how often it is started, each time on its own, and again beside the others.
	Repeats int
	// Quiet is how long the steady state is looked at.
	Quiet time.Duration
}

// MeasureDeployments brings a dev cluster up that has dynamo-operator and grove-operator and no scheduler, measures, and takes it down again.
func MeasureDeployments(ctx context.Context, o DeploymentsOptions) (report *DeploymentsReport, err error) {
	report = &DeploymentsReport{Machine: machine(), Date: time.Now().Format(time.DateOnly), Services: o.Services}
	return report, o.observe(ctx, map[string]any{}, func(ctx context.Context, seen *observed) error {
		sets := &setsBench{observed: seen}
		if err := sets.prepare(ctx); err != nil {
			return err
		}
		return (&deploymentsBench{setsBench: sets, options: o}).measure(ctx, report)
	}, dynamoOperator, groveOperator)
}

// deploymentsBench is the cluster that dynamo-operator is measured on.
type deploymentsBench struct {
	*setsBench
	options DeploymentsOptions
}

func (b *deploymentsBench) measure(ctx context.Context, report *DeploymentsReport) error {
	if _, err := b.settle(ctx); err != nil {
		return err
	}
	if err := b.start(ctx, report, 0); err != nil {
		return err
	}
	if b.options.Deployments == 0 {
		return nil
	}
	made, err := b.step(ctx, "created", b.options.Deployments*podsOfSmallDeployment, func() error {
		names := make([]string, b.options.Deployments)
		for i := range names {
			names[i] = fmt.Sprintf("standing-%04d", i)
		}
		return parallel(ctx, names, func(ctx context.Context, name string) error {
			return b.createDeployment(ctx, name, podsOfSmallDeployment)
		})
	})
	if err != nil {
		return err
	}
	report.Steps = append(report.Steps, made)
	if report.Rest, err = b.rest(ctx, b.options.Quiet); err != nil {
		return err
	}
	if report.MiB, report.MostMiB, err = b.memory(); err != nil {
		return err
	}
	b.say("%d deployments at rest: %.0f MiB, at most %.0f", b.options.Deployments, report.MiB, report.MostMiB)
	restarted, err := b.startAnew(ctx, func(ctx context.Context) error {
		return b.lookedAt(ctx, "dynamographdeployment", b.options.Deployments)
	})
	if err != nil {
		return err
	}
	restarted.Pods = made.Pods
	report.Restarts = append(report.Restarts, restarted)
	return b.start(ctx, report, b.options.Deployments)
}

func (b *deploymentsBench) memory() (now, most float64, err error) {
	resident, peak, err := memoryOf(b.cluster.PID(b.measured.program))
	return mebibytes(resident), mebibytes(peak), err
}

// Started is how long a deployment took from the request until its pods were there, and until none of them had a gate of Grove's.
type Started struct {
	Beside  int       `json:"besideDeployments"`
	Created []float64 `json:"createdSeconds"`
	Ungated []float64 `json:"ungatedSeconds"`
}

// start creates a deployment and deletes it, several times, each after everything has come to rest.
func (b *deploymentsBench) start(ctx context.Context, report *DeploymentsReport, beside int) error {
	start := Started{Beside: beside}
	exist, _, _ := b.pods.count()
	for i := range b.options.Repeats {
		name := fmt.Sprintf("start-%d-%d", beside, i)
		step, err := b.step(ctx, name, exist+b.options.Services, func() error {
			began := time.Now()
			if err := b.createDeployment(ctx, name, b.options.Services); err != nil {
				return err
			}
			err := b.until(ctx, "all pods are there", func(context.Context) (bool, string, error) {
				there, _, _ := b.pods.count()
				return there == exist+b.options.Services, fmt.Sprintf("%d of %d", there-exist, b.options.Services), nil
			})
			start.Created = append(start.Created, b.pods.last().Sub(began).Seconds())
			return err
		})
		if err != nil {
			return err
		}
		start.Ungated = append(start.Ungated, step.Seconds)
		report.Steps = append(report.Steps, step)
		if err := b.deleteDeployment(ctx, name); err != nil {
			return err
		}
		err = b.until(ctx, "its pods are gone", func(context.Context) (bool, string, error) {
			there, _, _ := b.pods.count()
			return there == exist, fmt.Sprintf("%d are left", there-exist), nil
		})
		if err != nil {
			return err
		}
		if _, err := b.settle(ctx); err != nil {
			return err
		}
	}
	report.Starts = append(report.Starts, start)
	return nil
}

func (b *deploymentsBench) deleteDeployment(ctx context.Context, name string) error {
	err := b.kai.NvidiaV1beta1().DynamoGraphDeployments(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil {
		return fmt.Errorf("deleting deployment %s: %w", name, err)
	}
	return nil
}

const podsOfSmallDeployment = 2

// createDeployment creates a deployment of a frontend and workers, of one pod each.
func (b *deploymentsBench) createDeployment(ctx context.Context, name string, services int) error {
	deployment := &dynamov1beta1.DynamoGraphDeployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	deployment.Spec.BackendFramework = dynamov1beta1.BackendFrameworkVLLM
	for i := range services {
		component := dynamov1beta1.ComponentSpec{Name: fmt.Sprintf("Worker%d", i), Type: "worker"}
		main := corev1.Container{Name: "main", Image: "none", Command: []string{"python3"}, Args: []string{"-m", "dynamo.vllm", "--model", "none"}}
		if i == 0 {
			component.Name, component.Type = "Frontend", "frontend"
			main = corev1.Container{Name: "main", Image: "none"}
		}
		component.PodTemplate.Spec.Containers = []corev1.Container{main}
		deployment.Spec.Components = append(deployment.Spec.Components, component)
	}
	_, err := b.kai.NvidiaV1beta1().DynamoGraphDeployments(namespace).Create(ctx, deployment, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating deployment %s: %w", name, err)
	}
	return nil
}
