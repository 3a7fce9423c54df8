// corank regions.
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/session.h"
#include "client/cli/text.h"

namespace corank::cli {
namespace {

const char* KindName(client::RegionKind kind) {
  switch (kind) {
    case client::RegionKind::kSharedMemory:
      return "shared-memory";
    case client::RegionKind::kCudaIpc:
      return "cuda-ipc";
    case client::RegionKind::kUnknown:
      return "unknown";
  }
  return "unknown";
}

absl::Status RunRegions(const Arguments& arguments) {
  if (arguments.positional()[0] != "list") {
    return UsageError(absl::StrCat("unknown action '", arguments.positional()[0], "'; corank regions has list only"));
  }
  absl::StatusOr<client::Client> client = Connect(arguments);
  if (!client.ok()) return client.status();
  const absl::StatusOr<std::vector<client::RegionInfo>> regions = client->ListRegions();
  if (!regions.ok()) return regions.status();
  std::vector<std::string> entries;
  for (const client::RegionInfo& region : *regions) {
    if (arguments.Has("json")) {
      JsonObject json;
      json.Add("name", region.name).Add("kind", KindName(region.kind)).Add("size_bytes", region.size_bytes);
      entries.push_back(json.Text());
    } else {
      absl::PrintF("%-40s %-14s %s\n", region.name, KindName(region.kind),
                   BytesText(static_cast<double>(region.size_bytes)));
    }
  }
  if (arguments.Has("json")) std::puts(absl::StrCat("{\"regions\": [", absl::StrJoin(entries, ", "), "]}").c_str());
  if (!arguments.Has("json") && !arguments.Has("quiet") && regions->empty()) std::fputs("no regions\n", stderr);
  return absl::OkStatus();
}

}  // namespace

Command RegionsCommand() {
  return {{"regions", "list the shared memory that the server has mapped", "list", 1, 1,
           "A program registers a region through a client library. The region ends with the program.",
           "corank regions list\ncorank regions list --json", WithCommonOptions({})},
          RunRegions};
}

}  // namespace corank::cli
