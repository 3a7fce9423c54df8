#include "tests/faults/placed_request.h"

#include "google/protobuf/descriptor.h"
#include "kernels/common/types.h"

namespace corank::testing {
namespace {

using google::protobuf::FieldDescriptor;

// Whether the request has a result for a destination of this name.
bool IsWanted(const google::protobuf::Message& request, const FieldDescriptor& destination) {
  const auto has = [&request](const char* name) {
    const FieldDescriptor* field = request.GetDescriptor()->FindFieldByName(name);
    if (field == nullptr) return false;
    const auto* reflection = request.GetReflection();
    return field->is_repeated() ? reflection->FieldSize(request, field) > 0 : reflection->HasField(request, field);
  };
  if (destination.name() == "keys_destination") return has("keys") || has("left");
  if (destination.name() == "values_destination") return has("values") || has("left_values");
  if (destination.name() == "offsets_destination") return has("offsets");
  if (destination.name() == "validity_destination") return has("validity");
  if (destination.name() == "ranks_destination") return request.GetDescriptor() != v1::SortRequest::descriptor();
  return destination.name() != "indices_destination" && destination.name() != "count_destination";
}

}  // namespace

void Place(google::protobuf::Message* request, const std::function<void(v1::Array*)>& input,
           const std::function<void(v1::Destination*)>& output) {
  const auto* reflection = request->GetReflection();
  const std::function<void(v1::Destination*)> nothing = [](v1::Destination*) {};
  const bool returns_columns = request->GetDescriptor() != v1::SearchRequest::descriptor();
  for (int i = 0; i < request->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = request->GetDescriptor()->field(i);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const std::string& type = field->message_type()->full_name();
    if (type == "corank.v1.Destination") {
      if (IsWanted(*request, *field)) {
        output(static_cast<v1::Destination*>(reflection->MutableMessage(request, field)));
      }
    } else if (field->is_repeated()) {
      for (int j = 0; j < reflection->FieldSize(*request, field); ++j) {
        auto* const element = reflection->MutableRepeatedMessage(request, field, j);
        if (type == "corank.v1.Array") {
          input(static_cast<v1::Array*>(element));
        } else {
          Place(element, input, returns_columns ? output : nothing);
        }
      }
    } else if (type == "corank.v1.Array" && reflection->HasField(*request, field)) {
      input(static_cast<v1::Array*>(reflection->MutableMessage(request, field)));
    }
  }
}

int64_t ElementBytes(const v1::Array& array) {
  return array.type() == v1::ELEMENT_TYPE_RECORD ? array.record_bytes() : KeyBytes(static_cast<KeyType>(array.type()));
}

int64_t InlineCount(const v1::Array& array) {
  return static_cast<int64_t>(array.inline_data().size()) / ElementBytes(array);
}

v1::Operation ToOperation(const AnyRequest& request) {
  v1::Operation operation;
  struct Setter {
    v1::Operation* operation;
    void operator()(const v1::SortRequest& request) const { *operation->mutable_sort() = request; }
    void operator()(const v1::MergeRequest& request) const { *operation->mutable_merge() = request; }
    void operator()(const v1::ExpandIntervalsRequest& request) const {
      *operation->mutable_expand_intervals() = request;
    }
    void operator()(const v1::MoveIntervalsRequest& request) const { *operation->mutable_move_intervals() = request; }
    void operator()(const v1::GatherIntervalsRequest& request) const {
      *operation->mutable_gather_intervals() = request;
    }
    void operator()(const v1::ScatterIntervalsRequest& request) const {
      *operation->mutable_scatter_intervals() = request;
    }
    void operator()(const v1::LoadBalanceRequest& request) const { *operation->mutable_load_balance() = request; }
    void operator()(const v1::SearchRequest& request) const { *operation->mutable_search() = request; }
    void operator()(const v1::GroupRequest& request) const { *operation->mutable_group() = request; }
    void operator()(const v1::CombineSetsRequest& request) const { *operation->mutable_combine_sets() = request; }
    void operator()(const v1::RankRequest& request) const { *operation->mutable_rank() = request; }
    void operator()(const v1::SelectRequest& request) const { *operation->mutable_select() = request; }
    void operator()(const v1::JoinRequest& request) const { *operation->mutable_join() = request; }
  };
  std::visit(Setter{&operation}, request);
  return operation;
}

google::protobuf::Message* Message(AnyRequest& request) {
  return std::visit([](auto& message) -> google::protobuf::Message* { return &message; }, request);
}

}  // namespace corank::testing
