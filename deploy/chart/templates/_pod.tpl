{{- /* Source of the plugins' code; empty if it is only in the image. */}}
{{- define "stowplan.pluginSource" -}}
{{- with .Values.plugins }}
{{- $sources := compact (list (ternary "files" "" (gt (len .files) 0)) (ternary "existingConfigMap" "" (ne .existingConfigMap "")) (ternary "layer" "" (ne .layer.image ""))) }}
{{- if gt (len $sources) 1 }}
{{- fail (printf "plugins: %s exclude each other" (join " and " $sources)) }}
{{- end }}
{{- first $sources | default "" }}
{{- end }}
{{- end }}

{{- /* One --plugin flag per plugin: file.py:Class is a file of the mounted folder, others are importable. */}}
{{- define "stowplan.pluginArgs" -}}
{{- range .Values.plugins.load }}
{{- if and (contains ".py:" .) (not (hasPrefix "/" .)) }}
- --plugin=/plugins/{{ trimPrefix "./" . }}
{{- else }}
- --plugin={{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "stowplan.pluginMount" -}}
{{- if include "stowplan.pluginSource" . }}
- name: plugins
  mountPath: /plugins
  readOnly: true
{{- end }}
{{- end }}

{{- define "stowplan.pluginVolume" -}}
{{- $source := include "stowplan.pluginSource" . }}
{{- if eq $source "layer" }}
- name: plugins
  emptyDir: {}
{{- else if $source }}
- name: plugins
  configMap:
    name: {{ .Values.plugins.existingConfigMap | default (printf "%s-plugins" (include "stowplan.fullname" .)) }}
{{- end }}
{{- end }}

{{- /* Fields of both components' pods before their containers. */}}
{{- define "stowplan.podSpec" -}}
{{- $values := index .root.Values .component }}
serviceAccountName: {{ include "stowplan.serviceAccount" . }}
automountServiceAccountToken: {{ .root.Values.serviceAccount.automount }}
securityContext: {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
{{- if $values.hostNetwork }}
hostNetwork: true
dnsPolicy: ClusterFirstWithHostNet
{{- end }}
{{- range $field := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" }}
{{- with index $values $field }}
{{ $field }}: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- if eq (include "stowplan.pluginSource" .root) "layer" }}
{{- with .root.Values.plugins.layer }}
initContainers:
- name: plugins
  image: {{ .image }}
  imagePullPolicy: {{ .pullPolicy }}
  command: [cp, -R, {{ printf "%s/." .path | quote }}, /into]
  securityContext: {{- toYaml $.root.Values.securityContext | nindent 4 }}
  volumeMounts:
  - name: plugins
    mountPath: /into
{{- end }}
{{- end }}
{{- end }}

{{- define "stowplan.podMetadata" -}}
{{- $values := index .root.Values .component }}
labels: {{- include "stowplan.labels" . | nindent 2 }}
{{- with $values.podLabels }}
  {{- toYaml . | nindent 2 }}
{{- end }}
annotations:
  # Pods read their configuration and plugins at startup: a change must restart them.
  checksum/config: {{ toYaml (list .root.Values.plugins (omit $values "podAnnotations" "replicas")) | sha256sum }}
{{- with $values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "stowplan.container" -}}
image: {{ include "stowplan.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext: {{- toYaml .root.Values.securityContext | nindent 2 }}
resources: {{- toYaml (index .root.Values .component).resources | nindent 2 }}
env:
- name: PYTHONPATH
  value: /plugins
{{- with (index .root.Values .component).extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}
