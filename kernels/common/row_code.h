// Codes of rows: 64 bits of each row's stream (row_order.h), chosen so that they decide as much as 64 bits can.
//
// Three things that all rows have in common are left out, none of which changes the order of the codes: the least value
// of each column of integers is subtracted from it; the bytes that all streams begin with are skipped; and behind them
// only those bits are taken that are not the same in every row.
#ifndef CORANK_KERNELS_COMMON_ROW_CODE_H_
#define CORANK_KERNELS_COMMON_ROW_CODE_H_

#include <cstdint>

#include "kernels/common/row_order.h"
#include "kernels/common/types.h"

namespace corank {

/// What a survey of all rows found: from which byte on the streams differ, and in which bits. The bits of a word may be
/// incomplete (only ever too few) if those of the words before it are 64 or more.
struct RowSurvey {
  static constexpr int kWords = 8;
  /// Streams are compared this far for a common beginning.
  static constexpr int64_t kMaxCommonBytes = 512;

  uint32_t common_bytes = 0;
  uint64_t differing[kWords] = {};  // of the words from common_bytes on
};

/// How a row's code is made.
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
      // The lowest bits of the last word were left out: the bytes that hold them come next.
      uint64_t left_out = 0, differing = survey.differing[words_ - 1];
      for (int i = 64; i < taken; ++i) {
        left_out |= differing & -differing;
        differing &= differing - 1;
      }
      for (next_byte_ -= 8; left_out >> 56 == 0; left_out <<= 8) ++next_byte_;
    }
  }

  /// Unsigned order of codes is the order of the streams as far as next_byte().
  CORANK_HOST_DEVICE uint64_t Make(const RowOrder& order, int64_t row) const {
    uint64_t code = 0;
    int left = 64;
    for (int i = 0; i < words_ && left > 0; ++i) {
      const Piece& piece = pieces_[i];
      const uint64_t bits = piece.Take(order.Word(row, first_byte_ + 8 * i));
      if (piece.bits == 0) continue;
      code |= piece.bits <= left ? bits << (left - piece.bits) : bits >> (piece.bits - left);
      left = piece.bits <= left ? left - piece.bits : 0;
    }
    return code;
  }

  /// Streams of rows with equal codes are equal up to here.
  CORANK_HOST_DEVICE int64_t next_byte() const { return next_byte_; }

 private:
  struct Piece {
    uint64_t differing = 0;
    uint64_t moves[6] = {};
    int bits = 0;

    /// The differing bits of a word, side by side, in the lowest places. After H. S. Warren, "Hacker's Delight", 7-4.
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
    uint64_t zeros_below = ~mask << 1;  // a bit for each place: whether an odd number of zeros lies below it
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
