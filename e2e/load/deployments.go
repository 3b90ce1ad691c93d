package load

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	dynamov1beta1 "packtree.dev/shared/api/dynamo/v1beta1"
)

// DeploymentsOptions choose the measurements of dynamo-operator.
type DeploymentsOptions struct {
	Common
	// Deployments is how many exist, with a frontend and a worker each; 0 leaves these measurements out.
	Deployments int
	// Services is how many services, with one pod each, the deployment has whose start is measured.
	Services int
	// Repeats is how often it is started, both alone and beside the others.
	Repeats int
	// Quiet is how long the steady state is measured.
	Quiet time.Duration
}

// MeasureDeployments brings up a dev cluster with dynamo-operator and grove-operator and no scheduler, measures, and
// takes it down again.
func MeasureDeployments(ctx context.Context, o DeploymentsOptions) (*OperatorReport, error) {
	return o.observe(ctx, map[string]any{}, podsOfSets(), func(ctx context.Context, seen *observed) error {
		return (&deploymentsBench{observed: seen, options: o}).measure(ctx)
	}, dynamoOperator, groveOperator)
}

// deploymentsBench is the cluster for measurements of dynamo-operator.
type deploymentsBench struct {
	*observed
	options DeploymentsOptions
}

func (b *deploymentsBench) measure(ctx context.Context) error {
	if _, err := b.settle(ctx); err != nil {
		return err
	}
	if err := b.starts(ctx, 0); err != nil || b.options.Deployments == 0 {
		return err
	}
	standing := make([]*dynamov1beta1.DynamoGraphDeployment, b.options.Deployments)
	for i := range standing {
		standing[i] = deploymentOf(fmt.Sprintf("standing-%04d", i), podsOfSmallDeployment)
	}
	create := func() error { return createAll(ctx, b.bench, standing) }
	if err := b.step(ctx, "created", create, b.are(len(standing)*podsOfSmallDeployment)); err != nil {
		return err
	}
	if err := b.rest(ctx, b.options.Quiet); err != nil {
		return err
	}
	if err := b.startAnew(ctx, "restarted", "dynamographdeployment", b.options.Deployments); err != nil {
		return err
	}
	return b.starts(ctx, b.options.Deployments)
}

// starts creates a deployment and deletes it, several times, each time after everything has come to rest.
func (b *deploymentsBench) starts(ctx context.Context, beside int) error {
	exist := b.pods.count()
	for i := range b.options.Repeats {
		deployment := deploymentOf(fmt.Sprintf("start-%d-%d", beside, i), b.options.Services)
		create := func() error { return b.Create(ctx, deployment) }
		if err := b.step(ctx, fmt.Sprintf("start beside %d", beside), create,
			b.are(exist+b.options.Services)); err != nil {
			return err
		}
		if err := b.Delete(ctx, deployment); err != nil {
			return fmt.Errorf("deleting deployment %s: %w", deployment.Name, err)
		}
		if _, err := b.are(exist)(ctx); err != nil {
			return err
		}
		if _, err := b.settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

const podsOfSmallDeployment = 2

// deploymentOf is a deployment of a frontend and workers, of one pod each.
func deploymentOf(name string, services int) *dynamov1beta1.DynamoGraphDeployment {
	deployment := &dynamov1beta1.DynamoGraphDeployment{ObjectMeta: named(name)}
	deployment.Spec.BackendFramework = dynamov1beta1.BackendFrameworkVLLM
	for i := range services {
		component := dynamov1beta1.ComponentSpec{Name: fmt.Sprintf("Worker%d", i), Type: "worker"}
		main := corev1.Container{Name: "main", Image: "none", Command: []string{"python3"},
			Args: []string{"-m", "dynamo.vllm", "--model", "none"}}
		if i == 0 {
			component.Name, component.Type = "Frontend", "frontend"
			main = corev1.Container{Name: "main", Image: "none"}
		}
		component.PodTemplate.Spec.Containers = []corev1.Container{main}
		deployment.Spec.Components = append(deployment.Spec.Components, component)
	}
	return deployment
}
