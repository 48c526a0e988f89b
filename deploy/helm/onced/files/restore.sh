# Restores a backup beside the store, and only then puts it in the store's place. What is
# refused, or fails, leaves the store as it was. A run may be cut off anywhere: the next one,
# of this job or another, ends what was begun, and until then no server starts on half of it.
#   data-restored         what is being restored: no server has had it
#   data/RESTORING/plan   that it takes the store's place: servers refuse the directory
#   data-incoming         its files, once the old store's are out of the way
#   restored-by           the job that was the last to end
: "${JOB:?}"
umask 077
cd /var/lib/onced
asked="$*"

# A job's pod may be started twice, and a job follow one whose pod isn't gone yet.
exec 9>restore.lock
flock -n 9 || { echo "another restore is at work: waiting for it"; flock 9; }

# The one file without which there is no store goes in last.
move_files() { find "$1" -mindepth 1 -maxdepth 1 ! -name RESTORING ! -name CURRENT -exec mv -t "$2" {} +; }
move_current() { [ ! -e "$1/CURRENT" ] || mv -t "$2" "$1/CURRENT"; }

# It begins and ends by one rename.
begin_swap() {
  rm -rf restore-swap
  before=$(mktemp -d "data-before-$(date +%s)-XXXX")
  mkdir -p restore-swap data
  printf '%s\n' "$before" "$asked" >restore-swap/plan
  sync restore-swap/plan restore-swap .
  rm -rf data/RESTORING # Of another's half restore: its place is taken.
  mv -T restore-swap data/RESTORING
  sync data .
}

end_swap() {
  { read -r before; read -r asked_then; } <data/RESTORING/plan
  if [ -e data-restored ]; then
    move_current data "$before"
    move_files data "$before"
    sync data "$before"
    mv -T data-restored data-incoming
    sync .
  fi
  if [ -e data-incoming ]; then
    move_files data-incoming data
    sync data
    move_current data-incoming data
    sync data
    rmdir data-incoming
  fi
  if [ "$asked_then" = "$asked" ]; then
    echo "$JOB" >restored-by.new
    sync restored-by.new
    mv restored-by.new restored-by
    sync .
  fi
  rm -rf restore-swap
  mv -T data/RESTORING restore-swap
  sync data .
  rm -rf restore-swap
  find . -mindepth 1 -maxdepth 1 -name 'data-before-*' -empty -exec rmdir {} +
}

if [ -e data/RESTORING/plan ]; then
  echo "a restore was cut off while it took the store's place: ending it"
  end_swap
fi
rm -rf restore-swap data-restored
if [ -e restored-by ] && [ "$(cat restored-by)" = "$JOB" ]; then
  echo "done: this job has restored"
  exit
fi

onced restore --from /var/lib/onced-backup/store --data-dir data-restored "$@" || {
  code=$?
  rm -rf data-restored
  echo "the store is as it was" >&2
  exit "$code"
}
begin_swap
end_swap
echo "done: the restored store is in its place; that from before, if there was one, is in data-before-*"
