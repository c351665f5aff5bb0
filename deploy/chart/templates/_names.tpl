{{- define "stowplan.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "stowplan.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains (include "stowplan.name" .) .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "stowplan.name" .) | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- /* Whether a component, "scheduler" or "extender", runs in this mode. */}}
{{- define "stowplan.runs" -}}
{{- if or (eq .root.Values.mode .component) (eq .root.Values.mode "both") }}true{{ end }}
{{- end }}

{{- /* The name of a component's objects. */}}
{{- define "stowplan.component" -}}
{{- printf "%s-%s" (include "stowplan.fullname" .root) .component }}
{{- end }}

{{- define "stowplan.serviceAccount" -}}
{{- $given := .root.Values.serviceAccount.name }}
{{- if and $given (eq .root.Values.mode "both") .root.Values.serviceAccount.create }}
{{- printf "%s-%s" $given .component }}
{{- else if $given }}
{{- $given }}
{{- else if .root.Values.serviceAccount.create }}
{{- include "stowplan.component" . }}
{{- else }}default
{{- end }}
{{- end }}

{{- define "stowplan.selector" -}}
app.kubernetes.io/name: {{ include "stowplan.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "stowplan.labels" -}}
{{ include "stowplan.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "stowplan.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- /* The name of a component's lease. */}}
{{- define "stowplan.lease" -}}
{{- $name := include "stowplan.component" . }}
{{- if eq .component "scheduler" }}
{{- with .root.Values.scheduler }}
{{- dig "leaderElection" "resourceName" (.leaderElection.resourceName | default $name) .config }}
{{- end }}
{{- else }}
{{- dig "cluster" "leaderElection" "resourceName" $name .root.Values.extender.config }}
{{- end }}
{{- end }}

{{- /* Whether replicas of the extender elect a leader, which alone keeps reservations. On 127.0.0.1 each kube-scheduler
reaches one replica only. */}}
{{- define "stowplan.extenderElects" -}}
{{- with .Values.extender }}
{{- if and .bind (eq .kind "Deployment") (not .hostNetwork) }}true{{ end }}
{{- end }}
{{- end }}

{{- /* The secret with the extender's certificate; empty for plain HTTP. */}}
{{- define "stowplan.tlsSecret" -}}
{{- with .Values.extender.tls }}
{{- if .enabled }}
{{- if and .existingSecret .certManager.enabled }}
{{- fail "extender.tls: existingSecret and certManager.enabled exclude each other" }}
{{- else if .certManager.enabled }}
{{- printf "%s-tls" (include "stowplan.component" (dict "root" $ "component" "extender")) }}
{{- else }}
{{- required "extender.tls.enabled needs existingSecret or certManager.enabled" .existingSecret }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
