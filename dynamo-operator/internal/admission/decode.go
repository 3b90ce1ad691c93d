// Package admission decides whether a DynamoGraphDeployment may be written, and completes it first. The webhooks and
// the offline command share it; it reads nothing itself.
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
// a list, sorted by name if they were written as a map, and each with its replicas. Fields are changed in place.
// Malformed fields stay as they are, for Unknown to find.
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
		if service, ok := service.(map[string]any); ok {
			completeService(service)
		}
	}
	return nil
}

// completeService fills in the numbers that a schema would fill in.
func completeService(service map[string]any) {
	if service["replicas"] == nil {
		service["replicas"] = int64(1)
	}
	if multinode, ok := service["multinode"].(map[string]any); ok && multinode["nodeCount"] == nil {
		multinode["nodeCount"] = int64(2)
	}
}

func listed(byName map[string]any) ([]any, []manifests.Problem) {
	services := make([]any, 0, len(byName))
	var problems []manifests.Problem
	for i, name := range slices.Sorted(maps.Keys(byName)) {
		path := serviceList.Index(i)
		service, ok := byName[name].(map[string]any)
		if byName[name] == nil {
			service, ok = map[string]any{}, true
		}
		switch inside, named := service["name"]; {
		case !ok:
			problems = append(problems, manifests.Problem{Path: path.String(), Reason: withService(noObject, name)})
		case named && inside != name:
			problems = append(problems, manifests.Problem{
				Path:   path.Child("name").String(),
				Reason: fmt.Sprintf("Invalid value: %q: the key says %q; leave the name out", fmt.Sprint(inside), name),
			})
		default:
			service["name"] = name
			services = append(services, service)
		}
	}
	return services, problems
}

// Unknown returns the fields of a completed deployment that do not exist or have a wrong type. The API server looks for
// them only as strictly as each client asks, and not at all inside services. The status is not checked: another
// operator may have written it.
func Unknown(version string, fields map[string]any) []manifests.Problem {
	fields = maps.Clone(fields)
	delete(fields, "status")
	if version == v1alpha1.GroupVersion.Version {
		rest, services := withoutServices(fields)
		return append(unknownInServices(services), strictly("", rest, &v1alpha1.DynamoGraphDeployment{})...)
	}
	return strictly("", fields, &v1beta1.DynamoGraphDeployment{})
}

const noObject = "must be an object"

func unknownInServices(written any) []manifests.Problem {
	services, ok := written.([]any)
	if !ok && written != nil {
		return []manifests.Problem{
			{Path: serviceList.String(), Reason: "must be a list of services, or a map of them by name"},
		}
	}
	var problems []manifests.Problem
	for i, written := range services {
		path := serviceList.Index(i).String()
		service, ok := written.(map[string]any)
		if !ok {
			problems = append(problems, manifests.Problem{Path: path, Reason: noObject})
			continue
		}
		name, _ := service["name"].(string)
		for _, problem := range strictly(path, service, &v1alpha1.ServiceSpec{}) {
			problem.Reason = withService(problem.Reason, name)
			problems = append(problems, problem)
		}
	}
	return problems
}

// withoutServices takes the services out of a copy. Their Go type reads lists and maps alike, and so hides their fields
// from a strict decoder.
func withoutServices(fields map[string]any) (map[string]any, any) {
	spec, _ := fields["spec"].(map[string]any)
	services := spec["services"]
	if services == nil {
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
