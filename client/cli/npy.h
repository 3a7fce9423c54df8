// NumPy's .npy format: a text header with type and shape, then the elements.
//
// Source: numpy.lib.format, versions 1.0 (2-byte header length) and 2.0 (4-byte). Read: one-dimensional, C order,
// little-endian; the 11 key types that NumPy has (all but bfloat16) and fixed-size records as '|V<n>' and '|S<n>'.
// Everything else is refused with the reason.
#ifndef CORANK_CLIENT_CLI_NPY_H_
#define CORANK_CLIENT_CLI_NPY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "corank/element.h"

namespace corank::cli {

/// Whether the bytes begin like a .npy file.
bool IsNpy(absl::string_view bytes);

/// Which of NumPy's two dtypes of fixed-size bytes the records in a .npy file have. corank treats both alike.
enum class RecordSpelling : uint8_t {
  kVoid,   // '|V<n>'
  kBytes,  // '|S<n>': zeros at the end are not part of the string
};

/// The header of a .npy file.
struct NpyHeader {
  client::ElementType type = KeyType::kUint8;
  int64_t count = 0;
  int64_t data_offset = 0;  // bytes before the first element
  RecordSpelling spelling = RecordSpelling::kVoid;
};

/// Reads the header at the start of a whole file. FileError with the reason, without the file's name, if it is not a
/// .npy file, has a type or shape that corank does not support, or has another size than its header says.
absl::StatusOr<NpyHeader> ReadNpyHeader(absl::string_view file);

/// The header to write before `count` elements; its length is a multiple of 64 as NumPy's is. `spelling` is the dtype
/// of records. FileError for bfloat16, which the format does not have.
absl::StatusOr<std::string> NpyHeaderFor(client::ElementType type, int64_t count,
                                         RecordSpelling spelling = RecordSpelling::kVoid);

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_NPY_H_
