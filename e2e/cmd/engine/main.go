// The command engine is an inference engine in miniature: see package engine. It runs in a pod of a
// DynamoGraphDeployment, as frontend or worker by its environment. In a pod it has the rights of the pod's account;
// elsewhere it uses KUBECONFIG.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	ctrl "sigs.k8s.io/controller-runtime"

	"packtree.dev/e2e/engine"
)

// environment is the program's, with the pod's own address, which a pod's manifest need not set.
func environment(name string) string {
	if value := os.Getenv(name); value != "" || name != "POD_IP" {
		return value
	}
	return engine.OwnAddress()
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "engine: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	return engine.Run(ctx, environment, config)
}
