package charts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// withWebhooks are the charts of programs that serve webhooks.
var withWebhooks = []string{"dynamo-operator", "grove-operator", "podgrouper"}

// provider is how a certificate is provided, by the objects of a chart.
type provider struct {
	// Secret is set if the chart makes one, for the program to fill.
	Secret bool
	// Certificates are requested from cert-manager.
	Certificates []string
	// Rotates reports whether the program is configured to keep the certificate itself, MayRotate whether it has the
	// rights.
	Rotates, MayRotate bool
	// CA is the source of the authority that is injected into the webhook configurations, by annotation.
	CA string
}

// TestCertificates checks the provider of the certificate for each webhook.certMode of each chart.
func TestCertificates(t *testing.T) {
	for _, chart := range withWebhooks {
		secret := chart + "-webhook-cert"
		for name, test := range map[string]struct {
			set  []string
			want provider
		}{
			"the program": {nil, provider{Secret: true, Rotates: true, MayRotate: true}},
			"cert-manager": {
				[]string{"webhook.certMode=cert-manager"},
				provider{Certificates: []string{chart + "-webhook-ca", secret}, CA: namespace + "/" + secret},
			},
			"an issuer that is there": {
				[]string{"webhook.certMode=cert-manager", "webhook.certManager.issuerRef.name=corporate",
					"webhook.certManager.issuerRef.kind=ClusterIssuer"},
				provider{Certificates: []string{secret}, CA: namespace + "/" + secret},
			},
			"a Secret": {[]string{"webhook.certMode=manual"}, provider{}},
			"a Secret, and an injector": {
				[]string{"webhook.certMode=manual", `webhook.annotations.cert-manager\.io/inject-ca-from=a/b`},
				provider{CA: "a/b"},
			},
		} {
			t.Run(chart+"/"+name, func(t *testing.T) {
				objects := rendered(t, chart, test.set...)
				assert.Empty(t, cmp.Diff(test.want, providerIn(t, objects, chart)),
					"who keeps the certificate (-want +got)")
				// A volume of the Pod's own would keep nodes from being drained.
				mounted := slices.ContainsFunc(typed[appsv1.Deployment](t, objects,
					"Deployment")[0].Spec.Template.Spec.Volumes,
					func(volume corev1.Volume) bool {
						return volume.Name == "webhook-cert" && volume.Secret != nil && volume.Secret.SecretName == secret
					})
				if mounted == test.want.Rotates {
					t.Errorf("the Secret is mounted: %t", mounted)
				}
			})
		}
	}
}

func providerIn(t *testing.T, objects []*unstructured.Unstructured, chart string) provider {
	t.Helper()
	deployment := typed[appsv1.Deployment](t, objects, "Deployment")[0]
	found := provider{
		Secret:       len(namesOf(objects, "Secret")) > 0,
		Certificates: namesOf(objects, "Certificate"),
		Rotates:      slices.Contains(deployment.Spec.Template.Spec.Containers[0].Args, "--webhook-cert-mode=auto"),
	}
	if file := configuration(objects, chart); file != nil {
		text, _, _ := unstructured.NestedString(file.Object, "data", "config.yaml")
		found.Rotates = strings.Contains(text, "certProvisionMode: auto")
	}
	rules, _, _ := unstructured.NestedSlice(ofKind(t, objects, "Role").Object, "rules")
	for _, rule := range rules {
		resources, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "resources")
		found.MayRotate = found.MayRotate || slices.Contains(resources, "secrets")
	}
	for index, holder := range callers(objects) {
		ca := holder.GetAnnotations()["cert-manager.io/inject-ca-from"]
		if index > 0 && ca != found.CA {
			t.Errorf("%s %s gets its CA from %q, others from %q", holder.GetKind(), holder.GetName(), ca, found.CA)
		}
		found.CA = ca
	}
	return found
}

// callers are the objects by which the API server finds webhooks.
func callers(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(object *unstructured.Unstructured) bool {
		return len(clientConfigs([]*unstructured.Unstructured{object})) == 0
	})
}

// TestTheCertificateIsForTheService compares the names in the certificate with the address that the API server calls.
func TestTheCertificateIsForTheService(t *testing.T) {
	for _, chart := range withWebhooks {
		t.Run(chart, func(t *testing.T) {
			objects := rendered(t, chart, "webhook.certMode=cert-manager")
			certificate := named(objects, "Certificate", chart+"-webhook-cert")
			names, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
			for _, config := range clientConfigs(objects) {
				service, _ := config["service"].(map[string]any)
				if called := fmt.Sprintf("%s.%s.svc", service["name"], service["namespace"]); !slices.Contains(
					names, called) {
					t.Errorf("the API server calls %s, and the certificate is for %v", called, names)
				}
			}
			issuer, _, _ := unstructured.NestedString(certificate.Object, "spec", "issuerRef", "name")
			if named(objects, "Issuer", issuer) == nil {
				t.Errorf("the chart makes no Issuer %s", issuer)
			}
		})
	}
}
