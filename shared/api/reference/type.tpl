{{- define "type" -}}
{{- $type := . -}}
{{- if markdownShouldRenderType $type }}
## {{ $type.Name }}

{{ $type.Doc }}
{{- if $type.IsAlias }}

It is a {{ markdownRenderTypeLink $type.UnderlyingType }}.
{{- end }}
{{- range $type.Validation }}{{ if hasPrefix "XValidation" . | not }}

{{ . }}
{{- end }}{{ end }}
{{- if $type.References }}

Used by{{ range $index, $user := $type.SortedReferences }}{{ if $index }},{{ end }} {{ markdownRenderTypeLink $user }}{{ end }}.
{{- end }}
{{- if $type.Members }}

| field | meaning | default | rules |
|---|---|---|---|
{{- if $type.GVK }}
| `apiVersion` string | `{{ $type.GVK.Group }}/{{ $type.GVK.Version }}` | | |
| `kind` string | `{{ $type.GVK.Kind }}` | | |
{{- end }}
{{- range $type.Members }}
| `{{ .Name }}` {{ markdownRenderType .Type }} | {{ template "type_members" . }} | {{ if .Default }}`{{ .Default }}`{{ end }} | {{ template "rules" . }} |
{{- end }}
{{- end }}
{{- if $type.EnumValues }}

| value | meaning |
|---|---|
{{- range $type.EnumValues }}
| `{{ .Name }}` | {{ .Doc | replace "\n" " " | replace "|" "\\|" | trim }} |
{{- end }}
{{- end }}
{{ end -}}
{{- end -}}
