package schedulerserver_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"packtree.dev/kai-topology-plugin/internal/offline/place"
	"packtree.dev/kai-topology-plugin/internal/scheduler/schedulerserver"
	"packtree.dev/shared/apiservertest"
	"packtree.dev/shared/client/clientset/versioned"
	"packtree.dev/shared/render"
	"packtree.dev/shared/supportbundle"
)

// asScheduler makes this test binary run the program instead of tests: the scheduler under test is a process of its
// own, which can be killed.
const asScheduler = "RUN_AS_KAI_TOPOLOGY_PLUGIN"

func TestMain(m *testing.M) {
	if os.Getenv(asScheduler) != "" {
		command := schedulerserver.Command()
		command.AddCommand(place.Command(), supportbundle.Command())
		os.Exit(render.Execute(command))
	}
	os.Exit(m.Run())
}

func TestScheduler(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(150 * time.Millisecond)
	RunSpecs(t, "Scheduler against a real API server")
}

var (
	ctx        context.Context
	kube       kubernetes.Interface
	packtree   versioned.Interface
	restConfig *rest.Config
	kubeconfig string
	config     string
)

var _ = BeforeSuite(func() {
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(context.Background())
	DeferCleanup(cancel)
	cluster, err := apiservertest.StartWith(envtest.WebhookInstallOptions{}, map[string]string{"feature-gates": gates})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cluster.Stop)
	reach(cluster)
})

// reach has specs and schedulers use a cluster.
func reach(cluster *apiservertest.Cluster) {
	GinkgoHelper()
	restConfig = cluster.Config
	kube, packtree = kubernetes.NewForConfigOrDie(cluster.Config), versioned.NewForConfigOrDie(cluster.Config)

	user, err := cluster.Environment.AddUser(envtest.User{Name: "scheduler", Groups: []string{"system:masters"}}, nil)
	Expect(err).NotTo(HaveOccurred())
	access, err := user.KubeConfig()
	Expect(err).NotTo(HaveOccurred())
	directory := GinkgoT().TempDir()
	kubeconfig, config = filepath.Join(directory, "kubeconfig"), filepath.Join(directory, "config.yaml")
	Expect(os.WriteFile(kubeconfig, access, 0o600)).To(Succeed())
	Expect(os.WriteFile(config, []byte(configuration), 0o600)).To(Succeed())
}

// configuration is what the chart installs, for a single process. The path is wrong on purpose: --kubeconfig has to
// win.
const configuration = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: /does/not/exist
  qps: 100
  burst: 100
leaderElection:
  leaderElect: false
profiles:
  - schedulerName: kai-scheduler
    plugins:
      multiPoint:
        enabled:
          - name: KAITopology
      queueSort:
        disabled:
          - name: "*"
        enabled:
          - name: KAITopology
      postFilter:
        enabled:
          - name: KAITopology
      bind:
        enabled:
          - name: KAITopology
`

// gates are features that specs use, and that the oldest supported Kubernetes has switched off.
const gates = "DRAExtendedResource=true,DRADeviceBindingConditions=true,PodTopologyLabelsAdmission=true"

// startScheduler starts the program and ends it with the spec, or with the container of the specs that share it.
func startScheduler() *exec.Cmd {
	GinkgoHelper()
	return startSchedulerWith(GinkgoWriter, "--secure-port", "0", "--v", "2", "--feature-gates", gates)
}

// startSchedulerWith starts the program with further flags.
func startSchedulerWith(output io.Writer, flags ...string) *exec.Cmd {
	GinkgoHelper()
	command := exec.Command(os.Args[0], append([]string{"--config", config, "--kubeconfig", kubeconfig}, flags...)...)
	command.Env = append(os.Environ(), asScheduler+"=1")
	started := &firstWords{Writer: output, heard: make(chan struct{})}
	command.Stdout, command.Stderr = started, started
	Expect(command.Start()).To(Succeed())
	DeferCleanup(func() {
		if command.ProcessState == nil {
			Eventually(started.heard).Should(BeClosed(), "before it says anything it does not listen for signals yet")
			Expect(command.Process.Signal(syscall.SIGTERM)).To(Succeed())
			Expect(command.Wait()).To(Succeed(), "the scheduler ends in order when told to")
		}
	})
	return command
}

// firstWords passes on what a program writes, and says when it has begun to.
type firstWords struct {
	io.Writer

	once  sync.Once
	heard chan struct{}
}

func (w *firstWords) Write(words []byte) (int, error) {
	w.once.Do(func() { close(w.heard) })
	return w.Writer.Write(words)
}

// kill ends the program as a crash would.
func kill(scheduler *exec.Cmd) {
	GinkgoHelper()
	Expect(scheduler.Process.Kill()).To(Succeed())
	Expect(scheduler.Wait()).NotTo(Succeed())
}
