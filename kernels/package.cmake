# corank::cpu and corank::kernels (CUDA): each one archive, for other projects, be it installed (find_package of
# corank_kernels) or added (FetchContent). Neither needs gRPC, protobuf or Abseil.

# corank_kernel_archive(<name> [OBJECTS <targets>...] [PACKAGES <targets>...]): corank::<name> with the objects of these
# libraries of this build. Projects that find the installed package link PACKAGES.
function(corank_kernel_archive name)
  cmake_parse_arguments(ARG "" "" "OBJECTS;PACKAGES" ${ARGN})
  set(target corank_${name})
  list(TRANSFORM ARG_OBJECTS REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  add_library(${target} STATIC ${objects})
  add_library(corank::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX EXPORT_NAME ${name})
  target_compile_features(${target} INTERFACE cxx_std_17)
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  foreach(package IN LISTS ARG_PACKAGES)
    target_link_libraries(${target} INTERFACE $<INSTALL_INTERFACE:${package}>)
  endforeach()
  if(CORANK_INSTALL)
    install(TARGETS ${target} EXPORT corank_kernelsTargets
      ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT kernels)
  endif()
endfunction()

corank_kernel_archive(cpu OBJECTS corank_cpu_kernels PACKAGES hwy::hwy_contrib hwy::hwy TBB::tbb)
target_link_libraries(corank_cpu INTERFACE $<BUILD_INTERFACE:corank::highway> $<BUILD_INTERFACE:corank::tbb>)
if(CORANK_CUDA)
  include(${PROJECT_SOURCE_DIR}/cmake/corankCudart.cmake)
  corank_kernel_archive(kernels
    OBJECTS corank_cuda_common corank_cuda_columns corank_cuda_group corank_cuda_intervals corank_cuda_join corank_cuda_merge corank_cuda_search
      corank_cuda_select corank_cuda_sets corank_cuda_sort
    PACKAGES corank::cudart)
  target_link_libraries(corank_kernels INTERFACE $<BUILD_INTERFACE:corank::cudart>)
endif()

if(CORANK_INSTALL)
  include(CMakePackageConfigHelpers)
  set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/corank_kernels)
  install(EXPORT corank_kernelsTargets NAMESPACE corank:: DESTINATION ${package_folder} COMPONENT kernels)
  configure_package_config_file(corank_kernelsConfig.cmake.in corank_kernelsConfig.cmake
    INSTALL_DESTINATION ${package_folder})
  # Before version 1.0 a minor version may change the interface.
  write_basic_package_version_file(corank_kernelsConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/corank_kernelsConfig.cmake
      ${CMAKE_CURRENT_BINARY_DIR}/corank_kernelsConfigVersion.cmake ${PROJECT_SOURCE_DIR}/cmake/corankCudart.cmake
    DESTINATION ${package_folder} COMPONENT kernels)
  install(CODE "
    set(CORANK_SOURCE \"${PROJECT_SOURCE_DIR}\")
    set(CORANK_HEADERS \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")
    set(CORANK_CUDA \"${CORANK_CUDA}\")
    include(\"${CMAKE_CURRENT_SOURCE_DIR}/install_headers.cmake\")" COMPONENT kernels)
endif()
