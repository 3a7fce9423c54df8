// Guesses the intended name behind a misspelled one.
#ifndef CORANK_SPELLING_NEAREST_H_
#define CORANK_SPELLING_NEAREST_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace corank {

/// Number of letters to add, drop, replace or swap with a neighbour to turn one name into the other.
int EditDistance(absl::string_view a, absl::string_view b);

/// The entry of `known` closest to `typed`, in any case of letters; the first of several. The beginning of a name is
/// close to it. Empty if none differs by at most 2 letters or a third of them.
std::string Nearest(absl::string_view typed, const std::vector<std::string>& known);

/// "; did you mean --lanes?" with the prefix "--", or empty if none of `known` is near.
std::string DidYouMean(absl::string_view typed, const std::vector<std::string>& known, absl::string_view prefix = "");

}  // namespace corank

#endif  // CORANK_SPELLING_NEAREST_H_
