{{/*
The name of everything this chart creates. It is the chart's own name and not the release's: the CRDs and webhooks are
cluster-wide, so a second copy would fight the first, and the serving certificate names the Service.
*/}}
{{- define "podgrouper.fullname" -}}
{{- .Chart.Name -}}
{{- end -}}

{{/*
The labels that find the pods of this chart. They are immutable in a Deployment, so nothing that changes between
versions belongs here.
*/}}
{{- define "podgrouper.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The labels of every object of this chart. */}}
{{- define "podgrouper.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "podgrouper.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: {{ .Chart.Name }}
app.kubernetes.io/part-of: packtree
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* The service account that the program runs under. */}}
{{- define "podgrouper.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "podgrouper.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The image reference: the chart's appVersion unless a tag or a digest is given. */}}
{{- define "podgrouper.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The Secret with the serving certificate of the webhooks. */}}
{{- define "podgrouper.webhookSecretName" -}}
{{- default (printf "%s-webhook-cert" (include "podgrouper.fullname" .)) .Values.webhook.secretName -}}
{{- end -}}

{{/*
How the certificate is provided: auto by the program itself, manual from outside.
*/}}
{{- define "podgrouper.certProvider" -}}
{{- ternary "auto" "manual" (eq .Values.webhook.certMode "auto") -}}
{{- end -}}

{{/* The annotations of what the API server finds webhooks by. With cert-manager, its injector fills in the CA. */}}
{{- define "podgrouper.webhookAnnotations" -}}
{{- $injected := dict }}
{{- if eq .Values.webhook.certMode "cert-manager" }}
{{- $_ := set $injected "cert-manager.io/inject-ca-from" (printf "%s/%s" .Release.Namespace (include "podgrouper.webhookSecretName" .)) }}
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
{{- define "podgrouper.webhookClientConfig" -}}
{{- $root := .context -}}
{{- if $root.Values.webhook.url -}}
url: {{ printf "%s%s" (trimSuffix "/" $root.Values.webhook.url) .path | quote }}
{{- else -}}
service:
  name: {{ include "podgrouper.fullname" $root }}
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
{{- define "podgrouper.crds" -}}
{{- $root := .context -}}
{{- range $path, $bytes := $root.Files.Glob (printf "%s/*.yaml" .folder) }}
{{- $crd := $bytes | toString | fromYaml }}
{{- $annotations := $crd.metadata.annotations | default dict }}
{{- if $root.Values.crds.keep }}
{{- $_ := set $annotations "helm.sh/resource-policy" "keep" }}
{{- end }}
{{- $_ := set $crd.metadata "annotations" $annotations }}
{{- $_ := set $crd.metadata "labels" (include "podgrouper.labels" $root | fromYaml) }}
---
{{ toYaml $crd }}
{{ end }}
{{- end -}}

{{/*
Arguments that no other operator has. Where KAI's queues are served, defaults that are not set are KAI's own.
*/}}
{{- define "podgrouper.arguments" -}}
{{- $kai := .Capabilities.APIVersions.Has "scheduling.run.ai/v2/Queue" -}}
{{- $queue := .Values.defaults.queue -}}
{{- if kindIs "invalid" $queue }}{{ $queue = ternary "default-queue" "" $kai }}{{ end -}}
{{- $classes := .Values.defaults.priorityClasses -}}
{{- if kindIs "invalid" $classes }}
{{- $classes = ternary (dict "*" "train" "Deployment" "inference" "PodGang" "inference" "Revision" "inference" "SPOTRequest" "inference" "Notebook" "build") dict $kai }}
{{- end -}}
{{- with $queue }}
- --default-queue={{ . }}
{{- end }}
{{- range $kind := keys $classes | sortAlpha }}
- {{ printf "--default-priority-classes=%s=%s" $kind (get $classes $kind) | quote }}
{{- end }}
{{- end -}}
