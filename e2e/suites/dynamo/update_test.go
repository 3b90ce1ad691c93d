package dynamo_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
	dynamo "packtree.dev/shared/api/dynamo/v1beta1"
)

// update gives services other images: first one whose pods do not start, then one whose pods do.
func update(w *world) *features.FeatureBuilder {
	var others, workers suite.Memory
	rest := w.podsOfServices("llm", "Frontend", "Prefill")
	const (
		image  = "/podTemplate/spec/containers/0/image"
		holder = "/podTemplate/metadata"
	)
	turnsTo := func(service, to string, more ...string) types.StepFunc {
		return w.patches("llm", service, append(more, `{"op":"replace","path":"`+image+`","value":"`+to+`"}`)...)
	}
	notReady := w.waits("llm", "Decode: ")
	return features.New("update").
		Setup(w.create).
		Assess("a deployment runs",
			suite.AllOf(w.Applies("llm.yaml"), w.stands("llm", asApplied()), w.Remembers(rest, &others),
				w.Remembers(w.podsOfServices("llm", "Decode"), &workers),
				w.Guards(suite.CopiesOf("llm-0-decode", 2, map[string]int{"decode-ldr": 1, "decode-wkr": 1}, 1),
					suite.PodsOf("llm-0-prefill", 1)))).
		Assess("pods of a new image do not start, and Ready says whose", suite.AllOf(
			turnsTo("Decode", "vllm:2",
				`{"op":"add","path":"`+holder+`","value":{"annotations":{"`+hold+`":"until the suite lets it start"}}}`),
			w.replaces("llm", "Decode", &workers), notReady)).
		Assess("also after a crash of the operator",
			suite.AllOf(w.TheOperatorDies, w.replaces("llm", "Decode", &workers), notReady)).
		Assess("it cost no more than one replica", w.Created("vllm:2", 1, 2)).
		Assess("the next image is where all replicas go from there", suite.AllOf(
			turnsTo("Decode", "vllm:3", `{"op":"remove","path":"`+holder+`"}`), w.TheOperatorDies,
			w.stands("llm", asApplied().but(pods{"Decode": "4 of vllm:3"})))).
		Assess("each pod once", w.Created("vllm:3", 4, 4)).
		Assess("and no other service has noticed", w.IsAsIn(&others, rest)).
		Assess("two services turn together, one of them single-node", suite.AllOf(
			turnsTo("Prefill", "vllm:4"), turnsTo("Decode", "vllm:4"), w.TheOperatorDies,
			w.stands("llm", asApplied().but(pods{"Prefill": "2 of vllm:4", "Decode": "4 of vllm:4"})))).
		Assess("the status counts what is new",
			w.Reads("2 2", "dgd", "llm",
				"{.status.services.Prefill.updatedReplicas} {.status.services.Decode.updatedReplicas}")).
		Assess("and no minimum was ever undercut", w.Kept).
		Assess("an image that is none is refused with its place", w.Refused(
			[]string{"spec.components[2].podTemplate.spec.containers[0].image"},
			"patch", "dgd", "llm", "--type=json", "--patch", `[{"op":"remove","path":"/spec/components/2`+image+`"}]`)).
		Assess("which changes nothing",
			suite.AllOf(w.says("llm", dynamo.ConditionReady, metav1.ConditionTrue, dynamo.ReasonAllServicesReady),
				w.stands("llm", asApplied().but(pods{"Prefill": "2 of vllm:4", "Decode": "4 of vllm:4"})))).
		Teardown(w.remove)
}
