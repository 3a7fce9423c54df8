{{- define "corank.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{/*
A release whose name contains "corank" gives its objects that name; others put theirs in front. Names of releases may
have dots, those of Services may not.
*/}}
{{- define "corank.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "corank.name" . -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- $full | replace "." "-" | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "corank.selector" -}}
app.kubernetes.io/name: {{ include "corank.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "corank.labels" -}}
{{ include "corank.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "corank.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "corank.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "corank.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{- define "corank.tlsSecret" -}}
{{- .Values.tls.secretName | default (printf "%s-tls" (include "corank.fullname" .)) -}}
{{- end -}}

{{/* The protocol behind a Service, which tells a gateway how to call it. */}}
{{- define "corank.appProtocol" -}}
{{- ternary "https" "kubernetes.io/h2c" .Values.tls.enabled -}}
{{- end -}}

{{/* Not the labels of the servers: a Service must not select the pod of `helm test`. */}}
{{- define "corank.testLabels" -}}
app.kubernetes.io/name: {{ include "corank.name" . }}-test
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
