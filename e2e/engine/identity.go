package engine

import (
	"fmt"
	"net"
	"strings"
)

// The components that take part in a request, as in DYN_COMPONENT.
const (
	Frontend = "frontend"
	Prefill  = "prefill"
	Decode   = "decode"
	Worker   = "worker"
)

// Identity is what a pod knows about itself, from its environment.
type Identity struct {
	// Component is Frontend, Prefill, Decode or Worker.
	Component string
	// DynamoNamespace is common to the pods of one deployment.
	DynamoNamespace string
	// Namespace, Pod and UID are the pod's own.
	Namespace, Pod, UID string
	// Listen is the address on which it listens; Address is the one at which others reach it.
	Listen, Address string
}

// IdentityFrom reads an environment. ENGINE_ADDRESS, which only this engine has, is for one that runs beside the
// cluster: it listens there, and others find it there instead of at the pod's address, POD_IP.
func IdentityFrom(get func(name string) string) (Identity, error) {
	identity := Identity{
		Component: get("DYN_COMPONENT"), DynamoNamespace: get("DYN_NAMESPACE"),
		Namespace: get("POD_NAMESPACE"), Pod: get("POD_NAME"), UID: get("POD_UID"),
	}
	port := get("DYN_SYSTEM_PORT")
	if identity.Component == Frontend {
		port = get("DYN_HTTP_PORT")
	}
	var missing []string
	for name, value := range map[string]string{
		"DYN_COMPONENT": identity.Component, "DYN_NAMESPACE": identity.DynamoNamespace,
		"POD_NAMESPACE": identity.Namespace,
		"POD_NAME":      identity.Pod, "POD_UID": identity.UID, "DYN_HTTP_PORT or DYN_SYSTEM_PORT": port,
	} {
		if value == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return Identity{}, fmt.Errorf("the environment has no %s: dynamo-operator sets it", strings.Join(missing, ", "))
	}
	if backend := get("DYN_DISCOVERY_BACKEND"); backend != "kubernetes" {
		return Identity{}, fmt.Errorf("DYN_DISCOVERY_BACKEND is %q: only kubernetes is known here", backend)
	}
	identity.Listen, identity.Address = ":"+port, net.JoinHostPort(get("POD_IP"), port)
	if beside := get("ENGINE_ADDRESS"); beside != "" {
		identity.Listen, identity.Address = beside, beside
	}
	return identity, nil
}
