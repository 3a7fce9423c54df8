# Fails the build if the CUDA engine calls the CUDA runtime without the shim, so that no test could fail the call.
#
#   cmake -DNM=nm -DARCHIVES="a b" -DWRAPPED="cudaMallocAsync ..." -P wrapped_calls.cmake
separate_arguments(ARCHIVES)
separate_arguments(WRAPPED)
# Calls that cannot fail, and those that nvcc adds to set up kernels and their arguments.
set(others
  cudaGetErrorName cudaGetErrorString
  __cudaInitModule __cudaPopCallConfiguration __cudaPushCallConfiguration __cudaRegisterFatBinary
  __cudaRegisterFatBinaryEnd __cudaRegisterVar __cudaUnregisterFatBinary)
execute_process(COMMAND ${NM} --undefined-only ${ARCHIVES} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "U _*cuda[A-Z][A-Za-z0-9_]*" calls "${symbols}")
if(NOT calls)
  message(FATAL_ERROR "no call of the CUDA runtime in ${ARCHIVES}")
endif()
list(TRANSFORM calls REPLACE "^U " "")
list(REMOVE_DUPLICATES calls)
list(REMOVE_ITEM calls ${WRAPPED} ${others})
if(calls)
  message(FATAL_ERROR "tests/faults/cuda_runtime_shim.cc does not wrap: ${calls}")
endif()
