package pods_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/dynamo-operator/internal/launch"
	"packtree.dev/shared/api/dynamo/v1beta1"
	"packtree.dev/shared/freeport"
)

// noting are programs that write their command line into a file, and fail as long as a file with their name and .fails
// exists.
func noting(t *testing.T, names ...string) (directory, notes string) {
	t.Helper()
	notes = filepath.Join(t.TempDir(), "notes")
	return programs(t, "#!/bin/sh\necho \"$(basename \"$0\") $*\" >> "+notes+
		"\n[ ! -e \"$0.fails\" ] || { rm \"$0.fails\"; exit 1; }\n", names...), notes
}

// started are the command lines that a script has run, without the code of the checks in between.
func started(t *testing.T, main *corev1.Container) []string {
	t.Helper()
	directory, notes := noting(t, "ray", "python3", "sleep")
	require.NoError(t, os.WriteFile(filepath.Join(directory, "python3.fails"), nil, 0o644))
	command := exec.CommandContext(t.Context(), main.Command[0], append(main.Command[1:], main.Args...)...)
	command.Env = []string{"PATH=" + directory + ":" + os.Getenv("PATH"), "POD_IP=10.0.0.7"}
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%v: %s", err, out)
	written, err := os.ReadFile(notes)
	require.NoError(t, err)
	var lines []string
	for line := range strings.Lines(string(written)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "python3 -c") {
			line = "check"
		}
		lines = append(lines, line)
	}
	return lines
}

func TestElasticRanksTakeARayCluster(t *testing.T) {
	args := []string{"-m", "dynamo.vllm", "--data-parallel-size", "4", "--enable-elastic-ep",
		"--data-parallel-backend", "ray"}
	engine := "python3 " + strings.Join(args, " ")
	configure := func(leader bool) *corev1.Container {
		main := container([]string{"python3"}, args, "4")
		launch.Configure(v1beta1.BackendFrameworkVLLM, launch.Node{Leader: leader, Count: 2, LeaderAddress: "leader"},
			&corev1.PodSpec{}, main)
		return main
	}
	t.Run("whose head the leader starts first, and waits for", func(t *testing.T) {
		got := started(t, configure(true))
		assert.Contains(t, strings.Join(got, "\n"), "ray start --head --port=6379 --block")
		got = without(got, "ray start --head --port=6379 --block")
		assert.Empty(t, cmp.Diff([]string{"check", "sleep 2", "check", engine}, got), "(-want +got)")
	})
	t.Run("which a worker joins once the leader is alive", func(t *testing.T) {
		main := configure(false)
		assert.Empty(t, cmp.Diff([]string{"check", "sleep 15", "check", "ray start --address=leader:6379 --block"},
			started(t, main)), "(-want +got)")
		assert.Contains(t, main.Args[0], "http://leader:9090/live")
		assert.Nil(t, main.LivenessProbe, "the worker is asked itself")
	})
	t.Run("of its own where a pod is alone", func(t *testing.T) {
		main := container([]string{"python3"}, args, "4")
		launch.ConfigureAlone(main)
		got := without(started(t, main), "ray start --head --port=6379 --node-ip-address=10.0.0.7 --block")
		assert.Empty(t, cmp.Diff([]string{"check", "sleep 2", "check", engine}, got), "(-want +got)")
		require.Len(t, main.Env, 2)
		assert.Equal(t, "VLLM_DP_MASTER_IP", main.Env[1].Name)
		assert.Equal(t, "status.podIP", main.Env[1].ValueFrom.FieldRef.FieldPath)
	})
	for name, main := range map[string]*corev1.Container{
		"without Ray": container([]string{"python3"},
			[]string{"-m", "dynamo.vllm", "--enable-elastic-ep"}, "4"),
		"with fixed ranks": container([]string{"python3"},
			[]string{"-m", "dynamo.vllm", "-dpb", "ray"}, "4"),
		"with a command that the image has": container(nil, []string{"--enable-elastic-ep", "-dpb=ray"}, "4"),
	} {
		t.Run("and a pod that is alone stays as it is "+name, func(t *testing.T) {
			before := main.DeepCopy()
			launch.ConfigureAlone(main)
			assert.Empty(t, cmp.Diff(before, main), "(-want +got)")
		})
	}
}

func without(lines []string, line string) []string {
	var rest []string
	for _, other := range lines {
		if other != line {
			rest = append(rest, other)
		}
	}
	return rest
}

// A container that ends when the leader listens holds each worker of vLLM, unless nothing listens at that port.
func TestWorkersWaitForTheLeader(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		leader bool
		want   string
	}{
		"of one model over nodes":         {[]string{"-tp", "16"}, false, "29500"},
		"at the port that the user wants": {[]string{"-tp", "16", "--master-port", "7"}, false, "7"},
		"but the leader does not":         {[]string{"-tp", "16"}, true, ""},
		"but not by Ray, which waits":     {[]string{"-tp", "16", "--distributed-executor-backend", "ray"}, false, ""},
		"but not where ranks share data":  {[]string{"-dp", "16"}, false, ""},
		"but not where nothing is shared": {nil, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			main := container([]string{"python3"}, append([]string{"-m", "dynamo.vllm"}, c.args...), "8")
			main.Image = "engine:1"
			pod := &corev1.PodSpec{}
			launch.Configure(v1beta1.BackendFrameworkVLLM, launch.Node{Leader: c.leader, Count: 2,
				LeaderAddress: "leader"}, pod, main)
			got := ""
			for _, waiting := range pod.InitContainers {
				assert.Equal(t, "wait-for-leader-mp", waiting.Name, "waits as %v", waiting)
				assert.Equal(t, "engine:1", waiting.Image, "waits as %v", waiting)
				assert.Equal(t, "leader", waiting.Command[4], "waits as %v", waiting)
				got = waiting.Command[5]
			}
			assert.Equal(t, c.want, got, "waits for port")
		})
	}
}

func TestWaitingEndsWhenTheLeaderListens(t *testing.T) {
	pod, main := &corev1.PodSpec{}, container([]string{"python3"}, []string{"-m", "dynamo.vllm", "-tp", "16"}, "8")
	launch.Configure(v1beta1.BackendFrameworkVLLM, launch.Node{Count: 2, LeaderAddress: "127.0.0.1"}, pod, main)
	port, err := freeport.Port()
	require.NoError(t, err)
	address := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
	line := pod.InitContainers[0].Command
	line[5] = strconv.Itoa(port)

	// The first try fails; the test's own sleep starts a listener before the second.
	again := filepath.Join(t.TempDir(), "again")
	sleeping := programs(t, "#!/bin/sh\ntouch "+again+"\nuntil [ -e "+again+".listens ]; do :; done\n", "sleep")
	command := exec.CommandContext(t.Context(), line[0], line[1:]...)
	command.Env = []string{"PATH=" + sleeping + ":" + os.Getenv("PATH")}
	require.NoError(t, command.Start())
	for {
		if _, err := os.Stat(again); err == nil {
			break
		}
	}
	listener, err := net.ListenTCP("tcp", address)
	require.NoError(t, err)
	defer listener.Close()
	require.NoError(t, os.WriteFile(again+".listens", nil, 0o644))
	assert.NoError(t, command.Wait(), "waiting did not end well")
}

func TestEveryNodeHasItsAddress(t *testing.T) {
	for framework, want := range map[v1beta1.BackendFramework]string{
		v1beta1.BackendFrameworkVLLM:   "VLLM_NIXL_SIDE_CHANNEL_HOST=status.podIP",
		v1beta1.BackendFrameworkTRTLLM: "OMPI_MCA_orte_keep_fqdn_hostnames=1",
		v1beta1.BackendFrameworkSGLang: "",
	} {
		for _, leader := range []bool{true, false} {
			main := container([]string{"python3"}, []string{"-m", "dynamo." + string(framework)}, "8")
			node := launch.Node{Leader: leader, Count: 2, LeaderAddress: "leader",
				WorkerAddress: func(int32) string { return "w" }}
			launch.Configure(framework, node, &corev1.PodSpec{}, main)
			got := ""
			for _, variable := range main.Env {
				got = variable.Name + "=" + variable.Value
				if variable.ValueFrom != nil {
					got += variable.ValueFrom.FieldRef.FieldPath
				}
			}
			assert.Equal(t, want, got, "%s leader %v: the environment", framework, leader)
			assert.NotContains(t, strings.Join(main.Args, " "), "-x OMPI_",
				"Open MPI hands its own settings on by itself")
		}
	}
}
