// Package admission decides whether a DynamoGraphDeployment may be written, and completes it first. It is what the
// webhooks and the offline command share; it reads nothing itself.
package admission

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
	"packtree.dev/shared/manifests"
)

// Complete brings the written form of a deployment, in either version, into the form in which it is stored: services as
// a list, sorted by name where they were written as a map, and each with its replicas. Fields are changed in place. What
// is malformed stays as it is, for Unknown to find.
func Complete(version string, fields map[string]any) []manifests.Problem {
	if version != v1alpha1.GroupVersion.Version {
		return nil
	}
	spec, ok := fields["spec"].(map[string]any)
	if !ok {
		return nil
	}
	if byName, ok := spec["services"].(map[string]any); ok {
		services, problems := listed(byName)
		if len(problems) > 0 {
			return problems
		}
		spec["services"] = services
	}
	services, _ := spec["services"].([]any)
	for _, service := range services {
		if service, ok := service.(map[string]any); ok && service["replicas"] == nil {
			service["replicas"] = int64(1)
		}
	}
	return nil
}

func listed(byName map[string]any) ([]any, []manifests.Problem) {
	services := make([]any, 0, len(byName))
	var problems []manifests.Problem
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		path := fmt.Sprintf("spec.services[%s]", name)
		service, ok := byName[name].(map[string]any)
		if byName[name] == nil {
			service, ok = map[string]any{}, true
		}
		switch inside, named := service["name"]; {
		case !ok:
			problems = append(problems, manifests.Problem{Path: path, Reason: "must be an object"})
		case named && inside != name:
			problems = append(problems, manifests.Problem{
				Path: path + ".name", Reason: fmt.Sprintf("Invalid value: %q: the key says %q; leave the name out", fmt.Sprint(inside), name),
			})
		default:
			service["name"] = name
			services = append(services, service)
		}
	}
	return services, problems
}

// Unknown returns the fields of a completed deployment that do not exist or have a wrong type. The API server looks for
// them only as strictly as each client asks, and not at all inside services.
func Unknown(version string, fields map[string]any) []manifests.Problem {
	if version == v1alpha1.GroupVersion.Version {
		rest, services := withoutServices(fields)
		problems := strictly("", rest, &v1alpha1.DynamoGraphDeployment{})
		for i, service := range services {
			problems = append(problems, strictly(fmt.Sprintf("spec.services[%d]", i), service, &v1alpha1.ServiceSpec{})...)
		}
		return problems
	}
	return strictly("", fields, &v1beta1.DynamoGraphDeployment{})
}

// withoutServices takes the services out of a copy: their Go type reads lists and maps alike and so hides from a strict
// decoder what is inside.
func withoutServices(fields map[string]any) (map[string]any, []any) {
	spec, _ := fields["spec"].(map[string]any)
	services, ok := spec["services"].([]any)
	if !ok {
		return fields, nil
	}
	spec = maps.Clone(spec)
	delete(spec, "services")
	rest := maps.Clone(fields)
	rest["spec"] = spec
	return rest, services
}

func strictly(prefix string, value any, into any) []manifests.Problem {
	written, err := json.Marshal(value)
	if err != nil {
		return []manifests.Problem{{Path: prefix, Reason: err.Error()}}
	}
	problems := manifests.DecodeStrict(written, into)
	for i := range problems {
		problems[i].Path = strings.Trim(prefix+"."+problems[i].Path, ".")
	}
	return problems
}
