// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The meaning of a number that a made-up caller passes, by the name of the parameter. See callers.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "llvm/ADT/StringRef.h"

namespace clang {
class ParmVarDecl;
}

namespace streamsan::analyzer {

constexpr int kUsual = 64;       ///< the number of elements, if any number is possible
constexpr int kFewElements = 8;  ///< the length of lists whose elements cost much

enum class Meaning : std::uint8_t {
  HowMuch,
  HowMany,  ///< a number of slots, buffers or streams: few are enough to use one a second time
  Which,    ///< of several: an index
  Counter,  ///< a counter of calls or rounds: the next call passes a greater one
  Key,      ///< selects one of several, whose number is not known before
  Device,   ///< the number of a device
  Devices,  ///< how many devices
  Where,    ///< an offset in elements
  Pitch,    ///< the distance of two rows
};

/// `otherwise`: the result if the name does not show it.
Meaning meaning_of(llvm::StringRef name, Meaning otherwise = Meaning::HowMuch);

/// In a constructor, `batch` or `tile` is the size of a part; elsewhere it is the index of one.
bool says_size_of_parts(llvm::StringRef name);

/// What functions do with their numbers. Each is walked once.
class UsesOfNumbers {
 public:
  UsesOfNumbers();
  ~UsesOfNumbers();

  /// The number says how many objects there is room for: a container of objects is made with it.
  [[nodiscard]] bool counts_objects(const clang::ParmVarDecl& parameter) const;
  /// The code divides by it, here or in a function that it is passed on to: 0 would be refused, or end the program.
  [[nodiscard]] bool divides(const clang::ParmVarDecl& parameter) const;
  /// The number that a function compares the parameter (or the length of the container) with, or one that has the
  /// remainder that the function asks for; nullopt: there is no such comparison.
  [[nodiscard]] std::optional<std::uint64_t> compared_with(const clang::ParmVarDecl& parameter) const;

 private:
  struct Kept;
  std::unique_ptr<Kept> kept_;
};

/// The name is that of the sizes of a tensor.
bool says_shape(llvm::StringRef name);

/// The name is that of the size of parts ("batch_size").
bool says_part(llvm::StringRef name);

/// The name is that of an end ("end", "last").
bool ends_range(llvm::StringRef name);

/// The name is that of a number of bytes.
bool counts_bytes(llvm::StringRef name);

/// "size" of "sizes".
std::string one_of(llvm::StringRef name);

/// The name is that of a counter of progress ("used", "head"): a new object has 0 there.
bool counts_progress(llvm::StringRef name);

}  // namespace streamsan::analyzer
