{{- define "type_members" -}}
{{- if eq .Name "metadata" -}}
the standard metadata of every object
{{- else -}}
{{ .Doc | replace "\n\n" "<br>" | replace "\n" " " | replace "|" "\\|" | replace "<=" "&lt;=" }}
{{- end -}}
{{- end -}}

{{- define "rules" -}}
{{- $field := . -}}
{{- $rules := list -}}
{{- range .Validation -}}
{{- if hasPrefix "Required:" . }}{{ $rules = append $rules "required" }}
{{- else if hasPrefix "Optional:" . -}}
{{- else if hasPrefix "Schemaless:" . -}}
{{- else if hasPrefix "Type:" . -}}
{{- else if hasPrefix "Pattern:" . }}{{ $rules = append $rules (printf "Pattern: `%s`" (trimPrefix "Pattern:" . | trim | trimAll "`" | replace "|" "\\|")) }}
{{- else if hasPrefix "XValidation" . -}}
{{- else }}{{ $rules = append $rules (replace "|" "\\|" (printf "`%s`" .)) }}{{ end -}}
{{- end -}}
{{ join "<br>" $rules }}
{{- end -}}
