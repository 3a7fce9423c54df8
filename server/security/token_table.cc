#include "server/security/token_table.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "openssl/crypto.h"
#include "openssl/sha.h"
#include "server/security/permissions.h"

namespace corank {
namespace {

constexpr absl::string_view kCertificate = "certificate:";
constexpr size_t kMostNameCharacters = 128;

bool IsTenantName(absl::string_view name) {
  return !name.empty() && name.size() <= kMostNameCharacters && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  });
}

absl::string_view WithoutComment(absl::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && (i == 0 || absl::ascii_isspace(static_cast<unsigned char>(line[i - 1])))) {
      return line.substr(0, i);
    }
  }
  return line;
}

uint64_t PrefixOf(const uint8_t* digest) {
  uint64_t prefix = 0;
  std::memcpy(&prefix, digest, sizeof(prefix));
  return prefix;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const TokenTable>> TokenTable::Parse(absl::string_view text) {
  auto table = std::make_shared<TokenTable>();
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::Status status = table->Add(absl::StripAsciiWhitespace(WithoutComment(line)));
    if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat("line ", number, ": ", status.message()));
  }
  if (table->size() == 0) return absl::InvalidArgumentError("it has no line with a credential, so nobody could call");
  return std::shared_ptr<const TokenTable>(std::move(table));
}

TokenTable::Digest TokenTable::DigestOf(absl::string_view token) {
  Digest digest;
  SHA256(reinterpret_cast<const uint8_t*>(token.data()), token.size(), digest.data());
  return digest;
}

absl::Status TokenTable::Add(absl::string_view line) {
  if (line.empty()) return absl::OkStatus();
  // Errors do not repeat words of the file, in case somebody puts the token itself here.
  const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a tenant, a credential and comma-separated permissions with spaces between them, not ",
                     words.size(), " words"));
  }
  Caller caller{std::string(words[0]), false, false, false, 0};
  if (!IsTenantName(words[0])) {
    return absl::InvalidArgumentError("the tenant's name is not 1 to 128 characters of [A-Za-z0-9._-]");
  }
  int number = 0;
  for (const absl::string_view word : absl::StrSplit(words[2], ',')) {
    ++number;
    if (!Grant(word, &caller)) {
      return absl::InvalidArgumentError(
          absl::StrCat("permission ", number, " of the list must be all, operators, the name of an operator such as ",
                       "sort or move-intervals, shared-memory, cuda-ipc or stored-arrays"));
    }
  }
  auto shared = std::make_shared<const Caller>(std::move(caller));
  absl::string_view name = words[1];
  if (absl::ConsumePrefix(&name, kCertificate)) {
    if (name.empty()) return absl::InvalidArgumentError("'certificate:' without a name");
    if (certificates_.try_emplace(std::string(name), std::move(shared)).second) return absl::OkStatus();
    return absl::InvalidArgumentError("an earlier line names the same certificate");
  }
  if (words[1].size() != 2 * sizeof(Digest) || !std::all_of(words[1].begin(), words[1].end(), [](char c) {
        return absl::ascii_isxdigit(static_cast<unsigned char>(c));
      })) {
    return absl::InvalidArgumentError(
        "the credential is not the SHA-256 of a token in 64 hexadecimal digits, nor certificate:NAME");
  }
  const std::string bytes = absl::HexStringToBytes(words[1]);
  Entry entry{{}, std::move(shared)};
  std::copy(bytes.begin(), bytes.end(), entry.digest.begin());
  if (entry.digest == DigestOf("")) {
    return absl::InvalidArgumentError(
        "the credential is the SHA-256 of empty input: the command that should make the token printed nothing");
  }
  const auto [first, last] = by_prefix_.equal_range(PrefixOf(entry.digest.data()));
  for (auto same = first; same != last; ++same) {
    if (same->second.digest == entry.digest) return absl::InvalidArgumentError("an earlier line has the same token");
  }
  by_prefix_.emplace(PrefixOf(entry.digest.data()), std::move(entry));
  return absl::OkStatus();
}

std::shared_ptr<const Caller> TokenTable::FindToken(absl::string_view token) const {
  const Digest digest = DigestOf(token);
  const auto [first, last] = by_prefix_.equal_range(PrefixOf(digest.data()));
  for (auto entry = first; entry != last; ++entry) {
    if (CRYPTO_memcmp(entry->second.digest.data(), digest.data(), digest.size()) == 0) return entry->second.caller;
  }
  return nullptr;
}

std::shared_ptr<const Caller> TokenTable::FindCertificate(absl::string_view name) const {
  const auto found = certificates_.find(name);
  return found == certificates_.end() ? nullptr : found->second;
}

}  // namespace corank
