package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/apiservertest"
)

func TestStartup(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	SetDefaultConsistentlyDuration(500 * time.Millisecond)
	RunSpecs(t, "grove-startup")
}

var (
	ctx    = context.Background()
	c      client.Client
	rcfg   *rest.Config
	binary string
)

var _ = BeforeSuite(func() {
	cluster, err := apiservertest.StartEmpty()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cluster.Stop)
	rcfg = cluster.Config
	c, err = client.New(rcfg, client.Options{})
	Expect(err).NotTo(HaveOccurred())
	binary = filepath.Join(GinkgoT().TempDir(), "grove-startup")
	out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
})

// namespace makes a namespace for one test.
func namespace() string {
	GinkgoHelper()
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	Expect(c.Create(ctx, made)).To(Succeed())
	return made.Name
}

// credentials makes a service account and returns a directory with the files that the kubelet mounts for it.
func credentials(in, account string, authority []byte) string {
	GinkgoHelper()
	made := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: account}}
	Expect(c.Create(ctx, made)).To(Succeed())
	token := &authenticationv1.TokenRequest{}
	Expect(c.SubResource("token").Create(ctx, made, token)).To(Succeed())
	directory := GinkgoT().TempDir()
	for name, content := range map[string][]byte{"token": []byte(token.Status.Token), "ca.crt": authority,
		"namespace": []byte(in)} {
		Expect(os.WriteFile(filepath.Join(directory, name), content, 0o600)).To(Succeed())
	}
	return directory
}

// launch runs the program as a kubelet would, without the container.
func launch(server, directory string, parents ...string) *gexec.Session {
	GinkgoHelper()
	args := []string{"--server=" + server, "--credentials=" + directory}
	for _, parent := range parents {
		args = append(args, "--after="+parent)
	}
	session, err := gexec.Start(exec.Command(binary, args...), GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { session.Kill().Wait() })
	return session
}

// createPod makes a pod of a PodClique as the operator does, not ready.
func createPod(in, podClique string, index int) *corev1.Pod {
	GinkgoHelper()
	pod := newPod(in, podClique, index)
	Expect(c.Create(ctx, pod)).To(Succeed())
	return pod
}

// largePod makes a ready pod with a command as long as launch scripts are.
func largePod(in, podClique string, index int) {
	GinkgoHelper()
	pod := newPod(in, podClique, index)
	pod.Spec.Containers[0].Command = []string{strings.Repeat("x", 8000)}
	Expect(c.Create(ctx, pod)).To(Succeed())
	setReady(pod, corev1.ConditionTrue)
}

func newPod(in, podClique string, index int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: in, Name: fmt.Sprintf("%s-%d", podClique, index),
			Labels: map[string]string{grovev1alpha1.LabelPodClique: podClique},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "grove.io/v1alpha1", Kind: "PodClique", Name: podClique, UID: "1", Controller: new(true),
			}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "main:1"}}},
	}
}

func setReady(pod *corev1.Pod, ready corev1.ConditionStatus) {
	GinkgoHelper()
	before := pod.DeepCopy()
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	Expect(c.Status().Patch(ctx, pod, client.MergeFrom(before))).To(Succeed())
}

func readyPod(in, podClique string, index int) *corev1.Pod {
	GinkgoHelper()
	pod := createPod(in, podClique, index)
	setReady(pod, corev1.ConditionTrue)
	return pod
}

func remove(pod *corev1.Pod) {
	GinkgoHelper()
	Expect(c.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
}
