package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"packtree.dev/shared/version"
)

// Files of a service account, as the kubelet mounts them.
const (
	tokenFile     = "token"
	authorityFile = "ca.crt"
	namespaceFile = "namespace"
)

// connection is the address of the API server, and the credentials for it.
type connection struct {
	// Namespace of the pods.
	Namespace string
	config    *rest.Config
}

// connect returns the connection of a service account to the API server at a URL. The directory has the account's
// token, which is read anew as it is renewed, the server's authority, and the namespace. No request is sent yet.
func connect(server, directory string) (connection, error) {
	namespace, err := os.ReadFile(filepath.Join(directory, namespaceFile))
	if err != nil {
		return connection{}, fmt.Errorf("reading the namespace: %w", err)
	}
	for _, name := range []string{tokenFile, authorityFile} {
		if _, err := os.Stat(filepath.Join(directory, name)); err != nil {
			return connection{}, fmt.Errorf("looking for credentials: %w", err)
		}
	}
	return connection{
		Namespace: strings.TrimSpace(string(namespace)),
		config: &rest.Config{
			Host:            server,
			BearerTokenFile: filepath.Join(directory, tokenFile),
			TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(directory, authorityFile)},
			UserAgent:       "grove-startup/" + version.String(),
		},
	}, nil
}

// client returns a client that knows pods and no other kind, which keeps the program small.
func (c connection) client() (*rest.RESTClient, runtime.ParameterCodec, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, nil, fmt.Errorf("registering pods: %w", err)
	}
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	config := rest.CopyConfig(c.config)
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, nil, fmt.Errorf("preparing the connection to %s: %w", c.config.Host, err)
	}
	return client, runtime.NewParameterCodec(scheme), nil
}
