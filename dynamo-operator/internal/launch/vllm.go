package launch

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/shared/api/dynamo/v1beta1"
)

const (
	vllmMasterPort       = "29500"
	vllmDataParallelPort = "13445"
	rayPort              = "6379"
)

// vllmRanks are the ranks of a vLLM command: those of one model, by tensor and pipeline parallelism, how many models
// share the data, and how many ranks a container has GPUs for.
func vllmRanks(main *corev1.Container) (model, data, local int64) {
	line := words(main)
	model = number(line, "--tensor-parallel-size", "-tp") * number(line, "--pipeline-parallel-size", "-pp")
	return model, number(line, "--data-parallel-size", "-dp"), max(gpus(main), 1)
}

// configureVLLM spans one model over the nodes where its tensor and pipeline parallel ranks need more GPUs than a
// container has, else the data parallel ranks where those do. With fewer ranks each pod is an engine of its own.
func configureVLLM(node Node, main *corev1.Container) {
	model, data, local := vllmRanks(main)
	switch {
	case model > local && node.Ray:
		configureRay(node, main)
	case model > local:
		addFlags(v1beta1.BackendFrameworkVLLM, main, mpFlags(node))
	case data*model > local:
		addFlags(v1beta1.BackendFrameworkVLLM, main, dataParallelFlags(node, max(local/model, 1)))
	}
	if !node.Leader {
		dropProbes(main)
	}
}

func mpFlags(node Node) []flag {
	flags := []flag{
		{"--distributed-executor-backend", "mp"},
		{"--nnodes", strconv.Itoa(int(node.Count))},
		{"--master-addr", node.LeaderAddress},
		{"--master-port", vllmMasterPort},
		{"--node-rank", node.rank()},
	}
	if !node.Leader {
		flags = append(flags, flag{"--headless", ""})
	}
	return flags
}

// dataParallelFlags let every node serve its own ranks, local of them, behind one address each.
func dataParallelFlags(node Node, local int64) []flag {
	start := "0"
	if !node.Leader {
		start = fmt.Sprintf("$((%d * (%s + 1)))", local, node.RankVariable)
	}
	return []flag{
		{"--data-parallel-hybrid-lb", ""},
		{"--data-parallel-size-local", strconv.FormatInt(local, 10)},
		{"--data-parallel-start-rank", start},
		{"--data-parallel-address", node.LeaderAddress},
		{"--data-parallel-rpc-port", vllmDataParallelPort},
	}
}

// configureRay starts Ray everywhere and the engine on the leader, which spreads it over the workers.
func configureRay(node Node, main *corev1.Container) {
	if !node.Leader {
		runInShell(main, fmt.Sprintf("ray start --address=%s:%s --block", node.LeaderAddress, rayPort))
		return
	}
	executor := "--distributed-executor-backend"
	if hasFlag(words(main), executor) {
		runInShell(main, fmt.Sprintf("ray start --head --port=%s && %s", rayPort, shellLine(main)))
		return
	}
	runInShell(main, fmt.Sprintf("ray start --head --port=%s && %s %s ray", rayPort, shellLine(main), executor))
}
