package compatibility

import (
	"path"
	"strings"
)

// StorageKey is the key of an object in an API server's etcd, under the default prefix.
func StorageKey(group, resource, namespace, name string) string {
	folder := path.Join(group, resource)
	if isBuiltIn(group) {
		folder = resource
	}
	if folder == "services" {
		folder = "services/specs"
	}
	return path.Join("/registry", folder, namespace, name)
}

// isBuiltIn reports whether Kubernetes itself has the group. Keys of its kinds do not contain it.
func isBuiltIn(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}
