{{/* What can't work is refused here, all of it at once, rather than by a pod that doesn't start. */}}
{{- define "onced.validate" -}}
{{- $wrong := list -}}
{{- if gt (int64 .Values.replicaCount) 1 -}}
{{- $wrong = append $wrong "replicaCount: onced has one server on one volume. A second pod would have a store of its own, and grant the same keys again. To be up sooner after a node's loss, use a storage class that attaches elsewhere" -}}
{{- end -}}

{{- $instead := dict "data_dir" "persistence" "listen" "service.port" "http_listen" "serviceMonitor" "admin_listen" "admin.listen" "tls_cert" "tls.existingSecret" "tls_key" "tls.existingSecret" "tls_client_ca" "tls.clientCa.existingSecret" "tls_client_auth" "tls.clientAuth" "token_file" "tokens.existingSecret" "otlp_headers_file" "otlpHeaders.existingSecret" "backup_dir" "backup.enabled" "insecure" "insecure" -}}
{{- range $key, $_ := .Values.config -}}
{{- with index $instead $key -}}
{{- $wrong = append $wrong (printf "config.%s: the chart sets it: use %s" $key .) -}}
{{- end -}}
{{- end -}}

{{- $tls := include "onced.tlsSecret" . -}}
{{- $knows := or .Values.tls.clientCa.existingSecret .Values.tokens.existingSecret -}}
{{- if and .Values.tls.existingSecret .Values.tls.certManager.enabled -}}
{{- $wrong = append $wrong "tls.existingSecret: tls.certManager.enabled makes one: set either" -}}
{{- end -}}
{{- if and .Values.tls.certManager.enabled (not .Values.tls.certManager.issuerRef.name) -}}
{{- $wrong = append $wrong "tls.certManager.issuerRef.name: who issues the certificate?" -}}
{{- end -}}
{{- if not .Values.insecure -}}
{{- if not $tls -}}
{{- $wrong = append $wrong "tls: the server doesn't serve other pods without it: set tls.existingSecret or tls.certManager; or, for trying it out, insecure: true" -}}
{{- end -}}
{{- if not $knows -}}
{{- $wrong = append $wrong "tls.clientCa.existingSecret, tokens.existingSecret: there has to be a way to tell who calls: set either or both" -}}
{{- end -}}
{{- if not .Values.config.access -}}
{{- $wrong = append $wrong "config.access: say who may do what: see docs/configuration.md" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.config.access (not $knows) .Values.insecure -}}
{{- $wrong = append $wrong "config.access: nobody could be told apart: set tls.clientCa.existingSecret or tokens.existingSecret" -}}
{{- end -}}
{{- if and .Values.insecure $knows (not .Values.config.access) -}}
{{- $wrong = append $wrong "config.access: who calls would be asked for nothing: say who may do what" -}}
{{- end -}}
{{- if and .Values.tls.clientCa.existingSecret (not $tls) -}}
{{- $wrong = append $wrong "tls.clientCa.existingSecret: needs tls.existingSecret or tls.certManager" -}}
{{- end -}}
{{- if and .Values.tokens.existingSecret (not $tls) -}}
{{- $wrong = append $wrong "tokens.existingSecret: tokens would be sent unencrypted: set tls.existingSecret or tls.certManager" -}}
{{- end -}}
{{- if and .Values.tls.clientAuth (not .Values.tls.clientCa.existingSecret) -}}
{{- $wrong = append $wrong "tls.clientAuth: needs tls.clientCa.existingSecret" -}}
{{- end -}}

{{- with dig "limits" "memory" "" .Values.resources -}}
{{- $limit := include "onced.mebibytes" . | int64 -}}
{{- if lt $limit 192 -}}
{{- $wrong = append $wrong "resources.limits.memory: must be a size such as 1Gi, at least 192Mi: memory_budget is at least 64 MiB, and the process needs more than that" -}}
{{- end -}}
{{- with $.Values.config.memory_budget -}}
{{- if gt (add (include "onced.mebibytes" .) 88) $limit -}}
{{- $wrong = append $wrong "config.memory_budget: the process may take 88 MiB more than that, which is above resources.limits.memory" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- if le (int64 (include "onced.gracePeriod" .)) (int64 (include "onced.shutdownSeconds" .)) -}}
{{- $wrong = append $wrong (printf "terminationGracePeriodSeconds: must be above config.drain_window and config.shutdown_grace together, %s s: the server would be killed while it drains" (include "onced.shutdownSeconds" .)) -}}
{{- end -}}

{{- if and .Values.backup.enabled (ne .Values.admin.listen "pod") -}}
{{- $wrong = append $wrong "admin.listen: backup.enabled needs pod: the job asks for a backup by the admin service" -}}
{{- end -}}
{{- if and .Values.backup.enabled (not .Values.insecure) (not (or .Values.backup.client.tokenSecret .Values.backup.client.certSecret)) -}}
{{- $wrong = append $wrong "backup.client.tokenSecret, backup.client.certSecret: the job must say who it is" -}}
{{- end -}}
{{- if and .Values.restore.enabled (not .Values.backup.enabled) -}}
{{- $wrong = append $wrong "restore.enabled: needs backup.enabled: the backups are on its volume" -}}
{{- end -}}
{{- if and .Values.restore.enabled (not .Values.persistence.enabled) -}}
{{- $wrong = append $wrong "restore.enabled: needs persistence.enabled: there is no volume to restore to" -}}
{{- end -}}
{{- if and .Values.restore.enabled (ne (int64 .Values.replicaCount) 0) -}}
{{- $wrong = append $wrong "restore.enabled: needs replicaCount: 0: no server may run on the volume meanwhile" -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled .Values.config.otlp_endpoint (not .Values.networkPolicy.egress) -}}
{{- $wrong = append $wrong "networkPolicy.egress: no span would reach config.otlp_endpoint: add a rule for the collector" -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (ne .Values.service.type "ClusterIP") -}}
{{- $outside := false -}}
{{- range .Values.networkPolicy.clients }}{{ if hasKey . "ipBlock" }}{{ $outside = true }}{{ end }}{{ end -}}
{{- if not $outside -}}
{{- $wrong = append $wrong (printf "networkPolicy.clients: nobody from outside would come by service.type: %s: add an ipBlock of who may (where externalTrafficPolicy isn't Local, of the nodes, too), or set networkPolicy.enabled: false" .Values.service.type) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.prometheusRule.enabled (not .Values.serviceMonitor.enabled) -}}
{{- $wrong = append $wrong "serviceMonitor.enabled: prometheusRule.enabled needs it: the rules select its job" -}}
{{- end -}}

{{- if has .Values.service.ipFamilyPolicy (list "PreferDualStack" "RequireDualStack") -}}
{{- $wrong = append $wrong "service.ipFamilyPolicy: the server listens on IPv4 alone, and calls to an IPv6 address would be refused: use SingleStack" -}}
{{- end -}}

{{- with $wrong -}}
{{- fail (printf "these values can't work:\n  %s\n" (join "\n  " .)) -}}
{{- end -}}
{{- end -}}
