// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which containers are free lists; see free_lists.cpp.
#include "analyzer/lowering/free_lists.h"

#include <gtest/gtest.h>

#include <string>

#include "analyzer/lowering/symbols.h"
#include "analyzer/lowering/tests/mock_unit.h"
#include "analyzer/models/model.h"
#include "clang/AST/ASTContext.h"

namespace streamsan::analyzer {
namespace {

/// "takes out N, gives back N, KIND" of a class with these members.
std::string lists_of(const std::string& members) {
  const auto unit =
      mock_unit("#include <cuda_runtime.h>\n#include <deque>\n#include <map>\n#include <vector>\nstruct Pool {\n" +
                    members + "};",
                "pool.cu");
  if (unit == nullptr) return "does not compile";
  const Models models;
  Symbols symbols(*unit, models);
  const FreeLists found = find_free_lists(symbols);
  std::string result =
      std::to_string(found.takings.size()) + " taking, " + std::to_string(found.givings.size()) + " giving";
  for (const auto& [function, taking] : found.takings)
    if (taking.memory) result += *taking.memory == ordering::MemoryKind::Pinned ? ", pinned" : ", other";
  return result;
}

const std::string kTake = "void* take() { void* p = free_.back(); free_.pop_back(); return p; }\n";
const std::string kPut = "void put(void* p) { free_.push_back(p); }\n";
const std::string kList = "std::vector<void*> free_;\n";

TEST(FreeLists, TakeAndPut) { EXPECT_EQ(lists_of(kTake + kPut + kList), "1 taking, 1 giving"); }

TEST(FreeLists, TheKindIsThatOfWhatTheClassMakes) {
  EXPECT_EQ(
      lists_of("Pool() { for (int i = 0; i < 4; ++i) { void* p; cudaMallocHost(&p, 64); free_.push_back(p); } }\n" +
               kTake + kPut + kList),
      "1 taking, 1 giving, pinned");
}

TEST(FreeLists, ByALeaseThatGoesBackInItsDestructor) {
  EXPECT_EQ(lists_of(kTake + kList + "struct Lease { Pool* pool; void* p; ~Lease() { pool->free_.push_back(p); } };\n"),
            "1 taking, 1 giving");
}

TEST(FreeLists, BySize) {
  const std::string rest =
      "void* p = it->second; free_.erase(it); live_[p] = n; return p; }\n"
      "void put(void* p) { auto it = live_.find(p); free_.emplace(it->second, it->first); }\n"
      "std::multimap<size_t, void*> free_; std::map<void*, size_t> live_;\n";
  const std::string find = "void* take(size_t n) { auto it = free_.lower_bound(n);\n";
  EXPECT_EQ(lists_of(find + "  if (it == free_.end()) return new char[n];\n" + rest), "1 taking, 1 giving");
  // It may hold other blocks, as it makes none.
  EXPECT_EQ(lists_of(find + rest), "0 taking, 0 giving");
}

TEST(FreeLists, WhatIsNoPool) {
  // Nothing is given back; nothing is taken out; only looked at.
  EXPECT_EQ(lists_of(kTake + kList), "0 taking, 0 giving");
  EXPECT_EQ(lists_of(kPut + kList), "0 taking, 0 giving");
  EXPECT_EQ(lists_of("void* last() { return free_.back(); }\n" + kPut + kList), "0 taking, 0 giving");
  // Numbers, and a queue of what is to be done.
  EXPECT_EQ(lists_of("int take() { int i = free_.back(); free_.pop_back(); return i; }\n"
                     "void put(int i) { free_.push_back(i); }\nstd::vector<int> free_;\n"),
            "0 taking, 0 giving");
  EXPECT_EQ(lists_of("void* next() { void* p = queue_.front(); queue_.pop_front(); return p; }\n"
                     "void add(void* p) { queue_.push_back(p); }\nstd::deque<void*> queue_;\n"),
            "0 taking, 0 giving");
}

}  // namespace
}  // namespace streamsan::analyzer
