# corank::cudart: the static CUDA runtime and its headers, for the build and for the installed package. It lies in the
# toolkit of nvcc if the project has enabled CUDA, and otherwise in CUDAToolkit_ROOT, CUDA_PATH or /usr/local/cuda.
#
# CMake's FindCUDAToolkit also asks for the shared runtime, which the compiler's packages on PyPI lack.
if(TARGET corank::cudart)
  return()
endif()
set(corank_cuda_places HINTS ${CMAKE_CUDA_COMPILER_TOOLKIT_ROOT} ${CUDAToolkit_ROOT} $ENV{CUDAToolkit_ROOT} $ENV{CUDA_PATH}
  PATHS /usr/local/cuda)
find_library(CORANK_CUDART NAMES cudart_static ${corank_cuda_places}
  PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib REQUIRED)
find_path(CORANK_CUDART_HEADERS NAMES cuda_runtime_api.h ${corank_cuda_places}
  PATH_SUFFIXES include targets/x86_64-linux/include REQUIRED)
mark_as_advanced(CORANK_CUDART CORANK_CUDART_HEADERS)
find_package(Threads REQUIRED)
add_library(corank::cudart INTERFACE IMPORTED GLOBAL)
target_include_directories(corank::cudart INTERFACE ${CORANK_CUDART_HEADERS})
target_link_libraries(corank::cudart INTERFACE ${CORANK_CUDART} Threads::Threads ${CMAKE_DL_LIBS} rt)
