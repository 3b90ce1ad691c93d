package schedulerserver_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// program runs the program's subcommand to its end.
func program(stdin string, arguments ...string) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	command := exec.CommandContext(ctx, os.Args[0], arguments...)
	command.Env = append(os.Environ(), asScheduler+"=1")
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(stdin), &out, &errs
	err = command.Run()
	return out.String(), errs.String(), err
}

func supportBundle() string {
	GinkgoHelper()
	bundle, stderr, err := program("", "support-bundle", "--kubeconfig", kubeconfig)
	Expect(err).NotTo(HaveOccurred(), stderr)
	Expect(stderr).To(BeEmpty(), "nothing is left out")
	return bundle
}

// replayed is what place decides about the PodGroups of a bundle.
type replayed map[string]struct {
	Name, Verdict, Message string
	Assignments            map[string]string
}

func replay(bundle string) replayed {
	GinkgoHelper()
	// The exit code says whether all are placed.
	stdout, stderr, _ := program(bundle, "place", "-f", "-")
	var decided struct {
		PodGroups []struct {
			Name, Verdict, Message string
			Assignments            map[string]string
		}
	}
	Expect(json.Unmarshal([]byte(stdout), &decided)).To(Succeed(), stderr)
	result := replayed{}
	for _, podGroup := range decided.PodGroups {
		result[podGroup.Name] = podGroup
	}
	return result
}

// deciding are pairs of nodes; one thing decides where a gang of one pod goes: to node 1, unless node0 is set.
type deciding struct {
	// first changes node 0, asked the pod of the gang.
	first func(*corev1.Node)
	asked func(*corev1.Pod)
	// running, if set, makes a pod that stands on node 0; resized is what its container has got by now.
	running func(*corev1.Pod)
	resized corev1.ResourceList
	node0   bool
}

var (
	most       = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("60")}
	some       = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10")}
	onThePort  = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}
	notWithApp = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "loner"}},
			TopologyKey:   corev1.LabelHostname,
		}},
	}}
	dedicated = corev1.Taint{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}
)

func requests(amounts corev1.ResourceList) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		for name, amount := range amounts {
			pod.Spec.Containers[0].Resources.Requests[name] = amount
		}
	}
}

func withApp(pod *corev1.Pod) { pod.Labels["app"] = "loner" }

// features are what a decision can hang on, by name.
var features = map[string]deciding{
	"requests":  {asked: requests(some), running: requests(most)},
	"cordon":    {first: func(node *corev1.Node) { node.Spec.Unschedulable = true }},
	"taint":     {first: func(node *corev1.Node) { node.Spec.Taints = []corev1.Taint{dedicated} }},
	"affinity":  {asked: func(pod *corev1.Pod) { pod.Spec.Affinity = notWithApp }, running: withApp},
	"repelled":  {asked: withApp, running: func(pod *corev1.Pod) { pod.Spec.Affinity = notWithApp }},
	"allocated": {first: func(node *corev1.Node) { node.Status.Allocatable[gpu] = resource.MustParse("0") }},
	"hostport": {
		asked:   func(pod *corev1.Pod) { pod.Spec.Containers[0].Ports = onThePort },
		running: func(pod *corev1.Pod) { pod.Spec.Containers[0].Ports = onThePort },
	},
	"hostnode": {asked: func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"hostnode-r-0"}},
				}}},
			}}}
	}},
	"spread": {
		asked: func(pod *corev1.Pod) {
			withApp(pod)
			pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "loner"}},
			}}
		},
		running: withApp,
	},
	"init": {
		asked: func(pod *corev1.Pod) {
			pod.Spec.InitContainers = []corev1.Container{
				{Name: "init", Image: "init", Resources: corev1.ResourceRequirements{Requests: most}},
			}
		},
		running: requests(some),
	},
	"sidecar": {
		asked: requests(some),
		running: func(pod *corev1.Pod) {
			requests(some)(pod)
			sidecar := corev1.Container{Name: "sidecar", Image: "sidecar",
				RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}
			sidecar.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50")}
			pod.Spec.InitContainers = []corev1.Container{sidecar}
		},
	},
	"podlevel": {
		asked:   requests(some),
		running: func(pod *corev1.Pod) { pod.Spec.Resources = &corev1.ResourceRequirements{Requests: most} },
	},
	"resized": {asked: requests(some), running: requests(some), resized: most},
	"tolerated": {
		first: func(node *corev1.Node) { node.Spec.Taints = []corev1.Taint{dedicated} },
		asked: func(pod *corev1.Pod) {
			pod.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "x"}}
			pod.Spec.NodeSelector[corev1.LabelHostname] = "tolerated-r-0"
		},
		node0: true,
	},
}

// given makes the two nodes, which are the zone of the name, what runs on them, and the gang.
func (d deciding) given(namespace, name string) {
	GinkgoHelper()
	givenRack(name, "r", 2, 4)
	if d.first != nil {
		node, err := kube.CoreV1().Nodes().Get(ctx, name+"-r-0", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		d.first(node)
		node, err = kube.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		d.first(node)
		_, err = kube.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
	if d.running != nil {
		running := pod(namespace, "", "", name+"-running", 0)
		running.Spec.NodeName = name + "-r-0"
		d.running(running)
		running, err := kube.CoreV1().Pods(namespace).Create(ctx, running, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		if d.resized != nil {
			running.Status.Phase = corev1.PodRunning
			running.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: "worker", AllocatedResources: d.resized, Resources: &corev1.ResourceRequirements{Requests: d.resized},
			}}
			_, err = kube.CoreV1().Pods(namespace).UpdateStatus(ctx, running, metav1.UpdateOptions{})
			Expect(err).NotTo(HaveOccurred())
		}
	}
	givenPodGroup(namespace, name, needing(1, nil))
	asked := pod(namespace, name, "", name+"-0", 1)
	asked.Spec.NodeSelector = map[string]string{zoneLevel: name}
	if d.asked != nil {
		d.asked(asked)
	}
	create(asked)
}

var _ = Describe("a support bundle", func() {
	var namespace string

	BeforeEach(func() {
		namespace = givenNamespace()
		givenTopology()
	})

	It("that was taken before the scheduler decides has place decide the same, whatever the decision hangs on", func() {
		want := map[string]string{}
		for name, feature := range features {
			feature.given(namespace, name)
			want[name+"-0"] = name + "-r-1"
			if feature.node0 {
				want[name+"-0"] = name + "-r-0"
			}
		}
		givenRack("z1", "r1", 2, 4)
		givenRack("z1", "r2", 3, 4)
		givenRack("z2", "r1", 3, 4)
		givenPodGroup(namespace, "tree", scheduling.PodGroupSpec{
			TopologyConstraint: required(zoneLevel),
			SubGroups: []scheduling.SubGroup{
				leaf("api", 1, nil),
				{Name: "workers"},
				in("workers", leaf("prefill", 3, required(rackLevel))),
				in("workers", leaf("decode", 2, required(rackLevel))),
			},
		})
		givenPods(namespace, "tree", "api", 1, 1)
		givenPods(namespace, "tree", "prefill", 3, 3)
		givenPods(namespace, "tree", "decode", 2, 4)
		bundle := supportBundle()

		startScheduler()
		eventuallyBound(namespace, gangOf("tree"), 6)
		for name := range features {
			eventuallyBound(namespace, gangOf(name), 1)
		}
		pods, err := kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		got, offline := map[string]string{}, map[string]string{}
		for _, pod := range pods.Items {
			if !strings.HasSuffix(pod.Name, "-running") {
				got[pod.Name] = pod.Spec.NodeName
			}
			if strings.HasPrefix(pod.Name, "tree-") {
				want[pod.Name] = pod.Spec.NodeName
			}
		}
		for _, decided := range replay(bundle) {
			for pod, node := range decided.Assignments {
				offline[pod] = node
			}
		}
		Expect(got).To(Equal(want), "what the scheduler did")
		Expect(offline).To(Equal(got), "what place does")
	})

	It("that was taken while a gang waits has place say why in the same words, and where others stand", func() {
		givenRack("z1", "r1", 2, 4)
		givenRack("z1", "r2", 2, 4)
		startScheduler()
		givenPodGroup(namespace, "stands", needing(2, required(rackLevel)))
		givenPods(namespace, "stands", "", 2, 3)
		eventuallyBound(namespace, gangOf("stands"), 2)
		givenPodGroup(namespace, "waits", needing(3, required(rackLevel)))
		givenPods(namespace, "waits", "", 3, 3)
		Eventually(scheduled(namespace, "waits")).Should(withReason(scheduling.ReasonInfeasible))

		decided := replay(supportBundle())
		Expect(decided["stands"].Verdict).To(Equal(scheduling.ReasonPlaced))
		Expect(decided["waits"].Verdict).To(Equal(scheduling.ReasonInfeasible))
		Expect(scheduled(namespace, "waits")().Message).To(HavePrefix(decided["waits"].Message))
		// The recorder writes events a little later than the status.
		Eventually(supportBundle).Should(And(
			MatchRegexp(`(?m)^message: ["']?Successfully assigned `+namespace+`/stands-`),
			MatchRegexp(`(?m)^  kind: PodGroup\n  name: waits\n`),
		), "what schedulers say of gangs and pods is in the bundle")
	})
})
