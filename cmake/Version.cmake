# Makes the header that names version, commit and build for `--version`.
#
# Every build asks git for the commit and rewrites the header only when the answer has changed. Only version/version.cc
# includes it, so a commit recompiles one small file and relinks the programs. A tree without git has no commit.
#
# As a script: cmake -D SOURCE=... -D OUTPUT=... -D VERSION=... -D BUILD=... -P Version.cmake
if(CMAKE_SCRIPT_MODE_FILE)
  set(commit)
  find_program(GIT git)
  if(GIT)
    # An archive unpacked inside some other repository must not take that one's commit.
    execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --show-toplevel OUTPUT_VARIABLE top RESULT_VARIABLE failed
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    file(REAL_PATH ${SOURCE} source)
    if(NOT failed AND top STREQUAL source)
      execute_process(COMMAND ${GIT} --no-optional-locks -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
                      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    endif()
  endif()
  set(text "#define CORANK_BUILD_VERSION \"${VERSION}\"
#define CORANK_BUILD_COMMIT \"${commit}\"
#define CORANK_BUILD_TYPE \"${BUILD}\"
")
  set(current)
  if(EXISTS ${OUTPUT})
    file(READ ${OUTPUT} current)
  endif()
  if(NOT text STREQUAL current)
    file(WRITE ${OUTPUT} "${text}")
  endif()
  return()
endif()

# corank_version_header(<target> <folder>): makes <folder>/version_build.h before the sources of <target> compile.
function(corank_version_header target folder)
  set(build ${CMAKE_BUILD_TYPE})
  if(CORANK_SANITIZE)
    string(APPEND build ", ${CORANK_SANITIZE} sanitizer")
  endif()
  add_custom_target(${target}_header
    COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR} -D OUTPUT=${folder}/version_build.h
            -D VERSION=${PROJECT_VERSION} "-DBUILD=${build}" -P ${PROJECT_SOURCE_DIR}/cmake/Version.cmake
    BYPRODUCTS ${folder}/version_build.h
    COMMENT "Asking git for the commit"
    VERBATIM)
  add_dependencies(${target} ${target}_header)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
