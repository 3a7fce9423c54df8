#include "server/kserve/models.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/kserve/tensors.h"
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

// The families with a model for each type of key.
std::vector<ModelFamily> TypedFamilies() {
  constexpr TensorType kModel = TensorType::kModel, kInt64 = TensorType::kInt64, kAny = TensorType::kAny;
  const InputTensor keys{"keys", kModel}, values{"values", kAny}, segments{"segment_offsets", kInt64, true};
  const InputTensor sorted_keys{"keys", kModel, false, true}, sorted_values{"values", kAny, false, true};
  const OutputTensor out_keys{"keys", kModel, ResultRole::kKeys, "keys_destination"};
  const OutputTensor out_values{"values", kAny, ResultRole::kValues, "values_destination"};
  const OutputTensor indices{"indices", TensorType::kIndex, ResultRole::kIndices, "indices_destination"};
  const OutputTensor positions{"positions", TensorType::kIndex, ResultRole::kPositions, "destination"};
  const OutputTensor result{"result", kModel, ResultRole::kResult, "result_destination"};
  const OutputTensor gathered{"result", kModel, ResultRole::kResult, "destination"};
  const OutputTensor expanded{"values", kModel, ResultRole::kValues, "destination"};
  const InputTensor source{"source", kModel}, counts{"counts", kInt64}, initial{"destination", kModel, true};
  const InputTensor from{"source_offsets", kInt64}, to{"destination_offsets", kInt64};
  const std::vector<const char*> sort{"descending", "limit", "algorithm"};
  const std::vector<const char*> merge{"descending", "algorithm", "assume_sorted"};
  const std::vector<const char*> move{"destination_count", "allow_overlap"};
  return {
      {"sort", Operator::kSort, {keys, segments}, {out_keys}, sort},
      {"argsort", Operator::kSort, {keys, segments}, {indices}, sort, true},
      {"sort_pairs", Operator::kSort, {keys, values, segments}, {out_keys, out_values}, sort},
      {"merge", Operator::kMerge, {sorted_keys}, {out_keys}, merge},
      {"merge_pairs", Operator::kMerge, {sorted_keys, sorted_values}, {out_keys, out_values}, merge},
      {"search",
       Operator::kSearch,
       {{"haystack", kModel}, {"needles", kModel}},
       {positions},
       {"descending", "bound", "assume_sorted"}},
      {"expand", Operator::kExpandIntervals, {{"values", kModel}, counts}, {expanded}, {}},
      {"gather", Operator::kGatherIntervals, {source, from, counts}, {gathered}, {}},
      {"scatter", Operator::kScatterIntervals, {source, to, counts, initial}, {result}, move},
      {"move", Operator::kMoveIntervals, {source, from, to, counts, initial}, {result}, move},
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
  std::vector<ModelFamily> families = TypedFamilies();
  ModelFamily load_balance = LoadBalanceFamily();
  std::vector<Model> models;
  absl::flat_hash_map<std::string, const Model*> by_name;

  Catalog() {
    for (const ModelFamily& family : families) {
      for (const Datatype& type : Datatypes()) Add(family, type);
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

// The datatype that a description shows. Values may have any type; the description names that of the model.
const Datatype& ShownType(const Model& model, TensorType type) {
  switch (type) {
    case TensorType::kInt64:
      return DatatypeOf(v1::ELEMENT_TYPE_INT64);
    case TensorType::kIndex:
      return DatatypeOf(v1::ELEMENT_TYPE_UINT32);
    default:
      return DatatypeOf(model.type);
  }
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
    tensor->set_datatype(ShownType(model, input.type).name);
    tensor->add_shape(-1);
  });
  for (const OutputTensor& output : model.family->outputs) {
    auto* tensor = metadata.add_outputs();
    tensor->set_name(output.name);
    tensor->set_datatype(ShownType(model, output.type).name);
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
    tensor->set_data_type(ShownType(model, input.type).config);
    tensor->add_dims(-1);
  });
  for (const OutputTensor& output : model.family->outputs) {
    auto* tensor = config.add_output();
    tensor->set_name(output.name);
    tensor->set_data_type(ShownType(model, output.type).config);
    tensor->add_dims(-1);
  }
  return config;
}

}  // namespace corank
