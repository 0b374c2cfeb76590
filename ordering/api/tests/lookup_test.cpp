// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Look-up by name, the hash that ties a trace to its table, and the rules about suffixes.
#include <gtest/gtest.h>

#include <string>

#include "ordering/api/row.h"

namespace streamsan::api {
namespace {

bool ends_in_version(std::string_view name) {
  const std::size_t at = name.rfind("_v");
  return at != std::string_view::npos && at + 2 < name.size() &&
         name.find_first_not_of("0123456789", at + 2) == std::string_view::npos;
}

bool per_thread_suffix(std::string_view name) { return name.ends_with("_ptds") || name.ends_with("_ptsz"); }

TEST(ApiLookup, finds_every_row_by_its_symbol) {
  for (const Row& row : kRows) EXPECT_EQ(find_row(row.symbol), &row) << row.symbol;
}

TEST(ApiLookup, finds_nothing_that_is_not_there) {
  for (const char* symbol : {"", "a", "cu", "cuLaunchKerne", "cuLaunchKernel_", "cuLaunchKernelEx_ptsz_", "zz"}) {
    EXPECT_EQ(find_row(symbol), nullptr) << symbol;
  }
}

TEST(ApiLookup, index_names_the_row) {
  EXPECT_EQ(kRows[Index::cuArray3DCreate].symbol, "cuArray3DCreate");
  EXPECT_EQ(kRows[Index::cuLaunchKernel_ptsz].symbol, "cuLaunchKernel_ptsz");
  EXPECT_EQ(kRows[Index::cuWaitExternalSemaphoresAsync_ptsz].symbol, "cuWaitExternalSemaphoresAsync_ptsz");
}

TEST(ApiLookup, hash_is_fnv_1a_over_terminated_symbols) {
  static_assert(api_table_hash() != 0, "usable at compile time");
  std::string all;
  for (const Row& row : kRows) (all += row.symbol) += '\0';
  std::uint64_t hash = 14695981039346656037ull;
  for (const char c : all) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  EXPECT_EQ(api_table_hash(), hash);
}

TEST(ApiLookup, every_kind_has_its_own_name) {
  for (int a = 0; a <= static_cast<int>(EffectKind::Init); ++a) {
    EXPECT_NE(name(EffectKind(a)), "?") << a;
    for (int b = 0; b < a; ++b) EXPECT_NE(name(EffectKind(a)), name(EffectKind(b)));
  }
}

// R-STR-01: handle 0 means the per-thread stream in exactly the symbols that carry the suffix.
TEST(ApiSuffix, per_thread_default_stream_exactly_with_the_suffix) {
  for (const Row& row : kRows) {
    EXPECT_EQ(row.default_stream == DefaultStream::PerThread, per_thread_suffix(row.symbol)) << row.symbol;
  }
}

// R-STR-02: a name given to cuGetProcAddress has neither a version nor a suffix.
TEST(ApiSuffix, base_carries_none_and_begins_the_symbol) {
  for (const Row& row : kRows) {
    EXPECT_FALSE(per_thread_suffix(row.base) || ends_in_version(row.base)) << row.symbol << ": base " << row.base;
    std::string_view rest = row.symbol;
    ASSERT_TRUE(rest.starts_with(row.base)) << row.symbol << ": base " << row.base;
    rest.remove_prefix(row.base.size());
    if (per_thread_suffix(rest)) rest.remove_suffix(5);
    EXPECT_TRUE(rest.empty() || ends_in_version(rest)) << row.symbol << ": base " << row.base;
  }
}

// Versions of a function differ in their arguments, never in what they are: a variant that is modelled beside one that
// is not is a slip.
TEST(ApiSuffix, variants_of_a_function_have_one_kind_and_one_group) {
  for (std::size_t i = 1; i < kRowCount; ++i) {
    if (kRows[i].base != kRows[i - 1].base) continue;
    EXPECT_EQ(name(kRows[i].effect.kind), name(kRows[i - 1].effect.kind)) << kRows[i].symbol;
    EXPECT_EQ(kRows[i].group, kRows[i - 1].group) << kRows[i].symbol;
  }
}

}  // namespace
}  // namespace streamsan::api
