# For the scripts beside it, which source it: a server of their own, in a folder of their own.
#
#   start FLAGS...    starts $bin/onced on free ports, and waits until it serves
#   value FIELD       of the line that says so, such as `listen`
#
# $dir is the folder; $server the process, empty once the script has ended it itself. In the end
# what was started here is ended, and nothing else.
dir=$(mktemp -d)
readonly dir
server=
clean_up() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  wait
  rm -rf "$dir"
}
trap clean_up EXIT

start() {
  "$bin/onced" --data-dir "$dir/data" --listen 127.0.0.1:0 --http-listen 127.0.0.1:0 "$@" 2>"$dir/log" &
  server=$!
  until [ -n "$(value listen)" ]; do
    kill -0 "$server" || { cat "$dir/log"; exit 1; }
    sleep 0.1
  done
  ONCECTL_SERVER=$(value listen)
  export ONCECTL_SERVER
}
value() { sed -n "s/.*\"event\":\"serving\".*\"$1\":\"\([^\"]*\)\".*/\1/p" "$dir/log"; }
