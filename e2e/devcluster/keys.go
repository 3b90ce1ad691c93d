package devcluster

import (
	"k8s.io/client-go/util/keyutil"

	"packtree.dev/e2e/devcluster/internal/credentials"
	"packtree.dev/e2e/devcluster/internal/ports"
	"packtree.dev/e2e/devcluster/internal/programs"
)

// writeKeys writes the keys and certificates for the control plane's programs.
func (c *controlPlane) writeKeys() error {
	serving, err := c.authority.Serving(ports.Host, "localhost", "kubernetes", "kubernetes.default",
		"kubernetes.default.svc", "kubernetes.default.svc.cluster.local", programs.APIServerService)
	if err != nil {
		return err
	}
	serviceAccounts, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return err
	}
	proxyAuthority, proxy, err := frontProxy()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		programs.AuthorityFile:      c.authorityPEM,
		programs.ProxyAuthorityFile: proxyAuthority,
		programs.ProxyCertificate:   proxy.Certificate,
		programs.ProxyKey:           proxy.Key,
		programs.ServingCertificate: serving.Certificate,
		programs.ServingKey:         serving.Key,
		programs.ServiceAccountKey:  serviceAccounts,
		programs.StagesFile:         programs.Stages,
	} {
		if err := c.write(name, content); err != nil {
			return err
		}
	}
	for file, user := range map[string]string{
		programs.ControllerManagerFile: programs.ControllerManagerUser,
		programs.KWOKFile:              programs.KWOKUser,
	} {
		if _, err := c.kubeconfig(file, user); err != nil {
			return err
		}
	}
	return nil
}

// frontProxy has an authority of its own: the API server accepts any user name from the holder of its certificate.
func frontProxy() ([]byte, credentials.Pair, error) {
	authority, err := credentials.NewAuthority("packtree-devcluster-front-proxy")
	if err != nil {
		return nil, credentials.Pair{}, err
	}
	certificate, err := authority.PEM()
	if err != nil {
		return nil, credentials.Pair{}, err
	}
	pair, err := authority.Client(programs.ProxyUser)
	return certificate, pair, err
}

// kubeconfig makes a client certificate and writes a kubeconfig with it.
func (c *controlPlane) kubeconfig(file, user string, groups ...string) ([]byte, error) {
	pair, err := c.authority.Client(user, groups...)
	if err != nil {
		return nil, err
	}
	content, err := credentials.Kubeconfig(credentials.Access{
		Server: c.layout.Server(), Authority: c.authorityPEM, Client: pair,
	})
	if err != nil {
		return nil, err
	}
	return content, c.write(file, content)
}
