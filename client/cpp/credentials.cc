#include "client/cpp/credentials.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/address.h"

namespace corank::client {
namespace {

constexpr char kBearer[] = "Bearer ";

absl::StatusOr<std::string> Contents(const char* option, const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.is_open() || file.bad() || (bytes.empty() && errno != 0)) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": cannot read ", path, ": ", std::strerror(errno)));
  }
  return bytes;
}

/// Empty for an empty path.
absl::StatusOr<std::string> Pem(const char* option, const std::string& path, const char* mark) {
  if (path.empty()) return std::string();
  absl::StatusOr<std::string> bytes = Contents(option, path);
  if (bytes.ok() && !absl::StrContains(*bytes, mark)) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": ", path, " has no \"", mark, "\"; it must be PEM"));
  }
  return bytes;
}

/// The value of the header. The error does not show the token.
absl::StatusOr<std::string> Authorization(const char* option, absl::string_view text) {
  const absl::string_view token = absl::StripAsciiWhitespace(text);
  const bool is_valid =
      !token.empty() && std::all_of(token.begin(), token.end(), [](unsigned char c) { return absl::ascii_isgraph(c); });
  if (is_valid) return absl::StrCat(kBearer, token);
  return absl::InvalidArgumentError(absl::StrCat(option, ": a token must be one word of printable ASCII characters"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Credentials>> Credentials::Create(const ClientOptions& options) {
  std::unique_ptr<Credentials> credentials(new Credentials());
  credentials->channel_ = grpc::InsecureChannelCredentials();
  if (options.tls.has_value()) {
    const TlsOptions& tls = *options.tls;
    if (tls.certificate_file.empty() != tls.key_file.empty()) {
      return absl::InvalidArgumentError("tls.certificate_file, tls.key_file: set both or neither");
    }
    grpc::SslCredentialsOptions ssl;
    const struct {
      const char* option;
      const std::string& path;
      const char* mark;
      grpc::string* pem;
    } files[] = {{"tls.ca_file", tls.ca_file, "-----BEGIN CERTIFICATE-----", &ssl.pem_root_certs},
                 {"tls.certificate_file", tls.certificate_file, "-----BEGIN CERTIFICATE-----", &ssl.pem_cert_chain},
                 {"tls.key_file", tls.key_file, "PRIVATE KEY-----", &ssl.pem_private_key}};
    for (const auto& file : files) {
      absl::StatusOr<std::string> pem = Pem(file.option, file.path, file.mark);
      if (!pem.ok()) return pem.status();
      *file.pem = *std::move(pem);
    }
    if (tls.server_name.empty() && absl::StrContains(options.address, ",")) {
      return absl::InvalidArgumentError(absl::StrCat("tls.server_name: several addresses (", options.address,
                                                     ") with TLS need the name that their certificates hold"));
    }
    credentials->channel_ = grpc::SslCredentials(ssl);
    credentials->server_name_ = tls.server_name;
  }
  if (options.token.empty() && options.token_file.empty()) return credentials;

  if (!options.token.empty() && !options.token_file.empty()) {
    return absl::InvalidArgumentError("token, token_file: set only one");
  }
  if (!options.tls.has_value() && !IsThisHost(options.address)) {
    return absl::InvalidArgumentError(
        absl::StrCat("token: anyone on the way to ", options.address,
                     " could read it, for there is no TLS; switch TLS on (tls), or use an address of this host"));
  }
  absl::StatusOr<std::string> text = options.token;
  if (!options.token_file.empty()) text = Contents("token_file", options.token_file);
  if (!text.ok()) return text.status();
  absl::StatusOr<std::string> authorization = Authorization(options.token_file.empty() ? "token" : "token_file", *text);
  if (!authorization.ok()) return authorization.status();
  credentials->token_file_ = options.token_file;
  absl::MutexLock lock(&credentials->mutex_);
  credentials->authorization_ = *std::move(authorization);
  return credentials;
}

void Credentials::Configure(grpc::ChannelArguments* arguments) const {
  if (!server_name_.empty()) arguments->SetSslTargetNameOverride(server_name_);
}

std::string Credentials::authorization() const {
  absl::MutexLock lock(&mutex_);
  return authorization_;
}

bool Credentials::Reload(const std::string& refused) {
  if (token_file_.empty()) return false;
  const absl::StatusOr<std::string> text = Contents("token_file", token_file_);
  if (!text.ok()) return false;
  absl::StatusOr<std::string> authorization = Authorization("token_file", *text);
  if (!authorization.ok()) return false;
  absl::MutexLock lock(&mutex_);
  authorization_ = *std::move(authorization);
  return authorization_ != refused;
}

}  // namespace corank::client
