package devcluster

import (
	"encoding/base64"
	"maps"
	"path/filepath"
	"slices"

	"packtree.dev/e2e/devcluster/internal/ports"
)

func componentPorts(component string) []string {
	if component == scheduler {
		return []string{component}
	}
	return []string{component + " webhooks", component + " metrics", component + " health"}
}

func webhookSecret(component string) string {
	return component + "-webhook-cert"
}

// chartValues are those of the packtree chart for programs on this machine: no replicas, loopback addresses, and
// webhooks that the API server calls there, with certificates of the cluster's own authority.
func chartValues(
	components []string, chosen map[string]int, authority []byte, directory func(component string) string,
) map[string]any {
	enabled := map[string]any{}
	values := map[string]any{"components": enabled}
	listen := func(port string) map[string]any {
		return map[string]any{"bindAddress": ports.Host, "port": chosen[port]}
	}
	for _, component := range Components {
		enabled[component] = slices.Contains(components, component)
	}
	for _, component := range components {
		if component == scheduler {
			values[component] = map[string]any{"replicas": 0, "secureServing": listen(component)}
			continue
		}
		webhook := listen(component + " webhooks")
		webhook["url"] = "https://" + ports.Address(chosen[component+" webhooks"])
		webhook["caBundle"] = base64.StdEncoding.EncodeToString(authority)
		webhook["certMode"] = "manual"
		webhook["secretName"] = webhookSecret(component)
		// The path is in grove-operator's configuration too, so the chart itself gets the local one.
		webhook["certDir"] = filepath.Join(directory(component), "webhook-cert")
		values[component] = map[string]any{
			"replicas":    0,
			"logFormat":   "text",
			"webhook":     webhook,
			"metrics":     listen(component + " metrics"),
			"healthProbe": listen(component + " health"),
		}
	}
	bringKAI(components, values)
	return values
}

// overlay lays the given values of components over the existing ones, map by map.
func overlay(values map[string]any, given map[string]map[string]any) map[string]any {
	for component, wanted := range given {
		present, _ := values[component].(map[string]any)
		values[component] = laid(present, wanted)
	}
	return values
}

func laid(under, over map[string]any) map[string]any {
	result := maps.Clone(under)
	if result == nil {
		result = map[string]any{}
	}
	for key, value := range over {
		deeper, is := value.(map[string]any)
		if below, too := result[key].(map[string]any); is && too {
			value = laid(below, deeper)
		}
		result[key] = value
	}
	return result
}

// bringKAI makes another chart install the kinds that come with the scheduler, if the scheduler is left out.
func bringKAI(components []string, values map[string]any) {
	if slices.Contains(components, scheduler) {
		return
	}
	for _, component := range []string{"grove-operator", "podgrouper"} {
		if slices.Contains(components, component) {
			values[component].(map[string]any)["crds"] = map[string]any{"kai": true}
			return
		}
	}
}
