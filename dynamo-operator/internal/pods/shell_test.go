package pods_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"packtree.dev/dynamo-operator/internal/launch"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// Whatever the words of a command are, a real shell passes them on unchanged, and computes the rank.
func TestAShellHandsTheWordsOn(t *testing.T) {
	programs := echoing(t, "python3")
	word := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ '"\\$;&|<>*?#~!{}()\n]{1,8}`))
	rapid.Check(t, func(rt *rapid.T) {
		given := rapid.SliceOfN(word.Filter(func(s string) bool { return !strings.Contains(s, "\x00") }), 0, 4).Draw(rt,
			"words")
		main := container([]string{"python3"}, slices.Concat([]string{"-m", "dynamo.sglang"}, given), "8")
		launch.Configure(v1beta1.BackendFrameworkSGLang,
			launch.Node{Count: 4, LeaderAddress: "leader", RankVariable: "INDEX"}, &corev1.PodSpec{}, main)
		want := slices.Concat([]string{"-m", "dynamo.sglang"}, given,
			[]string{"--dist-init-addr", "leader:29500", "--nnodes", "4", "--node-rank", "3"})
		require.Empty(rt, cmp.Diff(want,
			run(rt, programs, []string{"INDEX=2"}, slices.Concat(main.Command, main.Args)...)), " (-want +got)")
	})
}

// A line of the user's shell becomes one argument of mpirun, and variables from a Secret reach the other hosts.
func TestMPIRunGetsTheEnvironment(t *testing.T) {
	main := container([]string{"/bin/sh", "-c"},
		[]string{"cd /work && python3 -m dynamo.trtllm --model 'a b' | tee log"}, "4")
	main.EnvFrom = []corev1.EnvFromSource{
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "hf"}}},
	}
	node := launch.Node{Leader: true, Count: 2, LeaderAddress: "ldr",
		WorkerAddress: func(index int32) string { return fmt.Sprintf("w%d", index) }}
	launch.Configure(v1beta1.BackendFrameworkTRTLLM, node, &corev1.PodSpec{}, main)

	_, arguments, _ := strings.Cut(main.Args[0], "mpirun ")
	environment := []string{"HF_TOKEN=secret", "NOTE=two\nlines", "HOSTNAME=ldr", "HOME=/root"}
	got := run(t, echoing(t, "mpirun"), environment, "sh", "-c", "mpirun "+arguments)
	var exported []string
	for i, word := range got {
		if word == "-x" {
			exported = append(exported, got[i+1])
		}
	}
	slices.Sort(exported)
	assert.Empty(t, cmp.Diff([]string{"HF_TOKEN", "NOTE", "PATH"}, exported), "exported (-want +got)")
	want := []string{"trtllm-llmapi-launch", "/bin/sh", "-c",
		"cd /work && python3 -m dynamo.trtllm --model 'a b' | tee log"}
	assert.Empty(t, cmp.Diff(want, got[max(len(got)-4, 0):]), "started (-want +got)")
}

// The scripts of both roles are valid shell in each step.
func TestScriptsAreShell(t *testing.T) {
	for _, leader := range []bool{true, false} {
		main := container([]string{"python3"}, []string{"-m", "dynamo.trtllm"}, "4")
		node := launch.Node{Leader: leader, Count: 2, LeaderAddress: "ldr",
			WorkerAddress: func(int32) string { return "w" }}
		launch.Configure(v1beta1.BackendFrameworkTRTLLM, node, &corev1.PodSpec{}, main)
		out, err := exec.CommandContext(t.Context(), "sh", "-n", "-c", main.Args[0]).CombinedOutput()
		assert.NoError(t, err, "leader %v: %v: %s", leader, err, out)
	}
}

// TestKeysAreSetUp runs the first steps of both roles, in a home of their own, twice: a container that restarts may
// keep its home.
func TestKeysAreSetUp(t *testing.T) {
	main := container([]string{"python3"}, []string{"-m", "dynamo.trtllm"}, "4")
	launch.Configure(v1beta1.BackendFrameworkTRTLLM, launch.Node{Count: 2}, &corev1.PodSpec{}, main)
	home, keys := t.TempDir(), t.TempDir()
	for _, name := range []string{"private.key", "private.key.pub"} {
		require.NoError(t, os.WriteFile(filepath.Join(keys, name), []byte(name), 0o444))
	}
	script := strings.ReplaceAll(main.Args[0], "/ssh-pk", keys)
	script = script[:strings.LastIndex(script, " && exec ")]
	// Like the real program it does not overwrite a key by default.
	programs := programs(t, "#!/bin/sh\nfor file; do :; done\n[ ! -e \"$file\" ] && touch \"$file\"\n", "ssh-keygen")
	for range 2 {
		command := exec.CommandContext(t.Context(), "sh", "-c", script)
		command.Env = []string{"HOME=" + home, "PATH=" + programs + ":" + os.Getenv("PATH")}
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%v: %s", err, out)
	}
	for name, mode := range map[string]os.FileMode{"id_rsa": 0o600, "authorized_keys": 0o600, "config": 0o600,
		"id_rsa.pub": 0o644} {
		info, err := os.Stat(filepath.Join(home, ".ssh", name))
		require.NoError(t, err, "%s: %v", name, info)
		assert.Equal(t, mode, info.Mode().Perm(), "%s: %v", name, info)
	}
	config, err := os.ReadFile(filepath.Join(home, ".ssh", "sshd_config"))
	require.NoError(t, err, "sshd_config: %v\n%s", err, config)
	assert.Contains(t, string(config), "Port 2222\nHostKey "+home+"/.ssh/host_keys/",
		"sshd_config: %v\n%s", err, config)
}

// A user other than root may have root's home.
func TestAHomeThatCannotBeWrittenIsReplaced(t *testing.T) {
	main := container([]string{"python3"}, []string{"-m", "dynamo.trtllm"}, "4")
	launch.Configure(v1beta1.BackendFrameworkTRTLLM, launch.Node{Count: 2}, &corev1.PodSpec{}, main)
	first, _, _ := strings.Cut(main.Args[0], " && ")
	for home, want := range map[string]string{"/nowhere": "/tmp", t.TempDir(): ""} {
		command := exec.CommandContext(t.Context(), "sh", "-c", first+` && printf %s "$HOME"`)
		command.Env = []string{"HOME=" + home}
		out, err := command.CombinedOutput()
		if want == "" {
			want = home
		}
		require.NoError(t, err, "with home %s: %v, %s", home, err, out)
		assert.Equal(t, want, string(out), "with home %s: %v, %s", home, err, out)
	}
}

// echoing makes a directory with programs that print their arguments, each ended by a zero byte.
func echoing(t *testing.T, names ...string) string {
	t.Helper()
	return programs(t, "#!/bin/sh\nfor word; do printf '%s\\0' \"$word\"; done\n", names...)
}

func programs(t *testing.T, script string, names ...string) string {
	t.Helper()
	directory := t.TempDir()
	for _, name := range names {
		require.NoError(t, os.WriteFile(filepath.Join(directory, name), []byte(script), 0o755))
	}
	return directory
}

// run returns the words that an echoing program was started with.
func run(t interface{ Fatalf(string, ...any) }, programs string, environment []string, line ...string) []string {
	command := exec.Command(line[0], line[1:]...)
	command.Env = append([]string{"PATH=" + programs + ":" + os.Getenv("PATH")}, environment...)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("running %q: %v", line, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}
