{{/*
The name of everything this chart creates. It is the chart's own name and not the release's: the CRDs and webhooks are
cluster-wide, so a second copy would fight the first, and the serving certificate names the Service.
*/}}
{{- define "kai-topology-plugin.fullname" -}}
{{- .Chart.Name -}}
{{- end -}}

{{/*
The labels that find the pods of this chart. They are immutable in a Deployment, so nothing that changes between
versions belongs here.
*/}}
{{- define "kai-topology-plugin.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The labels of every object of this chart. */}}
{{- define "kai-topology-plugin.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "kai-topology-plugin.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: {{ .Chart.Name }}
app.kubernetes.io/part-of: packtree
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* The service account that the program runs under. */}}
{{- define "kai-topology-plugin.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "kai-topology-plugin.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The image reference: the chart's appVersion unless a tag or a digest is given. */}}
{{- define "kai-topology-plugin.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{/*
The CRDs under one folder of this chart, which `make generate` copies from the API packages. Call it with a dict of `context`
(the root) and `folder`. Helm never updates what lies in a chart's crds/ folder, hence templates; and it would delete templates
at uninstall, and with them every object of the kind, hence the policy, unless crds.keep says otherwise.
*/}}
{{- define "kai-topology-plugin.crds" -}}
{{- $root := .context -}}
{{- range $path, $bytes := $root.Files.Glob (printf "%s/*.yaml" .folder) }}
{{- $crd := $bytes | toString | fromYaml }}
{{- $annotations := $crd.metadata.annotations | default dict }}
{{- if $root.Values.crds.keep }}
{{- $_ := set $annotations "helm.sh/resource-policy" "keep" }}
{{- end }}
{{- $_ := set $crd.metadata "annotations" $annotations }}
{{- $_ := set $crd.metadata "labels" (include "kai-topology-plugin.labels" $root | fromYaml) }}
---
{{ toYaml $crd }}
{{ end }}
{{- end -}}

{{/* The KubeSchedulerConfiguration. */}}
{{- define "kai-topology-plugin.config" -}}
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  qps: {{ .Values.clientConnection.qps }}
  burst: {{ .Values.clientConnection.burst }}
leaderElection:
  leaderElect: {{ .Values.leaderElection.enabled }}
  # A second replica follows a dead leader after the lease of 15 s, and a pause of up to 2.2 times this.
  retryPeriod: 1s
  resourceName: {{ include "kai-topology-plugin.fullname" . }}
  resourceNamespace: {{ .Release.Namespace }}
profiles:
  - schedulerName: {{ .Values.schedulerName }}
    plugins:
      multiPoint:
        enabled:
          - name: KAITopology
      # Only one plugin can order the queue.
      queueSort:
        disabled:
          - name: "*"
        enabled:
          - name: KAITopology
      # Before kube-scheduler's preemption, which would make room for single pods of a gang.
      postFilter:
        enabled:
          - name: KAITopology
      # Before kube-scheduler's binder, which would not tell pods where they are.
      bind:
        enabled:
          - name: KAITopology
    pluginConfig:
      - name: KAITopology
        args:
          placement: {{ .Values.placement }}
          repair:
            move: {{ .Values.repair.move }}
            after: {{ .Values.repair.after }}
          reserveFor: {{ .Values.reserveFor }}
          {{- if .Values.admissionCheck.enabled }}
          admissionCheck: true
          {{- end }}
          {{- with .Values.shapes }}
          shapes:
            {{- toYaml . | nindent 12 }}
          {{- end }}
{{- end -}}

{{/* The ConfigMap with the configuration. Its name changes with the content, so that a change starts new pods and a rollback finds the old one. */}}
{{- define "kai-topology-plugin.configName" -}}
{{ include "kai-topology-plugin.fullname" . }}-config-{{ include "kai-topology-plugin.config" . | sha256sum | trunc 10 }}
{{- end -}}
