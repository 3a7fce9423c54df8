# Installs the component "client": headers, archive, CMake package and pkg-config file. The prefix can be moved later.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/corank)
set(pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(TARGETS corank_client EXPORT corankTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT client)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/corank DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT client)

install(EXPORT corankTargets NAMESPACE corank:: DESTINATION ${package_folder} COMPONENT client)
configure_package_config_file(corankConfig.cmake.in corankConfig.cmake INSTALL_DESTINATION ${package_folder})
# Before version 1.0 a minor version may change the interface.
write_basic_package_version_file(corankConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/corankConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/corankConfigVersion.cmake
    ${PROJECT_SOURCE_DIR}/cmake/corankGrpc.cmake
  DESTINATION ${package_folder} COMPONENT client)

# pkg-config finds the prefix from the place of corank.pc.
file(RELATIVE_PATH CORANK_PREFIX_FROM_PC /prefix/${pkgconfig_folder} /prefix)
configure_file(corank.pc.in corank.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/corank.pc DESTINATION ${pkgconfig_folder} COMPONENT client)
