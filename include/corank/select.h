// Elements that flags, bits, positions or a comparison select: filter, removal and stable partition.
#ifndef CORANK_SELECT_H_
#define CORANK_SELECT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "corank/element.h"
#include "corank/operators.h"

namespace corank::client {

/// How an element compares with the threshold to be selected. NaNs are greater than every number and equal to each
/// other, and -0.0 equals +0.0.
enum class Comparison : uint8_t { kLess, kEqual, kLessOrEqual, kGreater, kNotEqual, kGreaterOrEqual };

/// The results that a SelectRequest asks for. Values come if the request has them.
struct SelectWants {
  bool elements = true, indices = false, count = false;
};

/// Selects elements and keeps their order. Exactly one of flags, bitmap, positions and threshold is set. An Output in
/// the caller's memory needs room for all elements.
struct SelectRequest {
  ArrayView elements;
  /// One value for each element, which travels with it.
  std::optional<ArrayView> values = std::nullopt;
  /// One uint8 for each element, which is selected if it is not 0.
  std::optional<ArrayView> flags = std::nullopt;
  /// uint8: bit i % 8 of byte i / 8 is 1 if element i is selected.
  std::optional<ArrayView> bitmap = std::nullopt;
  /// int64, in any order; they may repeat.
  std::optional<ArrayView> positions = std::nullopt;
  /// One element, which the elements are compared with.
  std::optional<ArrayView> threshold = std::nullopt;
  Comparison comparison = Comparison::kLess;  // with a threshold
  bool negate = false;                        // select the other elements
  bool partition = false;                     // the elements that are not selected follow the others
  SelectWants wants = {};
  Output elements_output = {}, values_output = {}, indices_output = {}, count_output = {};
};

/// The answer to a SelectRequest. Arrays that the request did not ask for are unset.
struct RawSelectResult {
  std::optional<Array> elements;
  std::optional<Array> values;   // set if the request has values
  std::optional<Array> indices;  // uint32 or uint64; ToIndices (element.h) reads both
  std::optional<Array> count;    // one int64: the number of selected elements
  RequestStats stats;
};

/// The answer to the typed Partition.
template <typename T>
struct PartitionResult {
  std::vector<T> elements;  // the selected ones, then the others
  int64_t selected = 0;
  RequestStats stats;
};

}  // namespace corank::client

#endif  // CORANK_SELECT_H_
