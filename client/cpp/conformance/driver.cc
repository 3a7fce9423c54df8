// Drives the C++ client for the conformance suite; client/conformance/README.md defines the protocol.
#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cpp/conformance/json_arrays.h"
#include "client/cpp/conformance/requests.h"
#include "corank/client.h"
#include "version/version.h"

namespace corank::conformance {
namespace {

using Result = std::variant<Json, absl::Status, Lacking>;

// Cancels a call after some time, unless it ended before.
class Canceller {
 public:
  Canceller(client::Cancellation& cancellation, int64_t milliseconds)
      : thread_([this, &cancellation, milliseconds] {
          std::unique_lock<std::mutex> lock(mutex_);
          const auto ended = [this] { return ended_; };
          if (!changed_.wait_for(lock, std::chrono::milliseconds(milliseconds), ended)) cancellation.Cancel();
        }) {}
  ~Canceller() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;
};

const Json& Member(const Json& object, const std::string& name) {
  static const auto* const none = new Json();
  const Value* found = Find(object, name);
  return found == nullptr ? *none : found->struct_value();
}

absl::Duration Seconds(const Value& value) {
  return value.has_null_value() ? absl::InfiniteDuration() : absl::Seconds(value.number_value());
}

// Ends the program at an option that it does not know: ignoring it could let a vector pass that tests nothing.
void CheckKnown(const Json& options, const std::set<std::string>& known) {
  for (const auto& option : options.fields()) {
    if (known.count(option.first) > 0) continue;
    std::cerr << "no option " << option.first << "\n";
    std::exit(1);
  }
}

client::CallOptions OptionsOf(const Json& command) {
  const Json& given = Member(command, "options");
  CheckKnown(given, {"deadline_s", "request_id", "traceparent", "priority", "place", "connections", "cancel_after_ms",
                     "progress"});
  client::CallOptions options;
  const auto deadline = given.fields().find("deadline_s");
  if (deadline != given.fields().end()) options.deadline = Seconds(deadline->second);
  options.request_id = Text(given, "request_id");
  options.traceparent = Text(given, "traceparent");
  const std::string priority = Text(given, "priority");
  if (priority == "low") options.priority = client::Priority::kLow;
  if (priority == "high") options.priority = client::Priority::kHigh;
  const std::string place = Text(given, "place");
  if (place == "inline") options.place = client::Place::kInline;
  if (place == "stream") options.place = client::Place::kStream;
  if (place == "shared_memory") options.place = client::Place::kSharedMemory;
  if (Find(given, "connections") != nullptr) options.connections = static_cast<int>(Number(given, "connections"));
  return options;
}

client::ClientOptions ClientOptionsOf(const Json& given) {
  CheckKnown(given, {"address", "token", "token_file", "tls", "deadline_s", "retries", "traceparent", "connections"});
  client::ClientOptions options = client::OptionsFromEnvironment();
  options.address = Text(given, "address", options.address);
  options.token_file = Text(given, "token_file");
  options.token = Text(given, "token", options.token_file.empty() ? options.token : "");
  options.traceparent = Text(given, "traceparent", options.traceparent);
  if (Find(given, "tls") != nullptr) {
    const Json& tls = Member(given, "tls");
    if (!options.tls.has_value()) options.tls.emplace();
    options.tls->ca_file = Text(tls, "ca", options.tls->ca_file);
    options.tls->certificate_file = Text(tls, "certificate", options.tls->certificate_file);
    options.tls->key_file = Text(tls, "key", options.tls->key_file);
    options.tls->server_name = Text(tls, "server_name");
  }
  const auto deadline = given.fields().find("deadline_s");
  if (deadline != given.fields().end()) options.deadline = Seconds(deadline->second);
  options.retry.max_attempts = static_cast<int>(Number(given, "retries", options.retry.max_attempts - 1)) + 1;
  options.connections = static_cast<int>(Number(given, "connections", 0));
  return options;
}

class Driver {
 public:
  Result Answer(const Json& command) {
    const std::string name = Text(command, "command");
    if (name == "hello") return Hello();
    if (name == "resources") return Json();
    if (name == "connect") return Connect(command);
    const auto found = clients_.find(Text(command, "client"));
    if (found == clients_.end()) return Lacking("close");
    if (name == "close") {
      clients_.erase(found);
      return Json();
    }
    const Client& client = found->second;
    if (name == "call") return CallOperator(client, command);
    if (name == "chain") return Chain(client, command);
    if (name == "store") return Store(client, command);
    if (name == "fetch") return Fetch(client, command);
    if (name == "list") return List(client);
    if (name == "delete") return Done(client.DeleteArray(Text(command, "name")));
    if (name == "info") return Info(client, command);
    if (name == "health") return CheckHealth(client, command);
    return absl::UnimplementedError(absl::StrCat("no command ", name));
  }

 private:
  static Result Hello() {
    Json ok;
    Set(ok, "language", "cpp");
    Set(ok, "version", std::string(Version()));
    Set(ok, "library", absl::StrCat("gRPC ", grpc::Version()));
    return ok;
  }

  static Result Done(const absl::Status& status) {
    if (!status.ok()) return status;
    return Json();
  }

  Result Connect(const Json& command) {
    const Json& given = Member(command, "options");
    absl::StatusOr<Client> client = Client::Create(ClientOptionsOf(given));
    if (!client.ok()) return client.status();
    clients_.insert_or_assign(Text(command, "client"), *std::move(client));
    return Json();
  }

  static Result CallOperator(const Client& client, const Json& command) {
    Storage storage;
    Operator made = OperatorOf(command, storage);
    const Json& keep = Member(command, "keep");
    for (const auto& [result, name] : keep.fields()) {
      client::Output output = client::Stored(name.string_value());
      output.sharded = Flag(command, "sharded");
      Place(made, result, std::move(output));
    }
    if (!made.lacking.empty()) return made.lacking;
    const Json& given = Member(command, "options");
    client::CallOptions options = OptionsOf(command);
    client::TransferProgress progress;
    if (Flag(given, "progress")) options.progress = &progress;
    client::Cancellation cancellation;
    std::optional<Canceller> canceller;
    if (Find(given, "cancel_after_ms") != nullptr) {
      options.cancellation = &cancellation;
      canceller.emplace(cancellation, Number(given, "cancel_after_ms"));
    }
    if (!made.refused.ok()) return made.refused;
    const absl::StatusOr<conformance::Answer> answer = Call(client, made, options);
    if (!answer.ok()) return answer.status();
    Json ok, stats;
    Set(ok, "results", ResultsJson(made, answer->arrays, keep, Flag(command, "digest")));
    Set(stats, "request_id", answer->stats.request_id);
    Set(stats, "engine", answer->stats.engine);
    Set(stats, "algorithm", absl::StrReplaceAll(answer->algorithm, {{"-", "_"}}));
    Set(ok, "stats", std::move(stats));
    if (options.progress != nullptr) {
      Json told;
      Set(told, "sent", static_cast<double>(progress.bytes_sent));
      Set(told, "received", static_cast<double>(progress.bytes_received));
      Set(ok, "progress", std::move(told));
    }
    return ok;
  }

  // The results that later operations take, as (operation, result).
  static void FindTaken(const Value& value, std::set<std::pair<int64_t, std::string>>& taken) {
    for (const Value& each : value.list_value().values()) FindTaken(each, taken);
    const Json& array = value.struct_value();
    if (Find(array, "result") != nullptr) taken.emplace(Number(array, "of"), Text(array, "result"));
  }

  static Result Chain(const Client& client, const Json& command) {
    Storage storage;
    std::set<std::pair<int64_t, std::string>> taken;
    const auto& operations = command.fields().at("operations").list_value().values();
    for (const Value& each : operations) {
      for (const auto& argument : Member(each.struct_value(), "arguments").fields()) FindTaken(argument.second, taken);
    }
    std::vector<Operator> made;
    std::vector<client::AnyRequest> requests;
    for (const Value& each : operations) {
      made.push_back(OperatorOf(each.struct_value(), storage));
      const int64_t at = static_cast<int64_t>(made.size()) - 1;
      for (const auto& [operation, result] : taken) {
        if (operation == at) Place(made.back(), result, client::Temporary(TemporaryName(at, result)));
      }
      for (const auto& [result, name] : Member(each.struct_value(), "keep").fields()) {
        Place(made.back(), result, client::Stored(name.string_value()));
      }
      if (!made.back().lacking.empty()) return made.back().lacking;
      if (!made.back().refused.ok()) return made.back().refused;
      requests.push_back(made.back().request);
    }
    const auto results = client.Run(requests, OptionsOf(command));
    if (!results.ok()) return results.status();
    Json ok;
    for (size_t at = 0; at < made.size(); ++at) {
      const Json& keep = Member(operations.Get(static_cast<int>(at)).struct_value(), "keep");
      Append(ok, "operations", ResultsJson(made[at], results->at(at).arrays, keep, Flag(command, "digest")));
    }
    return ok;
  }

  static Json KeptJson(const client::StoredArray& array) {
    Json kept;
    Set(kept, "kept", array.name);
    SetType(kept, array.type);
    Set(kept, "count", static_cast<double>(array.count));
    (*kept.mutable_fields())["sharded"].set_bool_value(array.shards > 0);
    return kept;
  }

  static Result Store(const Client& client, const Json& command) {
    Storage storage;
    const client::ArrayView array = storage.View(Member(command, "array"));
    const std::string name = Text(command, "name");
    const absl::Duration expiry = absl::Seconds(Number(command, "expires_s"));
    const client::CallOptions options = OptionsOf(command);
    const auto kept = Flag(command, "sharded") ? client.StoreSharded(name, array, expiry, options)
                                               : client.Store(name, array, expiry, options);
    if (!kept.ok()) return kept.status();
    return KeptJson(*kept);
  }

  static Result Fetch(const Client& client, const Json& command) {
    const auto array = client.Fetch(Text(command, "name"), OptionsOf(command));
    if (!array.ok()) return array.status();
    Json ok;
    Set(ok, "array", ArrayJson(*array, Flag(command, "digest"), false));
    return ok;
  }

  static Result List(const Client& client) {
    const auto found = client.ListArrays();
    if (!found.ok()) return found.status();
    Json ok;
    (*ok.mutable_fields())["arrays"].mutable_list_value();
    for (const client::StoredArray& array : found->arrays) Append(ok, "arrays", KeptJson(array));
    Set(ok, "used_bytes", static_cast<double>(found->used_bytes));
    Set(ok, "quota_bytes", static_cast<double>(found->quota_bytes));
    return ok;
  }

  static Result Info(const Client& client, const Json& command) {
    const auto info = client.GetServerInfo(OptionsOf(command));
    if (!info.ok()) return info.status();
    Json ok;
    Set(ok, "version", info->version);
    Set(ok, "engine", info->engine);
    for (const std::string& place : info->places) {
      (*ok.mutable_fields())["places"].mutable_list_value()->add_values()->set_string_value(place);
    }
    Set(ok, "max_request_bytes", static_cast<double>(info->max_request_bytes));
    Set(ok, "max_chunk_bytes", static_cast<double>(info->max_chunk_bytes));
    Set(ok, "max_parts", info->max_parts);
    return ok;
  }

  static Result CheckHealth(const Client& client, const Json& command) {
    const auto health = client.CheckHealth(Text(command, "service"));
    if (!health.ok()) return health.status();
    Json ok;
    Set(ok, "status",
        *health == client::Health::kServing      ? std::string("serving")
        : *health == client::Health::kNotServing ? std::string("not_serving")
                                                 : std::string("unknown"));
    return ok;
  }

  std::map<std::string, Client> clients_;
};

// The request id is in the message only.
std::string RequestId(absl::string_view message) {
  const size_t begin = message.rfind("[request ");
  if (begin == absl::string_view::npos) return "";
  message.remove_prefix(begin + sizeof("[request ") - 1);
  return std::string(message.substr(0, message.find_first_of(",]")));
}

Json ErrorJson(const absl::Status& status) {
  Json error;
  Set(error, "code", absl::StatusCodeToString(status.code()));
  Set(error, "reason", client::ErrorReason(status).value_or(""));
  Set(error, "field", client::ViolatedField(status).value_or(""));
  Set(error, "request_id", RequestId(status.message()));
  Set(error, "message", std::string(status.message()));
  (*error.mutable_fields())["retry_after_s"].set_null_value(google::protobuf::NULL_VALUE);
  if (const auto delay = client::RetryDelay(status)) Set(error, "retry_after_s", absl::ToDoubleSeconds(*delay));
  if (const auto rows = client::NeededRows(status)) Set(error, "rows", static_cast<double>(*rows));
  return error;
}

int Run() {
  Driver driver;
  std::string line;
  while (std::getline(std::cin, line)) {
    Json command, answer;
    if (const auto parsed = google::protobuf::util::JsonStringToMessage(line, &command); !parsed.ok()) {
      std::cerr << "not a command: " << parsed.ToString() << "\n";
      return 1;
    }
    Set(answer, "id", static_cast<double>(Number(command, "id")));
    const Result result = driver.Answer(command);
    if (const auto* const ok = std::get_if<Json>(&result)) Set(answer, "ok", *ok);
    if (const auto* const status = std::get_if<absl::Status>(&result)) Set(answer, "error", ErrorJson(*status));
    if (const auto* const lacking = std::get_if<Lacking>(&result)) Set(answer, "unsupported", *lacking);
    std::string text;
    if (!google::protobuf::util::MessageToJsonString(answer, &text).ok()) return 1;
    std::cout << text << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace corank::conformance

int main() { return corank::conformance::Run(); }
