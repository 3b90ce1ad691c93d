package kubectlpacktree

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/kai-topology-plugin/internal/cli/overview"
)

// page is that of a `view` that runs until the spec is over.
type page struct {
	address string
	events  *bufio.Scanner
}

// viewed runs view with the rights of a user.
func viewed(kubeconfig string) *page {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(ctx)
	printed, prints := io.Pipe()
	command := Command()
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetOut(prints)
	command.SetErr(GinkgoWriter)
	command.SetArgs([]string{"view", "--no-browser", "--kubeconfig", kubeconfig, "--cache-dir",
		filepath.Join(filepath.Dir(kubeconfig), "cache")})
	ended := make(chan error, 1)
	go func() {
		err := command.ExecuteContext(ctx)
		prints.CloseWithError(err)
		ended <- err
	}()
	DeferCleanup(func() {
		cancel()
		Eventually(ended).WithTimeout(patience).Should(Receive(BeNil()), "it ends when it is interrupted")
	})
	address, err := bufio.NewReader(printed).ReadString('\n')
	Expect(err).NotTo(HaveOccurred())
	p := &page{address: strings.TrimSpace(address)}
	response := p.get("events")
	DeferCleanup(response.Body.Close)
	p.events = bufio.NewScanner(response.Body)
	return p
}

func (p *page) get(what string) *http.Response {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.address+what, nil)
	Expect(err).NotTo(HaveOccurred())
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	Expect(response.StatusCode).To(Equal(http.StatusOK))
	return response
}

// hears waits for an event of a kind and returns what it says.
func (p *page) hears(kind string) string {
	GinkgoHelper()
	for p.events.Scan() {
		if p.events.Text() != "event: "+kind {
			continue
		}
		Expect(p.events.Scan()).To(BeTrue())
		return strings.TrimPrefix(p.events.Text(), "data: ")
	}
	Fail("the events have ended: " + kind + " has not come")
	return ""
}

// reads returns the latest overview.
func (p *page) reads() *overview.Overview {
	GinkgoHelper()
	seen := &overview.Overview{}
	p.answers("overview", seen)
	return seen
}

// answers reads what the page is answered.
func (p *page) answers(what string, answer any) {
	GinkgoHelper()
	response := p.get(what)
	defer response.Body.Close()
	Expect(json.NewDecoder(response.Body).Decode(answer)).To(Succeed())
}

// nodeOf is where a pod stands in an overview.
func nodeOf(seen *overview.Overview, name string) string {
	for _, pod := range seen.Pods {
		if pod.Name == name {
			return pod.Node
		}
	}
	return ""
}

// followsTheCluster binds a pod while a user with the right to watch has the page open.
func followsTheCluster(viewer string) {
	GinkgoHelper()
	p := viewed(viewer)
	p.hears("overview")
	Expect(nodeOf(p.reads(), "gang-0")).To(BeEmpty())
	Expect(p.reads().Gangs).To(HaveLen(1))

	By("binding a pod")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gang-0"}}
	binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "n2"}}
	Expect(admin.SubResource("binding").Create(ctx, pod, binding)).To(Succeed())
	bound := time.Now()
	for nodeOf(p.reads(), "gang-0") == "" {
		p.hears("overview")
	}
	GinkgoWriter.Printf("the page knows of the binding after %s\n", time.Since(bound))
	seen := p.reads()
	Expect(nodeOf(seen, "gang-0")).To(Equal("n2"))
	Expect(seen.Topologies[0].Cluster.Used).To(BeEquivalentTo(5))
	Expect(seen.Gangs[0].SubGroups[0].Domains).To(HaveKeyWithValue("example.com/rack", []string{"r1"}))

	By("asking what has happened")
	happened := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: "gang.1"},
		InvolvedObject: corev1.ObjectReference{Namespace: "default", Kind: "PodGang", Name: "gang"},
		Type:           corev1.EventTypeWarning, Reason: "Late", Message: "it took its time",
	}
	group := &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup"},
	}
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: "default", Name: "gang"}, group)).To(Succeed())
	group.SetOwnerReferences([]metav1.OwnerReference{
		{APIVersion: "scheduler.grove.io/v1alpha1", Kind: "PodGang", Name: "gang", UID: "of-the-podgang"},
	})
	Expect(admin.Update(ctx, group)).To(Succeed())
	Expect(admin.Create(ctx, happened)).To(Succeed())
	var told overview.History
	Eventually(func() []overview.Event {
		told = overview.History{}
		p.answers("history?namespace=default&name=gang", &told)
		return told.Events
	}).WithTimeout(patience).Should(HaveLen(1), "the page knows of the owner soon")
	Expect(told.Events[0]).To(
		And(HaveField("Kind", "PodGang"), HaveField("Warning", true), HaveField("Note", "it took its time")))

	By("asking why")
	var gang struct{ State, Name string }
	p.answers("explain?namespace=default&name=gang", &gang)
	Expect(gang.Name).To(Equal("gang"))
	Expect(gang.State).To(Equal("Runs"))
}
