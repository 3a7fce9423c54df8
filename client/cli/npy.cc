#include "client/cli/npy.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cli/failure.h"

namespace corank::cli {
namespace {

using client::ElementType;

constexpr absl::string_view kMagic("\x93NUMPY", 6);

struct Descr {
  const char* name;  // after the byte order
  KeyType type;
};
constexpr Descr kDescrs[] = {{"i1", KeyType::kInt8},    {"i2", KeyType::kInt16},  {"i4", KeyType::kInt32},
                             {"i8", KeyType::kInt64},   {"u1", KeyType::kUint8},  {"u2", KeyType::kUint16},
                             {"u4", KeyType::kUint32},  {"u8", KeyType::kUint64}, {"f2", KeyType::kFloat16},
                             {"f4", KeyType::kFloat32}, {"f8", KeyType::kFloat64}};

/// The text after 'key': in the header's dictionary, as Python's repr writes it; none if the key is missing.
std::optional<absl::string_view> HeaderEntry(absl::string_view header, absl::string_view key) {
  for (const char quote : {'\'', '"'}) {
    const std::string quoted = absl::StrCat(std::string(1, quote), key, std::string(1, quote));
    const size_t found = header.find(quoted);
    if (found == absl::string_view::npos) continue;
    absl::string_view rest = absl::StripLeadingAsciiWhitespace(header.substr(found + quoted.size()));
    if (absl::ConsumePrefix(&rest, ":")) return absl::StripLeadingAsciiWhitespace(rest);
  }
  return std::nullopt;
}

/// Advice for an array of a type that corank does not support. `kind` is the type without its byte order, "M8[ns]".
std::string Remedy(absl::string_view kind, bool is_big_endian) {
  const std::string swapped = is_big_endian ? absl::StrCat(".astype('<", kind, "')") : "";
  switch (kind[0]) {
    case 'b':
      return "view it as numbers with array.view('|u1')";
    case 'M':
    case 'm':
      return absl::StrCat("view it as whole numbers with array", swapped, ".view('<i8'); NaT becomes the smallest");
    case 'U':
      return "encode it as bytes, which keep the order, with numpy.char.encode(array, 'utf-8'), and use "
             "argsort-columns";
    case 'c':
      return "save array.real and array.imag, and sort by both with argsort-columns";
    case 'O':
      return "convert it to numbers, for instance with array.astype('<f8')";
    case 'f':
      return "convert it to float64, which rounds, with array.astype('<f8')";
    default:
      return "save integers, floats, or bytes of a fixed size (dtype V or S)";
  }
}

struct Element {
  ElementType type;
  RecordSpelling spelling = RecordSpelling::kVoid;
};

absl::StatusOr<Element> ReadDescr(absl::string_view text) {
  if (absl::StartsWith(text, "[")) {
    return FileError("it holds a structured type; view it as records first: array.view('V' + str(array.itemsize))");
  }
  const size_t end = text.size() > 1 ? text.find(text[0], 1) : absl::string_view::npos;
  if (end == absl::string_view::npos || (text[0] != '\'' && text[0] != '"') || end < 3) {
    return FileError("its header has no readable 'descr'");
  }
  const absl::string_view descr = text.substr(1, end - 1);
  const absl::string_view kind = descr.substr(1);
  int bytes = 0;
  if (kind[0] == 'V' || kind[0] == 'S') {
    if (absl::SimpleAtoi(kind.substr(1), &bytes) && bytes >= 1 && bytes <= kMaxRecordBytes) {
      return Element{ElementType::Record(bytes), kind[0] == 'S' ? RecordSpelling::kBytes : RecordSpelling::kVoid};
    }
    return FileError(absl::StrCat("its type '", descr, "' is not a record of 1 to ", kMaxRecordBytes, " bytes"));
  }
  const bool is_big_endian = descr[0] == '>' && (kind.size() < 2 || kind[1] != '1');
  for (const Descr& known : kDescrs) {
    if (kind != known.name) continue;
    if (!is_big_endian) return Element{known.type};
    return FileError(absl::StrCat("its type '", descr, "' is big-endian; convert it with array.astype('<", kind, "')"));
  }
  return FileError(absl::StrCat("corank does not support its type '", descr, "'; ", Remedy(kind, is_big_endian)));
}

absl::StatusOr<int64_t> ReadShape(absl::string_view text) {
  const size_t end = text.find(')');
  if (!absl::ConsumePrefix(&text, "(") || end == absl::string_view::npos) {
    return FileError("its header has no readable 'shape'");
  }
  const absl::string_view shape = absl::StripAsciiWhitespace(text.substr(0, end - 1));
  int64_t count;
  absl::string_view number = shape;
  if (!absl::ConsumeSuffix(&number, ",") || absl::StrContains(number, ",")) {
    return FileError(
        absl::StrCat("its shape is (", shape, "); corank takes one-dimensional arrays: save array.ravel()"));
  }
  if (!absl::SimpleAtoi(number, &count) || count < 0) return FileError("its header has no readable 'shape'");
  return count;
}

std::string DescrOf(ElementType type, RecordSpelling spelling) {
  if (type.is_record()) return absl::StrCat(spelling == RecordSpelling::kBytes ? "|S" : "|V", type.bytes());
  for (const Descr& known : kDescrs) {
    if (type == known.type) return absl::StrCat(type.bytes() == 1 ? "|" : "<", known.name);
  }
  return "";
}

}  // namespace

bool IsNpy(absl::string_view bytes) { return absl::StartsWith(bytes, kMagic); }

absl::StatusOr<NpyHeader> ReadNpyHeader(absl::string_view file) {
  if (!IsNpy(file)) return FileError("it is not a .npy file: it does not begin with \\x93NUMPY");
  if (file.size() < 8) return FileError("it is cut off within its header");
  const int major = static_cast<unsigned char>(file[6]);
  if (major != 1 && major != 2) {
    return FileError(absl::StrCat("its .npy version is ", major, "; corank reads versions 1 and 2"));
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t text_begin = kMagic.size() + 2 + length_bytes;
  if (file.size() < text_begin) return FileError("it is cut off within its header");
  size_t text_bytes = 0;
  for (size_t i = 0; i < length_bytes; ++i) {
    text_bytes |= static_cast<size_t>(static_cast<unsigned char>(file[kMagic.size() + 2 + i])) << (8 * i);
  }
  if (file.size() - text_begin < text_bytes) return FileError("it is cut off within its header");
  const absl::string_view text = file.substr(text_begin, text_bytes);

  const auto descr = HeaderEntry(text, "descr"), fortran = HeaderEntry(text, "fortran_order"),
             shape = HeaderEntry(text, "shape");
  if (!descr.has_value() || !fortran.has_value() || !shape.has_value()) {
    return FileError("its header lacks 'descr', 'fortran_order' or 'shape'");
  }
  absl::StatusOr<int64_t> count = ReadShape(*shape);
  if (!count.ok()) return count.status();
  if (!absl::StartsWith(*fortran, "False")) {
    return FileError("it is in Fortran order; write it with numpy.ascontiguousarray(array)");
  }
  const absl::StatusOr<Element> element = ReadDescr(*descr);
  if (!element.ok()) return element.status();
  const ElementType type = element->type;

  const int64_t data_bytes = static_cast<int64_t>(file.size() - text_begin - text_bytes);
  if (*count != data_bytes / type.bytes() || data_bytes % type.bytes() != 0) {
    return FileError(absl::StrCat("its header says ", *count, " elements of ", type.bytes(), " bytes, but ", data_bytes,
                                  " bytes follow"));
  }
  return NpyHeader{type, *count, static_cast<int64_t>(text_begin + text_bytes), element->spelling};
}

absl::StatusOr<std::string> NpyHeaderFor(ElementType type, int64_t count, RecordSpelling spelling) {
  const std::string descr = DescrOf(type, spelling);
  if (descr.empty()) {
    return FileError(
        absl::StrCat("the .npy format has no ", type.Name(), "; name an output that does not end in .npy"));
  }
  constexpr size_t kAlignment = 64;
  const size_t text_begin = kMagic.size() + 4;
  std::string text = absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (", count, ",), }");
  text.append((kAlignment - (text_begin + text.size() + 1) % kAlignment) % kAlignment, ' ');
  text.push_back('\n');
  std::string header(kMagic);
  header.append({'\x01', '\x00', static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)});
  return header + text;
}

}  // namespace corank::cli
