// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts out of object files as nvcc makes them, whole and damaged.
#include "judge/ptx/fatbin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>

#include "judge/ptx/evaluate.h"
#include "judge/ptx/library.h"
#include "judge/ptx/parser.h"

namespace streamsan::ptx {
namespace {

const std::vector<std::string> kObjects = {STREAMSAN_PTX_OBJECTS};

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string object(const std::string& name) {
  for (const std::string& path : kObjects)
    if (path.ends_with("/" + name + ".o")) return path;
  ADD_FAILURE() << name << " was not built";
  return {};
}

TEST(Fatbin, HoldsTheTextsOfAllArchitectures) {
  for (const std::string& path : kObjects) {
    SCOPED_TRACE(path);
    const FileInput file(path);
    const std::vector<Container> containers = find_containers(file);
    ASSERT_EQ(containers.size(), 1u);
    EXPECT_EQ(containers[0].relocatable, path.ends_with("/none.o"));
    EXPECT_EQ(containers[0].texts.empty(), path.ends_with("/machine_code.o"));
    for (const Packed& text : containers[0].texts) {
      const std::string unpacked = unpack_text(file, text);
      EXPECT_GT(find_entries(unpacked).size(), 20u);
      EXPECT_EQ(target_of(unpacked), "sm_" + std::to_string(text.arch) + (text.suffix ? "a" : ""));
    }
  }
}

TEST(Fatbin, IsTheSameInAFileAndInMemory) {
  const std::string path = object("default");
  const std::string all = contents(path);
  const MemoryInput memory(bytes_of(all));
  const FileInput file(path);
  EXPECT_EQ(find_containers(file).at(0).texts, find_containers(memory).at(0).texts);
  std::byte byte{};
  EXPECT_TRUE(file.load(all.size() - 1, byte));
  EXPECT_FALSE(file.load(all.size(), byte));
  EXPECT_EQ(FileInput("/nowhere/libmissing.so").size(), 0u);
}

TEST(Fatbin, FunctionsOfMachineCode) {
  const FileInput file(object("machine_code"));
  const std::vector<Container> containers = find_containers(file);
  ASSERT_EQ(containers.at(0).others.size(), 1u);
  const std::vector<std::string> names = functions_of(unpack(file, containers[0].others[0]));
  EXPECT_NE(std::find(names.begin(), names.end(), "vector_add"), names.end());
  EXPECT_EQ(std::find(names.begin(), names.end(), "vector_ad"), names.end());
}

TEST(Fatbin, HostCodeNamesItsKernels) {
  const FileInput file(object("default"));
  HostNames names;
  EXPECT_TRUE(names.has(file, "vector_add"));
  EXPECT_FALSE(names.has(file, "vector_ad"));
  EXPECT_FALSE(names.has(file, "no_such_kernel"));
  EXPECT_FALSE(names.has(file, ""));
}

struct Build {
  const char* name;
  bool proves;
  bool differing;  ///< a kernel that is not the same in all of its texts
};
// As tests/CMakeLists.txt has them built.
constexpr Build kBuilds[] = {
    {"default", true, true},        // sm_75 and compute_75
    {"hopper", true, true},         // sm_90 and compute_90
    {"text", true, true},           // compute_75 alone
    {"speed", true, false},         // compute_75 and compute_90
    {"accelerated", true, true},    // sm_90a and compute_90a
    {"none", true, true},           // sm_80 and compute_80, relocatable
    {"older", false, false},        // sm_75 and compute_90
    {"two", false, false},          // sm_75, sm_80 and compute_80
    {"suffix", false, false},       // sm_90a and compute_90
    {"machine_code", false, false}  // sm_75 alone
};

TEST(Library, TrustsATextOnlyBesideMachineCodeOfItsArchitecture) {
  for (const Build& build : kBuilds) {
    SCOPED_TRACE(build.name);
    Library library;
    library.add_file(object(build.name));
    library.add_file("/nowhere/libmissing.so");
    EXPECT_EQ(find_containers(FileInput(object(build.name))).at(0).proves(), build.proves);
    const KnownKernel* kernel = library.find("vector_add");
    EXPECT_EQ(kernel != nullptr, build.proves);
    EXPECT_EQ(library.find("by_architecture") != nullptr, build.differing);
    EXPECT_EQ(library.find("vector_ad"), nullptr);
    if (!kernel) continue;
    ASSERT_TRUE(kernel->facts.known);
    EXPECT_FALSE(kernel->facts.words[0].written);
    EXPECT_TRUE(kernel->facts.words[2].written);
    EXPECT_EQ(library.find("vector_add"), kernel);
  }
}

TEST(Library, OneFileWithoutProofSpoilsAName) {
  for (const char* other : {"machine_code", "older", "hopper", "text"}) {
    SCOPED_TRACE(other);
    Library library;
    library.add_file(object("default"));
    EXPECT_TRUE(library.find("vector_add"));
    EXPECT_TRUE(library.find("by_architecture"));
    // A library that is loaded later.
    library.add_file(object(other));
    const bool same = std::string_view(other) == "text";
    EXPECT_EQ(library.find("by_architecture") != nullptr, same);
    // What compilers make of it for other architectures may be the same.
    if (std::string_view(other) != "hopper") {
      EXPECT_EQ(library.find("vector_add") != nullptr, same);
    }
  }
}

TEST(Library, AFileThatIsNotTheRecordedOneSpoilsItsNames) {
  for (const bool recorded : {true, false}) {
    Library library;
    library.add_file(object("default"));
    library.add_file(object("text"), recorded);
    EXPECT_EQ(library.find("vector_add") != nullptr, recorded);
    // It was built and loaded again.
    library.add_file(object("default"), false);
    EXPECT_EQ(library.find("vector_add"), nullptr);
  }
}

TEST(Library, LeavesAFileAloneThatShrinks) {
  const std::string all = contents(object("default"));
  const std::string path = testing::TempDir() + "streamsan_shrinks.o";
  std::ofstream(path, std::ios::binary) << all;
  Library library;
  library.add_file(path);
  EXPECT_TRUE(library.find("vector_add"));
  std::ofstream(path, std::ios::binary | std::ios::trunc) << all.substr(0, all.size() / 2);
  EXPECT_EQ(library.find("warps"), nullptr);
  const FileInput file(path);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << "short";
  std::byte byte{};
  EXPECT_FALSE(file.load(all.size() / 4, byte));
  std::remove(path.c_str());
}

TEST(Library, KnowsNothingOfANameThatIsAmbiguous) {
  const std::string one = ".target sm_75\n.entry k(.param .u64 a) { ret; }\n.entry m() { ret; }";
  const std::string other = ".target sm_75\n.entry k(.param .u64 a) { .reg .b64 %rd<2>; ret; }\n.entry m() { ret; }";
  Library library;
  library.add_text(one);
  EXPECT_TRUE(library.find("k"));
  library.add_text(other);
  EXPECT_EQ(library.find("k"), nullptr);
  EXPECT_TRUE(library.find("m"));
}

/// Everything that is done with a text that a file claims to hold.
void use(const std::string& text) {
  for (const Entry& entry : find_entries(text)) {
    const Kernel kernel = parse(entry);
    const Facts facts = facts_of(kernel);
    const std::vector<std::byte> arguments(256, std::byte{7});
    evaluate(kernel, facts, {{3, 2, 1}, {33, 1, 1}, arguments}, {.steps = 500, .boxes = 64, .pieces = 16});
  }
}

TEST(Damaged, FilesDoNoHarm) {
  std::mt19937 random(11);
  for (const std::string& path : kObjects) {
    const std::string file = contents(path);
    for (int round = 0; round < 60; ++round) {
      std::string damaged = file;
      // Headers are few bytes of many: half of the damage goes where a container begins.
      const std::size_t magic = damaged.find("\x50\xed\x55\xba");
      for (int i = 0; i < 8; ++i) {
        const std::size_t at = i % 2 && magic != std::string::npos ? magic + random() % 100 : random() % damaged.size();
        if (at < damaged.size()) damaged[at] = static_cast<char>(random());
      }
      if (round % 4 == 0) damaged.resize(random() % damaged.size());
      const MemoryInput input(bytes_of(damaged));
      HostNames().has(input, "vector_add");
      for (const Container& container : find_containers(input)) {
        for (const Packed& text : container.texts) find_entries(unpack_text(input, text));
        for (const Packed& code : container.others) functions_of(unpack(input, code));
      }
    }
  }
}

TEST(Damaged, TextsDoNoHarm) {
  std::mt19937 random(12);
  const std::string text = contents(STREAMSAN_PTX_FUZZED);
  ASSERT_FALSE(text.empty());
  for (int round = 0; round < 40; ++round) {
    std::string damaged = text;
    for (int i = 0; i < 60; ++i) {
      const std::size_t at = random() % damaged.size();
      switch (random() % 4) {
        case 0:
          damaged[at] = "{}[](),;:@!%.+-|\"0\n"[random() % 18];
          break;
        case 1:
          damaged.erase(at, random() % 6);
          break;
        case 2:
          damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 40));
          break;
        default:
          damaged[at] = static_cast<char>(random());
          break;
      }
    }
    if (round % 5 == 0) damaged.resize(random() % damaged.size());
    use(damaged);
  }
}

}  // namespace
}  // namespace streamsan::ptx
