package webhook_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// clique is a clique of a template that is right but for what is given of its spec.
func clique(name, spec string) string {
	return "{name: " + name + ", spec: {podSpec: {containers: [{name: main, image: x}]}, " + spec + "}}"
}

// bare is a clique with nothing but its name.
func bare(name string) string { return clique(name, "") }

// ofGroup is a template with a scaling group of one clique.
func ofGroup(fields string) string {
	return template("cliques: [" + bare("a") + "], podCliqueScalingGroups: [{name: g, cliqueNames: [a], " + fields + "}]")
}

// bound is a clique of a template with a topology constraint.
func bound(name, constraint string) string {
	return "{name: " + name + ", topologyConstraint: " + constraint + ", spec: {podSpec: {containers: [{name: main, image: x}]}}}"
}

func template(text string) string {
	return "{replicas: 1, template: {" + text + "}}"
}

const (
	firstClique = "spec.template.cliques[0]"
	firstGroup  = "spec.template.podCliqueScalingGroups[0]"
	ofTheSet    = "spec.template.topologyConstraint"
)

// Errors of rules as a user sees them on a real API server, schema included. TestValidateCreate of package admission has
// a row for every rule.
var _ = Describe("The rules for a PodCliqueSet", Ordered, func() {
	BeforeAll(func() { useTopology("ruled", "zone", "block", "rack") })

	DescribeTable("name what is wrong by its path", func(spec string, paths ...string) {
		err := c.Create(ctx, written("s", spec), client.DryRunAll)
		if len(paths) == 0 {
			Expect(err).NotTo(HaveOccurred())
			return
		}
		Expect(causes(err)).To(ConsistOf(paths))
	},
		Entry("at least one clique", template("cliques: []"), "spec.template.cliques"),
		Entry("replicas above 0", template("cliques: ["+clique("a", "replicas: 0, minAvailable: 1")+"]"),
			firstClique+".spec.replicas"),
		Entry("minAvailable of a group at most replicas", ofGroup("minAvailable: 2"), firstGroup+".minAvailable"),
		Entry("autoscaling of a group: each bound", ofGroup("replicas: 3, minAvailable: 2, scaleConfig: {minReplicas: 1, maxReplicas: 2}"),
			firstGroup+".scaleConfig.minReplicas", firstGroup+".scaleConfig.maxReplicas"),
		Entry("an unknown domain: one error per constraint, and the hierarchy is not judged", template("clusterTopologyName: ruled, topologyConstraint: {pack: {required: numa, preferred: numa}}, cliques: ["+bound("a", "{packDomain: zone}")+","+bound("b", "{packDomain: host}")+"]"),
			ofTheSet, "spec.template.cliques[1].topologyConstraint"),
		Entry("repair", template("repair: {move: gang, after: 90s}, cliques: ["+bare("a")+"]")),
		Entry("repair: words that are none", template("repair: {move: all, after: soon}, cliques: ["+bare("a")+"]"),
			"spec.template.repair.move", "spec.template.repair.after"),
		Entry("a domain that is none at all", template("clusterTopologyName: ruled, topologyConstraint: {packDomain: aisle}, cliques: ["+bare("a")+"]"), ofTheSet),
		Entry("hierarchy: the set against every clique and group, a group against its members, at the parent", template("clusterTopologyName: ruled, topologyConstraint: {packDomain: block}, cliques: ["+bound("a", "{packDomain: zone}")+","+bare("b")+","+bound("c", "{packDomain: block}")+"],"+
			"podCliqueScalingGroups: [{name: g, cliqueNames: [c], topologyConstraint: {packDomain: rack}}, {name: h, cliqueNames: [b], topologyConstraint: {packDomain: zone}}]"),
			ofTheSet, ofTheSet, firstGroup+".topologyConstraint"),
		Entry("hierarchy: equal is fine, and required is not held against preferred", template("clusterTopologyName: ruled, topologyConstraint: {pack: {required: rack}}, cliques: ["+bound("a", "{packDomain: rack}")+","+bound("b", "{pack: {preferred: zone}}")+"]")),
		Entry("clusterTopologyName: exists", template("clusterTopologyName: none, topologyConstraint: {packDomain: rack}, cliques: ["+bare("a")+"]"), "spec.template.clusterTopologyName"),
		Entry("clusterTopologyName: only with a constraint", template("clusterTopologyName: ruled, cliques: ["+bare("a")+"]"),
			"spec.template.clusterTopologyName"),
	)

	DescribeTable("forbid to change a constraint, at its path", func(change string, paths ...string) {
		made := written(
			"", template("clusterTopologyName: ruled, topologyConstraint: {packDomain: zone}, cliques: ["+bound("a", "{packDomain: rack}")+","+bare("b")+"], podCliqueScalingGroups: [{name: g, cliqueNames: [b]}]"))
		made.SetGenerateName("ruled-")
		Expect(c.Create(ctx, made)).To(Succeed())
		err := c.Patch(ctx, made, client.RawPatch("application/json-patch+json", []byte(change)))
		Expect(causes(err)).To(ConsistOf(paths))
		Expect(err).To(MatchError(ContainSubstring(paths[0] + ": Forbidden: a topology constraint cannot be changed")))
	},
		Entry("added", `[{"op":"add","path":"/spec/template/podCliqueScalingGroups/0/topologyConstraint","value":{"packDomain":"rack"}}]`, firstGroup+".topologyConstraint"),
		Entry("removed", `[{"op":"remove","path":"/spec/template/cliques/0/topologyConstraint"}]`,
			firstClique+".topologyConstraint"),
		Entry("changed", `[{"op":"replace","path":"/spec/template/topologyConstraint/packDomain","value":"block"}]`,
			ofTheSet),
	)

	It("warn of a restartPolicy other than Always, at its path", func() {
		heard := warnings(func(attentive client.Client) {
			Expect(
				attentive.Create(
					ctx, written(
						"s", template(
							"cliques: [{name: a, spec: {podSpec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}]")),
					client.DryRunAll)).To(Succeed())
		})
		Expect(heard).To(ConsistOf(HavePrefix(firstClique + ".spec.podSpec.restartPolicy: ")))
	})
})
