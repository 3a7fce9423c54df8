# Compilers, warnings, and the one way to declare a library of this project.

if(PROJECT_IS_TOP_LEVEL)
  find_program(CORANK_CCACHE ccache)
  mark_as_advanced(CORANK_CCACHE)
  if(CORANK_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CORANK_CCACHE})
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${CORANK_CCACHE})
  endif()
endif()

if(CORANK_CUDA)
  if(NOT CMAKE_CUDA_COMPILER AND EXISTS ${PROJECT_SOURCE_DIR}/.deps/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER ${PROJECT_SOURCE_DIR}/.deps/cuda/bin/nvcc)
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${CORANK_CUDA_ARCHITECTURES})
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  enable_language(CUDA)
endif()

# Sources of one library share most of their headers and template instantiations: eight compiled as one file take a third
# of the time of eight.
option(CORANK_UNITY "Compile the sources of each library in groups" ON)

set(CORANK_WARNINGS -Wall -Wextra)
if(CORANK_WERROR)
  list(APPEND CORANK_WARNINGS -Werror)
endif()

# corank_compile_options(<target>): this project's warnings and include roots, for a target that holds its own sources.
function(corank_compile_options target)
  string(REPLACE ";" "," host_warnings "${CORANK_WARNINGS}")
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:${CORANK_WARNINGS}>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${host_warnings} --extended-lambda --expt-relaxed-constexpr
      $<$<BOOL:${CORANK_WERROR}>:-Werror=all-warnings>>)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
endfunction()

# corank_library(<name> <sources>... [DEPS <targets>...]): one library per folder. A library without sources is
# header-only.
function(corank_library name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
    corank_compile_options(${name})
    target_link_libraries(${name} PUBLIC ${ARG_DEPS})
    set_target_properties(${name} PROPERTIES UNITY_BUILD ${CORANK_UNITY} UNITY_BUILD_BATCH_SIZE 8
      UNITY_BUILD_CODE_BEFORE_INCLUDE "// NOLINTNEXTLINE(bugprone-suspicious-include)")
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(${name} INTERFACE ${ARG_DEPS})
  endif()
endfunction()

# corank_binary(<name> <sources>... [DEPS <targets>...])
function(corank_binary name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  corank_compile_options(${name})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
endfunction()
