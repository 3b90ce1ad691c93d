package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	dynamov1beta1 "packtree.dev/shared/api/dynamo/v1beta1"
)

const deploymentsExplanation = `Brings up a dev cluster with dynamo-operator and grove-operator and no scheduler, so
that no pod gets a node after its gate is removed.

First one deployment of several services, of a pod each, is created and deleted several times, alone in the cluster: the
clock runs from the request until the last pod is there. Then many small deployments are created, a frontend and a
worker each, and when both operators have come to rest nothing happens: what is written, what dynamo-operator computes,
and its memory. Then it is started anew beside them, and in the end the first deployment is created again beside them.

Steps are timed until the last pod has lost Grove's gate; AT REST is when both operators have nothing left to do. CPU
and reconciles are those of dynamo-operator. WRITTEN is what the API server counted, for all programs, without leases
and nodes.`

// deploymentsOptions choose the measurements of dynamo-operator; the flags say what they mean.
type deploymentsOptions struct {
	common
	Deployments, Services, Repeats int
	Quiet                          time.Duration
}

func deploymentsCommand() *cobra.Command {
	o := deploymentsOptions{}
	command := measurement(cobra.Command{
		Use: "deployments", Short: "Measure dynamo-operator: start of a deployment, writes, memory",
		Long: deploymentsExplanation,
	}, &o.common, func(ctx context.Context) (report, error) { return measureDeployments(ctx, o) })
	flags := command.Flags()
	flags.IntVar(&o.Deployments, "deployments", 500, "small deployments; 0 leaves them out")
	flags.IntVar(&o.Services, "services", 10, "services of the deployment whose start is measured")
	flags.IntVar(&o.Repeats, "repeats", 5, "how often that is created")
	flags.DurationVar(&o.Quiet, "quiet", time.Minute, "how long the steady state is looked at")
	return command
}

// measureDeployments brings up a dev cluster with dynamo-operator and grove-operator and no scheduler, measures, and
// takes it down again.
func measureDeployments(ctx context.Context, o deploymentsOptions) (*operatorReport, error) {
	return o.observe(ctx, podsOfSets(), func(ctx context.Context, seen *observed) error {
		return (&deploymentsBench{observed: seen, options: o}).measure(ctx)
	}, dynamoOperator, groveOperator)
}

// deploymentsBench is the cluster for measurements of dynamo-operator.
type deploymentsBench struct {
	*observed
	options deploymentsOptions
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
