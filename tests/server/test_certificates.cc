#include "tests/server/test_certificates.h"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace corank::testing {
namespace {

EVP_PKEY* NewKey() { return EVP_EC_gen("P-256"); }

std::string TextOf(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  std::string text(bytes, static_cast<size_t>(size));
  BIO_free(bio);
  return text;
}

std::string Pem(X509* certificate) {
  BIO* const bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, certificate);
  return TextOf(bio);
}

std::string Pem(EVP_PKEY* key) {
  BIO* const bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  return TextOf(bio);
}

void AddExtension(X509* certificate, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  EXPECT_NE(extension, nullptr) << value;
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

X509* NewCertificate(EVP_PKEY* key, const CertificateRequest& request) {
  static std::atomic<int> serial{1};
  X509* const certificate = X509_new();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate), absl::ToInt64Seconds(request.begins_in));
  X509_gmtime_adj(X509_getm_notAfter(certificate), absl::ToInt64Seconds(request.ends_in));
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(request.common_name.c_str()), -1, -1, 0);
  if (!request.alternative_names.empty()) {
    AddExtension(certificate, NID_subject_alt_name, absl::StrJoin(request.alternative_names, ","));
  }
  return certificate;
}

}  // namespace

TestAuthority::TestAuthority(const std::string& name) : key_(NewKey()) {
  CertificateRequest request;
  request.common_name = name;
  certificate_ = NewCertificate(key_, request);
  AddExtension(certificate_, NID_basic_constraints, "critical,CA:TRUE");
  X509_set_issuer_name(certificate_, X509_get_subject_name(certificate_));
  EXPECT_GT(X509_sign(certificate_, key_, EVP_sha256()), 0);
  pem_ = Pem(certificate_);
}

TestAuthority::~TestAuthority() {
  X509_free(certificate_);
  EVP_PKEY_free(key_);
}

TestCertificate TestAuthority::Issue(const CertificateRequest& request) const {
  EVP_PKEY* const key = NewKey();
  X509* const certificate = NewCertificate(key, request);
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate_));
  EXPECT_GT(X509_sign(certificate, key_, EVP_sha256()), 0);
  TestCertificate issued{Pem(certificate), Pem(key)};
  X509_free(certificate);
  EVP_PKEY_free(key);
  return issued;
}

TestCertificate TestAuthority::IssueServer(const std::string& name) const {
  return Issue({name, {"DNS:localhost", "IP:127.0.0.1"}});
}

TestFolder::TestFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "corank-test-XXXXXX").string();
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  path_ = name;
}

TestFolder::~TestFolder() { std::filesystem::remove_all(path_); }

std::string TestFolder::Path(absl::string_view name) const { return absl::StrCat(path_, "/", name); }

std::string TestFolder::Write(absl::string_view name, absl::string_view text) const {
  const std::string path = Path(name);
  std::ofstream(path + ".new", std::ios::binary) << text;
  EXPECT_EQ(std::rename((path + ".new").c_str(), path.c_str()), 0);
  return path;
}

std::string HashOf(absl::string_view token) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), sizeof(digest)));
}

}  // namespace corank::testing
