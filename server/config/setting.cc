#include "server/config/setting.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/config/groups.h"

namespace corank {

std::string Setting::Name() const { return absl::StrReplaceAll(flag->Name(), {{"_", "-"}}); }

std::string Setting::Variable() const { return absl::StrCat("CORANK_", absl::AsciiStrToUpper(flag->Name())); }

const std::vector<Group>& Groups() {
  static const auto* const groups = new std::vector<Group>{
      ListenGroup(),   EngineGroup(),      QueueGroup(), MemoryGroup(),  StreamsGroup(),
      SecurityGroup(), ConnectionsGroup(), LogGroup(),   ProcessGroup(),
  };
  return *groups;
}

const Setting* FindSetting(absl::string_view name) {
  const std::string flag = absl::StrReplaceAll(name, {{"-", "_"}});
  for (const Group& group : Groups()) {
    for (const Setting& setting : group.settings) {
      if (setting.flag->Name() == flag) return &setting;
    }
  }
  return nullptr;
}

absl::Status BadValue(absl::string_view name, absl::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat("--", name, ": ", reason));
}

absl::Status CheckRange(absl::string_view name, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return BadValue(name, absl::StrCat(value, " is not in ", least, " to ", most));
}

absl::Status CheckDuration(absl::string_view name, absl::Duration value, absl::Duration least, absl::Duration most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return BadValue(name, absl::StrCat(absl::FormatDuration(value), " is not in ", absl::FormatDuration(least), " to ",
                                     absl::FormatDuration(most)));
}

}  // namespace corank
