// Converts files to material for TLS. Each fault is found here, with its reason, and not in a handshake.
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <ctime>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/security/read_file.h"
#include "server/security/tls_credentials.h"

namespace corank {
namespace {

template <auto free>
struct Freer {
  template <typename T>
  void operator()(T* pointer) const {
    free(pointer);
  }
};
using Bio = std::unique_ptr<BIO, Freer<BIO_free>>;
using Certificate = std::unique_ptr<X509, Freer<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;

Bio Reading(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

// Replaces OpenSSL's callback, which asks at the terminal.
int NoPassword(char*, int, int, void*) { return -1; }

absl::Status Fault(absl::string_view flag, const std::string& file, absl::string_view reason) {
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat("--", flag, ": ", file, ": ", reason));
}

absl::Time ToTime(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? absl::FromTM(parts, absl::UTCTimeZone()) : absl::InfinitePast();
}

// The first certificate. All others must parse.
absl::StatusOr<Certificate> ParseCertificates(absl::string_view flag, const std::string& file,
                                              const std::string& text) {
  const Bio bio = Reading(text);
  Certificate first;
  while (Certificate next{PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr)}) {
    if (first == nullptr) first = std::move(next);
  }
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
    return Fault(flag, file, "it contains a damaged certificate");
  }
  if (first == nullptr) return Fault(flag, file, "it contains no certificate in PEM");
  ERR_clear_error();
  return first;
}

}  // namespace

std::vector<std::string> TlsFiles::Paths() const {
  std::vector<std::string> paths = {certificate, key};
  if (!client_ca.empty()) paths.push_back(client_ca);
  return paths;
}

absl::StatusOr<TlsMaterial> TlsMaterial::Read(const TlsFiles& files, absl::Time now) {
  TlsMaterial material;
  const auto read = [](absl::string_view flag, const std::string& path, std::string* text) {
    absl::StatusOr<std::string> file = ReadFile(path);
    if (!file.ok()) return absl::InvalidArgumentError(absl::StrCat("--", flag, ": ", file.status().message()));
    *text = *std::move(file);
    return absl::OkStatus();
  };
  CORANK_RETURN_IF_ERROR(read("tls-certificate", files.certificate, &material.certificate));
  CORANK_RETURN_IF_ERROR(read("tls-key", files.key, &material.key));
  CORANK_ASSIGN_OR_RETURN(const Certificate certificate,
                          ParseCertificates("tls-certificate", files.certificate, material.certificate));
  const Bio bio = Reading(material.key);
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  if (key == nullptr) return Fault("tls-key", files.key, "it contains no private key in PEM without a password");
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return Fault("tls-key", files.key, absl::StrCat("the key does not match the certificate in ", files.certificate));
  }
  const absl::Time begin = ToTime(X509_get0_notBefore(certificate.get()));
  material.expiry = ToTime(X509_get0_notAfter(certificate.get()));
  if (now < begin || now >= material.expiry) {
    return Fault(
        "tls-certificate", files.certificate,
        absl::StrCat("it is valid from ", absl::FormatTime(absl::RFC3339_sec, begin, absl::UTCTimeZone()), " to ",
                     absl::FormatTime(absl::RFC3339_sec, material.expiry, absl::UTCTimeZone()), ", but not now"));
  }
  char subject[256] = "";
  X509_NAME_oneline(X509_get_subject_name(certificate.get()), subject, sizeof(subject));
  material.subject = subject;
  if (files.client_ca.empty()) return material;
  CORANK_RETURN_IF_ERROR(read("tls-client-ca", files.client_ca, &material.client_ca));
  CORANK_RETURN_IF_ERROR(ParseCertificates("tls-client-ca", files.client_ca, material.client_ca).status());
  return material;
}

}  // namespace corank
