package credentials

import (
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// context is the name of cluster, user and context in every kubeconfig.
const context = "packtree-devcluster"

// Access has the address of the API server, and the credentials: a Client certificate or a Token.
type Access struct {
	Server    string
	Authority []byte
	Client    Pair
	Token     string
	// Namespace is the default of commands; empty means "default".
	Namespace string
}

// Kubeconfig writes the access as a self-contained kubeconfig.
func Kubeconfig(access Access) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[context] = &clientcmdapi.Cluster{Server: access.Server, CertificateAuthorityData: access.Authority}
	config.AuthInfos[context] = &clientcmdapi.AuthInfo{
		ClientCertificateData: access.Client.Certificate,
		ClientKeyData:         access.Client.Key,
		Token:                 access.Token,
	}
	config.Contexts[context] = &clientcmdapi.Context{Cluster: context, AuthInfo: context, Namespace: access.Namespace}
	config.CurrentContext = context
	return clientcmd.Write(*config)
}
