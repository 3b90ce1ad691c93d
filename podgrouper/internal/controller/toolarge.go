package controller

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// tooLargeToStore reports whether the API server turned an object down for its size, so that trying again is in vain. It has a
// reason for requests that are too large, but of what only its storage finds too large it repeats the words: those of etcd, or of
// the connection to it.
func tooLargeToStore(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) ||
		strings.Contains(err.Error(), "etcdserver: request is too large") ||
		strings.Contains(err.Error(), "trying to send message larger than max")
}
