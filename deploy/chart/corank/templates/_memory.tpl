{{/* Bytes of a Kubernetes quantity or of a size as corankd reads it: 16Gi, 4GiB, 512M, 1073741824. */}}
{{- define "corank.bytes" -}}
{{- $text := toString . -}}
{{- $number := regexFind "^[0-9]+(\\.[0-9]+)?" $text -}}
{{- $unit := regexReplaceAll "^[0-9.]+" $text "" | trimSuffix "B" -}}
{{- $factors := dict "" 1 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- $factors = merge $factors (dict "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000) -}}
{{- if or (not $number) (not (hasKey $factors $unit)) -}}
{{- fail (printf "%q is no size: write a number with Ki, Mi, Gi or Ti, such as 16Gi" $text) -}}
{{- end -}}
{{- floor (mulf (float64 $number) (float64 (get $factors $unit))) | int64 -}}
{{- end -}}

{{/* Whole MiB of bytes, as a flag of corankd takes them. */}}
{{- define "corank.mib" -}}
{{- printf "%dMiB" (div (int64 .) 1048576) -}}
{{- end -}}

{{/*
The memory budgets of corankd as YAML, flag by flag in bytes. Empty values are fractions of the memory limit: a quarter
for the pool, three quarters of that for what waits, an eighth for incomplete messages, a quarter for all streams, and
with the CPU engine three sixteenths for arrays in work. An eighth of the limit stays free for lanes and libraries.
*/}}
{{- define "corank.budgets" -}}
{{- $limit := include "corank.bytes" .Values.resources.limits.memory | int64 -}}
{{- $memory := .Values.memory -}}
{{- $cpu := eq .Values.engine "cpu" -}}
{{- if lt $limit (int64 1073741824) -}}
{{- fail (printf "resources.limits.memory is %s: corankd needs at least 1Gi" (toString .Values.resources.limits.memory)) -}}
{{- end -}}
{{- $kept := include "corank.bytes" (default "0" $memory.kept) | int64 -}}
{{- $free := ternary (sub $limit $kept) $limit $cpu -}}
{{- if lt $free (int64 1073741824) -}}
{{- fail (printf "memory.kept (%s) leaves less than 1Gi of resources.limits.memory (%s)" $memory.kept (toString .Values.resources.limits.memory)) -}}
{{- end -}}
{{- $devices := ternary 1 (max 1 (int .Values.gpu.count)) (or $cpu (not (empty .Values.gpu.claim.templateName)) .Values.gpu.claim.create) -}}
{{- $streams := mul (min 4 (int .Values.longLanes)) $devices -}}
{{- $request := min 268435456 (div $free 32) -}}
{{- if $memory.maxRequest -}}{{- $request = include "corank.bytes" $memory.maxRequest | int64 -}}{{- end -}}
{{- $pool := div $free 4 -}}
{{- if $memory.hostPool -}}{{- $pool = include "corank.bytes" $memory.hostPool | int64 -}}{{- end -}}
{{- $queued := div (mul $pool 3) 4 -}}
{{- if $memory.maxQueued -}}{{- $queued = include "corank.bytes" $memory.maxQueued | int64 -}}{{- end -}}
{{- $buffered := div $free 8 -}}
{{- if $memory.maxBuffered -}}{{- $buffered = include "corank.bytes" $memory.maxBuffered | int64 -}}{{- end -}}
{{- $stream := div $free (mul 4 $streams) -}}
{{- if $memory.maxStreamHost -}}{{- $stream = include "corank.bytes" $memory.maxStreamHost | int64 -}}{{- end -}}
{{- $device := ternary (div (mul $free 3) 16) 0 $cpu -}}
{{- if $memory.device -}}{{- $device = include "corank.bytes" $memory.device | int64 -}}{{- end -}}
{{- $sum := add $pool $buffered (mul $stream $streams) -}}
{{- if $cpu -}}{{- $sum = add $sum $device $kept -}}{{- end -}}
{{- $fits := div (mul $limit 7) 8 -}}
{{- if gt $sum $fits -}}
{{- fail (printf "the memory budgets need %s, but seven eighths of resources.limits.memory (%s) are %s: lower memory.hostPool (%s), memory.maxBuffered (%s), memory.maxStreamHost (%s for each of %d streams)%s, or raise the limit" (include "corank.mib" $sum) (toString .Values.resources.limits.memory) (include "corank.mib" $fits) (include "corank.mib" $pool) (include "corank.mib" $buffered) (include "corank.mib" $stream) $streams (ternary (printf ", memory.device (%s) or memory.kept (%s)" (include "corank.mib" $device) (include "corank.mib" $kept)) "" $cpu)) -}}
{{- end -}}
{{- if gt $request $queued -}}
{{- fail (printf "memory.maxRequest (%s) exceeds memory.maxQueued (%s): a message must fit into the queue" (include "corank.mib" $request) (include "corank.mib" $queued)) -}}
{{- end -}}
{{- if gt $queued $pool -}}
{{- fail (printf "memory.maxQueued (%s) exceeds memory.hostPool (%s), which holds what waits" (include "corank.mib" $queued) (include "corank.mib" $pool)) -}}
{{- end -}}
{{- if lt $buffered (mul 4 $request) -}}
{{- fail (printf "memory.maxBuffered (%s) is less than four times memory.maxRequest (%s)" (include "corank.mib" $buffered) (include "corank.mib" $request)) -}}
{{- end }}
max-request-bytes: {{ $request }}
host-pool-bytes: {{ $pool }}
max-queued-bytes: {{ $queued }}
max-buffered-bytes: {{ $buffered }}
max-stream-host-bytes: {{ $stream }}
{{- if gt (int64 $device) 0 }}
device-budget-bytes: {{ $device }}
{{- end }}
{{- if gt $kept 0 }}
kept-bytes: {{ $kept }}
{{- end }}
{{- end -}}
