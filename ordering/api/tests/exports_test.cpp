// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table and the world around it: the exports of the toolkit's libcuda, and the page printed from the table.
//
// The ELF file is read here rather than by nm: .dynsym of the stub, defined global functions whose name begins with
// "cu". A newer toolkit may export more than the table has: such functions are forwarded, counted and named at run
// time, and named here. Of the toolkit that the table was written for, each export has a row.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <elf.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <string_view>

#include "ordering/api/row.h"
#include "ordering/api/tests/printed_page.h"

namespace streamsan::api {
namespace {

using testing_pages::contents;
using testing_pages::output_of;

template <typename T>
T at(const std::string& image, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= image.size()) std::memcpy(&value, image.data() + offset, sizeof value);
  return value;
}

std::set<std::string> exported_functions(const std::string& image) {
  std::set<std::string> out;
  if (image.compare(0, SELFMAG, ELFMAG) != 0) return out;
  const auto header = at<Elf64_Ehdr>(image, 0);
  const auto section = [&](std::size_t i) { return at<Elf64_Shdr>(image, header.e_shoff + i * header.e_shentsize); };
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr table = section(i);
    if (table.sh_type != SHT_DYNSYM) continue;
    const Elf64_Shdr names = section(table.sh_link);
    for (std::size_t offset = 0; offset < table.sh_size; offset += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(image, table.sh_offset + offset);
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      const std::size_t name_at = names.sh_offset + symbol.st_name;
      if (name_at >= image.size()) continue;
      std::string name = image.c_str() + name_at;
      if (name.starts_with("cu")) out.insert(std::move(name));
    }
  }
  return out;
}

constexpr std::string_view kStub = STREAMSAN_LIBCUDA_STUB;
constexpr int kToolkitOfTheTable = 13000;

/// The debugger's entry points, and those of OpenGL, EGL and VDPAU, whose headers need headers of other systems. The
/// stub of a whole toolkit has them; a program that calls one calls the driver itself.
bool is_of_another_system(std::string_view symbol) {
  for (const std::string_view prefix : {"cudbg", "cuEGL", "cuGL", "cuVDPAU", "cuGraphicsEGL", "cuGraphicsGL",
                                        "cuGraphicsVDPAU", "cuGraphicsResourceGetMappedEglFrame"}) {
    if (symbol.starts_with(prefix)) return true;
  }
  return false;
}

std::string without_a_row(const std::set<std::string>& exports) {
  std::string out;
  for (const std::string& symbol : exports) {
    if (!find_row(symbol) && !is_of_another_system(symbol)) out += " " + symbol;
  }
  return out;
}

TEST(ApiExports, every_export_has_a_row) {
  if (kStub.empty()) GTEST_SKIP() << "this toolkit has no stubs/libcuda.so";
  const auto exports = exported_functions(contents(STREAMSAN_LIBCUDA_STUB));
  ASSERT_GT(exports.size(), 600u) << STREAMSAN_LIBCUDA_STUB << " is not a 64-bit libcuda";
  const std::string missing = without_a_row(exports);
  if (CUDA_VERSION > kToolkitOfTheTable) {
    std::printf("Toolkit %d, exported and without a row in cuda_api.def:%s\n", CUDA_VERSION, missing.c_str());
  } else {
    EXPECT_EQ(missing, "") << "exported, and no row in cuda_api.def";
  }
}

TEST(ApiExports, a_missing_row_is_named) {
  EXPECT_EQ(without_a_row({"cuGLInit", "cuInit", "cuNobodyKnows", "cuZ"}), " cuNobodyKnows cuZ");
}

TEST(ApiExports, every_row_is_exported) {
  if (kStub.empty()) GTEST_SKIP() << "this toolkit has no stubs/libcuda.so";
  const auto exports = exported_functions(contents(STREAMSAN_LIBCUDA_STUB));
  for (const Row& row : kRows) {
    EXPECT_TRUE(exports.contains(std::string(row.symbol))) << row.symbol << " has a row and is not exported";
  }
}

TEST(ApiCoverage, page_is_what_the_table_prints) {
  const std::string printed = output_of("'" STREAMSAN_COVERAGE_PRINTER "'");
  ASSERT_FALSE(printed.empty());
  EXPECT_TRUE(contents(STREAMSAN_COVERAGE_PAGE) == printed)
      << STREAMSAN_COVERAGE_PAGE << " is not what the table prints now: run `ninja api-coverage`";
}

TEST(ApiCoverage, the_readme_counts_the_rows) {
  const std::string counted = "each of the " + std::to_string(kRowCount) + " driver functions";
  EXPECT_NE(contents(STREAMSAN_README).find(counted), std::string::npos) << STREAMSAN_README << " lacks: " << counted;
}

}  // namespace
}  // namespace streamsan::api
