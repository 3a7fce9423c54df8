// Which corank this is: version, commit and build.
#ifndef CORANK_VERSION_VERSION_H_
#define CORANK_VERSION_VERSION_H_

#include <string>

namespace corank {

/// "0.1.0".
const char* Version();
/// "0bc7102a3f4e", or "0bc7102a3f4e-dirty" where the build had uncommitted changes; empty if git was not there.
const char* Commit();
/// CMake's build type, with the sanitizer if there is one: "Release".
const char* BuildType();

/// What `PROGRAM --version` prints: "corank 0.1.0 (commit 0bc7102a3f4e, Release build)", or without a commit
/// "corank 0.1.0 (Release build)".
std::string VersionLine(const std::string& program);

}  // namespace corank

#endif  // CORANK_VERSION_VERSION_H_
