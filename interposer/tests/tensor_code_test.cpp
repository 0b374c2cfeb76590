// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprints/tensor_code.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "interposer/footprints/agent.h"
#include "interposer/tests/images.h"

namespace streamsan::footprints {
namespace {

using testing::contents;
using testing::expect_in_child;
using testing::File;
using testing::kFiles;

void note_tensors(const std::string& image) { testing::note_by(note_tensor_code, image); }

bool is_linked(const File& file) { return std::string(file.name).starts_with("linked"); }

class TensorCodeDeathTest : public ::testing::TestWithParam<File> {};

TEST_P(TensorCodeDeathTest, KernelsThatUseTensorMapsAreNamed) {
  const auto uses = [&](const char* kernel) {
    return uses_tensor_maps((kernel + std::string("_") + GetParam().name).c_str());
  };
  std::vector<const char*> with = {"load",       "load_volume", "load_multicast", "load_columns",
                                   "load_maybe", "store",       "store_columns",  "reduce"};
  if (std::string(GetParam().name).ends_with("_100")) with.insert(with.end(), {"load_rows", "store_rows", "load_pair"});
  const std::vector<const char*> without = {"plain", "prefetch", "bulk"};
  expect_in_child([&] {
    for (const char* kernel : with) EXPECT_FALSE(uses(kernel)) << kernel << ": nothing was noted yet";
    const std::string image = contents(GetParam().path);
    ASSERT_FALSE(image.empty());
    note_tensors(image);
    for (const char* kernel : with) EXPECT_TRUE(uses(kernel)) << kernel;
    // One that is linked has a function which any of its kernels may call.
    for (const char* kernel : without) EXPECT_EQ(uses(kernel), is_linked(GetParam())) << kernel;
    EXPECT_EQ(uses("calls"), is_linked(GetParam()));
    EXPECT_FALSE(uses("absent"));
  });
}

TEST_P(TensorCodeDeathTest, ImagesCutShortDoNoHarm) {
  expect_in_child([] {
    const std::string image = contents(GetParam().path);
    for (std::size_t bytes = 0; bytes < image.size(); bytes += bytes < 200 ? 1 : 97)
      note_tensors(image.substr(0, bytes));
    note_tensors(image.substr(0, image.size() - 1));
  });
}

TEST_P(TensorCodeDeathTest, DamagedImagesDoNoHarm) {
  expect_in_child([] {
    const std::string image = contents(GetParam().path);
    std::mt19937 random(1);
    for (int round = 0; round < 1500; ++round) {
      std::string damaged = image;
      const std::size_t most = round % 2 ? image.size() : sizeof(Elf64_Ehdr);
      for (int flips = 1 + round % 7; flips > 0; --flips) {
        damaged[random() % most] ^= static_cast<char>(1 + random() % 255);
      }
      note_tensors(damaged);
    }
  });
}

TEST_P(TensorCodeDeathTest, SectionsThatReachOutsideDoNoHarm) {
  expect_in_child([] {
    const std::string image = contents(GetParam().path);
    Elf64_Ehdr header;
    ASSERT_GE(image.size(), sizeof header);
    std::memcpy(&header, image.data(), sizeof header);
    const std::uint64_t values[] = {0,     1,          image.size() - 1, image.size(), image.size() + 1,
                                    ~0ull, ~0ull - 15, 1ull << 63};
    for (std::size_t i = 0; i < header.e_shnum; ++i) {
      for (const std::uint64_t value : values) {
        for (int field = 0; field < 3; ++field) {
          std::string damaged = image;
          char* at = damaged.data() + header.e_shoff + i * sizeof(Elf64_Shdr);
          Elf64_Shdr section;
          std::memcpy(&section, at, sizeof section);
          if (field == 0) section.sh_offset = value;
          if (field == 1) section.sh_size = value;
          if (field == 2) section.sh_name = static_cast<Elf64_Word>(value);
          std::memcpy(at, &section, sizeof section);
          note_tensors(damaged);
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Images, TensorCodeDeathTest, ::testing::ValuesIn(std::begin(kFiles), std::end(kFiles) - 1),
                         [](const auto& file) { return std::string(file.param.name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TensorCodeDeathTest);

/// An image of kernels with one instruction each.
std::string image_of(const std::vector<std::string>& kernels, std::uint64_t instruction) {
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> sections(1);
  const auto add = [&](const std::string& name, std::uint64_t offset, std::uint64_t size) {
    Elf64_Shdr section{};
    section.sh_name = static_cast<Elf64_Word>(names.size());
    section.sh_type = SHT_PROGBITS;
    section.sh_offset = offset;
    section.sh_size = size;
    names += name + '\0';
    sections.push_back(section);
  };
  Elf64_Ehdr header{};
  const std::uint64_t code[2] = {instruction, 0};
  for (const std::string& kernel : kernels) {
    add(".nv.constant0." + kernel, 0, 0);
    add(".text." + kernel, sizeof header, sizeof code);
  }
  add(".shstrtab", sizeof header + sizeof code, 0);
  sections.back().sh_size = names.size();
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections.size());
  header.e_shstrndx = static_cast<Elf64_Half>(sections.size() - 1);
  header.e_shoff = sizeof header + sizeof code + names.size();
  std::string image(reinterpret_cast<const char*>(&header), sizeof header);
  image.append(reinterpret_cast<const char*>(code), sizeof code);
  image += names;
  image.append(reinterpret_cast<const char*>(sections.data()), sections.size() * sizeof(Elf64_Shdr));
  return image;
}

constexpr std::uint64_t kLoad = 0x75b4;
constexpr std::uint64_t kBulkLoad = 0x73ba;

TEST(TensorCodeNamesDeathTest, ALaunchKnowsOnlyTheBeginningOfAVeryLongName) {
  expect_in_child([] {
    const std::string name = "_Z" + std::string(3000, 'k');
    const std::string other = "_Z" + std::string(3000, 'p');
    note_tensors(image_of({other}, kBulkLoad));
    note_tensors(image_of({name}, kLoad));
    EXPECT_TRUE(uses_tensor_maps(name.substr(0, kStreamSanLongestName).c_str()));
    EXPECT_TRUE(uses_tensor_maps(name.c_str()));
    EXPECT_FALSE(uses_tensor_maps(other.substr(0, kStreamSanLongestName).c_str()));
    EXPECT_FALSE(uses_tensor_maps(name.substr(0, kStreamSanLongestName - 1).c_str()));
  });
}

TEST(TensorCodeNamesDeathTest, AnImageThatCannotBeReadMayHoldAnyKernel) {
  const std::string image = image_of({"plain"}, kBulkLoad);
  const auto with_header = [&](auto change) {
    Elf64_Ehdr header;
    std::string damaged = image;
    std::memcpy(&header, damaged.data(), sizeof header);
    change(header);
    std::memcpy(damaged.data(), &header, sizeof header);
    return damaged;
  };
  const std::string unreadable[] = {
      "",
      "not an image, but longer than the header of one: ----------------",
      image.substr(0, image.size() - 1),
      with_header([](Elf64_Ehdr& header) { header.e_shnum = 0; }),
      with_header([](Elf64_Ehdr& header) { ++header.e_shoff; }),
      with_header([](Elf64_Ehdr& header) { header.e_shstrndx = header.e_shnum; }),
  };
  for (const std::string& bytes : unreadable) {
    expect_in_child([&] {
      note_tensors(image);
      EXPECT_FALSE(uses_tensor_maps("plain"));
      note_tensors(bytes);
      EXPECT_TRUE(uses_tensor_maps("plain"));
      note_tensors(image);
      EXPECT_TRUE(uses_tensor_maps("plain")) << "one that can be read does not make up for it";
    });
  }
}

TEST(TensorCodeNamesDeathTest, CodeThatCannotBeReadMayUseThem) {
  for (const bool outside : {false, true}) {
    expect_in_child([outside] {
      std::string image = image_of({"plain", "cut"}, kBulkLoad);
      Elf64_Ehdr header;
      std::memcpy(&header, image.data(), sizeof header);
      char* at = image.data() + header.e_shoff + 4 * sizeof(Elf64_Shdr);  // the code of the second kernel
      Elf64_Shdr code;
      std::memcpy(&code, at, sizeof code);
      if (outside) code.sh_size = image.size();
      std::memcpy(at, &code, sizeof code);
      note_tensors(image);
      EXPECT_FALSE(uses_tensor_maps("plain"));
      EXPECT_EQ(uses_tensor_maps("cut"), outside);
    });
  }
}

TEST(TensorCodeNamesDeathTest, MoreThanCanBeKeptAreAllBelievedToUseThem) {
  expect_in_child([] {
    constexpr int kImages = 10;
    constexpr int kKernels = 1000;
    for (int image = 0; image < kImages; ++image) {
      std::vector<std::string> kernels;
      for (int i = 0; i < kKernels; ++i) kernels.push_back("k" + std::to_string(image * kKernels + i));
      note_tensors(image_of(kernels, kBulkLoad));
      if (image < 5) {
        EXPECT_FALSE(uses_tensor_maps(kernels[7].c_str()));
      }
      note_tensors(image_of(kernels, kLoad));
      note_tensors(image_of(kernels, kLoad));  // the same once more takes no room
      for (const std::string& kernel : kernels) EXPECT_TRUE(uses_tensor_maps(kernel.c_str())) << kernel;
      if (image < 5) {
        EXPECT_FALSE(uses_tensor_maps("absent"));
      }
    }
    EXPECT_TRUE(uses_tensor_maps("absent")) << "it may be one that was not kept";
  });
}

}  // namespace
}  // namespace streamsan::footprints
