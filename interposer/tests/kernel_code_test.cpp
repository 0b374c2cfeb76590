// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprints/kernel_code.h"

#include <string>

#include "interposer/tests/images.h"

namespace streamsan::footprints {
namespace {

using testing::contents;
using testing::expect_in_child;
using testing::File;
using testing::kFiles;

void note_codes(const std::string& image) { testing::note_by(note_kernel_code, image); }
std::string kernel_in(const File& file) { return std::string("plain_") + file.name; }

TEST(KernelCodeDeathTest, AKernelIsKnownByTheModuleThatWasLoaded) {
  if (testing::kFileCount < 2) GTEST_SKIP() << "this nvcc builds one image only";
  const std::string one = kernel_in(kFiles[0]), other = kernel_in(kFiles[1]);
  expect_in_child([&] {
    EXPECT_EQ(kernel_code(one.c_str()), 0u) << "nothing was noted yet";
    note_codes(contents(kFiles[0].path));
    note_codes(contents(kFiles[1].path));
    const std::uint64_t code = kernel_code(one.c_str());
    EXPECT_NE(code, 0u);
    EXPECT_NE(kernel_code(other.c_str()), 0u);
    EXPECT_NE(kernel_code(other.c_str()), code);
    EXPECT_EQ(kernel_code("absent"), 0u);
    note_codes(contents(kFiles[0].path));
    EXPECT_EQ(kernel_code(one.c_str()), code) << "the same module, loaded again";
  });
}

TEST(KernelCodeDeathTest, TwoModulesWithOneNameMakeItUnknown) {
  if (testing::kFileCount == 0) GTEST_SKIP() << "this nvcc builds no image";
  const std::string kernel = kernel_in(kFiles[0]);
  expect_in_child([&] {
    std::string image = contents(kFiles[0].path);
    note_codes(image);
    const std::uint64_t code = kernel_code(kernel.c_str());
    image += '\0';  // behind the last section: the same kernels, and other bytes
    note_codes(image);
    EXPECT_NE(code, 0u);
    EXPECT_EQ(kernel_code(kernel.c_str()), 0u);
  });
}

TEST(KernelCodeDeathTest, ImagesCutShortDoNoHarm) {
  if (testing::kFileCount == 0) GTEST_SKIP() << "this nvcc builds no image";
  expect_in_child([] {
    const std::string image = contents(kFiles[0].path);
    for (std::size_t bytes = 0; bytes < image.size(); bytes += bytes < 200 ? 1 : 97) note_codes(image.substr(0, bytes));
  });
}

}  // namespace
}  // namespace streamsan::footprints
