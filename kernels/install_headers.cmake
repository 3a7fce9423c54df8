# Installs the public headers of the kernels, and the internal headers that they include. The latter move from kernels/
# to corank/internal/kernels/, because a project may have a folder kernels of its own on its include path.
#
# CORANK_SOURCE: the source tree. CORANK_HEADERS: the folder of headers to fill. CORANK_CUDA: whether to install the
# headers of CUDA.
cmake_policy(VERSION 3.25)
set(files corank/span.h corank/operands.h corank/cpu.h)
if(CORANK_CUDA)
  file(GLOB cuda_files RELATIVE ${CORANK_SOURCE}/kernels/include ${CORANK_SOURCE}/kernels/include/corank/cuda/*)
  list(APPEND files corank/cuda.h ${cuda_files})
endif()
list(TRANSFORM files PREPEND kernels/include/)
list(APPEND files include/corank/types.h include/corank/internal/key_traits.h)

set(known ${files})
while(files)
  list(POP_FRONT files source)
  file(READ ${CORANK_SOURCE}/${source} text)
  string(REGEX MATCHALL "#include \"kernels/[^\"]+\"" includes "${text}")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE ".*\"(.+)\"" "\\1" included "${include}")
    if(NOT included IN_LIST known)
      list(APPEND known ${included})
      list(APPEND files ${included})
    endif()
  endforeach()
  string(REPLACE "#include \"kernels/" "#include \"corank/internal/kernels/" text "${text}")
  string(REGEX REPLACE "^(kernels/include|include)/" "" installed ${source})
  string(REGEX REPLACE "^kernels/" "corank/internal/kernels/" installed ${installed})
  file(WRITE ${CORANK_HEADERS}/${installed} "${text}")
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES ${CORANK_HEADERS}/${installed})
endwhile()
