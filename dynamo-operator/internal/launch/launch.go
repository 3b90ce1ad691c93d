// Package launch makes one inference engine out of the pods of a multinode replica: it adds the flags to each pod's
// command by which the framework's processes find one another.
package launch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/shared/api/dynamo/v1beta1"
)

// Node is one pod of a replica, with the addresses of the others. Addresses and the rank may refer to environment
// variables of the pod as $(NAME).
type Node struct {
	// Leader is true for the one pod that the others join.
	Leader bool
	// Count is the number of pods of the replica.
	Count int32
	// LeaderAddress is the host name of the leader.
	LeaderAddress string
	// WorkerAddress is the host name of a worker. Workers are counted from 0, in the order of their ranks.
	WorkerAddress func(index int32) string
	// RankVariable is the environment variable of a worker that counts the workers from 0. The leader's rank is 0, and
	// a worker's rank is this number plus one.
	RankVariable string
	// Executor starts the ranks of a model with vLLM: ray, or mp for vLLM's own processes. Empty means the executor in
	// the command, or else mp.
	Executor string
}

func (n Node) rank() string {
	if n.Leader {
		return "0"
	}
	return fmt.Sprintf("$((%s + 1))", n.RankVariable)
}

// Framework is the framework that a container's command starts: the declared one, or else the one with its module or
// program in the command; empty if there is none.
func Framework(declared v1beta1.BackendFramework, container *corev1.Container) v1beta1.BackendFramework {
	if declared != "" {
		return declared
	}
	line := strings.Join(slices.Concat(container.Command, container.Args), " ")
	for _, framework := range []v1beta1.BackendFramework{
		v1beta1.BackendFrameworkVLLM, v1beta1.BackendFrameworkSGLang, v1beta1.BackendFrameworkTRTLLM,
	} {
		if modules[framework].MatchString(line) {
			return framework
		}
	}
	return ""
}

// modules match the start of a framework, up to the end of the module's name: python3 -m dynamo.vllm, vllm serve.
var modules = map[v1beta1.BackendFramework]*regexp.Regexp{
	v1beta1.BackendFrameworkVLLM:   regexp.MustCompile(`-m\s+[\w.]*\bvllm\b[\w.]*|\bvllm serve\b`),
	v1beta1.BackendFrameworkSGLang: regexp.MustCompile(`-m\s+[\w.]*\bsglang\b[\w.]*`),
	v1beta1.BackendFrameworkTRTLLM: regexp.MustCompile(`-m\s+[\w.]*\b(?:trtllm|tensorrt_llm)\b[\w.]*|\btrtllm-serve\b`),
}

// Configure changes a pod of a multinode replica, and its main container, into one node of the framework's engine.
// Without a framework nothing is changed: the pods have to find one another by themselves.
func Configure(framework v1beta1.BackendFramework, node Node, pod *corev1.PodSpec, main *corev1.Container) {
	switch framework {
	case v1beta1.BackendFrameworkVLLM:
		configureVLLM(node, pod, main)
	case v1beta1.BackendFrameworkSGLang:
		configureSGLang(node, main)
	case v1beta1.BackendFrameworkTRTLLM:
		configureTRTLLM(node, pod, main)
	default:
		return
	}
}

// LeaderStartsLast reports whether the leader has to wait until the workers are ready.
func LeaderStartsLast(framework v1beta1.BackendFramework) bool {
	return framework == v1beta1.BackendFrameworkTRTLLM
}

// Fits reports whether all ranks that a container's command starts fit into one node, so that each pod becomes an
// engine of its own. This can be read from vLLM's command only.
func Fits(framework v1beta1.BackendFramework, container *corev1.Container, nodes int32) bool {
	model, data, local := vllmRanks(container, nodes)
	return framework == v1beta1.BackendFrameworkVLLM && model*data <= local && !hasFlag(words(container), elasticFlag)
}

// Takes reports whether a framework's flags can be added to a container's command.
func Takes(framework v1beta1.BackendFramework, container *corev1.Container) bool {
	if startsPython(container) {
		return true
	}
	if framework == v1beta1.BackendFrameworkTRTLLM {
		return len(container.Command)+len(container.Args) > 0
	}
	_, _, found := moduleLine(framework, container)
	return found
}

// dropProbes removes the probes of a pod that serves nothing itself.
func dropProbes(container *corev1.Container) {
	container.LivenessProbe, container.ReadinessProbe, container.StartupProbe = nil, nil, nil
}
