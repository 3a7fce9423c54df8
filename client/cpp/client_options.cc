#include "corank/client_options.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace corank::client {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsHex(absl::string_view text, size_t digits) {
  return text.size() == digits && std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isdigit(static_cast<unsigned char>(c)) || (c >= 'a' && c <= 'f');
         });
}

bool IsZero(absl::string_view text) { return text.find_first_not_of('0') == absl::string_view::npos; }

}  // namespace

ClientOptions OptionsFromEnvironment() {
  ClientOptions options;
  if (std::string address = Variable("CORANK_SERVER"); !address.empty()) options.address = std::move(address);
  options.token = Variable("CORANK_TOKEN");
  TlsOptions tls;
  tls.ca_file = Variable("CORANK_SERVER_CA");
  tls.certificate_file = Variable("CORANK_CLIENT_CERTIFICATE");
  tls.key_file = Variable("CORANK_CLIENT_KEY");
  if (!tls.ca_file.empty() || !tls.certificate_file.empty() || !tls.key_file.empty()) options.tls = std::move(tls);
  // Broken tracing must not stop a call.
  if (std::string parent = Variable("TRACEPARENT"); IsTraceparent(parent)) options.traceparent = std::move(parent);
  return options;
}

bool IsTraceparent(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '-');
  return parts.size() == 4 && parts[0] == "00" && IsHex(parts[1], 32) && !IsZero(parts[1]) && IsHex(parts[2], 16) &&
         !IsZero(parts[2]) && IsHex(parts[3], 2);
}

}  // namespace corank::client
