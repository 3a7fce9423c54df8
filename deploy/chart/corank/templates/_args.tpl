{{/* The flags of corankd, one a line. Kubernetes appends them to the image's own addresses. */}}
{{- define "corank.args" -}}
{{- $flags := list (printf "--engine=%s" .Values.engine) -}}
{{- if .Values.tls.enabled -}}
{{- $flags = concat $flags (list "--tls-certificate=/etc/corank/tls/tls.crt" "--tls-key=/etc/corank/tls/tls.key") -}}
{{- if .Values.tls.clientCaKey -}}
{{- $flags = append $flags (printf "--tls-client-ca=/etc/corank/tls/%s" .Values.tls.clientCaKey) -}}
{{- end -}}
{{- else -}}
{{- $flags = append $flags "--insecure" -}}
{{- end -}}
{{- if .Values.tokens.secretName -}}
{{- $flags = append $flags (printf "--tokens-file=/etc/corank/tokens/%s" .Values.tokens.key) -}}
{{- end -}}
{{- $flags = append $flags (printf "--lanes=%d" (int .Values.lanes)) -}}
{{- $flags = append $flags (printf "--long-lanes=%d" (int .Values.longLanes)) -}}
{{- $budgets := include "corank.budgets" . | fromYaml -}}
{{- range $name := list "max-request-bytes" "host-pool-bytes" "max-queued-bytes" "max-buffered-bytes" "max-stream-host-bytes" "device-budget-bytes" "kept-bytes" -}}
{{- if hasKey $budgets $name -}}
{{- $flags = append $flags (printf "--%s=%s" $name (include "corank.mib" (get $budgets $name))) -}}
{{- end -}}
{{- end -}}
{{- if .Values.sharedMemory.enabled -}}
{{- $flags = append $flags (printf "--shared-memory=%s" .Values.sharedMemory.prefix) -}}
{{- end -}}
{{- $flags = append $flags (printf "--drain-timeout=%ds" (int .Values.drain.timeoutSeconds)) -}}
{{- $connections := .Values.connections -}}
{{- $flags = append $flags (printf "--max-connection-age=%s" $connections.maxAge) -}}
{{- $flags = append $flags (printf "--max-connection-age-grace=%s" $connections.maxAgeGrace) -}}
{{- $flags = append $flags (printf "--connection-idle-timeout=%s" $connections.idleTimeout) -}}
{{- $flags = append $flags (printf "--keepalive-interval=%s" $connections.keepaliveInterval) -}}
{{- $flags = append $flags (printf "--keepalive-timeout=%s" $connections.keepaliveTimeout) -}}
{{- $own := list "--listen" "--metrics-listen" "--health-listen" -}}
{{- range $flags -}}{{- $own = append $own (first (splitList "=" .)) -}}{{- end -}}
{{- range .Values.extraArgs -}}
{{- $name := first (splitList "=" .) -}}
{{- if has $name $own -}}
{{- fail (printf "extraArgs sets %s, which the chart sets itself: change the value that stands for it" $name) -}}
{{- end -}}
{{- $flags = append $flags . -}}
{{- end -}}
{{- toYaml $flags -}}
{{- end -}}
