{{- define "gvDetails" -}}
{{- $gv := . -}}
<!-- Made by `make generate` of the types in shared/api; changes belong there. -->

# {{ $gv.GroupVersionString }}

{{ regexReplaceAll "^Package [a-z0-9]+ (holds|is) " $gv.Doc "This version of the group ${1} " | trim }}

Kinds:
{{- if $gv.Kinds }}{{ range $index, $kind := $gv.SortedKinds }}{{ if $index }},{{ end }} {{ $gv.TypeForKind $kind | markdownRenderTypeLink }}{{ end }}{{ end }}.
[All groups](README.md).
{{ range $gv.SortedTypes }}{{ template "type" . }}{{ end -}}
{{- end -}}
