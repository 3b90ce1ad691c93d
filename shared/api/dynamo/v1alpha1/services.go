package v1alpha1

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/json"
)

// Services are the services of a deployment. In JSON they are a list, and a map by name is understood too: that is how
// the manifests in the field are written.
type Services []ServiceSpec

// UnmarshalJSON reads a list, or a map from name to service, which it sorts by name.
func (s *Services) UnmarshalJSON(written []byte) error {
	switch written := bytes.TrimSpace(written); {
	case bytes.HasPrefix(written, []byte("[")):
		return json.Unmarshal(written, (*[]ServiceSpec)(s))
	case bytes.Equal(written, []byte("null")):
		return nil
	case !bytes.HasPrefix(written, []byte("{")):
		return errors.New("services must be a list of services, or a map of them by name")
	}
	var byName map[string]ServiceSpec
	if err := json.Unmarshal(written, &byName); err != nil {
		return err
	}
	services := make(Services, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		service := byName[name]
		if service.Name != "" && service.Name != name {
			return fmt.Errorf("service %q is named %q inside", name, service.Name)
		}
		service.Name = name
		services = append(services, service)
	}
	*s = services
	return nil
}
