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

// executorFlag names the executor that starts the ranks of one model: vLLM's own processes or Ray.
const executorFlag = "--distributed-executor-backend"

// vllmRanks counts the ranks of a vLLM command: those of one model, by tensor and pipeline parallelism; how many models
// share the data; and how many ranks run on a node.
func vllmRanks(main *corev1.Container, nodes int32) (model, data, local int64) {
	line := words(main)
	model = number(line, "--tensor-parallel-size") * number(line, "--pipeline-parallel-size")
	data = number(line, "--data-parallel-size")
	return model, data, ranksOnNode(main, model*data, nodes)
}

// configureVLLM spans one model over the nodes if its tensor and pipeline parallel ranks need more GPUs than a
// container has, or else the data parallel ranks if these do. With fewer ranks each pod is an engine of its own.
// Elastic data parallel ranks need a cluster of Ray's.
func configureVLLM(node Node, pod *corev1.PodSpec, main *corev1.Container) {
	// A pod with RDMA has more than one address; it has to publish one that the other pods can reach.
	addEnv(main, "VLLM_NIXL_SIDE_CHANNEL_HOST", podIP())
	model, data, local := vllmRanks(main, node.Count)
	switch {
	case model > local && usesRay(node, main):
		configureRay(node, main)
	case model > local:
		if !node.Leader {
			waitForLeader(node, pod, main)
		}
		addFlags(v1beta1.BackendFrameworkVLLM, main, mpFlags(node))
	case hasFlag(words(main), elasticFlag):
		configureElastic(node, main)
	case data*model > local:
		addFlags(v1beta1.BackendFrameworkVLLM, main, dataParallelFlags(node, modelsOnNode(main, max(local/model, 1))))
	}
	if !node.Leader {
		dropProbes(main)
	}
}

// waitForLeader holds a worker until the leader listens: an earlier start would fail and be repeated, over and over.
func waitForLeader(node Node, pod *corev1.PodSpec, main *corev1.Container) {
	port := valueOf(words(main), "--master-port")
	if port == "" {
		port = vllmMasterPort
	}
	pod.InitContainers = append(pod.InitContainers, corev1.Container{
		Name: WaitForLeader, Image: main.Image, ImagePullPolicy: main.ImagePullPolicy,
		Command: []string{"bash", "-c", waitScript, "wait", node.LeaderAddress, port},
	})
}

// WaitForLeader is the name of the container that holds a worker until the leader listens.
const WaitForLeader = "wait-for-leader-mp"

const waitScript = `until (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null; ` +
	`do echo "the leader does not listen yet at $1:$2"; sleep 5; done`

func usesRay(node Node, main *corev1.Container) bool {
	if node.Executor == "" {
		return valueOf(words(main), executorFlag) == "ray"
	}
	return node.Executor == "ray"
}

// modelsOnNode is how many data parallel ranks a node serves: the number in the command, or else as many as the node
// has room for.
func modelsOnNode(main *corev1.Container, room int64) int64 {
	const local = "--data-parallel-size-local"
	if line := words(main); hasFlag(line, local) {
		return number(line, local)
	}
	return room
}

func mpFlags(node Node) []flag {
	flags := []flag{
		{executorFlag, "mp"},
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

// dataParallelFlags make every node serve its own ranks, local of them, behind one address each.
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
	addFlags(v1beta1.BackendFrameworkVLLM, main, []flag{{executorFlag, "ray"}})
	runBefore(main, "ray start --head --port="+rayPort)
}
