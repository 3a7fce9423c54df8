#!/usr/bin/env bash
# Builds gRPC and Abseil with ThreadSanitizer into .deps/tsan-grpc/lib, unless they are there. The thread build links
# these static archives (cmake/Sanitizers.cmake).
#
# gRPC passes calls between threads by atomic reference counts, and Abseil's mutexes are atomics. ThreadSanitizer
# reports every such hand-over as a race unless the archives are instrumented, which Debian's are not. So this script
# builds both from Debian's own sources, in the versions whose headers are installed. Protobuf, RE2, c-ares, OpenSSL and
# zlib stay Debian's: they pass nothing between threads by themselves.
#
# The first run takes ten minutes on two cores; an interrupted run continues the next time.
#
# JOBS    compilers at a time (all cores)
set -euo pipefail
cd "$(dirname "$0")/.."

root=$PWD/.deps/tsan-grpc
work=$root/work
say() { echo "tsan_grpc: $*"; }

# -w: warnings in other projects' sources are not ours to fix.
flags="-fsanitize=thread -fno-omit-frame-pointer -O1 -g1 -w"
# The C++ standard of Debian's Abseil and of this project. Without a build type, asserts are on, as in Debian's gRPC.
common=(-DCMAKE_BUILD_TYPE= -DCMAKE_CXX_STANDARD=17 -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF)
# Without NDEBUG, each lock of an Abseil mutex updates a graph of all mutexes under one lock. That lock would order
# threads that nothing else orders, and hide their races. ThreadSanitizer looks for deadlocks itself.
abseil=("${common[@]}" "-DCMAKE_CXX_FLAGS=$flags -DNDEBUG")
# As in later releases of Abseil: Abseil hides from ThreadSanitizer how a Mutex hands a waiting thread's semaphore to
# the waking thread, so the post must be hidden as well.
post='PerThreadSem::Post(w->thread_identity());'
hidden_post="ABSL_ANNOTATE_IGNORE_READS_AND_WRITES_BEGIN(); $post ABSL_ANNOTATE_IGNORE_READS_AND_WRITES_END();"
# "Cross-compiling" makes gRPC use the installed generators instead of building its own; nothing links libprotoc.
grpc=("${common[@]}" "-DCMAKE_C_FLAGS=$flags" "-DCMAKE_CXX_FLAGS=$flags" -DCMAKE_SYSTEM_NAME=Linux
  -DgRPC_BUILD_TESTS=OFF -DgRPC_INSTALL=OFF -DgRPC_BUILD_GRPC_CPP_PLUGIN=OFF -DProtobuf_PROTOC_LIBRARY=none
  -DgRPC_{ABSL,CARES,PROTOBUF,RE2,SSL,ZLIB,BENCHMARK}_PROVIDER=package)

source_of() { dpkg-query -W -f='${source:Package}=${source:Version}' "$1"; }
sources=("$(source_of libabsl-dev)" "$(source_of libgrpc++-dev)")
key="${sources[*]} $(c++ -dumpfullversion) ${abseil[*]} ${hidden_post} ${grpc[*]}"
if [ "$(cat "$root/.made" 2>/dev/null)" = "$key" ]; then
  exit 0
fi
if [ "$(cat "$work/.making" 2>/dev/null)" != "$key" ]; then
  rm -rf "$root"
  mkdir -p "$work/lists/partial" "$work/sources"
  say "fetching the sources of ${sources[*]}"
  # The system's own sources.list stays unchanged.
  # shellcheck disable=SC2016
  apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
    sort -u >"$work/sources.list"
  apt=(apt-get -q -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
  if ! { "${apt[@]}" update && cd "$work/sources" && "${apt[@]}" source "${sources[@]}"; } >"$work/apt.log" 2>&1; then
    tail -n 20 "$work/apt.log" >&2
    exit 1
  fi
  cd "$work/sources"
  mv abseil-*/ abseil && mv grpc-*/ grpc
  mutex=abseil/absl/synchronization/mutex.cc
  grep -qxF "  $post" $mutex || { say "$mutex has no line '$post'" >&2; exit 1; }
  sed -i "s/^  $post\$/  $hidden_post/" $mutex
  cd - >/dev/null
  echo "$key" >"$work/.making"
fi

if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
# make_archives NAME TARGET... -- CMAKE_OPTION...
make_archives() {
  local name=$1 targets=()
  shift
  while [ "$1" != -- ]; do
    targets+=("$1")
    shift
  done
  shift
  say "building ${name}"
  if ! cmake -S "$work/sources/$name" -B "$work/$name" -G Ninja "$@" >"$work/$name.log" 2>&1; then
    cat "$work/$name.log" >&2
    exit 1
  fi
  NINJA_STATUS="[%f/%t %es] " ninja -C "$work/$name" -j "${JOBS:-$(nproc)}" "${targets[@]}"
}
make_archives abseil all -- "${abseil[@]}"
make_archives grpc grpc++ grpc++_reflection -- "${grpc[@]}"

mkdir -p "$root/lib"
find "$work/abseil" "$work/grpc" -name 'lib*.a' -exec mv -t "$root/lib" {} +
rm -rf "$work"
echo "$key" >"$root/.made"
