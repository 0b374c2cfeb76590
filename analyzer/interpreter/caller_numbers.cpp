// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/interpreter/caller_numbers.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "llvm/ADT/StringExtras.h"

namespace streamsan::analyzer {
namespace {

/// "max", "batch", "size" of maxBatch_sizes.
std::vector<std::string> words_of(llvm::StringRef name) {
  std::vector<std::string> result(1);
  for (const char c : name) {
    if (c == '_' || (llvm::isUpper(c) && !result.back().empty())) result.emplace_back();
    if (c != '_') result.back() += llvm::toLower(c);
  }
  return result;
}

bool has_one_of(const std::vector<std::string>& words, llvm::ArrayRef<llvm::StringRef> list) {
  return std::ranges::any_of(words, [&](llvm::StringRef word) { return llvm::is_contained(list, word); });
}

}  // namespace

Meaning meaning_of(llvm::StringRef name, Meaning otherwise) {
  static constexpr std::array<llvm::StringRef, 8> kHowMuch = {"size", "bytes",  "count", "num",
                                                              "len",  "length", "n",     "max"};
  static constexpr std::array<llvm::StringRef, 6> kPitch = {"pitch", "stride", "ld", "lda", "ldb", "ldc"};
  static constexpr std::array<llvm::StringRef, 9> kWhere = {"offset", "begin", "first", "start", "pos",
                                                            "from",   "row",   "col",   "origin"};
  static constexpr std::array<llvm::StringRef, 3> kDevice = {"device", "dev", "gpu"};
  static constexpr std::array<llvm::StringRef, 45> kWhich = {
      "idx",  "index", "slot", "rank",  "layer", "lane",     "which",    "i",     "j",      "k",      "stage",  "head",
      "flag", "id",    "to",   "src",   "dst",   "page",     "block",    "peer",  "worker", "victim", "root",   "bank",
      "buf",  "iter",  "step", "tile",  "chunk", "part",     "turn",     "phase", "parity", "tail",   "target", "key",
      "bin",  "node",  "item", "batch", "frame", "incoming", "outgoing", "cur",   "next"};
  const std::vector<std::string> words = words_of(name);
  if (has_one_of(words, kPitch)) return Meaning::Pitch;
  if (has_one_of(words, kHowMuch)) return Meaning::HowMuch;
  if (has_one_of(words, kWhere)) return Meaning::Where;
  if (has_one_of(words, kDevice)) return Meaning::Device;
  return has_one_of(words, kWhich) ? Meaning::Which : otherwise;
}

std::string one_of(llvm::StringRef name) {
  return name.size() > 2 && name.ends_with("s") ? name.drop_back().str() : name.str();
}

bool says_shape(llvm::StringRef name) {
  static constexpr std::array<llvm::StringRef, 5> kShape = {"shape", "sizes", "size", "dims", "dimensions"};
  return has_one_of(words_of(name), kShape);
}

bool counts_bytes(llvm::StringRef name) {
  static constexpr std::array<llvm::StringRef, 2> kBytes = {"bytes", "byte"};
  return has_one_of(words_of(name), kBytes);
}

bool counts_progress(llvm::StringRef name) {
  static constexpr std::array<llvm::StringRef, 20> kProgress = {
      "used", "filled", "head",  "tail",   "next",    "cursor", "top",  "pos",      "at",     "pending",
      "done", "issued", "begun", "queued", "written", "so",     "seen", "inflight", "flight", "epoch"};
  return has_one_of(words_of(name), kProgress);
}

}  // namespace streamsan::analyzer
