// Callers and their claims: the tokens file and its reload, authorization and certificate names, traceparent, and the
// log line that repeats them. Also the files of a TLS port.
//
// Input: parts (fuzz_target.h). The first two are tokens files; each other one is a kind and its content. In a tokens
// file, $TOKEN stands for its SHA-256, which no fuzzer finds.
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

#include <algorithm>
#include <map>
#include <memory>
#include <regex>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "server/observe/log.h"
#include "server/observe/trace.h"
#include "server/observe/utf8.h"
#include "server/plan/parse/validate.h"
#include "server/security/authenticator.h"
#include "server/security/permissions.h"
#include "server/security/tls_credentials.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_file.h"

namespace corank::fuzz {
namespace {

enum Kind : uint8_t {
  kAuthorization,    // one more value of the metadata
  kCertificateName,  // one more name of the client's certificate
  kCall,             // a call with these credentials
  kReload,           // the second tokens file replaces the first
  kTrace,
  kRequestId,
  kTlsKey,
  kTlsClientCa,
  kTlsCertificate,  // with the preceding key and roots
  kKinds,
};

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

std::string Sha256(absl::string_view text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const uint8_t*>(text.data()), text.size(), reinterpret_cast<uint8_t*>(&digest[0]));
  return absl::BytesToHexString(digest);
}

std::string WithHashes(absl::string_view text) {
  std::string file;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      file += text[i];
      continue;
    }
    const absl::string_view token = text.substr(i + 1, text.find_first_of(" \t\r\n", i + 1) - i - 1);
    file += Sha256(token);
    i += token.size();
  }
  return file;
}

// A log line is JSON and contains what was logged.
void CheckLine(absl::string_view line) {
  FUZZ_CHECK(absl::EndsWith(line, "}\n") && std::count(line.begin(), line.end(), '\n') == 1, std::string(line));
  google::protobuf::Struct parsed;
  const auto status = google::protobuf::util::JsonStringToMessage(std::string(line), &parsed);
  FUZZ_CHECK(status.ok(), absl::StrCat(status.ToString(), "\n", line));
}

const Logger& TheLogger() {
  static const auto* const logger = new Logger(LogLevel::kDebug, CheckLine);
  return *logger;
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty() && Utf8Length(text) > 0) text.remove_prefix(Utf8Length(text));
  return text.empty();
}

void CheckLogged(absl::string_view text) {
  std::string json = "{\"text\":";
  AppendJsonString(json, text);
  json += '}';
  CheckLine(absl::StrCat(json, "\n"));
  google::protobuf::Struct parsed;
  static_cast<void>(google::protobuf::util::JsonStringToMessage(json, &parsed));
  const std::string& read = parsed.fields().at("text").string_value();
  if (IsUtf8(text)) FUZZ_CHECK(read == text, json);
}

// --- Tokens ----------------------------------------------------------------------------------------------------------

// The contents of an accepted tokens file, read as simply as possible.
struct Row {
  std::string tenant;
  std::vector<std::string> permissions;
};
using Rows = std::map<std::string, Row>;  // by digest in small letters, or certificate:NAME

Rows RowsOf(const std::string& file) {
  Rows rows;
  for (absl::string_view line : absl::StrSplit(file, '\n')) {
    for (size_t i = 0; i < line.size(); ++i) {
      if (line[i] != '#' || (i > 0 && !absl::ascii_isspace(static_cast<unsigned char>(line[i - 1])))) continue;
      line = line.substr(0, i);
    }
    const std::vector<std::string> words =
        absl::StrSplit(absl::StripAsciiWhitespace(line), absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (words.empty()) continue;
    FUZZ_CHECK(words.size() == 3, std::string(line));
    const std::string key = absl::StartsWith(words[1], "certificate:") ? words[1] : absl::AsciiStrToLower(words[1]);
    FUZZ_CHECK(rows.try_emplace(key, Row{words[0], absl::StrSplit(words[2], ',')}).second, key);
  }
  return rows;
}

void CheckCaller(const Caller& caller, const Row& row) {
  const auto listed = [&row](absl::string_view name) {
    return std::any_of(row.permissions.begin(), row.permissions.end(),
                       [name](const std::string& word) { return word == name || word == "all"; });
  };
  FUZZ_CHECK(caller.tenant == row.tenant, caller.tenant);
  for (int i = 0; i < kOperatorCount; ++i) {
    const std::string name = absl::StrReplaceAll(OperatorName(static_cast<Operator>(i)), {{"_", "-"}});
    const bool may = listed(name) || listed("operators");
    FUZZ_CHECK(CheckOperator(caller, static_cast<Operator>(i)).ok() == may, name);
  }
  FUZZ_CHECK(CheckSharedMemory(caller).ok() == listed("shared-memory"), caller.tenant);
  FUZZ_CHECK(CheckCudaIpc(caller).ok() == listed("cuda-ipc"), caller.tenant);
  FUZZ_CHECK(CheckStoredArrays(caller).ok() == listed("stored-arrays"), caller.tenant);
}

// The error names the file and the line, and fits on a screen.
void CheckFileError(const absl::Status& status, const std::string& path) {
  FUZZ_CHECK(absl::IsInvalidArgument(status), status.ToString());
  const absl::string_view message = status.message();
  FUZZ_CHECK(absl::StrContains(message, path), status.ToString());
  FUZZ_CHECK(absl::StrContains(message, ", line ") || absl::StrContains(message, "no line"), status.ToString());
  FUZZ_CHECK(message.size() < 1000 &&
                 std::none_of(message.begin(), message.end(), [](unsigned char c) { return absl::ascii_iscntrl(c); }),
             status.ToString());
}

// A server whose tokens file is the input's first part. Empty: a server without tokens.
class Door {
 public:
  explicit Door(absl::string_view text) {
    const std::string bytes = WithHashes(text);
    const std::string path = text.empty() ? "" : File().Fill(bytes);
    auto made = Authenticator::Create(path, &TheLogger());
    if (!made.ok()) {
      CheckFileError(made.status(), path);
      return;
    }
    authenticator_ = *std::move(made);
    has_table_ = !text.empty();
    if (has_table_) rows_ = RowsOf(bytes);
  }

  void Reload(absl::string_view text) {
    if (authenticator_ == nullptr || !has_table_) return;
    const std::string bytes = WithHashes(text);
    const std::string& path = File().Fill(bytes);
    const absl::Status status = Authenticator::Check(path);
    authenticator_->Reload();
    if (!status.ok()) return CheckFileError(status, path);
    rows_ = RowsOf(bytes);
  }

  void Call(const Credentials& credentials) const {
    if (authenticator_ == nullptr) return;
    const absl::StatusOr<std::shared_ptr<const Caller>> caller = authenticator_->Authenticate(credentials);
    if (!caller.ok()) {
      FUZZ_CHECK(absl::IsUnauthenticated(caller.status()) && !Expected(credentials), caller.status().ToString());
      return;
    }
    if (has_table_) {
      const Row* const row = Expected(credentials);
      FUZZ_CHECK(row != nullptr, (*caller)->tenant);
      CheckCaller(**caller, *row);
    } else {
      FUZZ_CHECK(credentials.authorization.empty() && !credentials.certificate_names.empty() &&
                     (*caller)->tenant == credentials.certificate_names[0],
                 (*caller)->tenant);
    }
  }

 private:
  static const ScratchFile& File() {
    static const ScratchFile file(".tokens");
    return file;
  }

  const Row* Find(const std::string& key) const {
    const auto row = rows_.find(key);
    return row == rows_.end() ? nullptr : &row->second;
  }

  // Null: refused.
  const Row* Expected(const Credentials& credentials) const {
    if (credentials.authorization.empty()) {
      for (const absl::string_view name : credentials.certificate_names) {
        if (const Row* const row = Find(absl::StrCat("certificate:", name))) return row;
      }
      return nullptr;
    }
    const std::string value(credentials.authorization[0]);
    if (credentials.authorization.size() > 1 || absl::AsciiStrToLower(value.substr(0, 7)) != "bearer ") return nullptr;
    return Find(Sha256(absl::StripAsciiWhitespace(value.substr(7))));
  }

  std::unique_ptr<Authenticator> authenticator_;  // null: the file was refused
  bool has_table_ = false;
  Rows rows_;
};

// --- What comes with a call ------------------------------------------------------------------------------------------

void CheckTrace(absl::string_view text) {
  static const auto* const form =
      new std::regex("(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}");
  const absl::string_view head = text.substr(0, 55), tail = text.substr(head.size());
  const bool is_good = std::regex_match(head.begin(), head.end(), *form) &&
                       (tail.empty() || (tail[0] == '-' && !absl::StartsWith(head, "00")));
  constexpr uint64_t kSpan = 0xfedcba9876543210;
  const TraceContext trace = TraceContext::Begin(text, kSpan);
  FUZZ_CHECK(trace.empty() != is_good, std::string(text));
  if (!is_good) {
    FUZZ_CHECK(trace.Traceparent().empty() && trace.trace_id().empty(), std::string(text));
    return;
  }
  FUZZ_CHECK(trace.trace_id() == head.substr(3, 32) && trace.parent_id() == head.substr(36, 16), std::string(text));
  FUZZ_CHECK(trace.sampled() == absl::StrContains("13579bdf", head.substr(54)), std::string(text));
  const std::string answer = trace.Traceparent();
  FUZZ_CHECK(answer == absl::StrCat("00-", head.substr(3, 32), "-fedcba9876543210-", trace.sampled() ? "01" : "00"),
             answer);
  const TraceContext next = TraceContext::Begin(answer, 1);
  FUZZ_CHECK(next.trace_id() == trace.trace_id() && next.parent_id() == trace.span_id() &&
                 next.span_id() == "0000000000000001" && next.sampled() == trace.sampled(),
             answer);
}

void CheckRequestId(absl::string_view id) {
  const bool is_good = !id.empty() && id.size() <= 128 &&
                       std::all_of(id.begin(), id.end(), [](unsigned char c) { return absl::ascii_isprint(c); });
  FUZZ_CHECK(IsValidRequestId(id) == is_good, std::string(id));
  CheckLogged(id);
}

// --- TLS -------------------------------------------------------------------------------------------------------------

void CheckTls(absl::string_view certificate, absl::string_view key, absl::string_view client_ca) {
  static const ScratchFile files[] = {ScratchFile(".crt"), ScratchFile(".key"), ScratchFile(".ca")};
  TlsFiles names{files[0].Fill(certificate), files[1].Fill(key), ""};
  if (!client_ca.empty()) names.client_ca = files[2].Fill(client_ca);
  const absl::StatusOr<TlsMaterial> material = TlsMaterial::Read(names, kNow);
  // gRPC's handshakes would take a leftover error for their own.
  FUZZ_CHECK(ERR_peek_error() == 0, ERR_error_string(ERR_peek_error(), nullptr));
  if (material.ok()) {
    FUZZ_CHECK(material->certificate == certificate && material->key == key && material->client_ca == client_ca, "");
    FUZZ_CHECK(material->expiry > kNow, absl::FormatTime(material->expiry));
    return CheckLogged(material->subject);
  }
  const absl::Status& status = material.status();
  FUZZ_CHECK(absl::IsInvalidArgument(status) && absl::StartsWith(status.message(), "--tls-"), status.ToString());
  CheckLogged(status.message());
}

// A self-signed certificate, from 2020 to 2033, always the same: Ed25519 signatures are deterministic.
struct Pem {
  std::string certificate, key;
};
Pem MakePem() {
  const uint8_t secret[32] = {7, 1, 9};
  EVP_PKEY* const key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, secret, sizeof(secret));
  X509* const certificate = X509_new();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  ASN1_TIME_set(X509_getm_notBefore(certificate), 1'577'836'800);
  ASN1_TIME_set(X509_getm_notAfter(certificate), 2'000'000'000);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  X509_set_pubkey(certificate, key);
  X509_sign(certificate, key, nullptr);
  const auto text = [](auto write) {
    BIO* const bio = BIO_new(BIO_s_mem());
    write(bio);
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(bio, &bytes);
    std::string pem(bytes, static_cast<size_t>(size));
    BIO_free(bio);
    return pem;
  };
  Pem pem{text([certificate](BIO* bio) { PEM_write_bio_X509(bio, certificate); }),
          text([key](BIO* bio) { PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr); })};
  X509_free(certificate);
  EVP_PKEY_free(key);
  return pem;
}

void RunParts(const std::vector<absl::string_view>& parts) {
  const auto file = [&parts](size_t i) { return i < parts.size() ? parts[i] : absl::string_view(); };
  Door door(file(0));
  Credentials credentials;
  absl::string_view tls_key, tls_client_ca;
  for (size_t i = 2; i < parts.size(); ++i) {
    Input input(parts[i]);
    const auto kind = static_cast<Kind>(input.Choice(kKinds));
    const absl::string_view content = input.Rest();
    switch (kind) {
      case kAuthorization:
        credentials.authorization.push_back(content);
        break;
      case kCertificateName:
        credentials.certificate_names.push_back(content);
        break;
      case kCall:
        door.Call(credentials);
        credentials = {};
        break;
      case kReload:
        door.Reload(file(1));
        break;
      case kTrace:
        CheckTrace(content);
        break;
      case kRequestId:
        CheckRequestId(content);
        break;
      case kTlsKey:
        tls_key = content;
        break;
      case kTlsClientCa:
        tls_client_ca = content;
        break;
      default:
        CheckTls(content, tls_key, tls_client_ca);
    }
  }
  door.Call(credentials);
}

}  // namespace

std::vector<std::string> Seeds() {
  const auto part = [](Kind kind, absl::string_view content = "") {
    return absl::StrCat(std::string(1, static_cast<char>(kind)), content);
  };
  const std::string file =
      "# who may call\n\nleft \t$secret  all # until May\r\nright $other sort,move-intervals,stored-arrays\n"
      "node certificate:node.example operators,cuda-ipc,shared-memory\n";
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const Pem pem = MakePem();
  std::vector<std::string> seeds = {
      Join({file, "right $new merge,search\n", part(kAuthorization, "Bearer secret"), part(kCall),
            part(kAuthorization, "bearer other "), part(kCall), part(kCertificateName, "uri:x"),
            part(kCertificateName, "node.example"), part(kCall), part(kReload), part(kAuthorization, "Bearer new"),
            part(kCall), part(kAuthorization, "Bearer secret")}),
      Join({file, "left\n", part(kReload), part(kAuthorization, "Bearer secret"), part(kAuthorization, "Bearer secret"),
            part(kCall), part(kAuthorization, "Basic secret")}),
      Join({"", "", part(kCertificateName, "spiffe://x/node"), part(kCall), part(kAuthorization, "Bearer x")}),
      Join({"", "", part(kTrace, trace), part(kTrace, absl::StrCat("01", trace.substr(2), "-more")),
            part(kTrace, absl::AsciiStrToUpper(trace))}),
      Join({"", "", part(kTrace, "00-00000000000000000000000000000000-b7ad6b7169203331-01"),
            part(kTrace, "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"),
            part(kTrace, absl::StrCat("ff", trace.substr(2))), part(kTrace, absl::StrCat(trace, "-more"))}),
      Join({"", "", part(kRequestId, "my-id 1"), part(kRequestId, "\xc3\xa4\"\\\x01\xff\n")}),
      Join({"", "", part(kTlsKey, pem.key), part(kTlsCertificate, pem.certificate)}),
      Join({"", "", part(kTlsKey, pem.key), part(kTlsClientCa, pem.certificate),
            part(kTlsCertificate, absl::StrCat(pem.certificate, pem.certificate))}),
  };
  for (const absl::string_view bad :
       {"a $a\n", "a 1234 all\n", "a! $a all\n", "a $a everything\n", "a $a sort,\n", "a $a all\nb $a all\n",
        "b certificate: all\n", "b certificate:x all\nc certificate:x all\n", "# only\n"}) {
    seeds.push_back(Join({std::string(bad)}));
  }
  return seeds;
}

}  // namespace corank::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  corank::fuzz::RunParts(corank::fuzz::Parts(absl::string_view(reinterpret_cast<const char*>(data), size)));
  return 0;
}
