#include "server/kserve/infer_request.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/rpc/response_slices.h"

namespace corank {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using inference::InferParameter;
using inference::ModelInferRequest;
using inference::ModelInferResponse;
using inference::ModelStreamInferResponse;

constexpr char kRegion[] = "shared_memory_region";
constexpr char kRegionBytes[] = "shared_memory_byte_size";
constexpr char kRegionOffset[] = "shared_memory_offset";

std::string ParameterField(absl::string_view owner, absl::string_view name) {
  return absl::StrCat(owner, owner.empty() ? "" : ".", "parameters[", name, "]");
}

absl::StatusOr<int64_t> IntegerOf(const InferParameter& value, const std::string& field) {
  if (value.has_int64_param()) return value.int64_param();
  if (value.has_uint64_param() && value.uint64_param() <= uint64_t{std::numeric_limits<int64_t>::max()}) {
    return static_cast<int64_t>(value.uint64_param());
  }
  return InvalidField(field, "must be an integer of 64 bits");
}

absl::StatusOr<bool> BoolOf(const InferParameter& value, const std::string& field) {
  if (value.has_bool_param()) return value.bool_param();
  return InvalidField(field, "must be a bool");
}

// A range of shared memory that parameters of a tensor name.
struct RegionRange {
  std::string region;
  int64_t bytes = 0;
  int64_t offset = 0;
};

// nullopt: the tensor is not in shared memory.
absl::StatusOr<std::optional<RegionRange>> RangeOf(const google::protobuf::Map<std::string, InferParameter>& parameters,
                                                   const std::string& field) {
  const auto region = parameters.find(kRegion);
  for (const auto& [name, value] : parameters) {
    const bool is_known = name == kRegion || name == kRegionBytes || name == kRegionOffset;
    const bool is_harmless = name == "binary_data" || (name == "classification" && value.int64_param() == 0);
    if (is_harmless || (is_known && region != parameters.end())) continue;
    return InvalidField(ParameterField(field, name),
                        is_known ? "needs shared_memory_region" : "is not a parameter here");
  }
  if (region == parameters.end()) return std::nullopt;
  if (!region->second.has_string_param()) return InvalidField(ParameterField(field, kRegion), "must be a string");
  RegionRange range{region->second.string_param()};
  const auto bytes = parameters.find(kRegionBytes);
  if (bytes == parameters.end()) return InvalidField(ParameterField(field, kRegionBytes), "required beside a region");
  CORANK_ASSIGN_OR_RETURN(range.bytes, IntegerOf(bytes->second, ParameterField(field, kRegionBytes)));
  if (const auto offset = parameters.find(kRegionOffset); offset != parameters.end()) {
    CORANK_ASSIGN_OR_RETURN(range.offset, IntegerOf(offset->second, ParameterField(field, kRegionOffset)));
  }
  return range;
}

// The kind of a region. Shared memory if there is no such region; its absence is then reported by the validation.
v1::RegionKind KindOfRegion(RegionRegistry* regions, const std::string& tenant, const std::string& name) {
  const bool is_gpu =
      regions->options().cuda_ipc && regions->Find(tenant, name, v1::REGION_KIND_CUDA_IPC, kRegion).ok();
  return is_gpu ? v1::REGION_KIND_CUDA_IPC : v1::REGION_KIND_SHARED_MEMORY;
}

// Sets the place of an Array or a Destination.
template <typename Place>
void SetRegion(const RegionRange& range, v1::RegionKind kind, Place* place) {
  v1::RegionPlace* const region =
      kind == v1::REGION_KIND_CUDA_IPC ? place->mutable_cuda_ipc() : place->mutable_shared_memory();
  region->set_region(range.region);
  region->set_offset_bytes(range.offset);
}

// Refuses results that exceed the range of shared memory that their caller named.
class RoomyPlaces final : public Places {
 public:
  RoomyPlaces(Places& places, const absl::flat_hash_map<std::string, int64_t>& room) : places_(places), room_(room) {}

  absl::Status Find(const v1::Array& array, Field field, ArrayUse use, Operand* operand) override {
    return places_.Find(array, field, use, operand);
  }
  absl::StatusOr<std::shared_ptr<ResultTarget>> Target(const v1::Destination& destination, Field field, int64_t bytes,
                                                       int32_t element_bytes) override {
    const auto room = room_.find(field.name);
    if (room != room_.end() && bytes > room->second) {
      return InvalidField(field.Path(), absl::StrCat("the result takes ", bytes, " bytes, but shared_memory_byte_size ",
                                                     "of the output is ", room->second));
    }
    return places_.Target(destination, field, bytes, element_bytes);
  }

 private:
  Places& places_;
  const absl::flat_hash_map<std::string, int64_t>& room_;
};

const FieldDescriptor* FieldOf(const Message& message, const char* name) {
  return message.GetDescriptor()->FindFieldByName(name);
}

v1::Array* MutableArray(Message* request, const char* name) {
  return static_cast<v1::Array*>(request->GetReflection()->MutableMessage(request, FieldOf(*request, name)));
}

// The number that ends a name after `base` and '_': 3 for keys_3. nullopt: no such name.
std::optional<int> IndexAfter(absl::string_view name, absl::string_view base) {
  int index = 0;
  if (!absl::ConsumePrefix(&name, base) || !absl::ConsumePrefix(&name, "_")) return std::nullopt;
  const bool is_number = !name.empty() && std::all_of(name.begin(), name.end(), absl::ascii_isdigit);
  if (!is_number || !absl::SimpleAtoi(name, &index) || (name.size() > 1 && name.front() == '0')) return std::nullopt;
  return index;
}

// What the names of an enum have in common, such as SORT_ALGORITHM_.
absl::string_view PrefixOf(const EnumDescriptor& values) {
  return absl::StripSuffix(values.value(0)->name(), "UNSPECIFIED");
}

// SORT_ALGORITHM_RADIX for "radix". Null: no such value.
const EnumValueDescriptor* ValueWithEnd(const EnumDescriptor& values, absl::string_view end) {
  return values.FindValueByName(absl::StrCat(PrefixOf(values), absl::AsciiStrToUpper(end)));
}

// Whether callers may send a parameter that means nothing here: sequences, and extensions of Triton.
bool IsIgnored(absl::string_view name) {
  return absl::StartsWith(name, "sequence_") || absl::StartsWith(name, "triton_") || name == "binary_data_output";
}

}  // namespace

const v1::RequestOptions& InferRequest::options() const {
  return request_ == nullptr ? v1::RequestOptions::default_instance() : model_->family->request.options(*request_);
}

absl::StatusOr<std::unique_ptr<Operation>> InferRequest::Validate(const Limits& limits, Places& places) const {
  RoomyPlaces roomy(places, room_);
  return model_->family->request.validate(*request_, limits, roomy);
}

absl::Status InferRequest::Read(const ReceivedMessage& bytes) {
  if (!ParseHeads(bytes.pieces(), &message_, ModelInferRequest::kRawInputContentsFieldNumber, &raw_)) {
    return InvalidField("request",
                        "the bytes are not an inference.ModelInferRequest message, or have more than 8 MiB beside "
                        "raw_input_contents");
  }
  CORANK_ASSIGN_OR_RETURN(model_, FindModel(message_.model_name(), message_.model_version(), "model_name"));
  return absl::OkStatus();
}

absl::Status InferRequest::Translate(RegionRegistry* regions, const std::string& tenant) {
  regions_ = regions;
  tenant_ = &tenant;
  request_ = model_->family->request.make();
  if (IsValidRequestId(message_.id())) {
    model_->family->request.mutable_options(request_.get())->set_request_id(message_.id());
  }
  if (model_->family->preset != nullptr) model_->family->preset(request_.get());
  CORANK_RETURN_IF_ERROR(ReadParameters());
  CORANK_RETURN_IF_ERROR(ReadInputs());
  return ReadOutputs();
}

absl::Status InferRequest::ReadParameters() {
  for (const auto& [name, value] : message_.parameters()) {
    const std::string field = ParameterField("", name);
    if (name == "priority") {  // 1 is the highest
      CORANK_ASSIGN_OR_RETURN(const int64_t level, IntegerOf(value, field));
      const v1::Priority priority = level <= 0   ? v1::PRIORITY_UNSPECIFIED
                                    : level == 1 ? v1::PRIORITY_HIGH
                                    : level == 2 ? v1::PRIORITY_NORMAL
                                                 : v1::PRIORITY_LOW;
      model_->family->request.mutable_options(request_.get())->set_priority(priority);
    } else if (name == "timeout") {
      CORANK_ASSIGN_OR_RETURN(const int64_t timeout_us, IntegerOf(value, field));
      constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 1000;
      if (timeout_us > 0) timeout_ = std::chrono::microseconds(std::min(timeout_us, kMost));
    } else if (name == "triton_enable_empty_final_response") {
      CORANK_ASSIGN_OR_RETURN(wants_final_, BoolOf(value, field));
    } else if (!IsIgnored(name)) {
      CORANK_RETURN_IF_ERROR(ReadOption(name, value, field));
    }
  }
  return absl::OkStatus();
}

absl::Status InferRequest::ReadOption(const std::string& name, const InferParameter& value, const std::string& field) {
  const auto& known = model_->family->parameters;
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    return InvalidField(field, absl::StrCat("is not a parameter of ", model_->name, ", which has ",
                                            known.empty() ? "none" : absl::StrJoin(known, ", ")));
  }
  const bool is_order = name == "descending";
  const FieldDescriptor* const option = FieldOf(*request_, is_order ? "order" : name.c_str());
  const auto* reflection = request_->GetReflection();
  if (is_order) {
    CORANK_ASSIGN_OR_RETURN(const bool descending, BoolOf(value, field));
    reflection->SetEnumValue(request_.get(), option, descending ? v1::SORT_ORDER_DESCENDING : v1::SORT_ORDER_ASCENDING);
  } else if (option->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    CORANK_ASSIGN_OR_RETURN(const bool is_on, BoolOf(value, field));
    reflection->SetBool(request_.get(), option, is_on);
  } else if (option->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
    CORANK_ASSIGN_OR_RETURN(const int64_t number, IntegerOf(value, field));
    reflection->SetInt64(request_.get(), option, number);
  } else {
    const EnumDescriptor& values = *option->enum_type();
    const EnumValueDescriptor* const chosen = ValueWithEnd(values, value.string_param());
    if (chosen == nullptr) {
      const std::string end = values.value(1)->name().substr(PrefixOf(values).size());
      return InvalidField(field, absl::StrCat("must be the end of a name of ", values.name(), ", such as '",
                                              absl::AsciiStrToLower(end), "'"));
    }
    reflection->SetEnum(request_.get(), option, chosen);
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Array*> InferRequest::ArrayOf(const std::string& name, const std::string& field,
                                                 const InputTensor** tensor) {
  for (const InputTensor& input : model_->family->inputs) {
    *tensor = &input;
    if (!input.is_repeated) {
      if (name == input.name) return MutableArray(request_.get(), input.name);
      continue;
    }
    const std::optional<int> index = IndexAfter(name, input.name);
    if (!index) continue;
    const FieldDescriptor* const arrays = FieldOf(*request_, input.name);
    const auto* reflection = request_->GetReflection();
    if (*index >= reflection->FieldSize(*request_, arrays)) {
      return InvalidField(field, absl::StrCat("'", name, "' leaves a gap: number the inputs from 0 on"));
    }
    return static_cast<v1::Array*>(reflection->MutableRepeatedMessage(request_.get(), arrays, *index));
  }
  std::vector<std::string> names;
  for (const InputTensor& input : model_->family->inputs) {
    names.push_back(absl::StrCat(input.name, input.is_repeated ? "_0, _1, ..." : ""));
  }
  return InvalidField(field, absl::StrCat("'", name, "' is not an input of ", model_->name, ", which has ",
                                          absl::StrJoin(names, ", ")));
}

absl::Status InferRequest::ReadInputs() {
  for (const InputTensor& tensor : model_->family->inputs) {
    if (!tensor.is_repeated) continue;
    const FieldDescriptor* const arrays = FieldOf(*request_, tensor.name);
    for (const auto& input : message_.inputs()) {
      if (IndexAfter(input.name(), tensor.name)) request_->GetReflection()->AddMessage(request_.get(), arrays);
    }
  }
  for (int i = 0; i < message_.inputs_size(); ++i) {
    CORANK_RETURN_IF_ERROR(ReadInput(message_.inputs(i), absl::StrCat("inputs[", i, "]")));
  }
  if (next_raw_ != raw_.size()) {
    return InvalidField("raw_input_contents", absl::StrCat("has ", raw_.size(), " entries, but ", next_raw_,
                                                           " inputs are neither typed nor in shared memory"));
  }
  return absl::OkStatus();
}

absl::Status InferRequest::ReadInput(const ModelInferRequest::InferInputTensor& input, const std::string& field) {
  const InputTensor* tensor = nullptr;
  CORANK_ASSIGN_OR_RETURN(v1::Array* const array, ArrayOf(input.name(), absl::StrCat(field, ".name"), &tensor));
  if (!filled_.insert(array).second) {
    return InvalidField(absl::StrCat(field, ".name"), absl::StrCat("'", input.name(), "' occurs twice"));
  }
  const Datatype* const type = FindDatatype(input.datatype());
  const Datatype& wanted = DefaultType(*model_, tensor->type);
  if (type == nullptr || (tensor->type != TensorType::kAny && type->type != wanted.type)) {
    return InvalidField(absl::StrCat(field, ".datatype"),
                        absl::StrCat("'", input.datatype(), "' is not the type of this input, ",
                                     tensor->type == TensorType::kAny ? "any number" : wanted.name));
  }
  if (input.shape_size() != 1 || input.shape(0) < 0) {
    return InvalidField(
        absl::StrCat(field, ".shape"),
        absl::StrCat("must be one dimension, the number of elements, not [", absl::StrJoin(input.shape(), ", "), "]"));
  }
  if (input.shape(0) > std::numeric_limits<int64_t>::max() / type->bytes) {
    return InvalidField(absl::StrCat(field, ".shape"), "has too many elements");
  }
  array->set_type(type->type);
  array->set_count(input.shape(0));
  return PlaceContents(input, *type, field, array);
}

absl::Status InferRequest::PlaceContents(const ModelInferRequest::InferInputTensor& input, const Datatype& type,
                                         const std::string& field, v1::Array* array) {
  const int64_t wanted = input.shape(0) * type.bytes;
  const auto check_bytes = [&](int64_t bytes, const std::string& of) {
    if (bytes == wanted) return absl::OkStatus();
    return InvalidField(
        of, absl::StrCat("has ", bytes, " bytes, but ", input.shape(0), " elements of ", type.name, " take ", wanted));
  };
  CORANK_ASSIGN_OR_RETURN(const std::optional<RegionRange> range, RangeOf(input.parameters(), field));
  if (range) {
    CORANK_RETURN_IF_ERROR(check_bytes(range->bytes, ParameterField(field, kRegionBytes)));
    if (input.has_contents()) return InvalidField(absl::StrCat(field, ".contents"), "the input is in shared memory");
    SetRegion(*range, KindOfRegion(regions_, *tenant_, range->region), array);
    return absl::OkStatus();
  }
  array->mutable_inline_data();
  if (input.has_contents()) {
    const std::string contents = absl::StrCat(field, ".contents");
    CORANK_ASSIGN_OR_RETURN(std::string packed, PackContents(input.contents(), type, contents));
    CORANK_RETURN_IF_ERROR(check_bytes(static_cast<int64_t>(packed.size()), contents));
    typed_.push_back(std::make_unique<std::string>(std::move(packed)));
    typed_payloads_[array] = *typed_.back();
    return absl::OkStatus();
  }
  const std::string raw = absl::StrCat("raw_input_contents[", next_raw_, "]");
  if (next_raw_ == raw_.size()) return InvalidField(raw, absl::StrCat("missing: the bytes of '", input.name(), "'"));
  const PayloadRange& payload = raw_[next_raw_++];
  CORANK_RETURN_IF_ERROR(check_bytes(payload.bytes, raw));
  payloads_.push_back({array, payload.offset, payload.bytes});
  return absl::OkStatus();
}

absl::Status InferRequest::ReadOutputs() {
  for (int i = 0; i < message_.outputs_size(); ++i) {
    const auto& output = message_.outputs(i);
    const std::string field = absl::StrCat("outputs[", i, "]");
    const auto& known = model_->family->outputs;
    const auto tensor =
        std::find_if(known.begin(), known.end(), [&](const OutputTensor& one) { return output.name() == one.name; });
    if (tensor == known.end()) {
      return InvalidField(absl::StrCat(field, ".name"),
                          absl::StrCat("'", output.name(), "' is not an output of ", model_->name));
    }
    requested_.insert(output.name());
    CORANK_ASSIGN_OR_RETURN(const std::optional<RegionRange> range, RangeOf(output.parameters(), field));
    if (!range) continue;
    auto* const destination = static_cast<v1::Destination*>(
        request_->GetReflection()->MutableMessage(request_.get(), FieldOf(*request_, tensor->destination)));
    SetRegion(*range, KindOfRegion(regions_, *tenant_, range->region), destination);
    room_[tensor->destination] = range->bytes;
  }
  ChooseResults();
  return absl::OkStatus();
}

void InferRequest::ChooseResults() {
  const FieldDescriptor* const results = FieldOf(*request_, "outputs");
  if (results == nullptr) return;  // the operator has no choice
  for (const OutputTensor& tensor : model_->family->outputs) {
    const EnumValueDescriptor* const result = ValueWithEnd(*results->enum_type(), tensor.name);
    if (result != nullptr && IsRequested(tensor.name)) {
      request_->GetReflection()->AddEnum(request_.get(), results, result);
    }
  }
}

// Everything before the raw contents.
std::string InferRequest::Head(const Outcome& outcome) const {
  ModelInferResponse head;
  head.set_model_name(model_->name);
  head.set_model_version(kModelVersion);
  head.set_id(message_.id());
  if (wants_final_) (*head.mutable_parameters())["triton_final_response"].set_bool_param(true);
  for (const OutputTensor& tensor : model_->family->outputs) {
    if (!IsRequested(tensor.name)) continue;
    for (const ResultArray& result : outcome.results) {
      if (result.role != tensor.role) continue;
      auto* const output = head.add_outputs();
      output->set_name(tensor.name);
      output->set_datatype(DatatypeOf(result.type).name);
      output->add_shape(result.count);
      if (result.is_inline()) continue;
      const v1::RegionPlace& place =
          result.described->has_cuda_ipc() ? result.described->cuda_ipc() : result.described->shared_memory();
      (*output->mutable_parameters())[kRegion].set_string_param(place.region());
      (*output->mutable_parameters())[kRegionOffset].set_int64_param(place.offset_bytes());
      (*output->mutable_parameters())[kRegionBytes].set_int64_param(result.count * result.element_bytes);
    }
  }
  return head.SerializeAsString();
}

Bytes InferRequest::Respond(const Outcome& outcome, bool in_stream) const {
  // The order of Head.
  std::vector<std::pair<std::string, const ResultArray*>> contents;
  const std::string head = Head(outcome);
  size_t total = head.size(), copied = head.size() + kResponseHeadBytes;
  for (const OutputTensor& tensor : model_->family->outputs) {
    if (!IsRequested(tensor.name)) continue;
    for (const ResultArray& result : outcome.results) {
      if (result.role != tensor.role) continue;
      contents.emplace_back(FieldHead(ModelInferResponse::kRawOutputContentsFieldNumber, InlineBytes(result)), &result);
      total += contents.back().first.size() + InlineBytes(result);
      if (IsCopied(result)) copied += kResponseHeadBytes + InlineBytes(result);
    }
  }
  ResponseSlices slices(copied);
  if (in_stream) {
    const std::string outer = FieldHead(ModelStreamInferResponse::kInferResponseFieldNumber, total);
    slices.Copy(outer.data(), outer.size());
  }
  slices.Copy(head.data(), head.size());
  for (const auto& [field, result] : contents) {
    slices.Copy(field.data(), field.size());
    slices.Add(*result);
  }
  return slices.Take();
}

}  // namespace corank
