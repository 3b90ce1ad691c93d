package credentials

import (
	"crypto/x509"
	"slices"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
)

func authority(t *testing.T) (*Authority, *x509.CertPool, []byte) {
	t.Helper()
	a, err := NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	pem, err := a.PEM()
	if err != nil {
		t.Fatal(err)
	}
	pool, err := cert.NewPoolFromBytes(pem)
	if err != nil {
		t.Fatal(err)
	}
	return a, pool, pem
}

func parse(t *testing.T, pair Pair) *x509.Certificate {
	t.Helper()
	certificates, err := cert.ParseCertsPEM(pair.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	return certificates[0]
}

func TestAServingCertificateHoldsForItsHostsAlone(t *testing.T) {
	a, pool, _ := authority(t)
	pair, err := a.Serving("127.0.0.1", "kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	certificate := parse(t, pair)
	for host, holds := range map[string]bool{"127.0.0.1": true, "kubernetes": true, "127.0.0.2": false,
		"other": false} {
		_, err := certificate.Verify(x509.VerifyOptions{Roots: pool, DNSName: host})
		if (err == nil) != holds {
			t.Errorf("verifying for %s: %v, want success: %v", host, err, holds)
		}
	}
	_, stranger, _ := authority(t)
	if _, err := certificate.Verify(x509.VerifyOptions{Roots: stranger}); err == nil {
		t.Error("another authority takes the certificate for its own")
	}
}

func TestAClientCertificateNamesUserAndGroupsAndServesNothing(t *testing.T) {
	a, pool, _ := authority(t)
	pair, err := a.Client("jane", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	certificate := parse(t, pair)
	if certificate.Subject.CommonName != "jane" ||
		!slices.Equal(certificate.Subject.Organization, []string{"system:masters"}) {
		t.Errorf("subject %v", certificate.Subject)
	}
	for usage, holds := range map[x509.ExtKeyUsage]bool{x509.ExtKeyUsageClientAuth: true,
		x509.ExtKeyUsageServerAuth: false} {
		_, err := certificate.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{usage}})
		if (err == nil) != holds {
			t.Errorf("verifying for usage %v: %v, want success: %v", usage, err, holds)
		}
	}
}

func TestAKubeconfigGivesBackWhatItWasMadeOf(t *testing.T) {
	a, _, pem := authority(t)
	pair, err := a.Client("jane")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		access    Access
		namespace string
	}{
		"certificate": {Access{Server: "https://127.0.0.1:6443", Authority: pem, Client: pair}, "default"},
		"token": {Access{Server: "https://127.0.0.1:6443", Authority: pem, Token: "secret", Namespace: "mine"},
			"mine"},
	} {
		t.Run(name, func(t *testing.T) {
			access := c.access
			content, err := Kubeconfig(access)
			if err != nil {
				t.Fatal(err)
			}
			config, err := clientcmd.NewClientConfigFromBytes(content)
			if err != nil {
				t.Fatal(err)
			}
			rest, err := config.ClientConfig()
			if err != nil {
				t.Fatal(err)
			}
			if rest.Host != access.Server || rest.BearerToken != access.Token || !slices.Equal(rest.CAData, pem) ||
				!slices.Equal(rest.CertData, access.Client.Certificate) ||
				!slices.Equal(rest.KeyData, access.Client.Key) {
				t.Errorf("got %v of %v", rest, access)
			}
			if namespace, _, _ := config.Namespace(); namespace != c.namespace {
				t.Errorf("namespace %q, want %q", namespace, c.namespace)
			}
		})
	}
}
