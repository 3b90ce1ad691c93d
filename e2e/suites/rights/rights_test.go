package rights_test

import (
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
)

// TestEveryRightIsNeededAndNoneIsMissing makes the programs do all that they do. A right of their roles that was not
// needed by then is one too many.
func TestEveryRightIsNeededAndNoneIsMissing(t *testing.T) {
	w := newWorld()
	cluster.Test(t, features.New("rights").
		Assess("a set, a deployment and pods with volumes and devices come", suite.AllOf(
			w.create, w.Applies("topology.yaml"), w.Applies("storage.yaml"), w.Applies("devices.yaml"),
			w.Applies("set.yaml"),
			w.Applies("inferencepools.yaml"), w.Applies("deployment.yaml"),
			w.ready("pcs", "serve"), w.ready("dgd", "llm"), w.bound("claims-a-card"), w.bound("asks-for-a-card"),
			w.missesNothing)).
		Assess("what a set consists of is put right, scaled and deleted",
			suite.AllOf(w.drifts, w.isScaled, w.shares, w.findsNamesTaken, w.missesNothing)).
		Assess("sets that are edited all the time come and go", w.isEditedAllTheTime).
		Assess("what a deployment consists of is put right; its services are stopped, started, scaled, and closed",
			suite.AllOf(w.deploymentDrifts, w.changesServices, w.missesNothing)).
		Assess("pods are grouped by owners of every kind",
			suite.AllOf(w.ownersOfEveryKind, w.asksForWhatIsNot, w.missesNothing)).
		Assess("room is made, and what a pod was given is taken back",
			suite.AllOf(w.makesRoom, w.takesBack, w.moves, w.needsNodes, w.missesNothing)).
		Assess("Kueue asks whether a gang fits", suite.AllOf(
			w.servesZones, w.installsKueue, w.Applies("queue.yaml"), w.ready("pcs", "queued"),
			w.Kubectl("delete", "pods", "--selector=app.kubernetes.io/part-of=queued"),
			w.Kubectl("delete", "pcs", "queued"), w.missesNothing)).
		Assess("metrics are read", suite.AllOf(w.readsMetrics, w.remembersRoles("certificates by hand"),
			w.missesNothing)).
		Assess("a program that lacks a right says which", suite.AllOf(w.saysWhatItLacks, w.looksAway)).
		Assess("all of it goes", suite.AllOf(w.allGoes, w.missesNothing)).
		Assess("programs that keep their own certificates work", suite.AllOf(
			w.keepsItsCertificates, w.remembersRoles("certificates of the programs' own, and no topology"),
			w.missesNothing)).
		Assess("every right was needed", w.hasNoneTooMany))
}
