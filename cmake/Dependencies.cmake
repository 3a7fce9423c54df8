# The libraries of others, as targets:
#   corank::rpc         gRPC, protobuf, Abseil and what they need
#   corank::absl        the same, for what needs Abseil only
#   corank::grpc        the same as the system provides them (cmake/corankGrpc.cmake): what corank::client links
#   corank::nghttp2, corank::openssl
#                       HTTP/2 and TLS of the server: Debian's static archives
#   corank::malloc      tcmalloc, for the programs that it makes faster; a build for a sanitizer keeps that one's allocator
#   corank::prometheus, corank::highway, corank::tbb, corank::benchmark
#                       Debian has these only as shared libraries; `make dist` puts them beside the binaries
#
# The programs of this project link Debian's static archives of gRPC, protobuf and Abseil, in one link group, so that
# every binary holds one copy of each and runs without those packages. The client library leaves the choice to the
# program that links it.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON) # a project that adds corank links them too
find_package(Threads REQUIRED)

function(corank_shared_library name header)
  set(paths)
  foreach(library IN LISTS ARGN)
    find_library(CORANK_SHARED_${library} NAMES ${library} REQUIRED)
    mark_as_advanced(CORANK_SHARED_${library})
    list(APPEND paths ${CORANK_SHARED_${library}})
  endforeach()
  find_path(CORANK_HEADER_${name} ${header} REQUIRED)
  add_library(corank_${name} INTERFACE)
  add_library(corank::${name} ALIAS corank_${name})
  target_link_libraries(corank_${name} INTERFACE ${paths})
endfunction()

if(CORANK_SERVER OR CORANK_KERNELS)
  corank_shared_library(highway hwy/contrib/sort/vqsort.h hwy_contrib hwy)
  corank_shared_library(tbb tbb/parallel_for.h tbb)
endif()
if(NOT CORANK_SERVER AND NOT CORANK_CLIENT)
  return() # the kernels need nothing else
endif()

include(cmake/corankGrpc.cmake)

set(CORANK_PROTOC protobuf::protoc)
if(NOT TARGET protobuf::protoc)
  find_program(CORANK_PROTOC_PROGRAM protoc REQUIRED)
  mark_as_advanced(CORANK_PROTOC_PROGRAM)
  set(CORANK_PROTOC ${CORANK_PROTOC_PROGRAM})
endif()

# corank_archives(<out> <names>...): the static archives of these libraries; names without an archive are dropped.
function(corank_archives out)
  set(paths)
  foreach(name IN LISTS ARGN)
    find_library(CORANK_ARCHIVE_${name} NAMES lib${name}.a)
    mark_as_advanced(CORANK_ARCHIVE_${name})
    if(CORANK_ARCHIVE_${name})
      list(APPEND paths ${CORANK_ARCHIVE_${name}})
    endif()
  endforeach()
  set(${out} ${paths} PARENT_SCOPE)
endfunction()

add_library(corank_rpc INTERFACE)
add_library(corank::rpc ALIAS corank_rpc)
if(NOT CORANK_SERVER AND NOT CORANK_CLI)
  target_link_libraries(corank_rpc INTERFACE corank::grpc)
  return() # the client library needs nothing else
endif()

find_package(PkgConfig REQUIRED)
pkg_check_modules(CORANK_GRPC_ARCHIVES REQUIRED grpc++>=1.51 protobuf>=3.21)
find_library(CORANK_ABSL_BASE NAMES libabsl_base.a REQUIRED)
get_filename_component(archive_folder ${CORANK_ABSL_BASE} DIRECTORY)
file(GLOB absl_archives ${archive_folder}/libabsl_*.a)

set(rpc_names ${CORANK_GRPC_ARCHIVES_STATIC_LIBRARIES} grpc++_reflection)
list(REMOVE_DUPLICATES rpc_names)
list(FILTER rpc_names EXCLUDE REGEX "^(absl_.*|dl|pthread|rt|m|atomic)$")
corank_archives(rpc_archives ${rpc_names})

# One group for all: CMake keeps the order of groups by their first use, and Abseil before gRPC would not resolve. An
# archive adds to a binary only what the binary refers to.
string(REPLACE ";" "," archive_group "${rpc_archives};${absl_archives}")
add_library(corank_absl INTERFACE)
add_library(corank::absl ALIAS corank_absl)
target_link_libraries(corank_absl INTERFACE "$<LINK_GROUP:RESCAN,${archive_group}>" Threads::Threads ${CMAKE_DL_LIBS})
target_link_libraries(corank_rpc INTERFACE corank_absl)

if(CORANK_SERVER)
  add_library(corank_malloc INTERFACE)
  add_library(corank::malloc ALIAS corank_malloc)
  find_path(CORANK_HEADER_tcmalloc gperftools/malloc_extension_c.h REQUIRED)
  if(NOT CORANK_SANITIZE)
    find_library(CORANK_ARCHIVE_tcmalloc NAMES libtcmalloc_minimal.a REQUIRED)
    mark_as_advanced(CORANK_ARCHIVE_tcmalloc CORANK_HEADER_tcmalloc)
    target_link_libraries(corank_malloc INTERFACE ${CORANK_ARCHIVE_tcmalloc})
    # Its functions have the names of libc's: without this nothing needs the archive's.
    target_link_options(corank_malloc INTERFACE -Wl,--undefined=tc_malloc)
  endif()

  find_program(CORANK_GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
  mark_as_advanced(CORANK_GRPC_CPP_PLUGIN)
  function(corank_static_library name header)
    corank_archives(archives ${ARGN})
    find_path(CORANK_HEADER_${name} ${header} REQUIRED)
    mark_as_advanced(CORANK_HEADER_${name})
    add_library(corank_${name} INTERFACE)
    add_library(corank::${name} ALIAS corank_${name})
    target_link_libraries(corank_${name} INTERFACE ${archives})
  endfunction()
  corank_static_library(nghttp2 nghttp2/nghttp2.h nghttp2)
  corank_static_library(openssl openssl/ssl.h ssl crypto)
  corank_shared_library(prometheus prometheus/registry.h prometheus-cpp-core)
endif()
if(CORANK_BENCH)
  corank_shared_library(benchmark benchmark/benchmark.h benchmark)
endif()
if(CORANK_TESTS)
  find_package(GTest REQUIRED)
endif()
