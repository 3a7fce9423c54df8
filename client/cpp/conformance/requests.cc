#include "client/cpp/conformance/requests.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_replace.h"

namespace corank::conformance {
namespace {

Order OrderOf(const Json& object) {
  return Text(object, "order") == "descending" ? Order::kDescending : Order::kAscending;
}

// Reads the arguments of one operator.
class Reader {
 public:
  Reader(const Json& arguments, Storage& storage, Lacking& lacking)
      : arguments_(arguments), storage_(storage), lacking_(lacking) {}

  client::ArrayView View(const std::string& name) { return storage_.View(arguments_.fields().at(name).struct_value()); }
  std::optional<client::ArrayView> OptionalView(const std::string& name) {
    if (Find(arguments_, name) == nullptr) return std::nullopt;
    return View(name);
  }
  absl::Span<const int64_t> Numbers(const Json& array) {
    if (Find(array, "kept") != nullptr || Find(array, "result") != nullptr) {
      lacking_ = "kept_counts";
      return {};
    }
    return storage_.Numbers(array);
  }
  absl::Span<const int64_t> Numbers(const std::string& name) {
    return Numbers(arguments_.fields().at(name).struct_value());
  }
  std::vector<client::ArrayView> Views(const std::string& name) {
    std::vector<client::ArrayView> views;
    for (const Value& each : List(name)) views.push_back(storage_.View(each.struct_value()));
    return views;
  }
  const google::protobuf::RepeatedPtrField<Value>& List(const std::string& name) const {
    static const auto* const none = new google::protobuf::RepeatedPtrField<Value>();
    const Value* found = Find(arguments_, name);
    return found == nullptr ? *none : found->list_value().values();
  }
  client::InitialDestination Destination() {
    if (Find(arguments_, "destination") != nullptr) return View("destination");
    return Number(arguments_, "destination_count");
  }
  SortAlgorithm Sorting() const {
    const std::string name = absl::StrReplaceAll(Text(arguments_, "algorithm", "auto"), {{"_", "-"}});
    for (const SortAlgorithm each :
         {SortAlgorithm::kMergesort, SortAlgorithm::kRadix, SortAlgorithm::kOddEvenMergesort}) {
      if (name == SortAlgorithmName(each)) return each;
    }
    return SortAlgorithm::kAuto;
  }
  MergeAlgorithm Merging() const {
    const std::string name = absl::StrReplaceAll(Text(arguments_, "algorithm", "auto"), {{"_", "-"}});
    for (const MergeAlgorithm each : {MergeAlgorithm::kMergePath, MergeAlgorithm::kBasic, MergeAlgorithm::kTiled,
                                      MergeAlgorithm::kCircularBuffer}) {
      if (name == MergeAlgorithmName(each)) return each;
    }
    return MergeAlgorithm::kAuto;
  }
  client::SortOutput Output() const {
    const std::string name = Text(arguments_, "output", "keys");
    if (name == "indices") return client::SortOutput::kIndices;
    if (name == "ranks") return client::SortOutput::kRanks;
    return name == "keys" ? client::SortOutput::kKeys : client::SortOutput::kKeysAndIndices;
  }
  std::optional<int64_t> Limit() const {
    if (Find(arguments_, "limit") == nullptr) return std::nullopt;
    return Number(arguments_, "limit");
  }
  int64_t Offset() const { return Find(arguments_, "offset") == nullptr ? 0 : Number(arguments_, "offset"); }

 private:
  const Json& arguments_;
  Storage& storage_;
  Lacking& lacking_;
};

std::vector<std::string> SortResults(std::vector<std::string> keys, client::SortOutput output, bool has_values) {
  std::vector<std::string> results;
  if (client::HasKeys(output)) results = std::move(keys);
  if (has_values) results.push_back("values");
  if (client::HasIndices(output)) results.push_back("indices");
  if (output == client::SortOutput::kRanks) results.push_back("ranks");
  return results;
}

void ReadSort(const Json& arguments, Reader& reader, Operator& made) {
  client::SortRequest request;
  request.keys = reader.View("keys");
  request.values = reader.OptionalView("values");
  request.output = reader.Output();
  request.order = OrderOf(arguments);
  request.algorithm = reader.Sorting();
  request.limit = reader.Limit();
  request.offset = reader.Offset();
  if (Find(arguments, "segment_offsets") != nullptr) request.segment_offsets = reader.Numbers("segment_offsets");
  made.results = SortResults({"keys"}, request.output, request.values.has_value());
  made.request = std::move(request);
}

SearchBound BoundOf(const Json& arguments) {
  return Text(arguments, "bound") == "upper" ? SearchBound::kUpper : SearchBound::kLower;
}

client::ColumnView ColumnOf(const Json& column, Reader& reader, Storage& storage) {
  client::ColumnView view{storage.View(column.fields().at("data").struct_value()), std::nullopt, OrderOf(column)};
  if (Find(column, "offsets") != nullptr) view.offsets = reader.Numbers(column.fields().at("offsets").struct_value());
  if (const Value* const validity = Find(column, "validity")) {
    const absl::string_view bytes = storage.View(validity->struct_value()).bytes;
    view.validity = absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  view.nulls = Text(column, "nulls", "last") == "last" ? NullOrder::kLast : NullOrder::kFirst;
  const std::string nans = Text(column, "nans", "greatest");
  view.nans = nans == "greatest"       ? NanOrder::kGreatest
              : nans == "beside_nulls" ? NanOrder::kBesideNulls
                                       : NanOrder::kAsNulls;
  return view;
}

void ReadColumnSearch(const Json& arguments, Reader& reader, Storage& storage, Operator& made) {
  client::ColumnSearchRequest request;
  for (const Value& each : reader.List("haystack_columns")) {
    request.haystack.push_back(ColumnOf(each.struct_value(), reader, storage));
  }
  for (const Value& each : reader.List("needle_columns")) {
    request.needles.push_back(ColumnOf(each.struct_value(), reader, storage));
  }
  request.bound = BoundOf(arguments);
  request.assume_sorted = Flag(arguments, "assume_sorted");
  made.request = std::move(request);
  made.results = {"positions"};
}

void ReadColumns(const Json& arguments, Reader& reader, Storage& storage, Operator& made) {
  client::ColumnSortRequest request;
  std::vector<std::string> names;
  for (const Value& each : reader.List("columns")) {
    const client::ColumnView view = ColumnOf(each.struct_value(), reader, storage);
    const bool is_string = view.offsets.has_value(), may_be_null = view.validity.has_value();
    request.columns.push_back(view);
    made.columns.push_back({is_string, may_be_null});
    names.insert(names.end(), 1U + is_string + may_be_null, "columns");
  }
  request.values = reader.OptionalView("values");
  request.output = reader.Output();
  if (Find(arguments, "segment_offsets") != nullptr) request.segment_offsets = reader.Numbers("segment_offsets");
  if (Find(arguments, "run_offsets") != nullptr) request.run_offsets = reader.Numbers("run_offsets");
  request.limit = reader.Limit();
  request.offset = reader.Offset();
  made.results = SortResults(std::move(names), request.output, request.values.has_value());
  made.request = std::move(request);
}

void ReadGroup(const Json& arguments, Reader& reader, Operator& made) {
  client::GroupRequest request;
  const std::string input = Text(arguments, "input");
  request.input = input == "sorted" ? client::GroupInput::kSorted
                  : input == "runs" ? client::GroupInput::kRuns
                                    : client::GroupInput::kUnsorted;
  request.order = OrderOf(arguments);
  request.keys = reader.View("keys");
  request.values = reader.OptionalView("values");
  request.values_validity = reader.OptionalView("values_validity");
  const std::vector<std::pair<std::string, bool*>> wants = {{"keys", &request.wants.keys},
                                                            {"counts", &request.wants.counts},
                                                            {"firsts", &request.wants.firsts},
                                                            {"sums", &request.wants.sums},
                                                            {"minima", &request.wants.minima},
                                                            {"maxima", &request.wants.maxima},
                                                            {"value_counts", &request.wants.value_counts}};
  if (Find(arguments, "outputs") != nullptr) {
    request.wants = {false, false};
    for (const Value& output : reader.List("outputs")) {
      for (const auto& [result, wanted] : wants) *wanted = *wanted || output.string_value() == result;
    }
  }
  for (const auto& [result, wanted] : wants) {
    if (*wanted) made.results.push_back(result);
  }
  made.request = std::move(request);
}

void ReadCombineSets(const Json& arguments, Reader& reader, Operator& made) {
  client::CombineSetsRequest request;
  const std::string operation = Text(arguments, "operation");
  request.operation = operation == "union"          ? client::SetOperation::kUnion
                      : operation == "intersection" ? client::SetOperation::kIntersection
                      : operation == "difference"   ? client::SetOperation::kDifference
                                                    : client::SetOperation::kSymmetricDifference;
  request.order = OrderOf(arguments);
  request.left = reader.View("left");
  request.right = reader.View("right");
  request.left_values = reader.OptionalView("left_values");
  request.right_values = reader.OptionalView("right_values");
  request.count_only = Flag(arguments, "count_only");
  made.results = {request.count_only ? "count" : "keys"};
  if (request.left_values.has_value()) made.results.emplace_back("values");
  made.request = std::move(request);
}

void ReadJoin(const Json& arguments, Reader& reader, Operator& made) {
  static const auto* const kinds = new std::vector<std::string>{"inner", "left", "right", "full", "semi", "anti"};
  client::JoinRequest request;
  const auto kind = std::find(kinds->begin(), kinds->end(), Text(arguments, "kind")) - kinds->begin();
  request.kind = static_cast<client::JoinKind>(kind);
  request.left = reader.View("left");
  request.right = reader.View("right");
  request.right_sorted = Flag(arguments, "right_sorted");
  request.count_only = Flag(arguments, "count_only");
  if (Find(arguments, "max_rows") != nullptr) request.max_rows = Number(arguments, "max_rows");
  made.results = {request.count_only ? "count" : "left_rows"};
  const bool is_left_only = request.kind == client::JoinKind::kSemi || request.kind == client::JoinKind::kAnti;
  if (!request.count_only && !is_left_only) made.results.emplace_back("right_rows");
  made.request = std::move(request);
}

// Select, Partition and Remove.
void ReadSelect(const std::string& name, const Json& arguments, Reader& reader, Operator& made) {
  static const auto* const comparisons =
      new std::vector<std::string>{"less", "equal", "less_or_equal", "greater", "not_equal", "greater_or_equal"};
  client::SelectRequest request;
  request.elements = reader.View("elements");
  request.values = reader.OptionalView("values");
  request.flags = reader.OptionalView("flags");
  request.bitmap = reader.OptionalView("bitmap");
  request.positions = reader.OptionalView("positions");
  request.threshold = reader.OptionalView("threshold");
  const auto comparison = std::find(comparisons->begin(), comparisons->end(), Text(arguments, "comparison"));
  if (comparison != comparisons->end()) {
    request.comparison = static_cast<client::Comparison>(comparison - comparisons->begin());
  }
  request.negate = name == "remove" || Flag(arguments, "negate");
  request.partition = request.wants.count = name == "partition";
  request.wants.indices = Text(arguments, "output") == "indices";
  request.wants.elements = !request.wants.indices;
  if (request.wants.elements) made.results.emplace_back("elements");
  if (request.values.has_value()) made.results.emplace_back("values");
  if (request.wants.indices) made.results.emplace_back("indices");
  if (request.wants.count) made.results.emplace_back("count");
  made.request = std::move(request);
}

// As the typed Client::Insert, which takes elements of a type of C++ only.
void ReadInsert(Reader& reader, Storage& storage, Operator& made) {
  const client::ArrayView elements = reader.View("elements"), inserted = reader.View("inserted");
  const absl::Span<const int64_t> positions = reader.Numbers("positions");
  made.results = {"result"};
  absl::StatusOr<client::InsertionIntervals> intervals =
      client::IntervalsToInsert(elements.count(), positions, inserted.count());
  if (!intervals.ok()) {
    made.refused = intervals.status();
    return;
  }
  const auto source = storage.Own(elements.type, std::string(elements.bytes) + std::string(inserted.bytes));
  made.request = client::GatherRequest{source, storage.Own(std::move(intervals->source_offsets)),
                                       storage.Own(std::move(intervals->counts))};
}

void ReadRank(const Json& arguments, Reader& reader, Operator& made) {
  static const auto* const methods = new std::vector<std::string>{"average", "min", "max", "dense", "ordinal"};
  client::RankRequest request;
  const auto method = std::find(methods->begin(), methods->end(), Text(arguments, "method", "average"));
  request.method = static_cast<client::RankMethod>(method - methods->begin());
  request.order = OrderOf(arguments);
  request.keys_sorted = Flag(arguments, "keys_sorted");
  if (Find(arguments, "segment_offsets") != nullptr) request.segment_offsets = reader.Numbers("segment_offsets");
  request.keys = reader.View("keys");
  made.results = {"ranks"};
  made.request = std::move(request);
}

// The Output of a result of each request.
client::Output* OutputOf(client::SortRequest& request, const std::string& name) {
  return name == "keys" ? &request.keys_output : name == "values" ? &request.values_output : &request.indices_output;
}
client::Output* OutputOf(client::ColumnSortRequest& request, const std::string& name) {
  return name == "columns"  ? nullptr
         : name == "values" ? &request.values_output
         : name == "ranks"  ? &request.ranks_output
                            : &request.indices_output;
}
client::Output* OutputOf(client::MergeRequest& request, const std::string& name) {
  return name == "keys" ? &request.keys_output : &request.values_output;
}
client::Output* OutputOf(client::LoadBalanceRequest& request, const std::string& name) {
  return name == "objects" ? &request.objects_output : &request.ranks_output;
}
client::Output* OutputOf(client::GroupRequest& request, const std::string& name) {
  return name == "keys"     ? &request.keys_output
         : name == "counts" ? &request.counts_output
         : name == "firsts" ? &request.firsts_output
         : name == "sums"   ? &request.sums_output
         : name == "minima" ? &request.minima_output
         : name == "maxima" ? &request.maxima_output
                            : &request.value_counts_output;
}
client::Output* OutputOf(client::CombineSetsRequest& request, const std::string& name) {
  return name == "keys" ? &request.keys_output : name == "values" ? &request.values_output : &request.count_output;
}
client::Output* OutputOf(client::JoinRequest& request, const std::string& name) {
  return name == "left_rows"    ? &request.left_rows_output
         : name == "right_rows" ? &request.right_rows_output
                                : &request.count_output;
}
client::Output* OutputOf(client::SelectRequest& request, const std::string& name) {
  return name == "elements"  ? &request.elements_output
         : name == "values"  ? &request.values_output
         : name == "indices" ? &request.indices_output
                             : &request.count_output;
}
template <typename Request>
client::Output* OutputOf(Request& request, const std::string& /*name*/) {
  return &request.output;
}

}  // namespace

Operator OperatorOf(const Json& call, Storage& storage) {
  Operator made;
  const std::string name = Text(call, "operator");
  const Json& arguments = call.fields().at("arguments").struct_value();
  Reader reader(arguments, storage, made.lacking);
  if (name == "sort") {
    ReadSort(arguments, reader, made);
  } else if (name == "sort_columns") {
    ReadColumns(arguments, reader, storage, made);
  } else if (name == "search_columns") {
    ReadColumnSearch(arguments, reader, storage, made);
  } else if (name == "merge") {
    client::MergeRequest request;
    request.order = OrderOf(arguments);
    request.algorithm = reader.Merging();
    request.assume_sorted = Flag(arguments, "assume_sorted");
    request.keys = reader.Views("keys");
    request.values = reader.Views("values");
    made.results =
        request.values.empty() ? std::vector<std::string>{"keys"} : std::vector<std::string>{"keys", "values"};
    made.request = std::move(request);
  } else if (name == "expand") {
    made.request = client::ExpandRequest{reader.View("values"), reader.Numbers("counts")};
    made.results = {"values"};
  } else if (name == "move") {
    made.request = client::MoveRequest{reader.View("source"),
                                       reader.Numbers("source_offsets"),
                                       reader.Numbers("destination_offsets"),
                                       reader.Numbers("counts"),
                                       reader.Destination(),
                                       Flag(arguments, "allow_overlap")};
    made.results = {"result"};
  } else if (name == "gather") {
    made.request =
        client::GatherRequest{reader.View("source"), reader.Numbers("source_offsets"), reader.Numbers("counts")};
    made.results = {"result"};
  } else if (name == "scatter") {
    made.request =
        client::ScatterRequest{reader.View("source"), reader.Numbers("destination_offsets"), reader.Numbers("counts"),
                               reader.Destination(), Flag(arguments, "allow_overlap")};
    made.results = {"result"};
  } else if (name == "load_balance") {
    made.request = client::LoadBalanceRequest{reader.Numbers("counts")};
    made.results = {"objects", "ranks"};
  } else if (name == "group") {
    ReadGroup(arguments, reader, made);
  } else if (name == "combine_sets") {
    ReadCombineSets(arguments, reader, made);
  } else if (name == "join") {
    ReadJoin(arguments, reader, made);
  } else if (name == "select" || name == "partition" || name == "remove") {
    ReadSelect(name, arguments, reader, made);
  } else if (name == "insert") {
    ReadInsert(reader, storage, made);
  } else if (name == "rank") {
    ReadRank(arguments, reader, made);
  } else {
    client::SearchRequest request;
    request.order = OrderOf(arguments);
    request.bound = BoundOf(arguments);
    request.assume_sorted = Flag(arguments, "assume_sorted");
    request.haystack = reader.View("haystack");
    request.needles = reader.View("needles");
    made.request = std::move(request);
    made.results = {"positions"};
  }
  return made;
}

void Place(Operator& made, const std::string& result, client::Output output) {
  client::Output* place = std::visit([&](auto& request) { return OutputOf(request, result); }, made.request);
  if (place == nullptr) {
    made.lacking = "kept_results";
  } else {
    *place = std::move(output);
  }
}

}  // namespace corank::conformance
