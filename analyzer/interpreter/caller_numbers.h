// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a number of a made-up caller means, by its name. See callers.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "llvm/ADT/StringRef.h"

namespace streamsan::analyzer {

enum class Meaning : std::uint8_t {
  HowMuch,
  Which,   ///< of several: an index, a key
  Device,  ///< the number of one
  Where,   ///< an offset in elements
  Pitch,   ///< from one row to the next
};

/// `otherwise`: where the name does not say.
Meaning meaning_of(llvm::StringRef name, Meaning otherwise = Meaning::HowMuch);

/// The sizes of a tensor.
bool says_shape(llvm::StringRef name);

/// A number of bytes.
bool counts_bytes(llvm::StringRef name);

/// "size" of "sizes".
std::string one_of(llvm::StringRef name);

/// It counts what has been done so far ("used", "head"): what has just been made has 0 there.
bool counts_progress(llvm::StringRef name);

}  // namespace streamsan::analyzer
