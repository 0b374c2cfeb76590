// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a number of a made-up caller means, by its name. See callers.cpp.
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

constexpr int kUsual = 64;       ///< of everything that there may be any number of
constexpr int kFewElements = 8;  ///< of lists whose elements cost much

enum class Meaning : std::uint8_t {
  HowMuch,
  HowMany,  ///< slots, buffers, streams: of them few are enough to come round
  Which,    ///< of several: an index
  Counter,  ///< of calls or rounds: that of the next call is greater
  Key,      ///< which of several, and nobody knows before how many there will be
  Device,   ///< the number of one
  Devices,  ///< how many of them
  Where,    ///< an offset in elements
  Pitch,    ///< from one row to the next
};

/// `otherwise`: where the name does not say.
Meaning meaning_of(llvm::StringRef name, Meaning otherwise = Meaning::HowMuch);

/// An object is made for parts of a size: there `batch` or `tile` says how large one is, elsewhere which one.
bool says_size_of_parts(llvm::StringRef name);

/// What functions do with their numbers. Each is walked once.
class UsesOfNumbers {
 public:
  UsesOfNumbers();
  ~UsesOfNumbers();

  /// It says how many objects there are room for: a container of them is made with it.
  [[nodiscard]] bool counts_objects(const clang::ParmVarDecl& parameter) const;
  /// Something is divided by it, here or where it is passed on to: 0 would be refused, or end the program.
  [[nodiscard]] bool divides(const clang::ParmVarDecl& parameter) const;
  /// The number that a function compares it, or the length of the container, with, or that leaves the remainder it asks
  /// for; nullopt: it compares it with none.
  [[nodiscard]] std::optional<std::uint64_t> compared_with(const clang::ParmVarDecl& parameter) const;

 private:
  struct Kept;
  std::unique_ptr<Kept> kept_;
};

/// The sizes of a tensor.
bool says_shape(llvm::StringRef name);

/// The size of the parts that something is taken in ("batch_size").
bool says_part(llvm::StringRef name);

/// It says where something ends ("end", "last").
bool ends_range(llvm::StringRef name);

/// A number of bytes.
bool counts_bytes(llvm::StringRef name);

/// "size" of "sizes".
std::string one_of(llvm::StringRef name);

/// It counts what has been done so far ("used", "head"): what has just been made has 0 there.
bool counts_progress(llvm::StringRef name);

}  // namespace streamsan::analyzer
