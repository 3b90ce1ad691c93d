{{/*
The name of everything this chart creates. It is the chart's own name and not the release's: the CRDs and webhooks are
cluster-wide, so a second copy would fight the first, and the serving certificate names the Service.
*/}}
{{- define "dynamo-operator.fullname" -}}
{{- .Chart.Name -}}
{{- end -}}

{{/*
The labels that find the pods of this chart. They are immutable in a Deployment, so nothing that changes between
versions belongs here.
*/}}
{{- define "dynamo-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The labels of every object of this chart. */}}
{{- define "dynamo-operator.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "dynamo-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: {{ .Chart.Name }}
app.kubernetes.io/part-of: packtree
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* The service account that the program runs under. */}}
{{- define "dynamo-operator.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "dynamo-operator.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The image reference: the chart's appVersion unless a tag or a digest is given. */}}
{{- define "dynamo-operator.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The Secret with the serving certificate of the webhooks. */}}
{{- define "dynamo-operator.webhookSecretName" -}}
{{- default (printf "%s-webhook-cert" (include "dynamo-operator.fullname" .)) .Values.webhook.secretName -}}
{{- end -}}

{{/*
How the certificate is provided: auto by the program itself, manual from outside.
*/}}
{{- define "dynamo-operator.certProvider" -}}
{{- ternary "auto" "manual" (eq .Values.webhook.certMode "auto") -}}
{{- end -}}

{{/* The annotations of what the API server finds webhooks by. With cert-manager, its injector fills in the CA. */}}
{{- define "dynamo-operator.webhookAnnotations" -}}
{{- $injected := dict }}
{{- if eq .Values.webhook.certMode "cert-manager" }}
{{- $_ := set $injected "cert-manager.io/inject-ca-from" (printf "%s/%s" .Release.Namespace (include "dynamo-operator.webhookSecretName" .)) }}
{{- end }}
{{- with merge (deepCopy .Values.webhook.annotations) $injected }}
{{- toYaml . }}
{{- end }}
{{- end -}}

{{/*
The clientConfig of one webhook. Call it with a dict of `context` (the root) and `path`.
With webhook.url the API server calls that address, which is how a process outside the cluster serves webhooks; else it
calls the chart's Service. Without webhook.caBundle the program itself injects one (webhook.certMode auto).
*/}}
{{- define "dynamo-operator.webhookClientConfig" -}}
{{- $root := .context -}}
{{- if $root.Values.webhook.url -}}
url: {{ printf "%s%s" (trimSuffix "/" $root.Values.webhook.url) .path | quote }}
{{- else -}}
service:
  name: {{ include "dynamo-operator.fullname" $root }}
  namespace: {{ $root.Release.Namespace }}
  path: {{ .path | quote }}
  port: 443
{{- end }}
{{- with $root.Values.webhook.caBundle }}
caBundle: {{ . | quote }}
{{- end }}
{{- end -}}

{{/*
The CRDs under one folder of this chart, which `make generate` copies from the API packages. Call it with a dict of `context`
(the root) and `folder`. Helm never updates what lies in a chart's crds/ folder, hence templates; and it would delete templates
at uninstall, and with them every object of the kind, hence the policy, unless crds.keep says otherwise.
*/}}
{{- define "dynamo-operator.crds" -}}
{{- $root := .context -}}
{{- range $path, $bytes := $root.Files.Glob (printf "%s/*.yaml" .folder) }}
{{- $crd := $bytes | toString | fromYaml }}
{{- if not (and (eq $crd.metadata.name "dynamoworkermetadatas.nvidia.com") (include "dynamo-operator.foreign" (dict "context" $root "name" $crd.metadata.name))) }}
{{- $annotations := $crd.metadata.annotations | default dict }}
{{- if $root.Values.crds.keep }}
{{- $_ := set $annotations "helm.sh/resource-policy" "keep" }}
{{- end }}
{{- $_ := set $crd.metadata "annotations" $annotations }}
{{- $_ := set $crd.metadata "labels" (include "dynamo-operator.labels" $root | fromYaml) }}
{{- if eq $crd.metadata.name "dynamographdeployments.nvidia.com" }}
{{- $_ := merge $annotations (include "dynamo-operator.webhookAnnotations" $root | fromYaml) }}
{{- $client := include "dynamo-operator.webhookClientConfig" (dict "context" $root "path" "/convert") | fromYaml }}
{{- $_ := set $crd.spec "conversion" (dict "strategy" "Webhook" "webhook" (dict "clientConfig" $client "conversionReviewVersions" (list "v1"))) }}
{{- end }}
---
{{ toYaml $crd }}
{{ end }}
{{- end }}
{{- end -}}

{{/*
Not empty where a CRD exists that another release or a user has created: that one is left as it is. Call it with a dict of `context`
(the root) and `name`. Without a cluster, as with helm template, there is none.
*/}}
{{- define "dynamo-operator.foreign" -}}
{{- $there := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" .name }}
{{- if $there }}
{{- $annotations := $there.metadata.annotations | default dict }}
{{- $release := printf "%s/%s" .context.Release.Namespace .context.Release.Name }}
{{- if ne $release (printf "%s/%s" (get $annotations "meta.helm.sh/release-namespace") (get $annotations "meta.helm.sh/release-name")) }}foreign{{ end }}
{{- end }}
{{- end -}}

{{/*
Arguments that no other operator has: the addresses of infrastructure for the pods.
*/}}
{{- define "dynamo-operator.arguments" -}}
{{- with .Values.infrastructure.natsAddress }}
- --nats-address={{ . }}
{{- end }}
{{- with .Values.infrastructure.etcdAddress }}
- --etcd-address={{ . }}
{{- end }}
{{- with .Values.infrastructure.modelExpressURL }}
- --model-express-url={{ . }}
{{- end }}
{{- with .Values.infrastructure.prometheusEndpoint }}
- --prometheus-endpoint={{ . }}
{{- end }}
{{- end -}}
