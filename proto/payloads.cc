#include "proto/payloads.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "corank/v1/corank_service.pb.h"
#include "corank/v1/memory_service.pb.h"
#include "corank/v1/operators.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/wire_format_lite.h"

namespace corank {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::StringOutputStream;

constexpr uint32_t LengthDelimitedTag(int field) { return static_cast<uint32_t>(field) << 3 | 2; }

}  // namespace

int PayloadField(const Descriptor* type) {
  if (type == v1::Array::descriptor()) return v1::Array::kInlineDataFieldNumber;
  if (type == v1::ArrayChunk::descriptor()) return v1::ArrayChunk::kDataFieldNumber;
  return 0;
}

namespace {

bool HoldsPayloads(const FieldDescriptor* field) {
  return field->message_type() != nullptr && corank::HoldsPayloads(field->message_type());
}

// Adds `type` and the message types nested in it that hold payloads at any depth. No message type of the contract
// contains itself.
bool FindHolders(const Descriptor* type, absl::flat_hash_set<const Descriptor*>* holders) {
  bool holds = PayloadField(type) != 0;
  for (int i = 0; i < type->field_count(); ++i) {
    const Descriptor* inner = type->field(i)->message_type();
    if (inner != nullptr && FindHolders(inner, holders)) holds = true;
  }
  if (holds) holders->insert(type);
  return holds;
}

}  // namespace

bool HoldsPayloads(const Descriptor* type) {
  static const auto* const holders = [] {
    auto* const found = new absl::flat_hash_set<const Descriptor*>;
    for (const google::protobuf::FileDescriptor* file :
         {v1::ExecuteRequest::descriptor()->file(), v1::StoreArrayRequest::descriptor()->file(),
          v1::SortRequest::descriptor()->file(), v1::Array::descriptor()->file()}) {
      for (int i = 0; i < file->message_type_count(); ++i) FindHolders(file->message_type(i), found);
    }
    return found;
  }();
  return holders->contains(type);
}

namespace {

// Adds the Arrays and ArrayChunks of a message. Returns the number of messages visited.
int64_t AddPayloadHolders(const Message& message, absl::flat_hash_set<const Message*>* holders) {
  if (PayloadField(message.GetDescriptor()) != 0) holders->insert(&message);
  const Reflection* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  int64_t looks = 1;
  for (const FieldDescriptor* field : fields) {
    if (!HoldsPayloads(field)) continue;
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      looks += AddPayloadHolders(field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                                      : reflection->GetMessage(message, field),
                                 holders);
    }
  }
  return looks;
}

size_t SizeOf(const std::vector<WirePiece>& pieces) {
  size_t bytes = 0;
  for (const WirePiece& piece : pieces) bytes += piece.head.size() + piece.payload.size();
  return bytes;
}

// Appends a head without a payload. Extends the last piece if that has no payload either.
void AppendHead(std::string head, std::vector<WirePiece>* pieces) {
  if (!pieces->empty() && pieces->back().payload.empty()) {
    pieces->back().head += head;
  } else {
    pieces->push_back({std::move(head), {}});
  }
}

void Append(std::vector<WirePiece> more, std::vector<WirePiece>* pieces) {
  for (WirePiece& piece : more) {
    AppendHead(std::move(piece.head), pieces);
    pieces->back().payload = piece.payload;
  }
}

// Collects the fields that protobuf's own parser will read. One stream writes them all, because each new stream would
// fill the free part of the string with zeros.
class WaitingFields {
 public:
  CodedOutputStream* out() {
    if (!out_) out_.emplace(&stream_.emplace(&bytes_));
    return &*out_;
  }
  bool empty() const { return !out_; }
  // Valid until the next call of out().
  const std::string& bytes() {
    out_.reset();
    stream_.reset();
    return bytes_;
  }
  void Clear() { bytes_.clear(); }

 private:
  std::string bytes_;
  std::optional<StringOutputStream> stream_;
  std::optional<CodedOutputStream> out_;
};

// Reads pieces one after the other.
class PiecesInput final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit PiecesInput(const MessagePieces& pieces) : pieces_(pieces) {}

  bool Next(const void** data, int* size) override {
    for (; next_ < pieces_.size(); ++next_, offset_ = 0) {
      const absl::string_view rest = pieces_[next_].substr(offset_);
      if (rest.empty()) continue;
      *data = rest.data();
      *size = static_cast<int>(rest.size());
      offset_ += rest.size();
      count_ += *size;
      return true;
    }
    return false;
  }
  void BackUp(int count) override {
    offset_ -= static_cast<size_t>(count);
    count_ -= count;
  }
  bool Skip(int count) override {
    while (count > 0) {
      const void* data = nullptr;
      int size = 0;
      if (!Next(&data, &size)) return false;
      if (size > count) BackUp(size - count);
      count -= std::min(size, count);
    }
    return true;
  }
  int64_t ByteCount() const override { return count_; }

 private:
  const MessagePieces& pieces_;
  size_t next_ = 0, offset_ = 0;
  int64_t count_ = 0;
};

// Parses one message up to the input's limit, which must be set. Gives up on messages that would take much more memory
// or time than their size justifies.
class HeadParser {
 public:
  HeadParser(CodedInputStream* input, std::vector<PayloadRange>* payloads) : input_(input), payloads_(payloads) {}

  bool Parse(Message* message) { return Parse(message, PayloadField(message->GetDescriptor())); }

  // `payload_field`: the number of the message's field that holds payloads; 0: none does.
  bool Parse(Message* message, int payload_field) {
    const Descriptor* type = message->GetDescriptor();
    WaitingFields rest;  // fields without payloads, in the order of the message
    for (;;) {
      const int begin = input_->CurrentPosition();
      const uint32_t tag = input_->ReadTag();
      if (tag == 0) break;
      const int number = WireFormatLite::GetTagFieldNumber(tag);
      if (number == 0) return false;
      const bool is_delimited = WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
      if (is_delimited && number == payload_field) {
        // Merge first, so that the last of several places wins, as in protobuf's own parser.
        if (!Merge(&rest, message) || !TakePayload(message)) return false;
        continue;
      }
      const FieldDescriptor* field = is_delimited ? type->FindFieldByNumber(number) : nullptr;
      if (field != nullptr && HoldsPayloads(field)) {
        if (!Merge(&rest, message) || !Descend(field, message)) return false;
        continue;
      }
      if (!(is_delimited ? CopyDelimited(tag, rest.out()) : CopyOther(tag, rest.out()))) return false;
      head_bytes_ += input_->CurrentPosition() - begin;
      if (head_bytes_ > kMostHeadBytes) return false;
    }
    return input_->ConsumedEntireMessage() && Merge(&rest, message);
  }

 private:
  using Holders = absl::flat_hash_set<const Message*>;

  // Two bytes of a message can take a hundred bytes of memory. The largest plan has a quarter of these parts.
  static constexpr int64_t kMostParts = 1 << 17;
  static constexpr int64_t kMostHeadBytes = 8 << 20;
  // Visits of parts that may have been deleted; each takes a few nanoseconds. Only hostile messages need any.
  static constexpr int64_t kMostLooks = 1 << 24;

  // Copies a field whose tag has been read. Checks the length before it reads the bytes.
  bool CopyDelimited(uint32_t tag, CodedOutputStream* out) {
    int length = 0;
    if (!input_->ReadVarintSizeAsInt(&length) || length > kMostHeadBytes - head_bytes_) return false;
    std::string bytes;
    if (!input_->ReadString(&bytes, length)) return false;
    out->WriteTag(tag);
    out->WriteVarint32(static_cast<uint32_t>(length));
    out->WriteString(bytes);
    return true;
  }
  bool CopyOther(uint32_t tag, CodedOutputStream* out) {
    const int left = static_cast<int>(kMostHeadBytes - head_bytes_);
    const CodedInputStream::Limit limit = input_->PushLimit(std::min(left, input_->BytesUntilLimit()));
    const bool is_copied = WireFormatLite::SkipField(input_, tag, out);  // a group may have any length
    input_->PopLimit(limit);
    return is_copied;
  }

  bool AddPart() { return ++parts_ <= kMostParts; }

  // The holders in the set members of oneofs. Setting another member deletes them.
  Holders InOneofs(const Message& message) {
    Holders holders;
    const Descriptor* type = message.GetDescriptor();
    for (int i = 0; i < type->real_oneof_decl_count(); ++i) {
      const FieldDescriptor* member = message.GetReflection()->GetOneofFieldDescriptor(message, type->oneof_decl(i));
      if (member == nullptr || !HoldsPayloads(member)) continue;
      looks_ += AddPayloadHolders(message.GetReflection()->GetMessage(message, member), &holders);
    }
    return holders;
  }

  // Drops the payloads of holders that were in a oneof and have been deleted. Returns false after too many visits.
  bool ForgetDeleted(const Holders& before, const Message& message) {
    if (!before.empty()) {
      const Holders now = InOneofs(message);
      const auto is_deleted = [&](const PayloadRange& range) {
        return before.contains(range.holder) && !now.contains(range.holder);
      };
      looks_ += static_cast<int64_t>(payloads_->size());
      payloads_->erase(std::remove_if(payloads_->begin(), payloads_->end(), is_deleted), payloads_->end());
    }
    return looks_ <= kMostLooks;
  }

  bool Merge(WaitingFields* rest, Message* message) {
    if (rest->empty()) return true;
    const Holders before = InOneofs(*message);
    const std::string& bytes = rest->bytes();
    // MergeFromString would treat the message as complete and check its required fields.
    CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
    const bool merged = message->MergePartialFromCodedStream(&input);
    rest->Clear();
    return merged && ForgetDeleted(before, *message);
  }

  bool TakePayload(Message* holder) {
    int length = 0;
    if (!AddPart() || !input_->ReadVarintSizeAsInt(&length)) return false;
    if (holder->GetDescriptor() == v1::Array::descriptor()) static_cast<v1::Array*>(holder)->mutable_inline_data();
    const int offset = input_->CurrentPosition();
    payloads_->push_back({holder, offset, length});
    return input_->Skip(length);
  }

  bool Descend(const FieldDescriptor* field, Message* message) {
    if (!AddPart()) return false;
    const Reflection* reflection = message->GetReflection();
    if (const auto* oneof = field->real_containing_oneof();
        oneof != nullptr && reflection->GetOneofFieldDescriptor(*message, oneof) != field) {
      const Holders before = InOneofs(*message);
      reflection->ClearOneof(message, oneof);
      if (!ForgetDeleted(before, *message)) return false;
    }
    Message* inner =
        field->is_repeated() ? reflection->AddMessage(message, field) : reflection->MutableMessage(message, field);
    int length = 0;
    if (!input_->ReadVarintSizeAsInt(&length)) return false;
    if (length > input_->BytesUntilLimit()) return false;
    const CodedInputStream::Limit limit = input_->PushLimit(length);
    const bool parsed = Parse(inner) && input_->BytesUntilLimit() == 0;
    input_->PopLimit(limit);
    return parsed;
  }

  CodedInputStream* const input_;
  std::vector<PayloadRange>* const payloads_;
  int64_t parts_ = 0, head_bytes_ = 0, looks_ = 0;
};

}  // namespace

std::string FieldHead(int field, size_t bytes) {
  std::array<uint8_t, 15> head;  // a tag of up to 5 bytes and a length of up to 10
  uint8_t* const length = CodedOutputStream::WriteTagToArray(LengthDelimitedTag(field), head.data());
  const uint8_t* const end = CodedOutputStream::WriteVarint64ToArray(bytes, length);
  return std::string(reinterpret_cast<const char*>(head.data()), static_cast<size_t>(end - head.data()));
}

std::string ArrayHead(int field, const v1::Array& array, size_t payload_bytes) {
  const std::string inner = array.SerializeAsString() + FieldHead(v1::Array::kInlineDataFieldNumber, payload_bytes);
  return FieldHead(field, inner.size() + payload_bytes) + inner;
}

std::vector<WirePiece> SerializeHeads(const Message& message, const PayloadMap& payloads) {
  std::vector<WirePiece> pieces;
  if (const auto found = payloads.find(&message); found != payloads.end()) {
    AppendHead(message.SerializeAsString() + FieldHead(PayloadField(message.GetDescriptor()), found->second.size()),
               &pieces);
    pieces.back().payload = found->second;
    return pieces;
  }
  std::vector<const FieldDescriptor*> fields;
  const Reflection* reflection = message.GetReflection();
  reflection->ListFields(message, &fields);
  const bool is_holder = PayloadField(message.GetDescriptor()) != 0;
  fields.erase(std::remove_if(fields.begin(), fields.end(),
                              [&](const FieldDescriptor* field) { return is_holder || !HoldsPayloads(field); }),
               fields.end());
  if (fields.empty()) {
    AppendHead(message.SerializeAsString(), &pieces);
    return pieces;
  }
  const std::unique_ptr<Message> rest(message.New());
  rest->CopyFrom(message);
  for (const FieldDescriptor* field : fields) rest->GetReflection()->ClearField(rest.get(), field);
  AppendHead(rest->SerializeAsString(), &pieces);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const Message& inner = field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                                  : reflection->GetMessage(message, field);
      std::vector<WirePiece> part = SerializeHeads(inner, payloads);
      AppendHead(FieldHead(field->number(), SizeOf(part)), &pieces);
      Append(std::move(part), &pieces);
    }
  }
  return pieces;
}

bool ParseHeads(const MessagePieces& bytes, Message* message, int field, std::vector<PayloadRange>* payloads) {
  size_t size = 0;
  for (const absl::string_view piece : bytes) size += piece.size();
  if (size > std::numeric_limits<int>::max()) return false;
  PiecesInput reader(bytes);
  message->Clear();
  payloads->clear();
  CodedInputStream input(&reader);
  // With this limit, protobuf allocates no more for a field than the message has bytes.
  input.PushLimit(static_cast<int>(size));
  if (HeadParser(&input, payloads).Parse(message, field)) return true;
  payloads->clear();
  return false;
}

bool ParseHeads(const MessagePieces& bytes, Message* message, std::vector<PayloadRange>* payloads) {
  if (!ParseHeads(bytes, message, PayloadField(message->GetDescriptor()), payloads)) return false;
  // If a payload occurs twice, the last one counts; none counts if the Array got another place later.
  absl::flat_hash_set<const Message*> seen;
  const auto superseded = [&seen, is_one = payloads->size() == 1](const PayloadRange& range) {
    if (!is_one && !seen.insert(range.holder).second) return true;
    const bool is_array = range.holder->GetDescriptor() == v1::Array::descriptor();
    return is_array && static_cast<const v1::Array*>(range.holder)->place_case() != v1::Array::kInlineData;
  };
  std::reverse(payloads->begin(), payloads->end());
  payloads->erase(std::remove_if(payloads->begin(), payloads->end(), superseded), payloads->end());
  std::reverse(payloads->begin(), payloads->end());
  return true;
}

namespace {

// Copies of at least this size are read by a device, or much later. They bypass the caches, which leaves the caches to
// other work and saves reading the destination lines first: 4 MiB take 300 us instead of 480.
constexpr int64_t kStreamedBytes = int64_t{256} << 10;

void CopyPastCaches(char* to, const char* from, size_t bytes) {
#if defined(__SSE2__)
  constexpr size_t kLine = 64;
  const size_t head = std::min(bytes, (kLine - reinterpret_cast<uintptr_t>(to) % kLine) % kLine);
  std::memcpy(to, from, head);
  to += head;
  from += head;
  bytes -= head;
  for (; bytes >= kLine; bytes -= kLine, to += kLine, from += kLine) {
    __m128i words[4];
    std::memcpy(words, from, sizeof(words));
    for (int i = 0; i < 4; ++i) _mm_stream_si128(reinterpret_cast<__m128i*>(to) + i, words[i]);
  }
#endif
  std::memcpy(to, from, bytes);
}

// Makes the non-temporal stores visible before anybody learns of the copy.
void EndCopyPastCaches() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace

void CopyRange(const MessagePieces& pieces, int64_t offset, int64_t bytes, void* to) {
  auto* next = static_cast<char*>(to);
  const bool is_large = bytes >= kStreamedBytes;
  for (const absl::string_view piece : pieces) {
    const auto size = static_cast<int64_t>(piece.size());
    if (offset < size && bytes > 0) {
      const int64_t take = std::min(bytes, size - offset);
      const char* const from = piece.data() + offset;
      if (is_large) {
        CopyPastCaches(next, from, static_cast<size_t>(take));
      } else {
        std::memcpy(next, from, static_cast<size_t>(take));
      }
      next += take;
      bytes -= take;
      offset = 0;
    } else {
      offset -= size;
    }
    if (bytes == 0) break;
  }
  if (is_large) EndCopyPastCaches();
}

}  // namespace corank
