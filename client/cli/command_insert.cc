// corank insert.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/choices.h"
#include "client/cli/commands.h"
#include "client/cli/session.h"
#include "client/cli/text_array.h"
#include "corank/insert.h"

namespace corank::cli {
namespace {

absl::Status RunInsert(const Arguments& arguments) {
  absl::StatusOr<std::optional<client::ElementType>> type = TypeOption(arguments, "type", "record-bytes");
  if (!type.ok()) return type.status();
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(arguments, {"output"});
  if (!session.ok()) return session.status();
  const std::vector<std::string>& paths = arguments.positional();
  absl::StatusOr<InputArray> elements = (*session)->LoadMain(paths[0], *type, "--type or --record-bytes");
  if (!elements.ok()) return elements.status();
  absl::StatusOr<InputArray> inserted = (*session)->Load(paths[1], *type, "--type or --record-bytes");
  if (!inserted.ok()) return inserted.status();
  if (const absl::Status unified = UnifyTextTypes({&*elements, &*inserted}, paths); !unified.ok()) return unified;
  if (elements->type != inserted->type) {
    return FileError(absl::StrCat(paths[1], ": holds ", inserted->type.Name(), ", and ", paths[0], " holds ",
                                  elements->type.Name()));
  }
  absl::StatusOr<std::vector<int64_t>> positions = (*session)->LoadInt64Option("positions");
  if (!positions.ok()) return positions.status();
  const int64_t count = elements->view().count();
  if (static_cast<int64_t>(positions->size()) != inserted->view().count()) {
    return FileError(absl::StrCat(arguments.GetOr("positions", ""), ": has ", positions->size(), " positions for ",
                                  inserted->view().count(), " elements of ", paths[1]));
  }
  absl::StatusOr<client::InsertionIntervals> intervals =
      client::IntervalsToInsert(count, *positions, inserted->view().count());
  if (!intervals.ok()) {
    return FileError(absl::StrCat(arguments.GetOr("positions", ""), ": ", intervals.status().message()));
  }
  if (const absl::Status like = (*session)->OutputIsLike("output", *elements); !like.ok()) return like;
  std::string both(elements->view().bytes);
  both.append(inserted->view().bytes.data(), inserted->view().bytes.size());
  const client::GatherRequest request{client::ArrayView{elements->type, both}, intervals->source_offsets,
                                      intervals->counts};
  absl::StatusOr<client::RawResult> result =
      (*session)->Call([&](const client::Client& client, const client::CallOptions& call) {
        return client.GatherIntervals(request, call);
      });
  if (!result.ok()) return result.status();
  if (const absl::Status saved = (*session)->Save("output", result->array); !saved.ok()) return saved;
  return (*session)->Finish({"insert", count, elements->type.Name(), "", std::move(result->stats)});
}

}  // namespace

Command InsertCommand() {
  return {{"insert", "insert elements before many positions of an array", "ELEMENTS INSERTED", 2, 2,
           "Element i of INSERTED goes before element positions[i] of ELEMENTS, or behind the last one. Positions\n"
           "may be in any order; elements for the same position keep their order.",
           "corank insert data.npy more.npy --positions where.npy -o longer.npy",
           WithOperatorOptions({kOutputOption,
                                {"positions", 0, "FILE", "a position for each element of INSERTED, from 0 (int64)"},
                                kElementTypeOption,
                                kRecordOption,
                                kFormatOption})},
          RunInsert};
}

}  // namespace corank::cli
