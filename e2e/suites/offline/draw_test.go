package offline_test

import (
	"strings"

	"pgregory.net/rapid"
)

// anyDeployment draws deployments of either version as users write them, most without a mistake and some with a mistake
// that has to be found.
func anyDeployment() *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		kinds := map[string]any{"kind": "DynamoGraphDeployment", "metadata": map[string]any{
			"name": pick(t, "llama", "x", "qwen-3", "a-deployment-with-quite-a-long-name-for-what-it-does-all-day",
				rare(t, "1st", "d")),
			"annotations": mostlyNone(
				t, map[string]any{"nvidia.com/kai-scheduler-queue": rare(t, "no queue", "premium")}),
		}}
		spec := map[string]any{
			"labels": mostlyNone(t, map[string]any{
				pick(t, "team", "app.kubernetes.io/part-of", "kai.scheduler/queue", rare(t, "a/b/c", "tier")): rare(t,
					"no value!", "a"),
			}),
			"annotations": mostlyNone(t,
				map[string]any{"nvidia.com/vllm-distributed-executor-backend": pick(t, "ray", "mp",
					rare(t, "none", "mp"))}),
			"backendFramework":   pick(t, "", "", "vllm", "sglang", "trtllm"),
			"priorityClassName":  pick(t, "", "high"),
			"topologyConstraint": mostlyNone(t, constraint(t)),
		}
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
			"Frontend", "Decode", "prefill", "VllmDecodeWorker", "router", "decode-ldr",
			rare(t, "Decode-WKR", "epp"), "a", "9",
		}), 1, 4, strings.ToLower).Draw(t, "names")
		var parts []any
		v1alpha1 := rapid.Bool().Draw(t, "v1alpha1")
		for _, name := range names {
			if v1alpha1 {
				parts = append(parts, service(t, name))
			} else {
				parts = append(parts, component(t, name))
			}
		}
		kinds["apiVersion"], kinds["spec"] = "nvidia.com/v1beta1", spec
		spec["components"] = parts
		if v1alpha1 {
			kinds["apiVersion"] = "nvidia.com/v1alpha1"
			delete(spec, "components")
			spec["services"] = parts
		}
		return withoutEmpty(kinds)
	})
}

// shared are the fields with the same name in both versions.
func shared(t *rapid.T, name string) map[string]any {
	fields := map[string]any{
		"name":               name,
		"replicas":           rapid.IntRange(0, 3).Draw(t, "replicas"),
		"minAvailable":       rapid.SampledFrom([]int{1, 1, 1, 1, 1, 1, 2}).Draw(t, "minimum"),
		"topologyConstraint": mostlyNone(t, constraint(t)),
	}
	if rapid.Bool().Draw(t, "multinode") {
		fields["multinode"] = map[string]any{"nodeCount": rapid.SampledFrom([]int{2, 3}).Draw(t, "nodes")}
	}
	return fields
}

func service(t *rapid.T, name string) map[string]any {
	fields := shared(t, name)
	fields["componentType"] = componentType(t)
	fields["subComponentType"] = pick(t, "", "decode")
	fields["resources"] = map[string]any{"limits": map[string]any{"gpu": pick(t, "1", "8", "")}}
	fields["envFromSecret"] = pick(t, "", "token")
	fields["annotations"] = mostlyNone(t, map[string]any{"note": "any thing"})
	pod := podSpec(t)
	pod["mainContainer"] = container(t)
	fields["extraPodSpec"] = pod
	return fields
}

func component(t *rapid.T, name string) map[string]any {
	fields := shared(t, name)
	fields["type"] = componentType(t)
	fields["sharedMemorySize"] = pick(t, "", "0", "64Gi")
	main := container(t)
	main["name"] = "main"
	pod := podSpec(t)
	pod["containers"] = []any{map[string]any{"name": "proxy", "image": "proxy"}, main}
	fields["podTemplate"] = map[string]any{
		"metadata": map[string]any{"labels": mostlyNone(t, map[string]any{"role": rare(t, "b c", "a")})},
		"spec":     pod,
	}
	return fields
}

func componentType(t *rapid.T) string {
	return pick(t, "frontend", "worker", "prefill", "decode", "planner", "")
}

func podSpec(t *rapid.T) map[string]any {
	return map[string]any{
		"nodeSelector":  mostlyNone(t, map[string]any{"gpu": "h100"}),
		"schedulerName": rare(t, "default-scheduler", ""),
		"nodeName":      rare(t, "node-1", ""),
		"volumes": []any{
			map[string]any{"name": pick(t, "models", "shared-memory"), "emptyDir": map[string]any{"medium": "Memory"}},
		},
	}
}

func container(t *rapid.T) map[string]any {
	fields := map[string]any{"image": "image", "ports": []any{map[string]any{"containerPort": 9090}}}
	switch rapid.IntRange(0, 4).Draw(t, "command") {
	case 0:
		fields["command"] = []any{"python3", "-m", "dynamo." + pick(t, "vllm", "sglang", "trtllm")}
		fields["args"] = []any{"--tensor-parallel-size", pick(t, "4", "16"), "--note", "it's $HOME & \"more\""}
	case 1:
		fields["command"] = []any{"/bin/sh", "-c"}
		fields["args"] = []any{
			"source env && python3 -m dynamo." + pick(t, "vllm", "sglang", "trtllm") + " -dp 16 2>&1 | tee log",
		}
	case 2:
		fields["args"] = []any{"--data-parallel-size=8"}
	default:
		// The image or the component's type decides what to start.
	}
	return fields
}

func constraint(t *rapid.T) map[string]any {
	return map[string]any{
		"packDomain":      pick(t, "zone", "zone", "rack", rare(t, "datacenter", "zone"), ""),
		"preferredDomain": pick(t, "", "rack", "host"),
	}
}

func pick(t *rapid.T, words ...string) string {
	return rapid.SampledFrom(words).Draw(t, "word")
}

// rare returns a mistake from time to time.
func rare(t *rapid.T, mistake, otherwise string) string {
	if rapid.IntRange(0, 19).Draw(t, "mistaken") == 7 {
		return mistake
	}
	return otherwise
}

func mostlyNone(t *rapid.T, fields map[string]any) map[string]any {
	if rapid.IntRange(0, 4).Draw(t, "has it") > 0 {
		return nil
	}
	return fields
}

// withoutEmpty leaves out empty values: users do not write them.
func withoutEmpty(fields map[string]any) map[string]any {
	kept := map[string]any{}
	for key, value := range fields {
		switch value := value.(type) {
		case map[string]any:
			if inner := withoutEmpty(value); len(inner) > 0 {
				kept[key] = inner
			}
		case []any:
			var items []any
			for _, item := range value {
				if object, ok := item.(map[string]any); ok {
					item = withoutEmpty(object)
				}
				items = append(items, item)
			}
			kept[key] = items
		case string:
			if value != "" {
				kept[key] = value
			}
		default:
			kept[key] = value
		}
	}
	return kept
}
