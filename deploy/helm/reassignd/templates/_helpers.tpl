{{- define "reassignd.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "reassignd.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "reassignd.labels" -}}
{{ include "reassignd.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "reassignd.isTopic" -}}
{{- if eq .Values.state.kind "topic" }}yes{{ end }}
{{- end }}

{{- define "reassignd.check" -}}
{{- if not .Values.upstream.bootstrapServers }}{{ fail "set upstream.bootstrapServers: addresses of some brokers of the Kafka cluster" }}{{ end }}
{{- if not (or .Values.http.tokenSecret.name .Values.http.accessSecret.name) }}{{ fail "set http.tokenSecret.name or http.accessSecret.name: HTTP can be reached from other pods" }}{{ end }}
{{- if and (eq .Values.state.kind "topic") (not .Values.state.peerSecret) }}{{ fail "set state.peerSecret: a Secret with the key `secret`, which the pods share" }}{{ end }}
{{- end }}

{{- define "reassignd.advertisedHost" -}}
{{- .Values.listener.advertisedHost | default (printf "%s.%s.svc" (include "reassignd.name" .) .Release.Namespace) }}
{{- end }}

{{/* A number without an exponent: Helm reads 50000000 as a floating-point number. */}}
{{- define "reassignd.value" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{- define "reassignd.scheme" -}}
{{- if .Values.http.tlsSecret }}HTTPS{{ else }}HTTP{{ end }}
{{- end }}

{{/* The file of settings. What differs by pod is in environment variables. */}}
{{- define "reassignd.properties" -}}
backend=upstream
upstream.bootstrap.servers={{ .Values.upstream.bootstrapServers }}
{{- with .Values.upstream.commandConfigSecret }}
{{- if .name }}
upstream.command.config=/secrets/upstream/{{ .key }}
{{- end }}
{{- end }}
listener=0.0.0.0:{{ .Values.listener.port }}
advertised.host={{ include "reassignd.advertisedHost" . }}
gateway.ports={{ .Values.listener.brokers }}
{{- if .Values.listener.tlsSecret }}
listener.tls.certificate.file=/secrets/listener/tls.crt
listener.tls.key.file=/secrets/listener/tls.key
{{- end }}
http.listener=0.0.0.0:{{ .Values.http.port }}
http.allowed.hosts={{ prepend .Values.http.allowedHosts (printf "%s.%s.svc" (include "reassignd.name" .) .Release.Namespace) | join "," }}
{{- with .Values.http.tokenSecret }}
{{- if .name }}
http.token.file=/secrets/token/{{ .key }}
{{- end }}
{{- end }}
{{- with .Values.http.accessSecret }}
{{- if .name }}
http.access.file=/secrets/access/{{ .key }}
{{- end }}
{{- end }}
{{- if .Values.http.tlsSecret }}
http.tls.certificate.file=/secrets/http/tls.crt
http.tls.key.file=/secrets/http/tls.key
{{- end }}
{{- if include "reassignd.isTopic" . }}
state=topic
state.topic={{ .Values.state.topic }}
state.topic.replication.factor={{ .Values.state.replicationFactor }}
gateway.session.timeout.ms={{ .Values.state.sessionTimeoutMs }}
gateway.peer.listener=0.0.0.0:9091
gateway.peer.secret.file=/secrets/peer/secret
{{- else }}
data.dir=/data/records
{{- end }}
log.format=json
{{- range $key, $value := merge (dict) .Values.limits .Values.config }}
{{ $key }}={{ include "reassignd.value" $value }}
{{- end }}
{{- end }}

{{- define "reassignd.podTemplate" -}}
metadata:
  labels:
    {{- include "reassignd.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # A change of the settings starts the pods anew.
    checksum/config: {{ include "reassignd.properties" . | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "reassignd.name" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: 15
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: reassignd
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve, --config, /config/reassignd.properties]
      env:
        - name: POD_IP
          valueFrom:
            fieldRef:
              fieldPath: status.podIP
        {{- if include "reassignd.isTopic" . }}
        - name: REASSIGND_GATEWAY_PEER_HOST
          value: $(POD_IP)
        - name: REASSIGND_GATEWAY_PEER_URL
          value: {{ include "reassignd.scheme" . | lower }}://$(POD_IP):{{ .Values.http.port }}
        - name: REASSIGND_DATA_DIR
          value: /tmp/reassignd
        {{- end }}
        - name: REASSIGND_URL
          value: {{ include "reassignd.scheme" . | lower }}://127.0.0.1:{{ .Values.http.port }}
      ports:
        - {name: kafka, containerPort: {{ .Values.listener.port }}}
        {{- range $n := until (int .Values.listener.brokers) }}
        - {name: broker-{{ $n }}, containerPort: {{ add $.Values.listener.port $n 1 }}}
        {{- end }}
        - {name: http, containerPort: {{ .Values.http.port }}}
        {{- if include "reassignd.isTopic" . }}
        - {name: peer, containerPort: 9091}
        {{- end }}
      startupProbe:
        httpGet: {path: /readyz, port: http, scheme: {{ include "reassignd.scheme" . }}}
        periodSeconds: 5
        failureThreshold: {{ div .Values.startupSeconds 5 }}
      readinessProbe:
        httpGet: {path: /readyz, port: http, scheme: {{ include "reassignd.scheme" . }}}
        periodSeconds: 5
        failureThreshold: 2
      livenessProbe:
        httpGet: {path: /healthz, port: http, scheme: {{ include "reassignd.scheme" . }}}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - {name: config, mountPath: /config, readOnly: true}
        - {name: tmp, mountPath: /tmp}
        {{- if not (include "reassignd.isTopic" .) }}
        - {name: data, mountPath: /data}
        {{- end }}
        {{- range include "reassignd.secrets" . | fromYamlArray }}
        - {name: {{ .name }}, mountPath: /secrets/{{ .name | trimSuffix "-secret" }}, readOnly: true}
        {{- end }}
  volumes:
    - name: config
      configMap:
        name: {{ include "reassignd.name" . }}
    - name: tmp
      emptyDir: {}
    {{- range include "reassignd.secrets" . | fromYamlArray }}
    - name: {{ .name }}
      secret:
        secretName: {{ .secret }}
        defaultMode: 0440
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.affinity }}
  affinity:
    {{- toYaml .Values.affinity | nindent 4 }}
  {{- else if include "reassignd.isTopic" . }}
  affinity:
    podAntiAffinity:
      # Preferred, not required: an update starts a third pod before it ends one.
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          podAffinityTerm:
            topologyKey: kubernetes.io/hostname
            labelSelector:
              matchLabels:
                {{- include "reassignd.selector" . | nindent 16 }}
  {{- end }}
{{- end }}

{{/* The secrets to mount: name of the volume, and of the Secret. */}}
{{- define "reassignd.secrets" -}}
{{- $secrets := dict "upstream" .Values.upstream.commandConfigSecret.name "token" .Values.http.tokenSecret.name "access" .Values.http.accessSecret.name "listener" .Values.listener.tlsSecret "http" .Values.http.tlsSecret }}
{{- if include "reassignd.isTopic" . }}{{ $_ := set $secrets "peer" .Values.state.peerSecret }}{{ end }}
{{- range $name, $secret := $secrets }}
{{- if $secret }}
- {name: {{ $name }}-secret, secret: {{ $secret }}}
{{- end }}
{{- end }}
{{- end }}
