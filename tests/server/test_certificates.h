// Certificates made on demand, and files in a test's own folder.
#ifndef CORANK_TESTS_SERVER_TEST_CERTIFICATES_H_
#define CORANK_TESTS_SERVER_TEST_CERTIFICATES_H_

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace corank::testing {

/// A certificate and its key, as PEM.
struct TestCertificate {
  std::string certificate;
  std::string key;
};

struct CertificateRequest {
  std::string common_name;
  /// Such as "DNS:localhost" or "URI:spiffe://example/node".
  std::vector<std::string> alternative_names;
  absl::Duration begins_in = -absl::Hours(1);
  absl::Duration ends_in = absl::Hours(24);
};

/// A separate certificate authority, with P-256 keys.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name);
  ~TestAuthority();
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  const std::string& certificate() const { return pem_; }
  TestCertificate Issue(const CertificateRequest& request) const;
  /// For 127.0.0.1 and localhost.
  TestCertificate IssueServer(const std::string& name = "the server") const;

 private:
  EVP_PKEY* key_;
  X509* certificate_;
  std::string pem_;
};

/// A folder that is removed with the object.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string Path(absl::string_view name) const;
  /// Replaces the file atomically. Returns its path.
  std::string Write(absl::string_view name, absl::string_view text) const;

 private:
  std::string path_;
};

/// The SHA-256 in hexadecimal digits, as `printf %s TOKEN | sha256sum` prints it.
std::string HashOf(absl::string_view token);

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_TEST_CERTIFICATES_H_
