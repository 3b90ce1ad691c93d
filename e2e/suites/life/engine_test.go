package life_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"packtree.dev/e2e/engine"
	"packtree.dev/shared/freeport"
)

// asEngine in the environment makes the suite's program an engine for a pod, with the rights of the account that it
// names.
const asEngine = "PACKTREE_ENGINE_AS"

// playEngine is the main function of such a process.
func playEngine(account string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err == nil {
		config.Impersonate = rest.ImpersonationConfig{UserName: account}
		err = engine.Run(ctx, os.Getenv, config)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// process is an engine in place of a pod.
type process struct {
	address     string
	environment map[string]string
	log         *log
	command     *exec.Cmd
	once        sync.Once
}

// log has the output of a process so far.
type log struct {
	mutex sync.Mutex
	said  bytes.Buffer
}

func (l *log) Write(bytes []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.said.Write(bytes)
}

func (l *log) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.TrimSpace(l.said.String())
}

// start runs an engine with the environment of a pod's main container, and nothing of this process except the address
// of the cluster.
func start(pod *corev1.Pod) (*process, error) {
	address, err := freeport.Address()
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	made := &process{address: address, environment: environmentOf(pod), log: &log{}, command: exec.Command(program)}
	made.environment["ENGINE_ADDRESS"] = address
	made.environment["KUBECONFIG"] = cluster.Machine.Kubeconfig
	made.environment[asEngine] = "system:serviceaccount:" + pod.Namespace + ":" + pod.Spec.ServiceAccountName
	for name, value := range made.environment {
		made.command.Env = append(made.command.Env, name+"="+value)
	}
	made.command.Stderr = made.log
	return made, made.command.Start()
}

// environmentOf is the environment that a kubelet would make for a pod's main container, with references to the pod
// itself.
func environmentOf(pod *corev1.Pod) map[string]string {
	fields := map[string]string{
		"metadata.name": pod.Name, "metadata.namespace": pod.Namespace, "metadata.uid": string(pod.UID),
		"status.podIP": pod.Status.PodIP,
	}
	environment := map[string]string{}
	for _, container := range pod.Spec.Containers {
		if container.Name != "main" {
			continue
		}
		for _, variable := range container.Env {
			environment[variable.Name] = variable.Value
			if from := variable.ValueFrom; from != nil && from.FieldRef != nil {
				environment[variable.Name] = fields[from.FieldRef.FieldPath]
			}
		}
	}
	return environment
}

// stop ends the process and waits for that.
func (p *process) stop() {
	p.once.Do(func() {
		_ = p.command.Process.Signal(syscall.SIGTERM)
		_ = p.command.Wait() // How it ends does not matter: the pod is gone.
	})
}
