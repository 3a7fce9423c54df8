{{/* The pod of the Deployment and of the DaemonSet. */}}
{{- define "corank.pod" -}}
{{- $claim := or .Values.gpu.claim.templateName .Values.gpu.claim.create -}}
{{- $cuda := eq .Values.engine "cuda" -}}
metadata:
  labels:
    {{- include "corank.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- if or .Values.monitoring.scrapeAnnotations .Values.podAnnotations }}
  annotations:
    {{- if .Values.monitoring.scrapeAnnotations }}
    # For a Prometheus that discovers pods by these annotations. docs/operations/alerts.md says what its job must be
    # called for every alert to work.
    prometheus.io/scrape: "true"
    prometheus.io/port: "9464"
    {{- end }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
spec:
  serviceAccountName: {{ include "corank.serviceAccount" . }}
  automountServiceAccountToken: false
  # Service links would set variables such as CORANK_PORT; corankd reads its flags from CORANK_* variables.
  enableServiceLinks: false
  # Longer than the pause before SIGTERM and the drain together.
  terminationGracePeriodSeconds: {{ add .Values.drain.preStopSeconds .Values.drain.timeoutSeconds 15 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    seccompProfile:
      type: RuntimeDefault
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- with .Values.runtimeClassName }}
  runtimeClassName: {{ . }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with include "corank.tolerations" . }}
  tolerations:
    {{- . | nindent 4 }}
  {{- end }}
  {{- if eq .Values.workload "Deployment" }}
  topologySpreadConstraints:
    {{- if .Values.topologySpreadConstraints }}
    {{- toYaml .Values.topologySpreadConstraints | nindent 4 }}
    {{- else }}
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "corank.selector" . | nindent 10 }}
    {{- end }}
  {{- end }}
  {{- if and $cuda $claim }}
  resourceClaims:
    - name: gpu
      resourceClaimTemplateName: {{ .Values.gpu.claim.templateName | default (include "corank.claimTemplate" .) }}
  {{- end }}
  containers:
    - name: corankd
      image: {{ include "corank.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        {{- include "corank.args" . | nindent 8 }}
      {{- with .Values.extraEnv }}
      env:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - name: grpc
          containerPort: 50051
        - name: metrics
          containerPort: 9464
        - name: health
          containerPort: 50052
      # All probes call grpc.health.v1 on a port that serves nothing else and stays plain text beside TLS. "ready" turns
      # off when a drain begins; "live" stays on until the process ends.
      startupProbe:
        grpc:
          port: 50052
          service: ready
        periodSeconds: 2
        failureThreshold: 30
      readinessProbe:
        grpc:
          port: 50052
          service: ready
        periodSeconds: 5
        failureThreshold: 1
      livenessProbe:
        grpc:
          port: 50052
          service: live
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      {{- if and (gt (int .Values.drain.preStopSeconds) 0) (semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version) }}
      # Time for every client and proxy to learn that the address is gone, before the server refuses new calls.
      lifecycle:
        preStop:
          sleep:
            seconds: {{ .Values.drain.preStopSeconds }}
      {{- end }}
      resources:
        {{- $resources := deepCopy .Values.resources }}
        {{- if and $cuda (not $claim) }}
        {{- $gpus := dict .Values.gpu.resourceName (toString .Values.gpu.count) }}
        {{- $_ := set $resources "limits" (merge $resources.limits $gpus) }}
        {{- $_ := set $resources "requests" (merge (default dict $resources.requests) $gpus) }}
        {{- else if $cuda }}
        {{- $_ := set $resources "claims" (list (dict "name" "gpu")) }}
        {{- end }}
        {{- toYaml $resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      {{- $mounts := include "corank.mounts" . | fromYamlArray }}
      {{- with $mounts }}
      volumeMounts:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- with .Values.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- $volumes := include "corank.volumes" . | fromYamlArray }}
  {{- with $volumes }}
  volumes:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "corank.tolerations" -}}
{{- $gpus := list (dict "key" "nvidia.com/gpu" "operator" "Exists" "effect" "NoSchedule") -}}
{{- with concat (ternary $gpus list (eq .Values.engine "cuda")) .Values.tolerations -}}
{{- toYaml . -}}
{{- end -}}
{{- end -}}

{{- define "corank.mounts" -}}
{{- $mounts := list -}}
{{- if .Values.tls.enabled -}}
{{- $mounts = append $mounts (dict "name" "tls" "mountPath" "/etc/corank/tls" "readOnly" true) -}}
{{- end -}}
{{- if .Values.tokens.secretName -}}
{{- $mounts = append $mounts (dict "name" "tokens" "mountPath" "/etc/corank/tokens" "readOnly" true) -}}
{{- end -}}
{{- if .Values.sharedMemory.enabled -}}
{{- $mounts = append $mounts (dict "name" "shm" "mountPath" "/dev/shm") -}}
{{- end -}}
{{- toYaml (concat $mounts .Values.extraVolumeMounts) -}}
{{- end -}}

{{/*
The secrets are optional and readable for the pod's group (288 is 0440): without them the pod starts, and corankd says in
its log which file is missing. A secret that must exist would leave the pod waiting, without a log.
*/}}
{{- define "corank.volumes" -}}
{{- $volumes := list -}}
{{- if .Values.tls.enabled -}}
{{- $secret := dict "secretName" (include "corank.tlsSecret" .) "defaultMode" 288 "optional" true -}}
{{- $volumes = append $volumes (dict "name" "tls" "secret" $secret) -}}
{{- end -}}
{{- if .Values.tokens.secretName -}}
{{- $secret := dict "secretName" .Values.tokens.secretName "defaultMode" 288 "optional" true -}}
{{- $volumes = append $volumes (dict "name" "tokens" "secret" $secret) -}}
{{- end -}}
{{- if .Values.sharedMemory.enabled -}}
{{- if eq .Values.workload "DaemonSet" -}}
{{- $volumes = append $volumes (dict "name" "shm" "hostPath" (dict "path" "/dev/shm" "type" "Directory")) -}}
{{- else -}}
{{- $memory := dict "medium" "Memory" "sizeLimit" .Values.sharedMemory.sizeLimit -}}
{{- $volumes = append $volumes (dict "name" "shm" "emptyDir" $memory) -}}
{{- end -}}
{{- end -}}
{{- toYaml (concat $volumes .Values.extraVolumes) -}}
{{- end -}}
