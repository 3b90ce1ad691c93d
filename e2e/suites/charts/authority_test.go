package charts_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// authorize writes what the programs, or cert-manager's injector, write into the webhook configurations. If an upgrade
// removed it, nothing could be written until they have noticed.
func (i installation) authorize(t *testing.T) (authority []byte) {
	t.Helper()
	authority, _, err := cert.GenerateSelfSignedCertKey("authority", nil, nil)
	require.NoError(t, err)
	if count := i.eachClientConfig(t,
		func(config *admissionregistrationv1.WebhookClientConfig) { config.CABundle = authority }); count < 8 {
		t.Fatalf("only %d webhooks", count)
	}
	return authority
}

func (i installation) isAuthorized(t *testing.T, authority []byte) {
	t.Helper()
	without := 0
	i.eachClientConfig(t, func(config *admissionregistrationv1.WebhookClientConfig) {
		if !slices.Equal(config.CABundle, authority) {
			without++
		}
	})
	if without != 1 {
		t.Errorf("%d webhooks have lost their authority; only the one that the upgrade has added is without", without)
	}
}

// eachClientConfig visits the fields by which the API server finds its webhooks, writes the changes, and counts.
func (i installation) eachClientConfig(t *testing.T, visit func(*admissionregistrationv1.WebhookClientConfig)) int {
	t.Helper()
	count := 0
	// The API server writes the status of definitions at the same time, which does not affect a patch.
	write := func(before, after client.Object, visited int) {
		count += visited
		require.NoError(t, i.client.Patch(t.Context(), after, client.MergeFrom(before)))
	}
	var mutating admissionregistrationv1.MutatingWebhookConfigurationList
	var validating admissionregistrationv1.ValidatingWebhookConfigurationList
	var definitions apiextensionsv1.CustomResourceDefinitionList
	for _, list := range []client.ObjectList{&mutating, &validating, &definitions} {
		require.NoError(t, i.client.List(t.Context(), list))
	}
	for at := range mutating.Items {
		configuration := &mutating.Items[at]
		before := configuration.DeepCopy()
		for index := range configuration.Webhooks {
			visit(&configuration.Webhooks[index].ClientConfig)
		}
		write(before, configuration, len(configuration.Webhooks))
	}
	for at := range validating.Items {
		configuration := &validating.Items[at]
		before := configuration.DeepCopy()
		for index := range configuration.Webhooks {
			visit(&configuration.Webhooks[index].ClientConfig)
		}
		write(before, configuration, len(configuration.Webhooks))
	}
	for at := range definitions.Items {
		definition := &definitions.Items[at]
		before := definition.DeepCopy()
		if conversion := definition.Spec.Conversion; conversion != nil && conversion.Webhook != nil {
			config := admissionregistrationv1.WebhookClientConfig{CABundle: conversion.Webhook.ClientConfig.CABundle}
			visit(&config)
			conversion.Webhook.ClientConfig.CABundle = config.CABundle
			write(before, definition, 1)
		}
	}
	return count
}
