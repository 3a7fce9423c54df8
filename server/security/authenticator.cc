#include "server/security/authenticator.h"

#include <sys/stat.h>

#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/security/read_file.h"

namespace corank {
namespace {

constexpr absl::string_view kScheme = "Bearer ";

absl::Status Unknown(absl::string_view message) { return Error(v1::ERROR_REASON_CREDENTIALS_UNKNOWN, message); }

absl::StatusOr<absl::string_view> TokenIn(absl::string_view authorization) {
  if (!absl::StartsWithIgnoreCase(authorization, kScheme)) {
    return Unknown("the metadata 'authorization' is not 'Bearer <token>'");
  }
  const absl::string_view token = absl::StripAsciiWhitespace(authorization.substr(kScheme.size()));
  if (token.empty()) {
    return Unknown("the token in the metadata 'authorization' is empty; did the caller leave it unset?");
  }
  return token;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Authenticator>> Authenticator::Create(const std::string& tokens_file,
                                                                     const Logger* logger) {
  std::unique_ptr<Authenticator> authenticator(new Authenticator(tokens_file, logger));
  if (tokens_file.empty()) return authenticator;
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<const TokenTable> table, Read(tokens_file));
  absl::MutexLock lock(&authenticator->mutex_);
  authenticator->table_ = std::move(table);
  authenticator->WarnIfOpen();
  return authenticator;
}

void Authenticator::WarnIfOpen() const {
  struct stat status {};
  if (stat(tokens_file_.c_str(), &status) != 0 || (status.st_mode & (S_IROTH | S_IWOTH)) == 0) return;
  const bool is_writable = (status.st_mode & S_IWOTH) != 0;
  logger_.Log(LogLevel::kWarning, "tokens_file_open",
              {{"file", tokens_file_},
               {"message", absl::StrCat("--tokens-file: every user of this machine may ",
                                        is_writable ? "change it and so name callers" : "read it",
                                        "; take that right away: chmod o= ", tokens_file_)}});
}

absl::StatusOr<std::shared_ptr<const TokenTable>> Authenticator::Read(const std::string& tokens_file) {
  const absl::StatusOr<std::string> text = ReadFile(tokens_file);
  if (!text.ok()) return absl::InvalidArgumentError(absl::StrCat("--tokens-file: ", text.status().message()));
  absl::StatusOr<std::shared_ptr<const TokenTable>> table = TokenTable::Parse(*text);
  if (table.ok()) return table;
  return absl::InvalidArgumentError(absl::StrCat("--tokens-file: ", tokens_file, ", ", table.status().message()));
}

std::shared_ptr<const TokenTable> Authenticator::table() const {
  absl::MutexLock lock(&mutex_);
  return table_;
}

absl::StatusOr<std::shared_ptr<const Caller>> Authenticator::Authenticate(const Credentials& credentials) const {
  const std::shared_ptr<const TokenTable> table = this->table();
  const std::vector<absl::string_view>& names = credentials.certificate_names;
  if (!credentials.authorization.empty()) {
    if (table == nullptr) {
      return Unknown("this server accepts no tokens; client certificates alone identify callers");
    }
    if (credentials.authorization.size() > 1) {
      return Unknown("the metadata 'authorization' appears more than once");
    }
    CORANK_ASSIGN_OR_RETURN(const absl::string_view token, TokenIn(credentials.authorization.front()));
    if (std::shared_ptr<const Caller> caller = table->FindToken(token)) return caller;
    return Unknown("the token is not known to this server, or no longer valid");
  }
  if (table == nullptr) {
    if (names.empty()) return Unknown("the client certificate contains no name, or one with control characters");
    Caller caller;
    caller.tenant = std::string(names.front());
    return std::make_shared<const Caller>(std::move(caller));
  }
  for (const absl::string_view name : names) {
    if (std::shared_ptr<const Caller> caller = table->FindCertificate(name)) return caller;
  }
  if (names.empty()) {
    return Error(v1::ERROR_REASON_CREDENTIALS_MISSING,
                 "credentials are missing: send the metadata 'authorization: Bearer <token>'");
  }
  return Unknown(
      absl::StrCat("the client certificate of '", names.front(),
                   "' is not known to this server, and the call has no metadata 'authorization: Bearer <token>'"));
}

bool Authenticator::Reload() {
  absl::StatusOr<std::shared_ptr<const TokenTable>> table = Read(tokens_file_);
  is_current_ = table.ok();
  if (!table.ok()) {
    logger_.Log(LogLevel::kError, "tokens_kept",
                {{"message", absl::StrCat("the previous tokens stay in force: ", table.status().message())}});
    return false;
  }
  const auto credentials = static_cast<int64_t>((*table)->size());
  {
    absl::MutexLock lock(&mutex_);
    table_.swap(*table);
  }
  WarnIfOpen();
  logger_.Log(LogLevel::kInfo, "tokens_read", {{"file", tokens_file_}, {"credentials", credentials}});
  return true;
}

}  // namespace corank
