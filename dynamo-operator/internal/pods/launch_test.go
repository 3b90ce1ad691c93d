package pods_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"packtree.dev/dynamo-operator/internal/launch"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

const mp = "--distributed-executor-backend mp --nnodes 2 --master-addr leader --master-port 29500"

func TestCommands(t *testing.T) {
	for name, c := range map[string]struct {
		framework     v1beta1.BackendFramework
		command, args []string
		gpus          string
		executor      string
		// The whole command lines; a space stands between the elements.
		leader, worker []string
	}{
		"tensor parallel ranks beyond a container's GPUs": {
			command: []string{"python3"}, args: []string{"-m", "dynamo.vllm", "--tensor-parallel-size", "16"},
			gpus: "8",
			leader: []string{"python3", "-m", "dynamo.vllm", "--tensor-parallel-size", "16",
				"--distributed-executor-backend", "mp", "--nnodes", "2", "--master-addr", "leader",
				"--master-port", "29500",
				"--node-rank", "0"},
			worker: []string{"sh", "-c",
				"exec python3 -m dynamo.vllm --tensor-parallel-size 16 " + mp +
					" --node-rank $((INDEX + 1)) --headless"},
		},
		"pipeline times tensor parallel, in short flags with =": {
			command: []string{"python3.12", "-m", "dynamo.vllm", "-tp=8", "-pp=2"}, gpus: "8",
			leader: []string{"python3.12", "-m", "dynamo.vllm", "-tp=8", "-pp=2",
				"--distributed-executor-backend", "mp", "--nnodes", "2", "--master-addr", "leader",
				"--master-port", "29500",
				"--node-rank", "0"},
			worker: []string{"sh", "-c",
				"exec python3.12 -m dynamo.vllm -tp=8 -pp=2 " + mp + " --node-rank $((INDEX + 1)) --headless"},
		},
		"words that a shell would change are quoted": {
			command: []string{"python3"},
			args:    []string{"-m", "dynamo.vllm", "-tp", "16", "--config", `{"a": "it's"}`, "--model", "$(MODEL)"},
			gpus:    "8",
			leader: []string{"python3", "-m", "dynamo.vllm", "-tp", "16", "--config", `{"a": "it's"}`,
				"--model", "$(MODEL)",
				"--distributed-executor-backend", "mp", "--nnodes", "2", "--master-addr", "leader",
				"--master-port", "29500",
				"--node-rank", "0"},
			worker: []string{"sh", "-c",
				`exec python3 -m dynamo.vllm -tp 16 --config '{"a": "it'\''s"}' --model '$(MODEL)' ` + mp +
					" --node-rank $((INDEX + 1)) --headless"},
		},
		"a line of shell gets the flags behind the module": {
			command: []string{"/bin/sh", "-c"},
			args:    []string{"source env && python3 -m dynamo.vllm -tp 16 2>&1 | tee log"},
			gpus:    "8",
			leader: []string{"/bin/sh", "-c",
				"source env && python3 -m dynamo.vllm " + mp + " --node-rank 0 -tp 16 2>&1 | tee log"},
			worker: []string{"/bin/sh", "-c",
				"source env && python3 -m dynamo.vllm " + mp +
					" --node-rank $((INDEX + 1)) --headless -tp 16 2>&1 | tee log"},
		},
		"a word of shell ends at an operator, and where its line is continued": {
			command: []string{"sh", "-c"}, args: []string{"python3 -m dynamo.vllm -pp 2\\\n -tp 8; sleep 1"}, gpus: "8",
			leader: []string{"sh", "-c", "python3 -m dynamo.vllm " + mp + " --node-rank 0 -pp 2\\\n -tp 8; sleep 1"},
			worker: []string{"sh", "-c",
				"python3 -m dynamo.vllm " + mp + " --node-rank $((INDEX + 1)) --headless -pp 2\\\n -tp 8; sleep 1"},
		},
		"an image's own entrypoint stays in front": {
			args: []string{"python3", "-m", "dynamo.vllm", "-tp", "16"}, gpus: "8",
			leader: []string{"python3", "-m", "dynamo.vllm", "-tp", "16",
				"--distributed-executor-backend", "mp", "--nnodes", "2", "--master-addr", "leader",
				"--master-port", "29500",
				"--node-rank", "0"},
			worker: []string{"sh", "-c", "exec python3 -m dynamo.vllm -tp 16 " + mp +
				" --node-rank $((INDEX + 1)) --headless"},
		},
		"flags of the user's stay the user's": {
			command: []string{"python3"}, args: []string{"-m", "dynamo.vllm", "-tp", "16", "--master-port=1",
				"--nnodes", "2"},
			gpus: "8",
			leader: []string{"python3", "-m", "dynamo.vllm", "-tp", "16", "--master-port=1", "--nnodes", "2",
				"--distributed-executor-backend", "mp", "--master-addr", "leader", "--node-rank", "0"},
			worker: []string{"sh", "-c",
				"exec python3 -m dynamo.vllm -tp 16 --master-port=1 --nnodes 2 --distributed-executor-backend mp --master-addr " +
					"leader --node-rank $((INDEX + 1)) --headless"},
		},
		"ray": {
			command: []string{"python3"}, args: []string{"-m", "dynamo.vllm", "-tp", "16"}, gpus: "8", executor: "ray",
			leader: []string{"sh", "-c",
				"ray start --head --port=6379 && python3 -m dynamo.vllm -tp 16 --distributed-executor-backend ray"},
			worker: []string{"sh", "-c", "ray start --address=leader:6379 --block"},
		},
		"ray in front of a line of shell, in that shell": {
			command: []string{"/bin/bash", "-lc"},
			args:    []string{"source env && python3 -m dynamo.vllm -tp 16 2>&1 | tee log"},
			gpus:    "8", executor: "ray",
			leader: []string{"/bin/bash", "-lc",
				"ray start --head --port=6379 && source env && python3 -m dynamo.vllm --distributed-executor-backend ray -tp 16 " +
					"2>&1 | tee log"},
			worker: []string{"sh", "-c", "ray start --address=leader:6379 --block"},
		},
		"ray because the command says so": {
			command: []string{"python3"}, args: []string{"-m", "dynamo.vllm", "-tp", "16",
				"--distributed-executor-backend=ray"},
			gpus: "8",
			leader: []string{"sh", "-c",
				"ray start --head --port=6379 && python3 -m dynamo.vllm -tp 16 --distributed-executor-backend=ray"},
			worker: []string{"sh", "-c", "ray start --address=leader:6379 --block"},
		},
		"the annotation is asked before the command": {
			command: []string{"python3"}, args: []string{"-m", "dynamo.vllm", "-tp", "16",
				"--distributed-executor-backend=ray"},
			gpus: "8", executor: "mp",
			leader: []string{"python3", "-m", "dynamo.vllm", "-tp", "16", "--distributed-executor-backend=ray",
				"--nnodes", "2", "--master-addr", "leader", "--master-port", "29500", "--node-rank", "0"},
			worker: []string{"sh", "-c",
				"exec python3 -m dynamo.vllm -tp 16 --distributed-executor-backend=ray --nnodes 2 --master-addr leader " +
					"--master-port 29500 --node-rank $((INDEX + 1)) --headless"},
		},
		"flags as vLLM reads them too: underscores and short names": {
			command: []string{"python3"},
			args: []string{"-m", "dynamo.vllm", "--tensor_parallel_size", "8", "--pipeline_parallel_size=2",
				"--master_port=1", "--nnodes", "2"}, gpus: "8",
			leader: []string{"python3", "-m", "dynamo.vllm", "--tensor_parallel_size", "8",
				"--pipeline_parallel_size=2", "--master_port=1", "--nnodes", "2",
				"--distributed-executor-backend", "mp", "--master-addr", "leader", "--node-rank", "0"},
			worker: []string{"sh", "-c",
				"exec python3 -m dynamo.vllm --tensor_parallel_size 8 --pipeline_parallel_size=2 --master_port=1 --nnodes 2 " +
					"--distributed-executor-backend mp --master-addr leader --node-rank $((INDEX + 1)) --headless"},
		},
		"fewer data parallel ranks on a node than its GPUs": {
			command: []string{"python3"}, args: []string{"-m", "dynamo.vllm", "-dp=8", "-dpl", "4"}, gpus: "4",
			leader: []string{"python3", "-m", "dynamo.vllm", "-dp=8", "-dpl", "4", "--data-parallel-hybrid-lb",
				"--data-parallel-start-rank", "0", "--data-parallel-address", "leader",
				"--data-parallel-rpc-port", "13445"},
			worker: []string{"sh", "-c",
				"exec python3 -m dynamo.vllm -dp=8 -dpl 4 --data-parallel-hybrid-lb --data-parallel-start-rank $((4 * (INDEX + " +
					"1))) --data-parallel-address leader --data-parallel-rpc-port 13445"},
		},
		"GPUs that are claimed, not counted: the ranks are spread over the nodes": {
			command: []string{"python3"}, args: []string{"-m", "dynamo.vllm", "--data-parallel-size", "8"},
			leader: []string{"python3", "-m", "dynamo.vllm", "--data-parallel-size", "8", "--data-parallel-hybrid-lb",
				"--data-parallel-size-local", "4",
				"--data-parallel-start-rank", "0", "--data-parallel-address", "leader",
				"--data-parallel-rpc-port", "13445"},
			worker: []string{"sh", "-c",
				"exec python3 -m dynamo.vllm --data-parallel-size 8 --data-parallel-hybrid-lb --data-parallel-size-local 4 " +
					"--data-parallel-start-rank $((4 * (INDEX + 1))) --data-parallel-address leader --data-parallel-rpc-port 13445"},
		},
		"the same for one model": {
			command: []string{"python3"}, args: []string{"-m", "dynamo.vllm", "-tp=2"},
			leader: []string{"python3", "-m", "dynamo.vllm", "-tp=2", "--distributed-executor-backend", "mp",
				"--nnodes", "2", "--master-addr", "leader", "--master-port", "29500", "--node-rank", "0"},
			worker: []string{"sh", "-c", "exec python3 -m dynamo.vllm -tp=2 " + mp +
				" --node-rank $((INDEX + 1)) --headless"},
		},
		"what others in the shell get is no flag of the framework's": {
			command: []string{"sh", "-c"}, args: []string{"echo -n x && python3 -m dynamo.vllm -tp 16"}, gpus: "8",
			leader: []string{"sh", "-c", "echo -n x && python3 -m dynamo.vllm " + mp + " --node-rank 0 -tp 16"},
			worker: []string{"sh", "-c",
				"echo -n x && python3 -m dynamo.vllm " + mp + " --node-rank $((INDEX + 1)) --headless -tp 16"},
		},
		"data parallel ranks beyond one node": {
			command: []string{"python3"}, args: []string{"-m", "dynamo.vllm", "--data-parallel-size", "16", "-tp", "1"},
			gpus: "8",
			leader: []string{"python3", "-m", "dynamo.vllm", "--data-parallel-size", "16", "-tp", "1",
				"--data-parallel-hybrid-lb",
				"--data-parallel-size-local", "8", "--data-parallel-start-rank", "0",
				"--data-parallel-address", "leader",
				"--data-parallel-rpc-port", "13445"},
			worker: []string{"sh", "-c",
				"exec python3 -m dynamo.vllm --data-parallel-size 16 -tp 1 --data-parallel-hybrid-lb --data-parallel-size-local " +
					"8 --data-parallel-start-rank $((8 * (INDEX + 1))) --data-parallel-address leader --data-parallel-rpc-port 13445"},
		},
		"ranks that fit into one node need no flags": {
			command: []string{"python3"}, args: []string{"-m", "dynamo.vllm", "-tp", "8"}, gpus: "8",
			leader: []string{"python3", "-m", "dynamo.vllm", "-tp", "8"},
			worker: []string{"python3", "-m", "dynamo.vllm", "-tp", "8"},
		},
		"sglang": {
			framework: v1beta1.BackendFrameworkSGLang,
			command:   []string{"python3"}, args: []string{"-m", "dynamo.sglang", "--tp", "16"}, gpus: "8",
			leader: []string{"python3", "-m", "dynamo.sglang", "--tp", "16", "--dist-init-addr", "leader:29500",
				"--nnodes", "2", "--node-rank", "0"},
			worker: []string{"sh", "-c",
				"exec python3 -m dynamo.sglang --tp 16 --dist-init-addr leader:29500 --nnodes 2 --node-rank $((INDEX + 1))"},
		},
		"nothing that is known": {
			command: []string{"./start"}, leader: []string{"./start"}, worker: []string{"./start"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, role := range []struct {
				leader bool
				want   []string
			}{{true, c.leader}, {false, c.worker}} {
				main := container(c.command, c.args, c.gpus)
				node := launch.Node{Leader: role.leader, Count: 2, LeaderAddress: "leader", WorkerAddress: unasked(t),
					RankVariable: "INDEX", Executor: c.executor}
				launch.Configure(launch.Framework(c.framework, main), node, &corev1.PodSpec{}, main)
				assert.Empty(t, cmp.Diff(role.want, append(append([]string{}, main.Command...), main.Args...)),
					"leader %v (-want +got)", role.leader)
			}
		})
	}
}

func TestOnlyTheLeaderIsProbed(t *testing.T) {
	for _, framework := range []v1beta1.BackendFramework{v1beta1.BackendFrameworkVLLM, v1beta1.BackendFrameworkSGLang} {
		for _, leader := range []bool{true, false} {
			main := container([]string{"python3"}, nil, "8")
			launch.Configure(framework, launch.Node{Leader: leader, Count: 2}, &corev1.PodSpec{}, main)
			assert.Equal(t, leader, main.LivenessProbe != nil && main.ReadinessProbe != nil && main.StartupProbe != nil,
				"%s leader", framework)
		}
	}
}

func TestTRTLLM(t *testing.T) {
	configure := func(leader bool) (*corev1.PodSpec, *corev1.Container) {
		pod, main := &corev1.PodSpec{},
			container([]string{"python3"}, []string{"-m", "dynamo.trtllm", "--model", "a b"}, "4")
		main.Env = []corev1.EnvVar{{Name: "HF_TOKEN"}, {Name: "PATH"}}
		node := launch.Node{Leader: leader, Count: 3, LeaderAddress: "ldr",
			WorkerAddress: func(index int32) string { return fmt.Sprintf("w%d", index) }}
		if !leader {
			node.WorkerAddress = unasked(t)
		}
		launch.Configure(v1beta1.BackendFrameworkTRTLLM, node, pod, main)
		return pod, main
	}
	t.Run("the leader starts a process for every GPU", func(t *testing.T) {
		pod, main := configure(true)
		want :=
			`mpirun --allow-run-as-root -n 12 -H ldr:4,w0:4,w1:4 --mca pml ob1 --mca plm_rsh_args "-p 2222 -o StrictHostKeyChecking=no -i $HOME/.ssh/id_rsa" ` +
				`-x HF_TOKEN -x PATH ${LD_LIBRARY_PATH:+-x LD_LIBRARY_PATH} ${PYTHONPATH:+-x PYTHONPATH} ${CUDA_HOME:+-x CUDA_HOME} ` +
				`trtllm-llmapi-launch python3 -m dynamo.trtllm --model 'a b'`
		assert.Equal(t, want, lastStep(main))
		assert.Equal(t, int32(0o444), *pod.Volumes[0].Secret.DefaultMode, "a container that does not run as root reads the keys")
		assert.Equal(t, launch.SSHSecret, pod.Volumes[0].Secret.SecretName)
		assert.Equal(t, "/ssh-pk", main.VolumeMounts[0].MountPath)
		assert.Nil(t, main.ReadinessProbe.TCPSocket, "the leader keeps its probes")
		assert.NotNil(t, main.LivenessProbe, "the leader keeps its probes")
	})
	t.Run("GPUs that are claimed, not counted, are as many as there are ranks for a node", func(t *testing.T) {
		main := container([]string{"trtllm-serve"}, []string{"model", "--tp_size", "4", "--pp_size=2"}, "")
		node := launch.Node{Leader: true, Count: 2, LeaderAddress: "ldr",
			WorkerAddress: func(int32) string { return "w" }}
		launch.Configure(v1beta1.BackendFrameworkTRTLLM, node, &corev1.PodSpec{}, main)
		assert.Contains(t, lastStep(main), " -n 8 -H ldr:4,w:4 ")
	})
	t.Run("a worker serves the leader", func(t *testing.T) {
		_, main := configure(false)
		assert.Equal(t, "exec /usr/sbin/sshd -D -e -f ~/.ssh/sshd_config", lastStep(main))
		assert.Equal(t, 2222, main.ReadinessProbe.TCPSocket.Port.IntValue(), "probes are %v", main.ReadinessProbe)
		assert.Nil(t, main.LivenessProbe, "probes are %v", main.ReadinessProbe)
		assert.Nil(t, main.StartupProbe, "probes are %v", main.ReadinessProbe)
	})
	assert.True(t, launch.LeaderStartsLast(v1beta1.BackendFrameworkTRTLLM),
		"the leader has to wait for the workers' SSH servers")
}

func TestFramework(t *testing.T) {
	for name, c := range map[string]struct {
		declared v1beta1.BackendFramework
		line     string
		want     v1beta1.BackendFramework
	}{
		"the declared one wins":       {"sglang", "python3 -m dynamo.vllm", "sglang"},
		"a module of dynamo's":        {"", "python3 -m dynamo.trtllm --model x", "trtllm"},
		"a module of the framework's": {"", "python3 -m sglang.launch_server", "sglang"},
		"a program":                   {"", "vllm serve model", "vllm"},
		"a model's name is no module": {"", "python3 -m dynamo.frontend --model vllm", ""},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, launch.Framework(c.declared, &corev1.Container{Args: []string{c.line}}))
		})
	}
}

// unasked is for pods that need no addresses of workers: there can be very many.
func unasked(t *testing.T) func(int32) string {
	return func(index int32) string {
		t.Errorf("asked for the address of worker %d", index)
		return ""
	}
}

func container(command, args []string, gpus string) *corev1.Container {
	probe := corev1.Probe{PeriodSeconds: 1}
	main := &corev1.Container{Command: command, Args: args, LivenessProbe: &probe, ReadinessProbe: &probe,
		StartupProbe: &probe}
	if gpus != "" {
		main.Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)}
	}
	return main
}

// lastStep is the last command of a start-up script.
func lastStep(main *corev1.Container) string {
	steps := strings.Split(main.Args[0], " && ")
	return steps[len(steps)-1]
}
