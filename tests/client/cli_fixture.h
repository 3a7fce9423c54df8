// Runs `corank` as a process against a real server, with a folder of files to work on.
#ifndef CORANK_TESTS_CLIENT_CLI_FIXTURE_H_
#define CORANK_TESTS_CLIENT_CLI_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/client/process.h"

namespace corank::testing {

class CliTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new Server({"--shared-memory=/corank-", "--kept-bytes=100000000"}); }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }
  void SetUp() override { ASSERT_NE(server_->address(), ""); }

  /// Runs `corank WORDS...` against the server.
  Finished Corank(std::vector<std::string> words, const std::string& input = "") const {
    words.insert(words.begin(), CORANK_BINARY);
    return RunToEnd(words, input, {"CORANK_SERVER=" + server_->address()});
  }

  std::string Path(const std::string& name) const { return folder_.Path(name); }

  template <typename T>
  static std::string Raw(const std::vector<T>& elements) {
    return std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T));
  }
  /// A .npy file, written by hand.
  template <typename T>
  static std::string Npy(const std::string& descr, const std::vector<T>& elements) {
    const std::string text =
        "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + std::to_string(elements.size()) + ",), }\n";
    return std::string("\x93NUMPY\x01") + '\0' + static_cast<char>(text.size()) + '\0' + text + Raw(elements);
  }
  /// The elements of a .npy file. Empty, with a test failure, if its type or count differs.
  template <typename T>
  static std::vector<T> FromNpy(const std::string& file, const std::string& descr) {
    const size_t end = file.find('\n');
    if (file.substr(0, 6) != "\x93NUMPY" || end == std::string::npos) {
      ADD_FAILURE() << "not a .npy file";
      return {};
    }
    std::vector<T> elements((file.size() - end - 1) / sizeof(T));
    std::memcpy(elements.data(), file.data() + end + 1, elements.size() * sizeof(T));
    const std::string header = file.substr(0, end);
    EXPECT_NE(header.find("'" + descr + "'"), std::string::npos) << header;
    EXPECT_NE(header.find("(" + std::to_string(elements.size()) + ",)"), std::string::npos) << header;
    return elements;
  }

  void PutInt64s(const std::string& name, const std::vector<int64_t>& numbers) const {
    WriteFile(Path(name), Npy("<i8", numbers));
  }

  static Server* server_;
  TemporaryFolder folder_;
};

inline Server* CliTest::server_ = nullptr;

}  // namespace corank::testing

#endif  // CORANK_TESTS_CLIENT_CLI_FIXTURE_H_
