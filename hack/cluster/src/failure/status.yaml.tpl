{{/*
The status of a pod with a failing container, as a kubelet writes it: a Go template in kwok's dialect, rendered to YAML.
Stages put the next state of the failing container where the marker stands: they assign $state, $last, $restarts,
$started and $ready, and $evicted where the node ends the pod as a whole. Containers beside it run.
*/}}
{{ $pod := . }}
{{ $now := Now }}
{{ $annotation := get (default dict .metadata.annotations) "fail.example/failure" }}
{{ $described := printf "%s_%s(%s)" .metadata.name .metadata.namespace .metadata.uid }}
{{ $phase := "Running" }}
{{ $evicted := "" }}
{{ $unready := list }}

containerStatuses:
{{ range $container := .spec.containers }}
{{ $was := dict }}
{{ range $pod.status.containerStatuses }}{{ if eq .name $container.name }}{{ $was = . }}{{ end }}{{ end }}
{{ $state := default (dict "running" (dict "startedAt" $now)) $was.state }}
{{ $last := default dict $was.lastState }}
{{ $restarts := int (toString (default 0 $was.restartCount)) }}
{{ $started := true }}
{{ $ready := true }}
{{ $number := regexFind "[0-9]+$" $container.image }}
{{ if or $annotation (regexMatch "(^|/)fail\\.example/" $container.image) }}
{{/* the failing container */}}
{{ end }}
{{ $ran := or $state.running $state.terminated $last.terminated }}
{{ if not $ran }}{{ $phase = "Pending" }}{{ end }}
{{ if not $ready }}{{ $unready = append $unready $container.name }}{{ end }}
- name: {{ Quote $container.name }}
  image: {{ Quote $container.image }}
  {{ if $ran }}
  imageID: {{ regexReplaceAll "(:[^:/@]*)?(@.*)?$" $container.image "" }}@sha256:{{ sha256sum $container.image }}
  containerID: containerd://{{ sha256sum (printf "%s/%s/%d" $pod.metadata.uid $container.name $restarts) }}
  {{ else }}
  imageID: ""
  {{ end }}
  restartCount: {{ $restarts }}
  started: {{ $started }}
  ready: {{ $ready }}
  state: {{ toJson $state }}
  lastState: {{ toJson $last }}
{{ end }}

{{ if and .spec.initContainers (not .status.initContainerStatuses) }}
initContainerStatuses:
{{ range .spec.initContainers }}
{{ $stays := eq (default "" .restartPolicy) "Always" }}
- name: {{ Quote .name }}
  image: {{ Quote .image }}
  imageID: ""
  restartCount: 0
  started: {{ $stays }}
  ready: true
  state:
    {{ if $stays }}
    running: {startedAt: {{ Quote $now }}}
    {{ else }}
    terminated: {exitCode: 0, reason: Completed, startedAt: {{ Quote $now }}, finishedAt: {{ Quote $now }}}
    {{ end }}
{{ end }}
{{ end }}

conditions:
{{ range $type := list "PodReadyToStartContainers" "Initialized" "ContainersReady" "Ready" }}
{{ $broken := and $unready (has $type (list "ContainersReady" "Ready")) }}
{{ $status := ternary "False" "True" (not (not $broken)) }}
{{ $since := $now }}
{{ range $pod.status.conditions }}
{{ if and (eq .type $type) (eq .status $status) }}{{ $since = .lastTransitionTime }}{{ end }}
{{ end }}
- type: {{ $type }}
  status: {{ Quote $status }}
  lastTransitionTime: {{ Quote $since }}
  observedGeneration: {{ $pod.metadata.generation }}
  {{ if $broken }}
  reason: ContainersNotReady
  message: {{ Quote (printf "containers with unready status: %s" $unready) }}
  {{ else }}
  reason: null
  message: null
  {{ end }}
{{ end }}
{{ if $evicted }}
- type: DisruptionTarget
  status: "True"
  reason: TerminationByKubelet
  message: {{ Quote $evicted }}
  lastTransitionTime: {{ Quote $now }}
{{ $phase = "Failed" }}
{{ end }}

{{ if $evicted }}
reason: Evicted
message: {{ Quote $evicted }}
{{ end }}
phase: {{ $phase }}
observedGeneration: {{ $pod.metadata.generation }}
{{ if not .status.startTime }}
startTime: {{ Quote $now }}
{{ $hosts := NodeIPsWith .spec.nodeName }}
hostIP: {{ first $hosts }}
hostIPs:
{{ range $hosts }}
- ip: {{ . }}
{{ end }}
{{ $network := default false .spec.hostNetwork }}
{{ $addresses := PodIPsWith .spec.nodeName $network .metadata.uid .metadata.name .metadata.namespace }}
podIP: {{ first $addresses }}
podIPs:
{{ range $addresses }}
- ip: {{ . }}
{{ end }}
{{ end }}
