# corank::grpc: gRPC, protobuf and Abseil as this system provides them, for the build and for the installed package.
# CORANK_PROTOBUF_VERSION: the version of protobuf, or empty if an enclosing project has found it.
#
# The CMake packages of these libraries come first, because a project may bring its own (vcpkg, Conan, FetchContent);
# without them, pkg-config finds them.
if(TARGET corank::grpc)
  return()
endif()
if(NOT TARGET gRPC::grpc++)
  find_package(gRPC 1.51 CONFIG QUIET)
endif()
add_library(corank::grpc INTERFACE IMPORTED GLOBAL)
if(TARGET gRPC::grpc++)
  if(NOT TARGET absl::status)
    find_package(absl CONFIG REQUIRED)
  endif()
  set(CORANK_PROTOBUF_VERSION ${Protobuf_VERSION})
  target_link_libraries(corank::grpc INTERFACE gRPC::grpc++ protobuf::libprotobuf absl::algorithm_container absl::base
    absl::cord absl::core_headers absl::flat_hash_map absl::flat_hash_set absl::function_ref absl::random_random
    absl::span absl::status absl::statusor absl::strings absl::synchronization absl::time)
else()
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(CORANK_GRPC REQUIRED IMPORTED_TARGET GLOBAL grpc++>=1.51 protobuf>=3.21)
  set(CORANK_PROTOBUF_VERSION ${CORANK_GRPC_protobuf_VERSION})
  target_link_libraries(corank::grpc INTERFACE PkgConfig::CORANK_GRPC)
endif()
