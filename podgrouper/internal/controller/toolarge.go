package controller

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// tooLargeToStore reports whether the API server refused an object for its size, so that trying again is in vain.
// Requests that are too large have a reason of their own. If only the storage finds the object too large, the message
// repeats that of etcd, or of the connection to it.
func tooLargeToStore(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) ||
		strings.Contains(err.Error(), "etcdserver: request is too large") ||
		strings.Contains(err.Error(), "trying to send message larger than max")
}
