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
      image: {{ include "reassignd.image" . | quote }}
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
        {{- $token := include "reassignd.tokenSecret" . | fromJson }}
        {{- if $token.name }}
        # For commands in the pod: kubectl exec ... -- reassignd status.
        - name: REASSIGND_TOKEN_FILE
          value: /secrets/token/{{ $token.key }}
        {{- end }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        {{- range include "reassignd.ports" . | fromYamlArray }}
        - {name: {{ .name }}, containerPort: {{ .port }}}
        {{- end }}
      # /healthz is 200 as soon as the process serves HTTP, also while it waits for the Kafka cluster; /readyz is not.
      startupProbe:
        httpGet: {path: /healthz, port: http, scheme: {{ include "reassignd.scheme" . }}}
        periodSeconds: 5
        failureThreshold: {{ div .Values.startupSeconds 5 }}
      readinessProbe:
        httpGet: {path: /readyz, port: http, scheme: {{ include "reassignd.scheme" . }}}
        periodSeconds: 5
        timeoutSeconds: 3
        failureThreshold: 3
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
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: config
      configMap:
        name: {{ include "reassignd.name" . }}
    - name: tmp
      emptyDir:
        sizeLimit: {{ .Values.tmp.sizeLimit }}
    {{- range include "reassignd.secrets" . | fromYamlArray }}
    - name: {{ .name }}
      secret:
        secretName: {{ .secret }}
        defaultMode: 0440
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
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
