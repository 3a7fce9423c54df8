// corank arrays.
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "client/cli/choices.h"
#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/session.h"
#include "client/cli/text.h"
#include "spelling/nearest.h"

namespace corank::cli {
namespace {

std::string ArrayJson(const client::StoredArray& array) {
  JsonObject json;
  json.Add("name", array.name).Add("type", array.type.Name()).Add("count", array.count);
  return json.Add("expires_in_seconds", absl::ToInt64Seconds(array.expires_in)).Text();
}

absl::Status List(const Arguments& arguments) {
  absl::StatusOr<client::Client> client = Connect(arguments);
  if (!client.ok()) return client.status();
  const absl::StatusOr<client::StoredArrays> list = client->ListArrays();
  if (!list.ok()) return list.status();
  if (arguments.Has("json")) {
    std::vector<std::string> entries;
    for (const client::StoredArray& array : list->arrays) entries.push_back(ArrayJson(array));
    JsonObject json;
    json.AddJson("arrays", absl::StrCat("[", absl::StrJoin(entries, ", "), "]"));
    std::puts(json.Add("used_bytes", list->used_bytes).Add("quota_bytes", list->quota_bytes).Text().c_str());
    return absl::OkStatus();
  }
  for (const client::StoredArray& array : list->arrays) {
    absl::PrintF("%-32s %20s x %-20s expires in %s\n", array.name, CountText(array.count), array.type.Name(),
                 absl::FormatDuration(array.expires_in));
  }
  if (!arguments.Has("quiet")) {
    absl::FPrintF(stderr, "%d arrays, %s of %s\n", list->arrays.size(),
                  BytesText(static_cast<double>(list->used_bytes)), BytesText(static_cast<double>(list->quota_bytes)));
  }
  return absl::OkStatus();
}

absl::Status Store(const Arguments& arguments) {
  absl::StatusOr<std::optional<client::ElementType>> type = TypeOption(arguments, "type", "record-bytes");
  if (!type.ok()) return type.status();
  absl::StatusOr<std::optional<absl::Duration>> expiry = arguments.GetDuration("expiry");
  if (!expiry.ok()) return expiry.status();
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(arguments, {});
  if (!session.ok()) return session.status();
  absl::StatusOr<InputArray> array = (*session)->LoadMain(arguments.positional()[2], *type, "--type or --record-bytes");
  if (!array.ok()) return array.status();
  const absl::StatusOr<client::StoredArray> stored =
      (*session)->Call([&](const client::Client& client, const client::CallOptions& call) {
        return client.Store(arguments.positional()[1], array->view(), expiry->value_or(absl::ZeroDuration()), call);
      });
  if (!stored.ok()) return stored.status();
  if (arguments.Has("json")) {
    std::puts(ArrayJson(*stored).c_str());
  } else if (!arguments.Has("quiet")) {
    absl::FPrintF(stderr, "stored %s: %s x %s, expires in %s\n", stored->name, CountText(stored->count),
                  stored->type.Name(), absl::FormatDuration(stored->expires_in));
  }
  return absl::OkStatus();
}

absl::Status Fetch(const Arguments& arguments) {
  if (!arguments.Has("output")) return UsageError("where does the array go? give --output FILE");
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(arguments, {"output"});
  if (!session.ok()) return session.status();
  const absl::StatusOr<client::Array> array =
      (*session)->Call([&](const client::Client& client, const client::CallOptions& call) {
        return client.Fetch(arguments.positional()[1], call);
      });
  if (!array.ok()) return array.status();
  absl::Status status = (*session)->CheckOutputType("output", array->type);
  if (status.ok()) status = (*session)->Save("output", *array);
  if (status.ok()) status = (*session)->FinishFiles();
  if (!status.ok() || !arguments.Has("json")) return status;
  JsonObject json;
  json.Add("name", arguments.positional()[1]).Add("type", array->type.Name()).Add("count", array->count());
  std::puts(json.Add("path", *arguments.Get("output")).Text().c_str());
  return absl::OkStatus();
}

absl::Status Delete(const Arguments& arguments) {
  absl::StatusOr<client::Client> client = Connect(arguments);
  if (!client.ok()) return client.status();
  const std::string& name = arguments.positional()[1];
  if (const absl::Status deleted = client->DeleteArray(name); !deleted.ok()) return deleted;
  if (!arguments.Has("json")) return absl::OkStatus();
  std::puts(JsonObject().Add("name", name).Add("deleted", true).Text().c_str());
  return absl::OkStatus();
}

struct Action {
  const char* name;
  size_t words;  // with the action itself
  const char* usage;
  absl::Status (*run)(const Arguments& arguments);
};
constexpr Action kActions[] = {{"list", 1, "list", List},
                               {"store", 3, "store NAME FILE", Store},
                               {"fetch", 2, "fetch NAME --output FILE", Fetch},
                               {"delete", 2, "delete NAME", Delete}};

absl::Status RunArrays(const Arguments& arguments) {
  const std::string& given = arguments.positional()[0];
  std::vector<std::string> names;
  for (const Action& action : kActions) {
    names.push_back(action.name);
    if (given != action.name) continue;
    if (arguments.positional().size() == action.words) return action.run(arguments);
    return UsageError(absl::StrCat("usage: corank arrays ", action.usage, " [options]"));
  }
  return UsageError(absl::StrCat("unknown action '", given, "'; corank arrays has ", absl::StrJoin(names, ", "),
                                 DidYouMean(given, names)));
}

}  // namespace

Command ArraysCommand() {
  return {
      {"arrays", "store, fetch, list and delete arrays on the server",
       "list | store NAME FILE | fetch NAME | delete NAME", 1, 3,
       "A stored array stays on the server under its name. Programs use it as input or output without sending it "
       "again.",
       "corank arrays store prices prices.npy --expiry 2h\ncorank arrays list\n"
       "corank arrays fetch prices -o prices.npy\ncorank arrays delete prices",
       WithFileOptions(
           {{"output", 'o', "FILE",
             "of fetch: file for the array: .npy, .txt or raw by its name; - is standard output"},
            kElementTypeOption,
            kRecordOption,
            kFormatOption,
            {"expiry", 0, "TIME",
             "of store: delete the array once it is unused for this long (default: as the\nserver is configured)"}})},
      RunArrays};
}

}  // namespace corank::cli
