// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names in read-only data, against a plain search of the data.
#include "judge/ptx/host_names.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

namespace streamsan::ptx {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;  // as the data are read

/// A file whose only section with contents holds `data`.
std::string elf_with(const std::string& data, const char* section = ".rodata.str1.1") {
  const std::string names = std::string(1, '\0') + section + '\0';
  Elf64_Ehdr elf{};
  std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
  elf.e_ident[EI_CLASS] = ELFCLASS64;
  elf.e_shentsize = sizeof(Elf64_Shdr);
  elf.e_shnum = 3;
  elf.e_shstrndx = 2;
  elf.e_shoff = sizeof elf + data.size() + names.size();
  Elf64_Shdr headers[3]{};
  headers[1] = {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_flags = 0, .sh_addr = 0, .sh_offset = sizeof elf};
  headers[1].sh_size = data.size();
  headers[2] = {
      .sh_name = 0, .sh_type = SHT_STRTAB, .sh_flags = 0, .sh_addr = 0, .sh_offset = sizeof elf + data.size()};
  headers[2].sh_size = names.size();
  std::string file(reinterpret_cast<const char*>(&elf), sizeof elf);
  file += data + names;
  file.append(reinterpret_cast<const char*>(headers), sizeof headers);
  return file;
}

struct Memory {
  explicit Memory(std::string with)
      : text(std::move(with)), input(std::as_bytes(std::span(text.data(), text.size()))) {}
  std::string text;
  MemoryInput input;
};

std::string name(std::mt19937& random, std::size_t length) {
  std::string out;
  while (out.size() < length) out += "_Zabcdefgh0123I"[random() % 15];
  return out;
}

TEST(HostNames, AreThoseOfTheData) {
  std::mt19937 random(7);
  std::string data;
  std::vector<std::string> asked;
  while (data.size() < kChunk + kChunk / 4) {
    const std::string each = name(random, 2 + random() % 60);
    if (random() % 256 == 0) {
      asked.push_back(each);
      asked.push_back(each.substr(random() % each.size()));           // merged with a longer one
      asked.push_back(each.substr(0, each.size() - 1));               // ends elsewhere
      asked.push_back(name(random, each.size()));                     // most likely nowhere
      asked.push_back(each.substr(0, each.size() / 2) + " " + each);  // no name at all
    }
    data += each;
    data.append(1 + (random() % 8 == 0 ? random() % 9 : 0), random() % 16 == 0 ? '\1' : '\0');
  }
  const std::string across = "_Zacross_the_border_of_two_chunks" + std::string(200, 'x');
  data.replace(kChunk - 20, across.size() + 1, across + '\0');
  asked.push_back(across);
  const Memory file(elf_with(data));
  HostNames names;
  std::size_t found = 0;
  for (const std::string& each : asked) {
    const bool there = memmem(data.data(), data.size(), each.c_str(), each.size() + 1) != nullptr;
    found += there;
    ASSERT_EQ(names.has(file.input, each), there) << each;
  }
  EXPECT_GT(found, asked.size() / 4);
  EXPECT_LT(found, asked.size() * 3 / 4);
  // What is not there is hardly ever searched for; short names and those with other characters always are.
  std::size_t plain = 0;
  for (const std::string& each : asked)
    plain += each.size() < HostNames::kTails[0] || each.find_first_of(" \1") != std::string::npos;
  EXPECT_LE(names.searches(), found + plain + asked.size() / 10);
}

TEST(HostNames, AreInReadOnlyDataOnly) {
  const Memory elsewhere(elf_with(std::string("a_kernel_with_a_name") + '\0', ".data"));
  EXPECT_FALSE(HostNames().has(elsewhere.input, "a_kernel_with_a_name"));
  const Memory here(elf_with(std::string("a_kernel_with_a_name") + '\0', ".rodata"));
  EXPECT_TRUE(HostNames().has(here.input, "a_kernel_with_a_name"));
  EXPECT_FALSE(HostNames().has(here.input, ""));
  const Memory unended(elf_with("a_kernel_with_a_name", ".rodata"));
  EXPECT_FALSE(HostNames().has(unended.input, "a_kernel_with_a_name"));
}

/// Memory that cannot be read at first.
class LateInput : public MemoryInput {
 public:
  LateInput(std::span<const std::byte> bytes, std::uint64_t unreadable) : MemoryInput(bytes), from(unreadable) {}
  bool read(std::uint64_t offset, std::span<std::byte> to) const override {
    return offset + to.size() <= from && MemoryInput::read(offset, to);
  }
  std::uint64_t from;
};

TEST(HostNames, WhatCouldNotBeReadIsNotMissing) {
  const std::string data = std::string(2 * kChunk, 'x') + '\0' + "a_kernel_with_a_name" + '\0';
  std::string file = elf_with(data);
  // The headers first, so that only the data cannot be read.
  const std::string headers = file.substr(file.size() - 3 * sizeof(Elf64_Shdr));
  reinterpret_cast<Elf64_Ehdr*>(file.data())->e_shoff = sizeof(Elf64_Ehdr);
  file.insert(sizeof(Elf64_Ehdr), headers);
  auto* sections = reinterpret_cast<Elf64_Shdr*>(file.data() + sizeof(Elf64_Ehdr));
  sections[1].sh_offset += headers.size();
  sections[2].sh_offset = file.size() - headers.size() - sections[2].sh_size;
  const std::string names = file.substr(sections[2].sh_offset, sections[2].sh_size);
  // And the names of the sections.
  file.insert(sizeof(Elf64_Ehdr) + headers.size(), names);
  sections = reinterpret_cast<Elf64_Shdr*>(file.data() + sizeof(Elf64_Ehdr));
  sections[1].sh_offset += names.size();
  sections[2].sh_offset = sizeof(Elf64_Ehdr) + headers.size();
  LateInput input(std::as_bytes(std::span(file.data(), file.size())), kChunk);
  HostNames late;
  EXPECT_FALSE(late.has(input, "a_kernel_with_a_name"));
  input.from = ~std::uint64_t{0};
  EXPECT_TRUE(late.has(input, "a_kernel_with_a_name"));
}

TEST(HostNames, OfNoFile) {
  const Memory nothing(std::string(3, 'x'));
  EXPECT_FALSE(HostNames().has(nothing.input, "a_kernel_with_a_name"));
}

}  // namespace
}  // namespace streamsan::ptx
