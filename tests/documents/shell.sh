# What the commands of a document find: the programs of the checkout and Kafka's tools, and a server that they start.
# Variables: ROOT, the checkout; PYTHON, of its environment; JAVA, the command that runs a main class of Kafka's tools.

shopt -s expand_aliases
set -m # a server has a process group of its own
server=

stop_server() {
  if [ -n "$server" ]; then
    kill -- "-$server"
    wait "$server"
    server=
  fi
}

# Start the server in the background; print its first line as soon as it is ready.
start_server() {
  stop_server
  : > server.out
  "$@" > server.out 2> server.log &
  server=$!
  until grep -E '^(ready: |\{)' server.out; do
    kill -0 "$server" 2> /dev/null || { cat server.out server.log; return 1; }
    sleep 0.05
  done
}

reassignd() {
  if [ "${1:-}" = serve ]; then start_server "$PYTHON" -m reassignd "$@"; else "$PYTHON" -m reassignd "$@"; fi
}

# The Makefile of the checkout, in the current folder, without an installation.
make() {
  local checkout=(command make --makefile "$ROOT/Makefile" --assume-old .venv/run.done)
  if [[ " $* " == *" run "* ]]; then start_server "${checkout[@]}" "$@"; else "${checkout[@]}" "$@"; fi
}

# The checkout is another folder, and is installed already: pip only checks its extras.
pip() {
  if [ "$1 $2" = "install -e" ]; then "$PYTHON" -m pip install "reassignd${3#.}"; else "$PYTHON" -m pip "$@"; fi
}

# What runs until it is interrupted is interrupted.
until_interrupted() { timeout --signal INT 2 "$@" || true; }

eval "java=($JAVA)"
kafka_tool() { "${java[@]}" "$@"; }
kafka-reassign-partitions.sh() { kafka_tool org.apache.kafka.tools.reassign.ReassignPartitionsCommand "$@"; }
kafka-configs.sh() { kafka_tool kafka.admin.ConfigCommand "$@"; }
kafka-topics.sh() { kafka_tool org.apache.kafka.tools.TopicCommand "$@"; }
kafka-log-dirs.sh() { kafka_tool org.apache.kafka.tools.LogDirsCommand "$@"; }
kafka-producer-perf-test.sh() { kafka_tool org.apache.kafka.tools.ProducerPerformance "$@"; }
kafka-acls.sh() { kafka_tool org.apache.kafka.tools.AclCommand "$@"; }
