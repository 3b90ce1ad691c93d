package devcluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"packtree.dev/e2e/devcluster"
)

// upIn makes a copy of the test program bring a cluster up in the directory and wait, so that a test can kill it.
const upIn = "DEVCLUSTER_TEST_UP_IN"

func TestMain(m *testing.M) {
	directory := os.Getenv(upIn)
	if directory == "" {
		os.Exit(m.Run())
	}
	options := devcluster.Options{
		Dir: directory, NodesFile: filepath.Join("testdata", "nodes.yaml"), Components: []string{}, Progress: os.Stdout,
	}
	if _, err := devcluster.Up(context.Background(), options); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

func bare(directory string) devcluster.Options {
	return devcluster.Options{Dir: directory, NodesFile: filepath.Join("testdata", "nodes.yaml"),
		Components: []string{}}
}

// stateDirectory is taken down at the end, whatever the result of the test.
func stateDirectory(t *testing.T) string {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "state")
	t.Cleanup(func() {
		if _, err := devcluster.Down(context.Background(), directory); err != nil {
			t.Error(err)
		}
	})
	return directory
}

// processesOf finds the processes with the directory in their command line, without the records that are tested.
func processesOf(t *testing.T, directory string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Fatalf("listing processes: %v", err)
	}
	var found []string
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && bytes.Contains(line, []byte(directory)) {
			found = append(found, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return found
}

func assertNothingLeft(t *testing.T, directory string) {
	t.Helper()
	if left := processesOf(t, directory); len(left) > 0 {
		t.Errorf("processes are left:\n%s", strings.Join(left, "\n"))
	}
	if _, err := os.Stat(directory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state directory is left: %v", err)
	}
}

func TestABareClusterComesUpWorksAndGoes(t *testing.T) {
	directory, ctx := stateDirectory(t), t.Context()
	cluster, err := devcluster.Up(ctx, bare(directory))
	require.NoError(t, err)
	pods := podsOf(t, cluster.Kubeconfig)
	t.Run("nodes are ready and a Job's pods run to their end", func(t *testing.T) { runJob(t, pods) })
	t.Run("a pod is ready again whose node was taken for lost", func(t *testing.T) { takeForLost(t, pods) })
	t.Run("status finds all well", func(t *testing.T) {
		processes, err := devcluster.Status(ctx, directory)
		if err != nil || len(processes) != 4 {
			t.Fatalf("%d processes, %v", len(processes), err)
		}
		for _, process := range processes {
			if process.Problem != nil || process.PID == 0 {
				t.Errorf("process %+v", process)
			}
		}
	})
	t.Run("a second one in the same directory is refused and harms nothing", func(t *testing.T) {
		_, err := devcluster.Up(ctx, bare(directory))
		require.ErrorContains(t, err, "a dev cluster runs in "+directory+" already")
		if left := processesOf(t, directory); len(left) != 4 {
			t.Errorf("%d processes are left: %v", len(left), left)
		}
	})
	t.Run("status reports what has died", func(t *testing.T) {
		processes, err := devcluster.Status(ctx, directory)
		require.NoError(t, err)
		last := processes[3]
		watching, stop := context.WithCancel(ctx)
		err = syscall.Kill(last.PID, syscall.SIGKILL)
		require.NoError(t, err)
		var end devcluster.End
		assert.NoError(t, cluster.Supervise(watching, func(one devcluster.End) { end = one; stop() }))
		said := last.Name + " ended (signal: killed)"
		if end.Program != last.Name || end.Again != 0 || !strings.Contains(end.How.Error(), said) {
			t.Errorf("reported is %v", end)
		}
		if processes, err = devcluster.Status(ctx, directory); err != nil || processes[3].Problem == nil {
			t.Errorf("processes %+v, %v", processes, err)
		}
	})
	t.Run("what has ended is started again", func(t *testing.T) { startAgain(t, cluster) })
	t.Run("a component that ends by itself comes back", func(t *testing.T) { supervised(t, cluster) })
	found, err := devcluster.Down(ctx, directory)
	if err != nil || !found {
		t.Errorf("down: %v, %v", found, err)
	}
	assertNothingLeft(t, directory)
	if _, err := devcluster.Status(ctx, directory); err == nil || !strings.HasPrefix(err.Error(), "no dev cluster in ") {
		t.Errorf("status afterwards: %v", err)
	}
}

// startAgain ends a program in each possible way, and restarts it each time.
func startAgain(t *testing.T, cluster *devcluster.Cluster) {
	t.Helper()
	ctx := t.Context()
	require.EqualError(t, cluster.Start(ctx, "etcd"), "etcd runs already")
	for how, end := range map[string]func() error{
		"killed": func() error { return cluster.Kill("kwok") },
		"asked":  func() error { return cluster.Stop(ctx, "kwok") },
	} {
		if err := end(); err != nil || cluster.PID("kwok") != 0 {
			t.Fatalf("%s: process %d, %v", how, cluster.PID("kwok"), err)
		}
		if err := cluster.Start(ctx, "kwok"); err != nil || cluster.PID("kwok") == 0 {
			t.Fatalf("%s and started: process %d, %v", how, cluster.PID("kwok"), err)
		}
	}
	processes, err := devcluster.Status(ctx, cluster.Dir)
	if err != nil || len(processes) != 4 {
		t.Fatalf("%d processes, %v", len(processes), err)
	}
	for _, process := range processes {
		if process.Name == "kwok" && process.Problem != nil {
			t.Errorf("process %+v", process)
		}
	}
}

// patience bounds each wait, on a busy machine.
const patience = 2 * time.Minute

// supervised ends a component in each possible way, and counts how often it ran.
func supervised(t *testing.T, cluster *devcluster.Cluster) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ends := make(chan devcluster.End, 100)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() {
		assert.NoError(t, cluster.Supervise(ctx, func(end devcluster.End) { ends <- end }))
	})
	runs := filepath.Join(t.TempDir(), "runs")
	health := cluster.Health("kube-apiserver")
	err := cluster.Run(ctx, devcluster.Program{
		Name: "component", Health: health,
		Path: "/bin/sh", Args: []string{"-c", `echo run >>"$1"; exec sleep 600`, "sh", runs},
	})
	require.NoError(t, err)
	counts := func(want int) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			content, err := os.ReadFile(runs)
			if err == nil && strings.Count(string(content), "run") == want && cluster.PID("component") != 0 {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("runs %q, %v; want %d, and the last under way", content, err, want)
			}
		}
	}
	counts(1)
	for i, again := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond} {
		first := cluster.PID("component")
		require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
		end := <-ends
		if end.Program != "component" || end.Again != again || !strings.Contains(end.How.Error(), "signal: killed") {
			t.Errorf("reported is %v", end)
		}
		counts(i + 2)
	}
	// A program that was asked to end stays down, even if it had ended by itself and waits for its restart.
	require.NoError(t, syscall.Kill(cluster.PID("component"), syscall.SIGKILL))
	end := <-ends
	require.NoError(t, cluster.Stop(ctx, "component"))
	time.Sleep(end.Again + time.Second)
	content, err := os.ReadFile(runs)
	if pid := cluster.PID("component"); err != nil || strings.Count(string(content), "run") != 3 || pid != 0 {
		t.Errorf("runs %q, %v, process %d: it was asked to end", content, err, pid)
	}
	require.NoError(t, cluster.Start(ctx, "component"))
	counts(4)
	if err := cluster.Stop(ctx, "component"); err != nil || len(ends) != 0 {
		t.Errorf("%d ends are reported that were asked for; %v", len(ends), err)
	}
}

// podsOf is a client of the pods in namespace default.
func podsOf(t *testing.T, kubeconfig string) corev1client.PodInterface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return client.CoreV1().Pods(corev1.NamespaceDefault)
}

// runJob runs a pod that KWOK ends.
func runJob(t *testing.T, pods corev1client.PodInterface) {
	t.Helper()
	create(t, pods, "short", map[string]string{"pod-complete.stage.kwok.x-k8s.io/delay": "100ms"})
	waitFor(t, pods, "short", func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded })
}

// takeForLost has a pod not ready, as kube-controller-manager does when a node's heartbeat is late.
func takeForLost(t *testing.T, pods corev1client.PodInterface) {
	t.Helper()
	create(t, pods, "long", nil)
	ready := func(pod *corev1.Pod) *corev1.PodCondition {
		return &pod.Status.Conditions[slices.IndexFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
			return condition.Type == corev1.PodReady
		})]
	}
	isReady := func(pod *corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodRunning && ready(pod).Status == corev1.ConditionTrue
	}
	pod := waitFor(t, pods, "long", isReady)
	ready(pod).Status = corev1.ConditionFalse
	if _, err := pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, pods, "long", isReady)
}

// create makes a pod. No scheduler runs in a bare cluster, so the pod names its node.
func create(t *testing.T, pods corev1client.PodInterface, name string, annotations map[string]string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec:       corev1.PodSpec{NodeName: "node-a", Containers: []corev1.Container{{Name: "c", Image: "none"}}},
	}
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func waitFor(t *testing.T, pods corev1client.PodInterface, name string, holds func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		pod, err := pods.Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		if holds(pod) {
			return pod
		}
		if time.Now().After(deadline) {
			t.Fatalf("pod %s stays as it is: %v", name, pod.Status)
		}
	}
}

// startAside brings a cluster up in another process and returns when the output has the text.
func startAside(t *testing.T, directory, until string) *exec.Cmd {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), upIn+"="+directory)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	var said []byte
	for buffer := make([]byte, 4096); !bytes.Contains(said, []byte(until)); {
		n, err := output.Read(buffer)
		if err != nil {
			t.Fatalf("it ended after %q: %v", said, err)
		}
		said = append(said, buffer[:n]...)
	}
	return command
}

func TestACrashInTheMiddleIsCleanedUp(t *testing.T) {
	for name, c := range map[string]struct {
		until   string
		cleanUp func(t *testing.T, directory string)
	}{
		"by down": {"kube-apiserver answers", func(t *testing.T, directory string) {
			if found, err := devcluster.Down(t.Context(), directory); err != nil || !found {
				t.Errorf("down: %v, %v", found, err)
			}
			assertNothingLeft(t, directory)
		}},
		"but not by another up while processes run": {"kube-apiserver start", func(t *testing.T, directory string) {
			_, err := devcluster.Up(t.Context(), bare(directory))
			// A child that the killed process had just forked holds its lock until it has become another program.
			for range 100 {
				if err == nil || !strings.Contains(err.Error(), "another process is bringing") {
					break
				}
				time.Sleep(100 * time.Millisecond)
				_, err = devcluster.Up(t.Context(), bare(directory))
			}
			assert.ErrorContains(t, err, "already")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			directory := stateDirectory(t)
			command := startAside(t, directory, c.until)
			require.NoError(t, command.Process.Kill())
			_ = command.Wait()
			if len(processesOf(t, directory)) == 0 {
				t.Fatal("nothing ran yet: the test tests nothing")
			}
			c.cleanUp(t, directory)
		})
	}
}

func TestDownCallsAStartOff(t *testing.T) {
	directory := stateDirectory(t)
	command := startAside(t, directory, "kube-apiserver start")
	if found, err := devcluster.Down(t.Context(), directory); err != nil {
		t.Errorf("down: %v, %v", found, err)
	}
	_ = command.Wait()
	assertNothingLeft(t, directory)
}

func TestAnInterruptedStartLeavesNothing(t *testing.T) {
	directory := stateDirectory(t)
	ctx, cancel := context.WithCancel(t.Context())
	options := bare(directory)
	options.Progress = writer(func(string) { cancel() })
	if _, err := devcluster.Up(ctx, options); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	assertNothingLeft(t, directory)
}

type writer func(string)

func (w writer) Write(text []byte) (int, error) {
	w(string(text))
	return len(text), nil
}

func TestWhatIsMissingIsNamedBeforeAnythingStarts(t *testing.T) {
	root := t.TempDir()
	for name, c := range map[string]struct {
		change func(*devcluster.Options)
		want   string
	}{
		"tools": {
			func(o *devcluster.Options) { o.Root = root },
			"not built yet: etcd, kube-apiserver, kube-controller-manager, kwok; run `make tools`, which takes minutes the first time",
		},
		"a component that does not exist": {
			func(o *devcluster.Options) { o.Components = []string{"grove"} },
			`component "grove" does not exist: there are dynamo-operator, grove-operator, podgrouper, kai-topology-plugin`,
		},
		"the file with nodes": {
			func(o *devcluster.Options) { o.NodesFile = "nowhere.yaml" },
			"reading nodes: nowhere.yaml: no such file or directory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			directory := stateDirectory(t)
			options := bare(directory)
			c.change(&options)
			if _, err := devcluster.Up(t.Context(), options); err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
			assertNothingLeft(t, directory)
		})
	}
}
