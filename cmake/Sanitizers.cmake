# Builds that look for faults, each in a build folder of its own.
#
#   CORANK_SANITIZE=address   AddressSanitizer with leak detection, and UndefinedBehaviorSanitizer, whose findings are fatal
#   CORANK_SANITIZE=thread    ThreadSanitizer
#   CORANK_FUZZ=ON            the targets of tests/fuzz as libFuzzer programs; needs Clang, and takes `address` with it
#
# gRPC, Protobuf, Abseil and oneTBB are Debian's binaries, not instrumented; but a thread build links a gRPC and an Abseil
# that are, from scripts/tsan_grpc.sh.
set(CORANK_SANITIZE "" CACHE STRING "Build for a sanitizer: address or thread")
set_property(CACHE CORANK_SANITIZE PROPERTY STRINGS "" address thread)
option(CORANK_FUZZ "Build the libFuzzer programs of tests/fuzz (needs Clang)" OFF)

if(CORANK_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    message(FATAL_ERROR "CORANK_FUZZ needs Clang: -DCMAKE_CXX_COMPILER=clang++-14")
  endif()
  set(CORANK_SANITIZE address)
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
if(CORANK_SANITIZE AND CORANK_CUDA)
  message(FATAL_ERROR "CORANK_SANITIZE looks at host code only: give -DCORANK_CUDA=OFF (compute-sanitizer looks at kernels)")
endif()

# Protobuf's maps have more members where ThreadSanitizer looks at them, and those of Debian's archive have not: sources that
# use google::protobuf::Struct are compiled as the archive was.
function(corank_use_protobuf_maps)
  if(CORANK_SANITIZE STREQUAL thread)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -U__SANITIZE_THREAD__)
  endif()
endfunction()

if(CORANK_SANITIZE STREQUAL address)
  set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=undefined)
elseif(CORANK_SANITIZE STREQUAL thread)
  set(sanitizers -fsanitize=thread)
  set(instrumented ${PROJECT_SOURCE_DIR}/.deps/tsan-grpc/lib)
  if(NOT EXISTS ${instrumented}/libgrpc++.a)
    message(FATAL_ERROR "scripts/tsan_grpc.sh makes the gRPC that a thread build links")
  endif()
  list(PREPEND CMAKE_LIBRARY_PATH ${instrumented})
elseif(CORANK_SANITIZE)
  message(FATAL_ERROR "CORANK_SANITIZE is 'address' or 'thread', not '${CORANK_SANITIZE}'")
endif()
if(CORANK_SANITIZE)
  # -O1 keeps frames readable; the standard library's own checks of bounds and iterators come on top.
  set(CMAKE_CXX_FLAGS_RELEASE "-O1")
  add_compile_options(${sanitizers} -fno-omit-frame-pointer -g1)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(${sanitizers})
endif()
