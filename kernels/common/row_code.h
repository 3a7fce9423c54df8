// Row codes: 64 bits of each row's stream (row_order.h), chosen to decide as many comparisons as 64 bits can.
//
// Codes leave out three things that all rows share, and none of them changes the order of codes. The least value of
// each integer column is subtracted from the column. The bytes that all streams begin with are skipped. Of the
// following bytes, codes take only the bits that differ between rows.
#ifndef CORANK_KERNELS_COMMON_ROW_CODE_H_
#define CORANK_KERNELS_COMMON_ROW_CODE_H_

#include <cstdint>

#include "kernels/common/row_order.h"
#include "kernels/common/types.h"

namespace corank {

/// The findings of a survey of all rows: the first byte in which streams differ, and the differing bits. The bits of a
/// word may be incomplete (never too many) if the words before it have 64 or more.
struct RowSurvey {
  static constexpr int kWords = 8;
  /// The survey looks for a common beginning up to this many bytes.
  static constexpr int64_t kMaxCommonBytes = 512;

  uint32_t common_bytes = 0;
  uint64_t differing[kWords] = {};  // in the words from common_bytes on
};

/// Makes the code of a row.
class RowCode {
 public:
  RowCode() = default;

  CORANK_HOST_DEVICE RowCode(const RowSurvey& survey, int64_t stream_bytes) {
    first_byte_ = survey.common_bytes;
    int taken = 0;
    words_ = 0;
    while (words_ < RowSurvey::kWords && taken < 64 && first_byte_ + 8 * words_ < stream_bytes) {
      pieces_[words_] = MakePiece(survey.differing[words_]);
      taken += pieces_[words_++].bits;
    }
    next_byte_ = first_byte_ + 8 * words_;
    if (taken > 64) {
      // The code omits the lowest differing bits of the last word, so the next byte is the first one that holds such a
      // bit.
      uint64_t left_out = 0, differing = survey.differing[words_ - 1];
      for (int i = 64; i < taken; ++i) {
        left_out |= differing & -differing;
        differing &= differing - 1;
      }
      for (next_byte_ -= 8; left_out >> 56 == 0; left_out <<= 8) ++next_byte_;
    }
  }

  /// The unsigned order of codes is the order of streams up to next_byte().
  CORANK_HOST_DEVICE uint64_t Make(const RowOrder& order, int64_t row) const {
    return Make([&](int i) { return order.Word(row, first_byte_ + 8 * i); });
  }
  /// The same from the words of the row's stream: word_at(i) is the i-th one behind the bytes that all streams share.
  template <typename WordAt>
  CORANK_HOST_DEVICE uint64_t Make(const WordAt& word_at) const {
    uint64_t code = 0;
    int left = 64;
    for (int i = 0; i < words_ && left > 0; ++i) {
      const Piece& piece = pieces_[i];
      const uint64_t bits = piece.Take(word_at(i));
      if (piece.bits == 0) continue;
      code |= piece.bits <= left ? bits << (left - piece.bits) : bits >> (piece.bits - left);
      left = piece.bits <= left ? left - piece.bits : 0;
    }
    return code;
  }

  /// Rows with equal codes have equal streams up to here.
  CORANK_HOST_DEVICE int64_t next_byte() const { return next_byte_; }

 private:
  struct Piece {
    uint64_t differing = 0;
    uint64_t moves[6] = {};
    int bits = 0;

    /// Gathers the differing bits of a word in its lowest places. After H. S. Warren, "Hacker's Delight", 7-4.
    CORANK_HOST_DEVICE uint64_t Take(uint64_t word) const {
      word &= differing;
      for (int i = 0; i < 6; ++i) {
        const uint64_t moving = word & moves[i];
        word = (word ^ moving) | (moving >> (1 << i));
      }
      return word;
    }
  };

  static CORANK_HOST_DEVICE Piece MakePiece(uint64_t differing) {
    Piece piece;
    piece.differing = differing;
    uint64_t mask = differing;
    uint64_t zeros_below = ~mask << 1;  // for each place: whether an odd number of zeros lies below it
    for (int i = 0; i < 6; ++i) {
      uint64_t parity = zeros_below;
      for (int shift = 1; shift < 64; shift *= 2) parity ^= parity << shift;
      piece.moves[i] = parity & mask;
      mask = (mask ^ piece.moves[i]) | (piece.moves[i] >> (1 << i));
      zeros_below &= ~parity;
    }
    for (uint64_t rest = differing; rest != 0; rest &= rest - 1) ++piece.bits;
    return piece;
  }

  Piece pieces_[RowSurvey::kWords];
  int64_t first_byte_ = 0;
  int64_t next_byte_ = 0;
  int words_ = 0;
};

}  // namespace corank

#endif  // CORANK_KERNELS_COMMON_ROW_CODE_H_
