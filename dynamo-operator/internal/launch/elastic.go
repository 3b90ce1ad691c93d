package launch

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// elasticFlag lets the number of data parallel ranks change while vLLM serves; Ray starts and stops them.
const elasticFlag = "--enable-elastic-ep"

const (
	systemPort = 9090
	// rayTries and liveTries bound how long a pod waits for the head of Ray's cluster, and for a model that loads.
	rayTries, liveTries = 150, 720
)

// rayHead starts the head of Ray's cluster, and then waits until the head listens.
func rayHead(options string) string {
	return fmt.Sprintf(`ray start --head --port=%s%s --block & %s`, rayPort, options,
		retried(`python3 -c "import socket; socket.create_connection(('127.0.0.1', `+rayPort+`), timeout=1).close()"`,
			rayTries, 2, "the head of the Ray cluster does not listen"))
}

// retried is a shell loop that ends with the first success of a command, or ends the script after so many failures.
func retried(command string, tries, seconds int, complaint string) string {
	return fmt.Sprintf(
		`i=0; until %s 2>/dev/null; do i=$((i+1)); [ "$i" -lt %d ] || { echo "%s" >&2; exit 1; }; sleep %d; done`,
		command, tries, complaint, seconds)
}

// configureElastic starts the engine on the leader alone. The workers join the cluster once the leader is alive:
// earlier nodes would be given ranks that the command does not ask for.
func configureElastic(node Node, main *corev1.Container) {
	if node.Leader {
		runInShell(main, rayHead("")+" && "+shellLine(main))
		return
	}
	live := fmt.Sprintf(`python3 -c "import urllib.request; urllib.request.urlopen('http://%s:%d/live', timeout=5)"`,
		node.LeaderAddress, systemPort)
	runInShell(main, fmt.Sprintf("%s && ray start --address=%s:%s --block",
		retried(live, liveTries, 15, "the leader is not alive"), node.LeaderAddress, rayPort))
}

// ConfigureAlone changes the main container of a pod that is an engine by itself. Only vLLM with elastic ranks started
// by Ray needs a change: a Ray cluster of its own, and its address as a variable. A command that only the image has
// cannot be started by a shell.
func ConfigureAlone(main *corev1.Container) {
	line := words(main)
	if !hasFlag(line, elasticFlag) || valueOf(line, "--data-parallel-backend") != "ray" || len(main.Command) == 0 {
		return
	}
	runInShell(main, rayHead(` --node-ip-address="$POD_IP"`)+" && exec "+shellLine(main))
	addEnv(main, "POD_IP", podIP())
	addEnv(main, "VLLM_DP_MASTER_IP", podIP())
}

func podIP() corev1.EnvVar {
	field := &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}
	return corev1.EnvVar{ValueFrom: &corev1.EnvVarSource{FieldRef: field}}
}

// addEnv adds a variable that the user has not set.
func addEnv(container *corev1.Container, name string, variable corev1.EnvVar) {
	for _, set := range container.Env {
		if set.Name == name {
			return
		}
	}
	variable.Name = name
	container.Env = append(container.Env[:len(container.Env):len(container.Env)], variable)
}
