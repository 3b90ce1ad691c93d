{{/*
The name of everything this chart creates. It is the chart's own name and not the release's: the CRDs and webhooks are
cluster-wide, so a second copy would fight the first, and the serving certificate names the Service.
*/}}
{{- define "grove-operator.fullname" -}}
{{- .Chart.Name -}}
{{- end -}}

{{/*
The labels that find the pods of this chart. They are immutable in a Deployment, so nothing that changes between
versions belongs here.
*/}}
{{- define "grove-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The labels of every object of this chart. */}}
{{- define "grove-operator.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "grove-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: {{ .Chart.Name }}
app.kubernetes.io/part-of: packtree
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* The service account that the program runs under. */}}
{{- define "grove-operator.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "grove-operator.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/*
An image reference: the chart's appVersion unless a tag or a digest is given. Call it with a dict of `context` (the root) and
`image` (the values).
*/}}
{{- define "grove-operator.image" -}}
{{- $image := .image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default .context.Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The Secret with the serving certificate of the webhooks. */}}
{{- define "grove-operator.webhookSecretName" -}}
{{- default (printf "%s-webhook-cert" (include "grove-operator.fullname" .)) .Values.webhook.secretName -}}
{{- end -}}

{{/*
How the certificate is provided: auto by the program itself, manual from outside.
*/}}
{{- define "grove-operator.certProvider" -}}
{{- ternary "auto" "manual" (eq .Values.webhook.certMode "auto") -}}
{{- end -}}

{{/* The annotations of what the API server finds webhooks by. With cert-manager, its injector fills in the CA. */}}
{{- define "grove-operator.webhookAnnotations" -}}
{{- $injected := dict }}
{{- if eq .Values.webhook.certMode "cert-manager" }}
{{- $_ := set $injected "cert-manager.io/inject-ca-from" (printf "%s/%s" .Release.Namespace (include "grove-operator.webhookSecretName" .)) }}
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
{{- define "grove-operator.webhookClientConfig" -}}
{{- $root := .context -}}
{{- if $root.Values.webhook.url -}}
url: {{ printf "%s%s" (trimSuffix "/" $root.Values.webhook.url) .path | quote }}
{{- else -}}
service:
  name: {{ include "grove-operator.fullname" $root }}
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
{{- define "grove-operator.crds" -}}
{{- $root := .context -}}
{{- range $path, $bytes := $root.Files.Glob (printf "%s/*.yaml" .folder) }}
{{- $crd := $bytes | toString | fromYaml }}
{{- $annotations := $crd.metadata.annotations | default dict }}
{{- if $root.Values.crds.keep }}
{{- $_ := set $annotations "helm.sh/resource-policy" "keep" }}
{{- end }}
{{- $_ := set $crd.metadata "annotations" $annotations }}
{{- $_ := set $crd.metadata "labels" (include "grove-operator.labels" $root | fromYaml) }}
---
{{ toYaml $crd }}
{{ end }}
{{- end -}}

{{/* The OperatorConfiguration. */}}
{{- define "grove-operator.config" -}}
{{- $certDir := .Values.webhook.certDir }}
{{- $server := dict
  "webhooks" (dict
    "bindAddress" .Values.webhook.bindAddress "port" .Values.webhook.port
    "serverCertDir" $certDir "secretName" (include "grove-operator.webhookSecretName" .)
    "certProvisionMode" (include "grove-operator.certProvider" .))
  "healthProbes" (dict "bindAddress" .Values.healthProbe.bindAddress "port" .Values.healthProbe.port)
  "metrics" (dict "bindAddress" .Values.metrics.bindAddress "port" .Values.metrics.port) }}
{{- $leaderElection := dict "enabled" .Values.leaderElection.enabled "resourceNamespace" .Release.Namespace }}
{{- $startup := dict
  "image" (include "grove-operator.image" (dict "context" . "image" .Values.startup.image))
  "imagePullPolicy" .Values.startup.image.pullPolicy "resources" .Values.startup.resources }}
{{- $header := dict
  "apiVersion" "operator.config.grove.io/v1alpha1" "kind" "OperatorConfiguration"
  "server" $server "leaderElection" $leaderElection "startupOrder" $startup
  "logLevel" .Values.logLevel "logFormat" .Values.logFormat }}
{{- toYaml (merge $header .Values.config) }}
{{- end -}}

{{/* The ConfigMap with the configuration. Its name changes with the content, so that a change starts new pods and a rollback finds the old one. */}}
{{- define "grove-operator.configName" -}}
{{ include "grove-operator.fullname" . }}-config-{{ include "grove-operator.config" . | sha256sum | trunc 10 }}
{{- end -}}
