#include "server/rpc/credentials.h"

#include "server/observe/utf8.h"

namespace corank {

absl::StatusOr<std::shared_ptr<const Caller>> CallerOf(const Authenticator* authenticator, const wire::CallHead& call) {
  if (authenticator == nullptr) return AnonymousCaller();
  Credentials credentials;
  credentials.authorization = call.metadata.All("authorization");
  if (call.peer->is_verified) {
    const auto add = [&](const std::vector<std::string>& names) {
      for (const std::string& name : names) {
        // Names reach logs, labels and screens.
        if (!name.empty() && IsPlainText(name)) credentials.certificate_names.emplace_back(name);
      }
    };
    add(call.peer->uris);
    add(call.peer->dns_names);
    // Many authorities that verify a URI or a DNS name let the applicant choose this field freely (RFC 6125, 6.4.4).
    if (call.peer->uris.empty() && call.peer->dns_names.empty()) add(call.peer->common_names);
  }
  return authenticator->Authenticate(credentials);
}

void CountIfForbidden(const absl::Status& status, Metrics* metrics) {
  if (absl::IsUnauthenticated(status)) metrics->CountRefusal(Refusal::kUnauthenticated);
  if (absl::IsPermissionDenied(status)) metrics->CountRefusal(Refusal::kForbidden);
}

}  // namespace corank
