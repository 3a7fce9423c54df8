#include "server/kserve/models.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/model/operator_traits.h"

namespace corank {
namespace {

template <typename Request>
RequestKind KindOf() {
  using google::protobuf::Message;
  return {[]() -> std::unique_ptr<Message> { return std::make_unique<Request>(); },
          [](const Message& request, const Limits& limits, Places& places) {
            return Validate(static_cast<const Request&>(request), limits, places);
          },
          [](const Message& request) -> const v1::RequestOptions& {
            return static_cast<const Request&>(request).options();
          },
          [](Message* request) { return static_cast<Request*>(request)->mutable_options(); }};
}

constexpr TensorType kModel = TensorType::kModel, kInt64 = TensorType::kInt64, kAny = TensorType::kAny;

void SetIndices(google::protobuf::Message* request) {
  static_cast<v1::SortRequest*>(request)->set_output(v1::SORT_OUTPUT_INDICES);
}

template <typename Request>
void SetCountOnly(google::protobuf::Message* request) {
  static_cast<Request*>(request)->set_count_only(true);
}

// Results that several operators have.
const OutputTensor kKeysOut{"keys", kModel, ResultRole::kKeys, "keys_destination"};
const OutputTensor kValuesOut{"values", kAny, ResultRole::kValues, "values_destination"};
const OutputTensor kIndicesOut{"indices", TensorType::kIndex, ResultRole::kIndices, "indices_destination"};
const OutputTensor kCountOut{"count", kInt64, ResultRole::kCount, "count_destination"};

// The families of operators whose results are as long as their inputs say.
std::vector<ModelFamily> FamiliesOfKnownLength() {
  const InputTensor keys{"keys", kModel}, values{"values", kAny}, segments{"segment_offsets", kInt64, true};
  const InputTensor sorted_keys{"keys", kModel, false, true}, sorted_values{"values", kAny, false, true};
  const OutputTensor positions{"positions", TensorType::kIndex, ResultRole::kPositions, "destination"};
  const OutputTensor ranks{"ranks", TensorType::kFloat64, ResultRole::kRanks, "ranks_destination"};
  const OutputTensor result{"result", kModel, ResultRole::kResult, "result_destination"};
  const OutputTensor gathered{"result", kModel, ResultRole::kResult, "destination"};
  const OutputTensor expanded{"values", kModel, ResultRole::kValues, "destination"};
  const InputTensor source{"source", kModel}, counts{"counts", kInt64}, initial{"destination", kModel, true};
  const InputTensor from{"source_offsets", kInt64}, to{"destination_offsets", kInt64};
  const std::vector<const char*> sort{"descending", "offset", "limit", "algorithm"};
  const std::vector<const char*> merge{"descending", "algorithm", "assume_sorted"};
  const std::vector<const char*> move{"destination_count", "allow_overlap"};
  return {
      {"sort", Operator::kSort, {keys, segments}, {kKeysOut}, sort},
      {"argsort", Operator::kSort, {keys, segments}, {kIndicesOut}, sort, SetIndices},
      {"sort_pairs", Operator::kSort, {keys, values, segments}, {kKeysOut, kValuesOut}, sort},
      {"merge", Operator::kMerge, {sorted_keys}, {kKeysOut}, merge},
      {"merge_pairs", Operator::kMerge, {sorted_keys, sorted_values}, {kKeysOut, kValuesOut}, merge},
      {"search",
       Operator::kSearch,
       {{"haystack", kModel}, {"needles", kModel}},
       {positions},
       {"descending", "bound", "assume_sorted"}},
      {"rank", Operator::kRank, {keys, segments}, {ranks}, {"method", "descending", "keys_sorted"}},
      {"expand", Operator::kExpandIntervals, {{"values", kModel}, counts}, {expanded}, {}},
      {"gather", Operator::kGatherIntervals, {source, from, counts}, {gathered}, {}},
      {"scatter", Operator::kScatterIntervals, {source, to, counts, initial}, {result}, move},
      {"move", Operator::kMoveIntervals, {source, from, to, counts, initial}, {result}, move},
  };
}

// The families of operators whose run finds how long the results are.
std::vector<ModelFamily> FamiliesOfFoundLength() {
  const InputTensor keys{"keys", kModel}, values{"values", kAny}, left{"left", kModel}, right{"right", kModel};
  const InputTensor left_values{"left_values", kAny}, right_values{"right_values", kAny, true};
  // Exactly one of these decides; a description shows the first.
  const InputTensor flags{"flags", TensorType::kUint8}, bitmap{"bitmap", TensorType::kUint8, true};
  const InputTensor positions{"positions", kInt64, true}, threshold{"threshold", kModel, true};
  const OutputTensor counts{"counts", kInt64, ResultRole::kCounts, "counts_destination"};
  const OutputTensor firsts{"firsts", TensorType::kIndex, ResultRole::kFirsts, "firsts_destination"};
  const OutputTensor sums{"sums", TensorType::kSum, ResultRole::kSums, "sums_destination"};
  const OutputTensor minima{"minima", kAny, ResultRole::kMinima, "minima_destination"};
  const OutputTensor maxima{"maxima", kAny, ResultRole::kMaxima, "maxima_destination"};
  const OutputTensor value_counts{"value_counts", kInt64, ResultRole::kValueCounts, "value_counts_destination"};
  const InputTensor values_validity{"values_validity", TensorType::kUint8, true};
  const OutputTensor left_rows{"left_rows", TensorType::kRowNumber, ResultRole::kLeftRows, "left_rows_destination"};
  const OutputTensor right_rows{"right_rows", TensorType::kRowNumber, ResultRole::kRightRows, "right_rows_destination"};
  const OutputTensor elements_out{"elements", kModel, ResultRole::kElements, "elements_destination"};
  const std::vector<const char*> group{"descending", "input"}, sets{"operation", "descending"};
  const std::vector<const char*> select{"comparison", "negate", "partition"};
  const InputTensor elements{"elements", kModel};
  return {
      {"group", Operator::kGroup, {keys}, {kKeysOut, counts, firsts}, group},
      {"group_values",
       Operator::kGroup,
       {keys, values, values_validity},
       {kKeysOut, counts, firsts, sums, minima, maxima, value_counts},
       group},
      {"combine_sets", Operator::kCombineSets, {left, right}, {kKeysOut}, sets},
      {"combine_sets_pairs",
       Operator::kCombineSets,
       {left, right, left_values, right_values},
       {kKeysOut, kValuesOut},
       sets},
      {"count_sets", Operator::kCombineSets, {left, right}, {kCountOut}, sets, SetCountOnly<v1::CombineSetsRequest>},
      {"join", Operator::kJoin, {left, right}, {left_rows, right_rows}, {"kind", "right_sorted", "max_rows"}},
      {"count_join",
       Operator::kJoin,
       {left, right},
       {kCountOut},
       {"kind", "right_sorted"},
       SetCountOnly<v1::JoinRequest>},
      {"select",
       Operator::kSelect,
       {elements, flags, bitmap, positions, threshold},
       {elements_out, kIndicesOut, kCountOut},
       select},
      {"select_pairs",
       Operator::kSelect,
       {elements, values, flags, bitmap, positions, threshold},
       {elements_out, kValuesOut, kIndicesOut, kCountOut},
       select},
  };
}

ModelFamily LoadBalanceFamily() {
  return {"load_balance",
          Operator::kLoadBalance,
          {{"counts", TensorType::kInt64}},
          {{"objects", TensorType::kIndex, ResultRole::kObjects, "objects_destination"},
           {"ranks", TensorType::kIndex, ResultRole::kRanks, "ranks_destination"}},
          {}};
}

struct Catalog {
  std::vector<ModelFamily> known = FamiliesOfKnownLength();
  std::vector<ModelFamily> found = FamiliesOfFoundLength();
  ModelFamily load_balance = LoadBalanceFamily();
  std::vector<Model> models;
  absl::flat_hash_map<std::string, const Model*> by_name;

  Catalog() {
    for (const auto* const families : {&known, &found}) {
      for (const ModelFamily& family : *families) {
        for (const Datatype& type : Datatypes()) Add(family, type);
      }
    }
    Add(load_balance, DatatypeOf(v1::ELEMENT_TYPE_INT64));
    for (const Model& model : models) by_name[model.name] = &model;
  }

 private:
  void Add(const ModelFamily& family, const Datatype& type) {
    models.push_back(
        {absl::StrCat(family.name, "_", type.suffix), &family, type.type, static_cast<int>(models.size())});
  }
};

const Catalog& TheCatalog() {
  static const auto* const catalog = new Catalog;
  return *catalog;
}

// Calls `show` with the name and the tensor of each input that a request needs. perf_analyzer sends, and needs data
// for, all inputs of a description, so optional ones are not in it.
template <typename Show>
void ForEachInput(const Model& model, const Show& show) {
  for (const InputTensor& input : model.family->inputs) {
    if (input.is_optional) continue;
    if (!input.is_repeated) {
      show(std::string(input.name), input);
      continue;
    }
    for (int i = 0; i < 2; ++i) show(absl::StrCat(input.name, "_", i), input);
  }
}

}  // namespace

RequestKind RequestKindOf(Operator op) {
  RequestKind kind{};
  ForEachOperator([&](auto traits) {
    if (traits.kOperator == op) kind = KindOf<typename decltype(traits)::Request>();
  });
  return kind;
}

const Datatype& DefaultType(const Model& model, TensorType type) {
  switch (type) {
    case TensorType::kModel:
    case TensorType::kAny:
      break;
    case TensorType::kUint8:
      return DatatypeOf(v1::ELEMENT_TYPE_UINT8);
    case TensorType::kInt64:
      return DatatypeOf(v1::ELEMENT_TYPE_INT64);
    case TensorType::kFloat64:
      return DatatypeOf(v1::ELEMENT_TYPE_FLOAT64);
    case TensorType::kIndex:
      return DatatypeOf(v1::ELEMENT_TYPE_UINT32);
    case TensorType::kRowNumber:
      return DatatypeOf(v1::ELEMENT_TYPE_INT32);
    case TensorType::kSum: {
      const char first = *DatatypeOf(model.type).name;
      return DatatypeOf(first == 'I'   ? v1::ELEMENT_TYPE_INT64
                        : first == 'U' ? v1::ELEMENT_TYPE_UINT64
                                       : v1::ELEMENT_TYPE_FLOAT64);
    }
  }
  return DatatypeOf(model.type);
}

absl::Span<const Model> Models() { return TheCatalog().models; }

absl::StatusOr<const Model*> FindModel(absl::string_view name, absl::string_view version, absl::string_view field) {
  const auto found = TheCatalog().by_name.find(name);
  if (found == TheCatalog().by_name.end()) {
    return FieldError(v1::ERROR_REASON_SERVICE_NOT_FOUND, field,
                      absl::StrCat("there is no model '", name, "'; RepositoryIndex lists all, such as sort_int32"));
  }
  if (!version.empty() && version != kModelVersion) {
    return FieldError(v1::ERROR_REASON_SERVICE_NOT_FOUND, field,
                      absl::StrCat("the model '", name, "' has version 1 only, not '", version, "'"));
  }
  return found->second;
}

inference::ModelMetadataResponse MetadataOf(const Model& model) {
  inference::ModelMetadataResponse metadata;
  metadata.set_name(model.name);
  metadata.add_versions(kModelVersion);
  metadata.set_platform("corank");
  ForEachInput(model, [&](const std::string& name, const InputTensor& input) {
    auto* tensor = metadata.add_inputs();
    tensor->set_name(name);
    tensor->set_datatype(DefaultType(model, input.type).name);
    tensor->add_shape(-1);
  });
  for (const OutputTensor& output : model.family->outputs) {
    auto* tensor = metadata.add_outputs();
    tensor->set_name(output.name);
    tensor->set_datatype(DefaultType(model, output.type).name);
    tensor->add_shape(-1);
  }
  return metadata;
}

inference::ModelConfig ConfigOf(const Model& model) {
  inference::ModelConfig config;
  config.set_name(model.name);
  config.set_platform("corank");
  config.set_backend("corank");
  config.mutable_model_transaction_policy()->set_decoupled(false);
  ForEachInput(model, [&](const std::string& name, const InputTensor& input) {
    auto* tensor = config.add_input();
    tensor->set_name(name);
    tensor->set_data_type(DefaultType(model, input.type).config);
    tensor->add_dims(-1);
  });
  for (const OutputTensor& output : model.family->outputs) {
    auto* tensor = config.add_output();
    tensor->set_name(output.name);
    tensor->set_data_type(DefaultType(model, output.type).config);
    tensor->add_dims(-1);
  }
  return config;
}

}  // namespace corank
