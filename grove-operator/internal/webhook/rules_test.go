package webhook_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// clique is a clique of a template that is right but for what is given of its spec.
func clique(name, spec string) string {
	return "{name: " + name + ", spec: {podSpec: {containers: [{name: main, image: x}]}, " + spec + "}}"
}

// bare is a clique of which nothing is said.
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

// The documented rules, in their order, as a user sees them on a real API server, schema included.
var _ = Describe("The rules for a PodCliqueSet", Ordered, func() {
	BeforeAll(func() { useTopology("ruled", "zone", "block", "rack") })

	DescribeTable("name what is wrong by its path", func(name, spec string, paths ...string) {
		err := c.Create(ctx, written(name, spec), client.DryRunAll)
		if len(paths) == 0 {
			Expect(err).NotTo(HaveOccurred())
			return
		}
		Expect(causes(err)).To(ConsistOf(paths))
	},
		Entry("at least one clique", "s", template("cliques: []"), "spec.template.cliques"),
		Entry("names are DNS labels", "s", template("cliques: ["+clique("A_b", "roleName: r")+"]"),
			firstClique+".name"),
		Entry("names are unique", "s", template("cliques: ["+bare("a")+","+clique("a", "roleName: r")+"]"),
			"spec.template.cliques[1].name"),
		Entry("roleNames are unique", "s", template("cliques: ["+clique("a", "roleName: r")+","+clique("b", "roleName: r")+"]"), "spec.template.cliques[1].spec.roleName"),

		Entry("the name budget of 45, kept", strings.Repeat("s", 40), template("cliques: ["+clique("abcde", "")+"]")),
		Entry("the name budget of 45, of a clique", strings.Repeat("s", 40),
			template("cliques: ["+clique("abcdef", "")+"]"), firstClique+".name"),
		Entry("the name budget of 45, of a group", strings.Repeat("s", 41),
			template("cliques: ["+bare("a")+"], podCliqueScalingGroups: [{name: wxyz, cliqueNames: [a]}]"),
			firstClique+".name", firstGroup+".name"),

		Entry("replicas above 0", "s", template("cliques: ["+clique("a", "replicas: 0, minAvailable: 1")+"]"),
			firstClique+".spec.replicas"),
		Entry("minAvailable above 0", "s", template("cliques: ["+clique("a", "minAvailable: 0")+"]"),
			firstClique+".spec.minAvailable"),
		Entry("minAvailable at most replicas", "s",
			template("cliques: ["+clique("a", "replicas: 2, minAvailable: 3")+"]"), firstClique+".spec.minAvailable"),
		Entry("replicas of a group above 0", "s",
			ofGroup("replicas: 0"), firstGroup+".replicas"),
		Entry("minAvailable of a group above 0", "s",
			ofGroup("minAvailable: 0"), firstGroup+".minAvailable"),
		Entry("minAvailable of a group at most replicas", "s",
			ofGroup("minAvailable: 2"), firstGroup+".minAvailable"),

		Entry("startsAfter: known", "s", template("cliques: ["+clique("a", "startsAfter: [x]")+"]"),
			firstClique+".spec.startsAfter"),
		Entry("startsAfter: not itself", "s", template("cliques: ["+clique("a", "startsAfter: [a]")+"]"),
			firstClique+".spec.startsAfter"),
		Entry("startsAfter: no duplicates", "s", template("cliques: ["+clique("a", "startsAfter: [b, b]")+","+bare("b")+"]"), firstClique+".spec.startsAfter"),
		Entry("startsAfter: no cycle", "s", template("cliques: ["+clique("a", "startsAfter: [b]")+","+clique("b", "startsAfter: [a]")+"]"), firstClique+".spec.startsAfter"),

		Entry("autoscaling: minReplicas at least minAvailable", "s",
			template("cliques: ["+clique("a", "replicas: 2, autoScalingConfig: {minReplicas: 1, maxReplicas: 3}")+"]"),
			firstClique+".spec.autoScalingConfig.minReplicas"),
		Entry("autoscaling: maxReplicas at least minReplicas", "s",
			template("cliques: ["+clique("a", "autoScalingConfig: {minReplicas: 3, maxReplicas: 2}")+"]"),
			firstClique+".spec.autoScalingConfig.maxReplicas"),
		Entry("autoscaling: maxReplicas at least replicas", "s",
			template("cliques: ["+clique("a", "replicas: 3, minAvailable: 1, autoScalingConfig: {minReplicas: 1, maxReplicas: 2}")+"]"),
			firstClique+".spec.autoScalingConfig.maxReplicas"),
		Entry("autoscaling: none on a clique in a group", "s",
			template("cliques: ["+clique("a", "autoScalingConfig: {maxReplicas: 3}")+"], podCliqueScalingGroups: [{name: g, cliqueNames: [a]}]"),
			firstClique+".spec.autoScalingConfig"),
		Entry("autoscaling of a group: each bound", "s", ofGroup("replicas: 3, minAvailable: 2, scaleConfig: {minReplicas: 1, maxReplicas: 2}"),
			firstGroup+".scaleConfig.minReplicas", firstGroup+".scaleConfig.maxReplicas"),

		Entry("groups: members exist", "s",
			template("cliques: ["+bare("a")+"], podCliqueScalingGroups: [{name: g, cliqueNames: [b]}]"),
			firstGroup+".cliqueNames"),
		Entry("groups: names are unique", "s",
			template("cliques: ["+bare("a")+","+bare("b")+"], podCliqueScalingGroups: [{name: g, cliqueNames: [a]}, {name: g, cliqueNames: [b]}]"),
			"spec.template.podCliqueScalingGroups[1].name"),
		Entry("groups: a clique is in one at most", "s",
			template("cliques: ["+bare("a")+"], podCliqueScalingGroups: [{name: g, cliqueNames: [a]}, {name: h, cliqueNames: [a]}]"),
			"spec.template.podCliqueScalingGroups[1].cliqueNames"),

		Entry("an unknown domain: one error per constraint, and the hierarchy is not judged", "s",
			template("clusterTopologyName: ruled, topologyConstraint: {pack: {required: numa, preferred: numa}}, cliques: ["+bound("a", "{packDomain: zone}")+","+bound("b", "{packDomain: host}")+"]"),
			ofTheSet, "spec.template.cliques[1].topologyConstraint"),

		Entry("repair", "s", template("repair: {move: gang, after: 90s}, cliques: ["+bare("a")+"]")),
		Entry("repair: words that are none", "s",
			template("repair: {move: all, after: soon}, cliques: ["+bare("a")+"]"),
			"spec.template.repair.move", "spec.template.repair.after"),
		Entry("a domain that is none at all", "s",
			template("clusterTopologyName: ruled, topologyConstraint: {packDomain: aisle}, cliques: ["+bare("a")+"]"), ofTheSet),
		Entry("a constraint of both forms", "s", template("clusterTopologyName: ruled, topologyConstraint: {packDomain: rack, pack: {required: rack}}, cliques: ["+bare("a")+"]"), ofTheSet),

		Entry("hierarchy: the set against every clique and group, a group against its members, at the parent", "s",
			template("clusterTopologyName: ruled, topologyConstraint: {packDomain: block}, cliques: ["+bound("a", "{packDomain: zone}")+","+bare("b")+","+bound("c", "{packDomain: block}")+"],"+
				"podCliqueScalingGroups: [{name: g, cliqueNames: [c], topologyConstraint: {packDomain: rack}}, {name: h, cliqueNames: [b], topologyConstraint: {packDomain: zone}}]"),
			ofTheSet, ofTheSet, firstGroup+".topologyConstraint"),
		Entry("hierarchy: equal is fine, and required is not held against preferred", "s",
			template("clusterTopologyName: ruled, topologyConstraint: {pack: {required: rack}}, cliques: ["+bound("a", "{packDomain: rack}")+","+bound("b", "{pack: {preferred: zone}}")+"]")),
		Entry("hierarchy: preferred against preferred", "s",
			template("clusterTopologyName: ruled, topologyConstraint: {pack: {preferred: rack}}, cliques: ["+bound("a", "{pack: {preferred: block}}")+"]"), ofTheSet),
		Entry("hierarchy: preferred not broader than required", "s",
			template("clusterTopologyName: ruled, cliques: ["+bound("a", "{pack: {required: rack, preferred: zone}}")+"]"), firstClique+".topologyConstraint"),

		Entry("clusterTopologyName: exists", "s",
			template("clusterTopologyName: none, topologyConstraint: {packDomain: rack}, cliques: ["+bare("a")+"]"), "spec.template.clusterTopologyName"),
		Entry("clusterTopologyName: only with a constraint", "s",
			template("clusterTopologyName: ruled, cliques: ["+bare("a")+"]"),
			"spec.template.clusterTopologyName"),

		Entry("topologySpread: one bound", "s", template("clusterTopologyName: ruled, topologySpread: [{domain: rack, maxPerDomain: 1, even: true, whenUnsatisfiable: ScheduleAnyway}], cliques: ["+bare("a")+"]"),
			"spec.template.topologySpread[0]"),
		Entry("topologySpread: even is preferred only", "s", template("clusterTopologyName: ruled, topologySpread: [{domain: rack, even: true}], cliques: ["+bare("a")+"]"),
			"spec.template.topologySpread[0].even"),
		Entry("topologySpread: against a constraint", "s",
			template("clusterTopologyName: ruled, topologyConstraint: {packDomain: rack}, cliques: ["+bare("a")+"], podCliqueScalingGroups: [{name: g, cliqueNames: [a], replicas: 2, topologySpread: [{domain: rack, maxPerDomain: 1}]}]"),
			firstGroup+".topologySpread[0].maxPerDomain"),

		Entry(
			"nodeName", "s", template(
				"cliques: [{name: a, spec: {podSpec: {nodeName: node-1, containers: [{name: main, image: x}]}}}]"),
			firstClique+".spec.podSpec.nodeName"),
		Entry("topologySpreadConstraints", "s", template("cliques: [{name: a, spec: {podSpec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: k, whenUnsatisfiable: DoNotSchedule}], containers: [{name: main, image: x}]}}}]"),
			firstClique+".spec.podSpec.topologySpreadConstraints"),
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
