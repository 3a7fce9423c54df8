#include "version/version.h"

#include "version_build.h"

namespace corank {

const char* Version() { return CORANK_BUILD_VERSION; }
const char* Commit() { return CORANK_BUILD_COMMIT; }
const char* BuildType() { return CORANK_BUILD_TYPE; }

std::string VersionLine(const std::string& program) {
  const std::string commit = Commit();
  return program + " " + Version() + " (" + (commit.empty() ? "" : "commit " + commit + ", ") + BuildType() + " build)";
}

}  // namespace corank
