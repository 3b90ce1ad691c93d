package grove_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/suites/internal/suite"
)

const (
	startupContainer = "grove-startup"
	hold             = "pod-ready.stage.kwok.x-k8s.io/hold"
)

// kubelet does the work of kubelets that KWOK does not: it runs the init container grove-startup of each pod on a node
// as a process, the real program with the container's arguments and a token of the pod's own service account, and lets
// the pod start when the process has succeeded. Pods without that container start at once.
type kubelet struct {
	namespace string
	t         *testing.T
	// running is the context of its processes.
	running context.Context
	ended   sync.WaitGroup

	mu sync.Mutex
	// held are the PodCliques whose pods do not start, even if nothing else holds them.
	held map[string]bool
	// logs are the outputs of the processes, by pod.
	logs map[string]*output
}

// output is what a process has written so far.
type output struct {
	mu      sync.Mutex
	written bytes.Buffer
}

func (o *output) Write(content []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.written.Write(content)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.written.String()
}

// look starts missing processes for every pod of the namespace.
func (k *kubelet) look(ctx context.Context) error {
	var pods corev1.PodList
	if err := cluster.List(ctx, &pods, client.InNamespace(k.namespace)); err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if _, isHeld := pod.Annotations[hold]; pod.Spec.NodeName == "" || !isHeld {
			continue
		}
		if err := k.start(ctx, pod); err != nil {
			return fmt.Errorf("starting pod %s: %w", pod.Name, err)
		}
	}
	return nil
}

func (k *kubelet) start(ctx context.Context, pod *corev1.Pod) (err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held[pod.Labels["grove.io/podclique"]] || k.logs[pod.Name] != nil {
		return nil
	}
	k.logs[pod.Name] = &output{}
	defer func() {
		if err != nil {
			delete(k.logs, pod.Name) // So that the next look tries it again.
		}
	}()
	if len(pod.Spec.InitContainers) == 0 || pod.Spec.InitContainers[0].Name != startupContainer {
		return release(ctx, pod)
	}
	directory, err := k.mount(ctx, pod)
	if err != nil {
		return err
	}
	args := append([]string{"--server=" + cluster.Server.Host, "--credentials=" + directory},
		pod.Spec.InitContainers[0].Args...)
	process := exec.CommandContext(k.running, filepath.Join("..", "..", "..", "bin", startupContainer), args...)
	process.Stderr = k.logs[pod.Name]
	if err := process.Start(); err != nil {
		return fmt.Errorf("running the init container: %w", err)
	}
	k.ended.Go(func() {
		if err := process.Wait(); err != nil {
			return // The context ended; the wait for the pod reports that.
		}
		if err := k.finish(k.running, pod); err != nil {
			k.t.Error(err)
		}
	})
	return nil
}

// mount makes the projected volume of the init container, with a token that is bound to the pod.
func (k *kubelet) mount(ctx context.Context, pod *corev1.Pod) (string, error) {
	account := &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Spec.ServiceAccountName},
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name,
			UID: pod.UID},
	}}
	if err := cluster.SubResource("token").Create(ctx, account, request); err != nil {
		return "", fmt.Errorf("requesting a token of %s: %w", account.Name, err)
	}
	root := &corev1.ConfigMap{}
	if err := cluster.Get(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: "kube-root-ca.crt"},
		root); err != nil {
		return "", fmt.Errorf("reading the authority: %w", err)
	}
	directory := k.t.TempDir()
	for name, content := range map[string]string{"token": request.Status.Token, "ca.crt": root.Data["ca.crt"],
		"namespace": pod.Namespace} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	return directory, nil
}

// finish checks independently that a pod whose init container has ended may start, and lets it start.
func (k *kubelet) finish(ctx context.Context, pod *corev1.Pod) error {
	for _, arg := range pod.Spec.InitContainers[0].Args {
		parent, count, _ := strings.Cut(strings.TrimPrefix(arg, "--after="), ":")
		minimum, err := strconv.Atoi(count)
		if err != nil {
			return fmt.Errorf("pod %s has the argument %s: %w", pod.Name, arg, err)
		}
		ready, err := readyOf(ctx, k.namespace, parent)
		if err != nil {
			return err
		}
		if ready < minimum {
			return fmt.Errorf("pod %s starts while %s has %d ready pods of %d", pod.Name, parent, ready, minimum)
		}
	}
	return release(ctx, pod)
}

// release lets KWOK make a pod ready.
func release(ctx context.Context, pod *corev1.Pod) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, hold)
	return cluster.Patch(ctx, pod.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
}

func readyOf(ctx context.Context, namespace, podClique string) (int, error) {
	var pods corev1.PodList
	if err := cluster.List(ctx, &pods, client.InNamespace(namespace),
		client.MatchingLabels{"grove.io/podclique": podClique}); err != nil {
		return 0, fmt.Errorf("listing pods: %w", err)
	}
	ready := 0
	for i := range pods.Items {
		if suite.IsReady(&pods.Items[i]) {
			ready++
		}
	}
	return ready, nil
}

// letStart no longer holds the pods of a PodClique.
func (k *kubelet) letStart(podClique string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.held, podClique)
}

// logOf is the output of the init containers of a PodClique.
func (k *kubelet) logOf(podClique string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all strings.Builder
	for pod, log := range k.logs {
		if strings.HasPrefix(pod, podClique+"-") {
			all.WriteString(log.String())
		}
	}
	return all.String()
}
