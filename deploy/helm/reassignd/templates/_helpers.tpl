{{- define "reassignd.name" -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride }}
{{- else if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
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

{{- define "reassignd.replicas" -}}
{{- if include "reassignd.isTopic" . }}{{ .Values.state.replicas | default 2 }}{{ else }}1{{ end }}
{{- end }}

{{- define "reassignd.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* The reference to a Secret, which is a name or {name, key}, as {name, key}. Input: list of the value and the default key. */}}
{{- define "reassignd.secret" -}}
{{- $value := index . 0 | default dict }}
{{- if kindIs "string" $value }}{{ $value = dict "name" $value }}{{ end }}
{{- toJson (dict "name" ($value.name | default "") "key" ($value.key | default (index . 1))) }}
{{- end }}

{{- define "reassignd.upstreamSecret" -}}
{{- include "reassignd.secret" (list .Values.upstream.commandConfigSecret "client.properties") }}
{{- end }}

{{- define "reassignd.tokenSecret" -}}
{{- include "reassignd.secret" (list .Values.http.tokenSecret "token") }}
{{- end }}

{{- define "reassignd.accessSecret" -}}
{{- include "reassignd.secret" (list .Values.http.accessSecret "access") }}
{{- end }}

{{- define "reassignd.advertisedHost" -}}
{{- .Values.listener.advertisedHost | default (printf "%s.%s.svc" (include "reassignd.name" .) .Release.Namespace) }}
{{- end }}

{{/* The hosts under which HTTP may be requested: the names of the Service, and those of the values. */}}
{{- define "reassignd.allowedHosts" -}}
{{- $name := include "reassignd.name" . }}
{{- $inNamespace := printf "%s.%s" $name .Release.Namespace }}
{{- $service := list $name $inNamespace (printf "%s.svc" $inNamespace) (printf "%s.svc.%s" $inNamespace .Values.clusterDomain) }}
{{- concat $service (list (include "reassignd.advertisedHost" .)) .Values.http.allowedHosts | uniq | join "," }}
{{- end }}

{{/* The ports of a pod: name, number, and where the number comes from. */}}
{{- define "reassignd.ports" -}}
{{- $first := int .Values.listener.port }}
- {name: kafka, port: {{ $first }}, from: "listener.port"}
{{- range $n := until (int .Values.listener.brokers) }}
- {name: broker-{{ $n }}, port: {{ add $first $n 1 }}, from: "broker-{{ $n }} (listener.port + {{ add $n 1 }})"}
{{- end }}
- {name: http, port: {{ .Values.http.port }}, from: "http.port"}
{{- if include "reassignd.isTopic" . }}
- {name: peer, port: 9091, from: "the port between the pods"}
{{- end }}
{{- end }}

{{/* A number without an exponent: Helm reads 50000000 as a floating-point number. */}}
{{- define "reassignd.value" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{- define "reassignd.scheme" -}}
{{- if .Values.http.tlsSecret }}HTTPS{{ else }}HTTP{{ end }}
{{- end }}

{{/* The settings that follow from the values. What differs by pod is in environment variables. */}}
{{- define "reassignd.ownProperties" -}}
{{- $upstream := include "reassignd.upstreamSecret" . | fromJson }}
{{- $token := include "reassignd.tokenSecret" . | fromJson }}
{{- $access := include "reassignd.accessSecret" . | fromJson -}}
backend=upstream
upstream.bootstrap.servers={{ .Values.upstream.bootstrapServers }}
{{- if $upstream.name }}
upstream.command.config=/secrets/upstream/{{ $upstream.key }}
{{- end }}
listener=0.0.0.0:{{ .Values.listener.port }}
advertised.host={{ include "reassignd.advertisedHost" . }}
gateway.ports={{ .Values.listener.brokers }}
{{- if .Values.listener.tlsSecret }}
listener.tls.certificate.file=/secrets/listener/tls.crt
listener.tls.key.file=/secrets/listener/tls.key
{{- end }}
http.listener=0.0.0.0:{{ .Values.http.port }}
http.allowed.hosts={{ include "reassignd.allowedHosts" . }}
{{- if $token.name }}
http.token.file=/secrets/token/{{ $token.key }}
{{- end }}
{{- if $access.name }}
http.access.file=/secrets/access/{{ $access.key }}
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
{{- end }}

{{/* The file of settings. */}}
{{- define "reassignd.properties" -}}
{{ include "reassignd.ownProperties" . }}
{{- range $key, $value := merge (dict) .Values.limits .Values.config }}
{{ $key }}={{ include "reassignd.value" $value }}
{{- end }}
{{- end }}

{{/* The secrets to mount: name of the volume, and of the Secret. */}}
{{- define "reassignd.secrets" -}}
{{- $upstream := include "reassignd.upstreamSecret" . | fromJson }}
{{- $token := include "reassignd.tokenSecret" . | fromJson }}
{{- $access := include "reassignd.accessSecret" . | fromJson }}
{{- $secrets := dict "upstream" $upstream.name "token" $token.name "access" $access.name "listener" .Values.listener.tlsSecret "http" .Values.http.tlsSecret }}
{{- if include "reassignd.isTopic" . }}{{ $_ := set $secrets "peer" .Values.state.peerSecret }}{{ end }}
{{- range $name, $secret := $secrets }}
{{- if $secret }}
- {name: {{ $name }}-secret, secret: {{ $secret }}}
{{- end }}
{{- end }}
{{- end }}
