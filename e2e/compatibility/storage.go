package compatibility

import (
	"path"
	"strings"
)

// StorageKey is where an API server keeps an object in etcd, under the prefix that is its default.
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

// isBuiltIn is whether Kubernetes itself has the group. Keys of its kinds are without it.
func isBuiltIn(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}
