package admission

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// naming adds the service's name to each error about a service. Services may be written as a map, and are validated
// as a list: an index alone means nothing to the author of a map.
func (c Candidate) naming(errs field.ErrorList) field.ErrorList {
	for _, err := range errs {
		err.Detail = withService(err.Detail, c.serviceAt(err.Field))
	}
	return errs
}

// serviceAt is the name of the service that a path leads into. It is empty if the path leads elsewhere, or to the name
// itself.
func (c Candidate) serviceAt(path string) string {
	if c.written == nil {
		return ""
	}
	for i := range c.written.Spec.Services {
		at := c.words.component(i)
		if strings.HasPrefix(path, at.String()) && path != at.Child("name").String() {
			return c.written.Spec.Services[i].Name
		}
	}
	return ""
}

// withService ends a reason with the service that it is about, unless it says so already or there is none.
func withService(reason, service string) string {
	quoted := fmt.Sprintf("service %q", service)
	switch {
	case service == "" || strings.Contains(reason, quoted) || strings.Contains(reason, "service "+service):
		return reason
	case reason == "":
		return quoted
	default:
		return fmt.Sprintf("%s (%s)", reason, quoted)
	}
}
