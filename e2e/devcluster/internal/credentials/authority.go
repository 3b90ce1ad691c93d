// Package credentials makes the keys, certificates and kubeconfigs of a cluster.
package credentials

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math"
	"math/big"
	"net"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// lifetime is longer than any development cluster exists.
const lifetime = 365 * 24 * time.Hour

// Authority signs certificates.
type Authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// Pair is a certificate and its private key, both PEM.
type Pair struct {
	Certificate, Key []byte
}

// NewAuthority makes an authority with a new key.
func NewAuthority(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return AuthorityOf(name, key)
}

// AuthorityOf makes an authority with a key.
func AuthorityOf(name string, key crypto.Signer) (*Authority, error) {
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name}, key)
	if err != nil {
		return nil, err
	}
	return &Authority{certificate: certificate, key: key}, nil
}

// PEM is the authority's own certificate.
func (a *Authority) PEM() ([]byte, error) {
	return cert.EncodeCertificates(a.certificate)
}

// Serving makes a certificate for a server with these names or addresses. It is valid for a client too, because etcd is
// a client of itself.
func (a *Authority) Serving(hosts ...string) (Pair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: hosts[0]},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.sign(template)
}

// Client makes a certificate by which the API server recognizes the user and the groups.
func (a *Authority) Client(user string, groups ...string) (Pair, error) {
	return a.sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (a *Authority) sign(template *x509.Certificate) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(math.MaxInt64))
	if err != nil {
		return Pair{}, err
	}
	template.SerialNumber = serial
	template.NotBefore = a.certificate.NotBefore
	template.NotAfter = time.Now().Add(lifetime)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return Pair{}, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return Pair{}, err
	}
	pair := Pair{}
	if pair.Certificate, err = cert.EncodeCertificates(certificate); err != nil {
		return Pair{}, err
	}
	pair.Key, err = keyutil.MarshalPrivateKeyToPEM(key)
	return pair, err
}
