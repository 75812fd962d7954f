{{/* What the schema of the values cannot express. Each failure is one line. */}}
{{- define "reassignd.check" -}}
{{- if not .Values.image.repository }}{{ fail "set image.repository: push the image to a registry that the nodes can reach, and name it here (python -m tools.dist --image builds it)" }}{{ end }}
{{- if not .Values.upstream.bootstrapServers }}{{ fail "set upstream.bootstrapServers: addresses of some brokers of the Kafka cluster" }}{{ end }}
{{- $token := include "reassignd.tokenSecret" . | fromJson }}
{{- $access := include "reassignd.accessSecret" . | fromJson }}
{{- if not (or $token.name $access.name) }}{{ fail "set http.tokenSecret.name or http.accessSecret.name: HTTP can be reached from other pods" }}{{ end }}
{{- if and (include "reassignd.isTopic" .) (not .Values.state.peerSecret) }}{{ fail "set state.peerSecret: a Secret with the key `secret`, which the pods share" }}{{ end }}
{{- if and (not (include "reassignd.isTopic" .)) (gt (int .Values.state.replicas) 1) }}{{ fail (printf "state.replicas is %d, but state.kind=directory has one pod: set state.kind=topic" (int .Values.state.replicas)) }}{{ end }}
{{- include "reassignd.checkPorts" . }}
{{- include "reassignd.checkKeys" . }}
{{- include "reassignd.checkVariables" . }}
{{- end }}

{{- define "reassignd.checkPorts" -}}
{{- $taken := dict }}
{{- range $each := include "reassignd.ports" . | fromYamlArray }}
{{- $port := toString $each.port }}
{{- if gt (int $port) 65535 }}{{ fail (printf "port %s of %s is too large: the last one is 65535" $port $each.from) }}{{ end }}
{{- with get $taken $port }}{{ fail (printf "port %s is both %s and %s: choose another listener.port or http.port" $port . $each.from) }}{{ end }}
{{- $_ := set $taken $port $each.from }}
{{- end }}
{{- end }}

{{/* The settings that the chart sets by other values, as JSON. */}}
{{- define "reassignd.ownKeys" -}}
{{- $own := list "state" "data.dir" "gateway.peer.host" "gateway.peer.url" }}
{{- range splitList "\n" (include "reassignd.ownProperties" .) }}{{ $own = append $own (splitList "=" . | first) }}{{ end }}
{{- toJson $own }}
{{- end }}

{{- define "reassignd.checkKeys" -}}
{{- $own := include "reassignd.ownKeys" . | fromJsonArray }}
{{- range $values := list "config" "limits" }}
{{- range $key, $_ := get $.Values $values }}
{{- if has $key $own }}{{ fail (printf "%s has %s, which the chart sets by another value: see values.yaml" $values $key) }}{{ end }}
{{- end }}
{{- end }}
{{- range $key, $_ := .Values.config }}
{{- if hasKey $.Values.limits $key }}{{ fail (printf "%s is in config and in limits" $key) }}{{ end }}
{{- end }}
{{- end }}

{{/* Variables take precedence over the file of settings. */}}
{{- define "reassignd.checkVariables" -}}
{{- $own := list "POD_IP" "REASSIGND_URL" }}
{{- if (include "reassignd.tokenSecret" . | fromJson).name }}{{ $own = append $own "REASSIGND_TOKEN_FILE" }}{{ end }}
{{- range include "reassignd.ownKeys" . | fromJsonArray }}{{ $own = append $own (printf "REASSIGND_%s" (. | replace "." "_" | upper)) }}{{ end }}
{{- range .Values.extraEnv }}
{{- if has .name $own }}{{ fail (printf "extraEnv has %s, which the chart sets by another value: see values.yaml" .name) }}{{ end }}
{{- end }}
{{- end }}
