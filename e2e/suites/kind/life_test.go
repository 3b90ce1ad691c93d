package kind_test

import (
	"path/filepath"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"
)

// TestLife goes from an empty cluster to an empty cluster: first by the quick start, then through failures. Each
// feature starts from the state that the one before left, except those in parallel, which have workloads of their own.
func TestLife(t *testing.T) {
	values := fromQuickStart(t, "values.yaml")
	first := features.New("quick start").
		Assess("the page is true, word for word, from the installation to the removal",
			quickStart).
		Assess("nothing of it is left", nothingLeft("default", "pods", "services", "roles", "rolebindings")).
		Assess("nor anywhere", nothingOfPacktree).
		Assess("its kinds go", says("delete", "crds", "--selector=app.kubernetes.io/part-of=packtree", timeout))
	older := features.New("installation of an older release").
		Assess("pods are restricted", restricted).
		Assess("the chart is installed, with the kinds of the oldest release, and everything gets ready",
			install(oldest(t), "--values="+values, "--set="+readers)).
		Assess("the kinds are not today's", kindsAreToday(false)).
		Assess("the deployment of the quick start is taken", isTaken(fromQuickStart(t, "hello.yaml"))).
		Assess("its pods run in one rack", inOneRack("app.kubernetes.io/part-of=hello", 5))
	upgraded := features.New("upgrade").
		Assess("workloads stay while the release is upgraded",
			podsStay(install(today, "--values="+values, "--set="+readers))).
		Assess("the kinds are today's", kindsAreToday(true)).
		Assess("the deployment gets ready", says("wait", "dynamographdeployment", "hello",
			"--for=condition=Ready", timeout)).
		Assess("workloads stay while the programs start anew", podsStay(startAnew)).
		Assess("every program is the one of its image", noRestarts).
		Assess("none complains", nobodyComplains)
	order := features.New("order of startup").
		Assess("the set is taken", isTaken(testdata("in-order.yaml"))).
		Assess("all of it starts", isAvailable("order", 1)).
		Assess("the second clique starts after the first is ready", startedInOrder).
		Assess("pods find each other by name", findsByName("order-0-second", "order-0-first-0.order-0"))
	job := features.New("job").
		Assess("it is taken", isTaken(testdata("job.yaml"))).
		Assess("it gets done", says("wait", "job", "short", "--for=condition=Complete", timeout)).
		Assess("its PodGroup says so", jobFinished)
	serving := features.New("serving").
		Assess("a deployment is taken", isTaken(testdata("serving.yaml"))).
		Assess("and gets ready", says("wait", "dynamographdeployment", "chat", "--for=condition=Ready", timeout)).
		Assess("requests through its Service pass all its pods",
			allAnswer("chat", "grove.io/podclique=order-0-first", 3)).
		Assess("its adapter is scaled", says("scale", "dynamographdeploymentscalingadapters/chat-decode",
			"--replicas=2")).
		Assess("requests pass the pod that comes too", allAnswer("chat", "grove.io/podclique=order-0-first", 4)).
		Assess("a worker is lost", losesOne("app.kubernetes.io/part-of=chat,nvidia.com/dynamo-component=Prefill")).
		Assess("requests pass the one in its place", allAnswer("chat", "grove.io/podclique=order-0-first", 4)).
		Assess("it goes", says("delete", "dgd", "chat", timeout))
	broken := features.New("an image that nobody has").
		Assess("the deployment is taken", isTaken(testdata("broken.yaml"))).
		Assess("it says which container lacks its image", dgdSays("broken", "127.0.0.1:1/none:1")).
		Assess("another image is named", says("patch", "dgd", "broken", "--type=json", "--patch", repair)).
		Assess("and all runs", says("wait", "dynamographdeployment", "broken", "--for=condition=Ready", timeout)).
		Assess("it goes", says("delete", "dgd", "broken", timeout))
	crash := features.New("a container that ends again and again").
		Assess("the set is taken", isTaken(testdata("crash.yaml"))).
		Assess("its gang is terminated, and made again", gangIsMadeAgain("crash")).
		Assess("it goes", says("delete", "pcs", "crash", timeout))
	metrics := features.New("metrics").
		Assess("a Prometheus runs", says("apply", "-f", testdata("prometheus.yaml"))).
		Assess("and is ready", says("-n", "monitoring", "wait", "pod", "prometheus", "--for=condition=Ready", timeout)).
		Assess("it reads all programs", metricsAreRead).
		Assess("it understands dashboards and alerts", queriesAreAnswered).
		Assess("others speak freely", says("apply", "-f", testdata("speakers.yaml"))).
		Assess("to it", says("wait", "pod", "visitor", "--for=condition=Ready", timeout)).
		Assess("as all do", hears("default", "visitor", metricsOf("podgrouper"), true)).
		Assess("also who looks like a program", hears("packtree-system", "lookalike", prometheus, true))
	policies := features.New("network policies").
		Assess("they are switched on", install(today, append(policed(), "--values="+values, "--set="+readers)...)).
		Assess("others cannot read metrics any more", hears("default", "visitor", metricsOf("podgrouper"), false)).
		Assess("the programs reach the API server", hears("packtree-system", "lookalike", apiServer, true)).
		Assess("and nobody else", hears("packtree-system", "lookalike", prometheus, false)).
		Assess("Prometheus reads on", metricsAreRead).
		Assess("webhooks are asked, and sets are made", says("scale", "podcliqueset", "order", "--replicas=2")).
		Assess("and run", isAvailable("order", 2)).
		Assess("and go", says("scale", "podcliqueset", "order", "--replicas=1")).
		Assess("those who speak go", says("delete", "-f", testdata("speakers.yaml"), timeout)).
		Assess("and Prometheus", says("delete", "-f", testdata("prometheus.yaml"), timeout))
	leaders := features.New("leaders").
		Assess("two of each run",
			install(today, append(policed(), "--values="+values, "--values=charts/packtree/values-ha.yaml")...)).
		Assess("those that lead are deleted", deleteLeaders).
		Assess("others lead", says("scale", "podcliqueset", "order", "--replicas=2")).
		Assess("and do the work", isAvailable("order", 2))
	drained := features.New("drain").
		Assess("a node lets all go", drain).
		Assess("the set is whole elsewhere", isAvailable("order", 2)).
		Assess("the deployment is ready elsewhere",
			says("wait", "dynamographdeployment", "hello", "--for=condition=Ready", timeout)).
		Assess("in one rack", inOneRack("app.kubernetes.io/part-of=hello", 5)).
		Assess("the node comes back", says("uncordon", drainedNode))
	lost := features.New("a node that is lost").
		Assess("the one with the workers stops, and is fenced",
			stopNodeOf("app.kubernetes.io/part-of=hello,nvidia.com/dynamo-component=Workers")).
		Assess("the deployment is ready elsewhere",
			says("wait", "dynamographdeployment", "hello", "--for=condition=Ready", timeout)).
		Assess("in one rack", inOneRack("app.kubernetes.io/part-of=hello", 5)).
		Assess("the set is whole", isAvailable("order", 2)).
		Assess("the node comes back", nodesComeBack)
	gone := features.New("removal").
		Assess("the workloads go", says("delete", "dgd,pcs,jobs", "--all", timeout)).
		Assess("nothing of them is left",
			nothingLeft("default", "pods", "podgroups", "podgangs", "podcliques", "services", "roles", "rolebindings")).
		Assess("the release goes", uninstall).
		Assess("nothing of it is left",
			nothingLeft("packtree-system", "pods", "deployments", "services", "secrets", "configmaps")).
		// The leases of the leaders stay until then.
		Assess("the namespace goes", says("delete", "namespace", "packtree-system", timeout)).
		Assess("nor anywhere", nothingOfPacktree)
	inTurn(t, first, older, upgraded)
	// The features in between wait for kubelets more than for one another.
	t.Run("side by side", func(t *testing.T) {
		for name, chain := range map[string][]*features.FeatureBuilder{
			"in order": {order, serving}, "short": {job, broken}, "crashing": {crash}, "zones": {zones()},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				inTurn(t, chain...)
			})
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	inTurn(t, metrics, policies, leaders, drained, lost, gone)
}

// inTurn runs the next feature only if the one before has succeeded.
func inTurn(t *testing.T, chain ...*features.FeatureBuilder) {
	t.Helper()
	for _, feature := range chain {
		testenv.Test(t, feature.Feature())
		if t.Failed() {
			report(t)
			t.FailNow()
		}
	}
}

// readers lets the Prometheus of prometheus.yaml read the scheduler's metrics.
const readers = "kai-topology-plugin.monitoring.readers[0].name=prometheus,kai-topology-plugin.monitoring.readers[0].namespace=monitoring"

// repair gives the deployment of broken.yaml an image that is there.
const repair = `[{"op": "replace", "path": "/spec/components/0/podTemplate/spec/containers/0/image", "value": "busybox:1.37"}]`

func testdata(name string) string { return filepath.Join("e2e", "suites", "kind", "testdata", name) }
