{{/* ---- Names. Short enough for what is put behind them: a CronJob's may have 52 characters. */}}

{{- define "onced.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "onced.fullname" -}}
{{- $name := include "onced.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "onced.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "onced.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "onced.image" -}}
{{- $image := .Values.image.repository -}}
{{- with .Values.image.registry }}{{ $image = printf "%s/%s" (trimSuffix "/" .) $image }}{{ end -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $image .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* ---- Labels and annotations. */}}

{{/* Of (dict "root" $ "component" C): what selects, and never changes. */}}
{{- define "onced.selectorLabels" -}}
app.kubernetes.io/name: {{ include "onced.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* Of (dict "root" $ "component" C "more" LABELS): the selecting ones win. */}}
{{- define "onced.labels" -}}
{{- $own := dict "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_") -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- $_ := set $own "app.kubernetes.io/version" .root.Chart.AppVersion -}}
{{- $own = merge (fromYaml (include "onced.selectorLabels" .)) $own -}}
{{- toYaml (merge $own (default dict .more) .root.Values.commonLabels) -}}
{{- end -}}

{{/* Of (dict "root" $ "component" C "more" LABELS "annotations" ANNOTATIONS "name" N "namespace" NS). */}}
{{- define "onced.metadata" -}}
name: {{ .name }}
namespace: {{ default .root.Release.Namespace .namespace }}
labels:
  {{- include "onced.labels" . | nindent 2 }}
{{- with merge dict (default dict .annotations) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* ---- Units. */}}

{{/* Seconds, rounded up, of one of onced's durations: 500ms, 1h30m, 30d. */}}
{{- define "onced.seconds" -}}
{{- $units := dict "ns" 0.000000001 "us" 0.000001 "ms" 0.001 "s" 1.0 "m" 60.0 "h" 3600.0 "d" 86400.0 -}}
{{- $sum := 0.0 -}}
{{- range regexFindAll "[0-9.]+(ns|us|ms|[smhd])" (toString .) -1 -}}
{{- $sum = addf $sum (mulf (regexFind "[0-9.]+" .) (index $units (regexFind "[a-z]+" .))) -}}
{{- end -}}
{{- $sum | ceil | int64 -}}
{{- end -}}

{{/* MiB, rounded down, of a Kubernetes quantity or of one of onced's sizes. 0: it isn't one. */}}
{{- define "onced.mebibytes" -}}
{{- $units := dict "" 1.0 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 -}}
{{- $text := trimSuffix "B" (kindIs "float64" . | ternary (printf "%.0f" (float64 .)) (toString .)) -}}
{{- if regexMatch "^[0-9]+([.][0-9]+)?([kMGT]|[KMGT]i)?$" $text -}}
{{- divf (mulf (regexFind "^[0-9.]+" $text) (index $units (regexFind "[A-Za-z]*$" $text))) 1048576.0 | floor | int64 -}}
{{- else -}}
0
{{- end -}}
{{- end -}}

{{/* ---- What follows from what. */}}

{{- define "onced.tlsSecret" -}}
{{- if .Values.tls.certManager.enabled -}}
{{- printf "%s-tls" (include "onced.fullname" .) -}}
{{- else -}}
{{- .Values.tls.existingSecret -}}
{{- end -}}
{{- end -}}

{{/* Whether a client must have a certificate: require, request, or, without a CA of theirs, nothing. */}}
{{- define "onced.clientAuth" -}}
{{- if .Values.tls.clientCa.existingSecret -}}
{{- default (ternary "request" "require" (not (empty .Values.tokens.existingSecret))) .Values.tls.clientAuth -}}
{{- end -}}
{{- end -}}

{{/* Names by which the server is called: those that its certificate has. */}}
{{- define "onced.dnsNames" -}}
{{- $names := list -}}
{{- $full := include "onced.fullname" . -}}
{{- range list $full (printf "%s-admin" $full) -}}
{{- $names = concat $names (list . (printf "%s.%s" . $.Release.Namespace) (printf "%s.%s.svc" . $.Release.Namespace)) -}}
{{- $names = append $names (printf "%s.%s.svc.%s" . $.Release.Namespace $.Values.clusterDomain) -}}
{{- end -}}
{{- $names = append $names (printf "*.%s-headless.%s.svc.%s" $full .Release.Namespace .Values.clusterDomain) -}}
{{- toYaml (concat $names (list "localhost") .Values.tls.certManager.extraDnsNames) -}}
{{- end -}}

{{/* In MiB; nothing without a limit. A process may take 88 MiB beyond its budget, and the kernel wants some. */}}
{{- define "onced.memoryBudget" -}}
{{- with dig "limits" "memory" "" .Values.resources -}}
{{- $limit := include "onced.mebibytes" . | int64 -}}
{{- min (div (mul $limit 3) 4) (sub $limit 128) -}}
{{- end -}}
{{- end -}}

{{- define "onced.shutdownSeconds" -}}
{{- add (include "onced.seconds" (default "2s" .Values.config.drain_window)) (include "onced.seconds" (default "10s" .Values.config.shutdown_grace)) -}}
{{- end -}}

{{- define "onced.gracePeriod" -}}
{{- if kindIs "invalid" .Values.terminationGracePeriodSeconds -}}
{{- add (include "onced.shutdownSeconds" .) 25 -}}
{{- else -}}
{{- int64 .Values.terminationGracePeriodSeconds -}}
{{- end -}}
{{- end -}}

{{- define "onced.backupClaim" -}}
{{- default (printf "%s-backup" (include "onced.fullname" .)) .Values.backup.existingClaim -}}
{{- end -}}

{{- define "onced.dataClaim" -}}
{{- default (printf "data-%s-0" (include "onced.fullname" .)) .Values.persistence.existingClaim -}}
{{- end -}}

{{/* The whole file. onced's yes and no are YAML's true and false in values. */}}
{{- define "onced.config" -}}
{{- $own := dict "data_dir" "/var/lib/onced/data" "listen" "0.0.0.0:50051" "http_listen" "0.0.0.0:9464" -}}
{{- $admin := dict "loopback" "127.0.0.1:50052" "pod" "0.0.0.0:50052" "off" "off" -}}
{{- $_ := set $own "admin_listen" (index $admin .Values.admin.listen) -}}
{{- if .Values.insecure }}{{ $_ := set $own "insecure" true }}{{ end -}}
{{- if include "onced.tlsSecret" . -}}
{{- $_ := set $own "tls_cert" (printf "/etc/onced/tls/%s" .Values.tls.certKey) -}}
{{- $_ := set $own "tls_key" (printf "/etc/onced/tls/%s" .Values.tls.keyKey) -}}
{{- end -}}
{{- if .Values.tls.clientCa.existingSecret -}}
{{- $_ := set $own "tls_client_ca" (printf "/etc/onced/client-ca/%s" .Values.tls.clientCa.key) -}}
{{- $_ := set $own "tls_client_auth" (include "onced.clientAuth" .) -}}
{{- end -}}
{{- if .Values.tokens.existingSecret -}}
{{- $_ := set $own "token_file" (printf "/etc/onced/tokens/%s" .Values.tokens.key) -}}
{{- end -}}
{{- if .Values.otlpHeaders.existingSecret -}}
{{- $_ := set $own "otlp_headers_file" (printf "/etc/onced/otlp/%s" .Values.otlpHeaders.key) -}}
{{- end -}}
{{- if .Values.backup.enabled }}{{ $_ := set $own "backup_dir" "/var/lib/onced-backup/store" }}{{ end -}}
{{- with include "onced.memoryBudget" . }}{{ $_ := set $own "memory_budget" (printf "%sMiB" .) }}{{ end -}}
{{- $all := merge (deepCopy .Values.config) $own -}}
{{- range $key, $value := $all -}}
{{- if kindIs "bool" $value }}{{ $_ := set $all $key (ternary "yes" "no" $value) }}{{ end -}}
{{- end -}}
{{- toYaml $all -}}
{{- end -}}

{{/* ---- A pod that calls the server by oncectl: of (dict "root" $ "client" CLIENT). */}}

{{- define "onced.client.env" -}}
{{- if include "onced.tlsSecret" .root }}
- {name: ONCECTL_TLS_CA, value: /etc/oncectl/ca/ca.crt}
{{- end }}
{{- if .client.tokenSecret }}
- {name: ONCECTL_AUTH_TOKEN_FILE, value: /etc/oncectl/token/token}
{{- end }}
{{- if .client.certSecret }}
- {name: ONCECTL_TLS_CERT, value: /etc/oncectl/cert/tls.crt}
- {name: ONCECTL_TLS_KEY, value: /etc/oncectl/cert/tls.key}
{{- end }}
{{- end -}}

{{- define "onced.client.mounts" -}}
{{- if include "onced.tlsSecret" .root }}
- {name: ca, mountPath: /etc/oncectl/ca, readOnly: true}
{{- end }}
{{- if .client.tokenSecret }}
- {name: token, mountPath: /etc/oncectl/token, readOnly: true}
{{- end }}
{{- if .client.certSecret }}
- {name: cert, mountPath: /etc/oncectl/cert, readOnly: true}
{{- end }}
{{- end -}}

{{- define "onced.client.volumes" -}}
{{- if include "onced.tlsSecret" .root }}
- name: ca
  secret:
    secretName: {{ include "onced.tlsSecret" .root }}
    defaultMode: 288
    items:
    - {key: {{ .root.Values.tls.caKey | quote }}, path: ca.crt}
{{- end }}
{{- if .client.tokenSecret }}
- name: token
  secret:
    secretName: {{ .client.tokenSecret }}
    defaultMode: 288
    items:
    - {key: {{ .client.tokenKey | quote }}, path: token}
{{- end }}
{{- if .client.certSecret }}
- name: cert
  secret: {secretName: {{ .client.certSecret }}, defaultMode: 288}
{{- end }}
{{- end -}}

{{/* What every pod of the chart has. */}}
{{- define "onced.podCommon" -}}
serviceAccountName: {{ include "onced.serviceAccountName" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- end -}}
