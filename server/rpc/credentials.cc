#include "server/rpc/credentials.h"

#include "grpc/grpc_security_constants.h"
#include "grpcpp/security/auth_context.h"

namespace corank {
namespace {

absl::string_view View(grpc::string_ref text) { return {text.data(), text.size()}; }

}  // namespace

absl::StatusOr<std::shared_ptr<const Caller>> CallerOf(const Authenticator* authenticator,
                                                       const grpc::CallbackServerContext& context) {
  if (authenticator == nullptr) return AnonymousCaller();
  Credentials credentials;
  const auto [first, last] = context.client_metadata().equal_range("authorization");
  for (auto value = first; value != last; ++value) credentials.authorization.push_back(View(value->second));
  const std::shared_ptr<const grpc::AuthContext> connection = context.auth_context();
  if (connection != nullptr && connection->IsPeerAuthenticated()) {
    const auto add = [&](const char* property) {
      for (const grpc::string_ref& name : connection->FindPropertyValues(property)) {
        if (!name.empty()) credentials.certificate_names.push_back(View(name));
      }
    };
    add(GRPC_PEER_URI_PROPERTY_NAME);
    add(GRPC_PEER_DNS_PROPERTY_NAME);
    // Many authorities that verify a URI or a DNS name let the applicant choose this field freely (RFC 6125, 6.4.4).
    if (credentials.certificate_names.empty()) add(GRPC_X509_CN_PROPERTY_NAME);
  }
  return authenticator->Authenticate(credentials);
}

void CountIfForbidden(const absl::Status& status, Metrics* metrics) {
  if (absl::IsUnauthenticated(status)) metrics->CountRefusal(Refusal::kUnauthenticated);
  if (absl::IsPermissionDenied(status)) metrics->CountRefusal(Refusal::kForbidden);
}

}  // namespace corank
