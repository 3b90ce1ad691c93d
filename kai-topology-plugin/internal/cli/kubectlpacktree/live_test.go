package kubectlpacktree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/shared/render"
)

// standing is a rack of two nodes, one of them awaited by a gang of higher priority, and the PodGang of that gang.
const standing = `
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: racks}
spec: {levels: [{nodeLabel: example.com/rack}, {nodeLabel: kubernetes.io/hostname}, {nodeLabel: example.com/numa}]}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 100
---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {example.com/rack: r1, kubernetes.io/hostname: n1}}
status: {allocatable: {nvidia.com/gpu: "4", pods: "10"}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {example.com/rack: r1, kubernetes.io/hostname: n2}}
status: {allocatable: {nvidia.com/gpu: "4", pods: "10"}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: scheduler.grove.io/v1alpha1
kind: PodGang
metadata: {name: gang, namespace: default}
spec: {podgroups: [{name: all, podReferences: [], minReplicas: 1}]}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: gang, namespace: default}
spec: {minMember: 1, topologyConstraint: {topology: racks, requiredTopologyLevel: example.com/rack}}
---
apiVersion: v1
kind: Pod
metadata: {name: gang-0, namespace: default, annotations: {pod-group-name: gang}}
spec: {priorityClassName: urgent, containers: [{name: c, image: c, resources: {requests: {nvidia.com/gpu: "4"}, limits: {nvidia.com/gpu: "4"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: other, namespace: default}
spec: {nodeName: n1, containers: [{name: c, image: c, resources: {requests: {nvidia.com/gpu: "1"}, limits: {nvidia.com/gpu: "1"}}}]}
`

// asked is a gang that fits, but not behind the one that waits; its priority counts where it has one.
const asked = `
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: asked}
spec: {minMember: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: asked-0, annotations: {pod-group-name: asked}}
spec: {%s containers: [{name: c, image: c, resources: {requests: {nvidia.com/gpu: "4"}, limits: {nvidia.com/gpu: "4"}}}]}
`

// zonesKind is a kind of others that says what NUMA zones nodes have.
const zonesKind = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: noderesourcetopologies.topology.node.k8s.io
  annotations: {api-approved.kubernetes.io: "https://github.com/kubernetes/enhancements/pull/1870"}
spec:
  group: topology.node.k8s.io
  scope: Cluster
  names: {plural: noderesourcetopologies, kind: NodeResourceTopology}
  versions:
  - name: v1alpha2
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// zonesOfN1 says that node n1 has two zones of two devices.
func zonesOfN1() *unstructured.Unstructured {
	zone := func(name string) map[string]any {
		devices := map[string]any{"name": "nvidia.com/gpu", "capacity": "2", "allocatable": "2"}
		return map[string]any{"name": name, "type": "Node", "resources": []any{devices}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology",
		"metadata":   map[string]any{"name": "n1"},
		"attributes": []any{map[string]any{"name": "topologyManagerPolicy", "value": "single-numa-node"}},
		"zones":      []any{zone("node-0"), zone("node-1")},
	}}
}

// patience is how long the API server may take to stop serving a kind.
const patience = 3 * time.Minute

func apply(manifests string) {
	GinkgoHelper()
	documents := utilyaml.NewYAMLToJSONDecoder(bytes.NewReader([]byte(manifests)))
	for {
		object := &unstructured.Unstructured{}
		if documents.Decode(object) != nil {
			return
		}
		status := object.Object["status"]
		Expect(admin.Create(ctx, object)).To(Succeed())
		if status != nil {
			object.Object["status"] = status
			Expect(admin.Status().Update(ctx, object)).To(Succeed())
			// Admission taints new nodes, and there is no controller that would take it back.
			unstructured.RemoveNestedField(object.Object, "spec", "taints")
			Expect(admin.Update(ctx, object)).To(Succeed())
		}
	}
}

func file(name, content string) string {
	GinkgoHelper()
	path := filepath.Join(GinkgoT().TempDir(), name)
	Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
	return path
}

var nodesAndPods = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes", "pods"},
	Verbs: []string{"list"}}

var _ = Describe("a user", Ordered, func() {
	var viewer string

	BeforeAll(func() {
		apply(standing)
		viewer = userOf("viewer", "packtree-viewer")
	})

	It("who has the viewer role sees the tree", func() {
		stdout, stderr, err := packtree(viewer, "tree")
		Expect(err).NotTo(HaveOccurred())
		Expect(stderr).To(BeEmpty())
		Expect(stdout).To(ContainSubstring("rack r1"))
		Expect(stdout).To(ContainSubstring("1/8  2 nodes"))
		Expect(stdout).To(ContainSubstring("default/gang  1 pod without a node"))
	})

	It("who has the viewer role has gangs explained, over what they were made for", func() {
		stdout, stderr, err := packtree(viewer, "explain", "gang")
		Expect(err).NotTo(HaveOccurred())
		Expect(stderr).To(BeEmpty())
		Expect(stdout).To(HavePrefix("PodGang default/gang\n└── PodGroup default/gang\n"))
		Expect(stdout).To(ContainSubstring("Fits:"))
		Expect(stdout).To(ContainSubstring("priority 100"))
	})

	It("who has the viewer role can ask what if, and gangs that rank higher go first", func() {
		manifest := file("asked.yaml", fmt.Sprintf(asked, ""))
		stdout, stderr, err := packtree(viewer, "what-if", "-f", manifest, "-n", "default")
		Expect(stderr).To(ContainSubstring("decided first: default/gang"))
		Expect(stdout).To(ContainSubstring("default/asked: Infeasible"))
		var coder render.Coder
		Expect(errors.As(err, &coder)).To(BeTrue(), "%v", err)
		Expect(coder.ExitCode()).To(Equal(3))

		By("giving it the same priority class, which does not make it older")
		manifest = file("same.yaml", fmt.Sprintf(asked, "priorityClassName: urgent,"))
		stdout, _, err = packtree(viewer, "what-if", "-f", manifest, "-o", "json")
		Expect(err).To(HaveOccurred())
		var result struct {
			DecidedFirst []string
			PodGroups    []struct{ Verdict, Namespace string }
		}
		Expect(json.Unmarshal([]byte(stdout), &result)).To(Succeed())
		Expect(result.DecidedFirst).To(Equal([]string{"default/gang"}))
		Expect(result.PodGroups).To(HaveLen(1))

		By("giving it a higher priority")
		manifest = file("higher.yaml", fmt.Sprintf(asked, "priority: 1000,"))
		stdout, stderr, err = packtree(viewer, "what-if", "-f", manifest)
		Expect(err).NotTo(HaveOccurred())
		Expect(stderr).To(BeEmpty())
		Expect(stdout).To(ContainSubstring("default/asked: Placed, 1 pod given a node"))

		By("naming a class that does not exist")
		manifest = file("unknown.yaml", fmt.Sprintf(asked, "priorityClassName: nobody,"))
		_, stderr, _ = packtree(viewer, "what-if", "-f", manifest)
		Expect(stderr).To(ContainSubstring("the cluster has no PriorityClass nobody"))
	})

	It("who brings more nodes is told what becomes of the gangs that wait", func() {
		manifest := file("nodes.yaml",
			"apiVersion: v1\nkind: Node\nmetadata: {name: n0, labels: {example.com/rack: r0}}\nstatus: {allocatable: "+
				"{nvidia.com/gpu: \"8\"}}\n")
		stdout, stderr, err := packtree(viewer, "what-if", "-f", manifest)
		Expect(err).NotTo(HaveOccurred())
		Expect(stderr).To(BeEmpty())
		Expect(stdout).To(ContainSubstring("default/gang: Placed"))
	})

	It("who brings pods without a PodGroup is told that they are not decided", func() {
		manifest := file("pods.yaml",
			"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: c}]}\n"+
				"---\napiVersion: v1\nkind: Pod\nmetadata: {name: gang-0, annotations: {pod-group-name: gang}}\nspec: "+
				"{containers: [{name: c, image: c}]}\n")
		stdout, stderr, err := packtree(viewer, "what-if", "-f", manifest)
		Expect(err).NotTo(HaveOccurred())
		Expect(stderr).To(Equal(
			"note: pod default/p is not decided: it belongs to no PodGroup (annotation pod-group-name)\n"))
		Expect(stdout).To(ContainSubstring("default/gang: Placed, 1 pod given a node"))
	})

	It("who has the viewer role takes a bundle that lacks nothing, and explains the gang as the cluster does", func() {
		bundle, stderr, err := packtree(viewer, "support-bundle")
		Expect(err).NotTo(HaveOccurred())
		Expect(stderr).To(BeEmpty())
		Expect(bundle).To(HavePrefix("# Support bundle of kubectl-packtree "))
		live, _, err := packtree(viewer, "explain", "gang", "-o", "json")
		Expect(err).NotTo(HaveOccurred())
		dumped, stderr, err := packtree(viewer, "explain", "gang", "-o", "json", "-f", file("bundle.yaml", bundle))
		Expect(err).NotTo(HaveOccurred())
		Expect(stderr).To(BeEmpty())
		Expect(dumped).To(MatchJSON(live))
	})

	It("has written nothing by all that", func() {
		pod := &corev1.Pod{}
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: "default", Name: "gang-0"}, pod)).To(Succeed())
		Expect(pod.Spec.NodeName).To(BeEmpty())
		pods := &corev1.PodList{}
		Expect(admin.List(ctx, pods)).To(Succeed())
		Expect(pods.Items).To(HaveLen(2))
	})

	It("who has the viewer role follows the cluster on a page", func() { followsTheCluster(viewer) })

	It("who may list but not watch sees the page as far as that goes, and which role to ask for", func() {
		p := viewed(userWith("lister", nodesAndPods))
		Expect(p.hears("trouble")).To(
			And(ContainSubstring("watching"), ContainSubstring("ask for ClusterRole packtree-viewer")))
	})

	It("who may watch but list no events sees the page, and why a gang has no history", func() {
		p := viewed(userWith("eventless", rbacv1.PolicyRule{
			APIGroups: []string{"", "scheduling.run.ai", "kai.scheduler"},
			Resources: []string{"nodes", "pods", "podgroups", "topologies"}, Verbs: []string{"list", "watch"},
		}))
		p.hears("overview")
		response, err := http.Get(p.address + "history?namespace=default&name=gang")
		Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		said, err := io.ReadAll(response.Body)
		Expect(err).NotTo(HaveOccurred())
		Expect(response.StatusCode).To(Equal(http.StatusNotFound))
		Expect(string(said)).To(
			And(ContainSubstring("events is forbidden"), ContainSubstring("ask for ClusterRole packtree-viewer")))

		page, stderr, err := packtree(userWith("eventless-exporter", nodesAndPods), "view", "--export", "-")
		Expect(err).NotTo(HaveOccurred())
		Expect(stderr).To(BeEmpty())
		Expect(page).To(ContainSubstring(
			"you may not list events, so they are left out: ClusterRole packtree-viewer allows it"))
	})

	It("who may see nothing gets no page", func() {
		_, _, err := packtree(userWith("blind"), "view", "--no-browser")
		Expect(err).To(MatchError(
			And(ContainSubstring("forbidden"), ContainSubstring("ask for ClusterRole packtree-viewer"))))
	})

	It("who may see nodes and pods only gets what can be told of them, and is told what is left out", func() {
		kubeconfig := userWith("half", nodesAndPods)
		stdout, stderr, err := packtree(kubeconfig, "tree", "--level", "host")
		Expect(err).NotTo(HaveOccurred())
		Expect(stdout).To(ContainSubstring("Nodes\n"))
		Expect(stdout).To(ContainSubstring("n1"))
		Expect(stderr).To(ContainSubstring(
			"note: you may not list PodGroups, so they are left out: ClusterRole packtree-viewer allows it"))
		Expect(stderr).To(ContainSubstring("note: you may not list Topologies"))

		stdout, stderr, err = packtree(kubeconfig, "explain", "pod/other")
		Expect(err).NotTo(HaveOccurred())
		Expect(stdout).To(ContainSubstring("other is on node n1"))
		Expect(stderr).To(ContainSubstring("podgangs"))

		stdout, stderr, err = packtree(kubeconfig, "support-bundle")
		Expect(err).NotTo(HaveOccurred())
		note :=
			"podgroups.scheduling.run.ai are left out, since you may not list them: ClusterRole packtree-viewer allows it\n"
		Expect(stderr).To(ContainSubstring("note: " + note))
		Expect(stdout).To(ContainSubstring("# Note: "+note), "whoever gets the bundle has to know too")
	})

	It("who may see nothing is told which role to ask for", func() {
		_, _, err := packtree(userWith("nobody"), "tree")
		Expect(err).To(MatchError(
			And(ContainSubstring("forbidden"), ContainSubstring("ask for ClusterRole packtree-viewer"))))
	})

	It("who has the viewer role sees the NUMA zones of nodes once they are served, and what-if counts them", func() {
		manifest := file("three.yaml", strings.ReplaceAll(fmt.Sprintf(asked, "nodeSelector: {kubernetes.io/hostname: n1}, "+
			"priority: 1000,"), `"4"`, `"3"`))
		stdout, _, err := packtree(viewer, "what-if", "-f", manifest)
		Expect(err).NotTo(HaveOccurred(), stdout)

		apply(zonesKind)
		Eventually(func() error { return admin.Create(ctx, zonesOfN1()) }).WithTimeout(patience).Should(Succeed())
		Eventually(func() error {
			stdout, _, err = packtree(viewer, "what-if", "-f", manifest)
			return err
		}).WithTimeout(patience).Should(HaveOccurred())
		Expect(stdout).To(ContainSubstring("1 node excluded by NUMA zones too small"))

		bundle, stderr, err := packtree(viewer, "support-bundle")
		Expect(err).NotTo(HaveOccurred())
		Expect(stderr).To(BeEmpty())
		live, _, err := packtree(viewer, "tree", "--level", "numa")
		Expect(err).NotTo(HaveOccurred())
		Expect(live).To(And(ContainSubstring("numa node-0"), Not(ContainSubstring("Without label"))))
		dumped, _, err := packtree(viewer, "tree", "--level", "numa", "-f", file("bundle.yaml", bundle))
		Expect(err).NotTo(HaveOccurred())
		Expect(dumped).To(Equal(live))

		p := viewed(viewer)
		p.hears("overview")
		zones := p.reads().Topologies[0].Cluster.Domains[0].Domains[0].Zones
		Expect(zones).To(HaveLen(2))
		Expect(zones[0].Amounts).To(HaveField("Free", 1.0), "a pod has one of two")

		stdout, stderr, err = packtree(userWith("zoneless", nodesAndPods), "tree")
		Expect(err).NotTo(HaveOccurred(), stdout)
		Expect(stderr).To(ContainSubstring("you may not list NodeResourceTopologies"))
	})

	It("of a cluster without our kinds is told so", func() {
		for _, name := range []string{"podgroups.scheduling.run.ai", "topologies.kai.scheduler",
			"podgangs.scheduler.grove.io"} {
			definition := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
				"metadata": map[string]any{"name": name},
			}}
			Expect(admin.Delete(ctx, definition)).To(Succeed())
		}
		Eventually(func(g Gomega) {
			stdout, stderr, err := packtree(viewer, "tree")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(stdout).To(HavePrefix("Nodes\n"))
			g.Expect(stderr).To(ContainSubstring("note: the cluster serves no PodGroups"))
			g.Expect(stderr).To(ContainSubstring("note: the cluster serves no Topologies"))
		}).WithTimeout(patience).Should(Succeed())
		_, _, err := packtree(viewer, "explain", "gang-0")
		Expect(err).NotTo(HaveOccurred())
	})
})
