{{/* What all objects of a release are called. */}}
{{- define "kubesched.name" -}}
{{ .Release.Name | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "kubesched.selector" -}}
app.kubernetes.io/name: kubesched
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kubesched.labels" -}}
{{ include "kubesched.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* The lease, and the name that pods ask for. */}}
{{- define "kubesched.lease" -}}
{{ if eq .Values.mode "replacement" }}kube-scheduler{{ else }}{{ include "kubesched.name" . }}{{ end }}
{{- end }}
{{- define "kubesched.schedulerName" -}}
{{ if eq .Values.mode "second" }}{{ .Values.schedulerName }}{{ else }}default-scheduler{{ end }}
{{- end }}
{{- define "kubesched.leaseNamespace" -}}
{{ if eq .Values.mode "replacement" }}kube-system{{ else }}{{ .Release.Namespace }}{{ end }}
{{- end }}
