// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprints/tensor_code.h"

#include <elf.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "interposer/footprints/agent.h"

namespace streamsan::footprints {
namespace {

constexpr std::size_t kInstructionBytes = 16;
// Nine bits say what is done, the three above in which form: the one with im2col offsets or a multicast mask differs.
constexpr std::uint64_t kOperationMask = 0x1ff;
constexpr std::uint64_t kTensorLoad = 0x1b4;       // UTMALDG
constexpr std::uint64_t kTensorStore = 0x1b5;      // UTMASTG
constexpr std::uint64_t kTensorReduction = 0x1b6;  // UTMAREDG
constexpr char kCodePrefix[] = ".text.";
constexpr char kArgumentsPrefix[] = ".nv.constant0.";  // kernels have such a section, other functions have none

// Hashes of names, open addressing. A full table forgets: such a kernel would be believed complete, so it says "yes"
// then.
constexpr std::size_t kNames = 1 << 14;
constinit std::atomic<std::uint64_t> g_names[kNames] = {};
constinit std::atomic<std::size_t> g_count{0};
constinit std::atomic<bool> g_unreadable{false};  // a module's code was: any kernel may be in it

/// Of as much of a name as a launch has.
std::uint64_t hash_of(const char* name) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (std::size_t i = 0; i < kStreamSanLongestName && name[i]; ++i) {
    hash = (hash ^ static_cast<unsigned char>(name[i])) * 0x100000001b3ull;
  }
  return hash ? hash : 1;
}

bool is_full() { return g_count.load(std::memory_order_relaxed) > kNames / 2; }

void remember(const char* name) {
  if (is_full()) return;
  const std::uint64_t hash = hash_of(name);
  for (std::size_t at = hash % kNames;; at = (at + 1) % kNames) {
    std::uint64_t found = g_names[at].load(std::memory_order_relaxed);
    if (found == hash) return;
    if (found == 0 && g_names[at].compare_exchange_strong(found, hash)) {
      g_count.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    if (found == hash) return;
  }
}

bool has_tensor_copy(const char* code, std::size_t bytes) {
  for (std::size_t at = 0; at + kInstructionBytes <= bytes; at += kInstructionBytes) {
    std::uint64_t word;
    std::memcpy(&word, code + at, sizeof word);
    const std::uint64_t operation = word & kOperationMask;
    if (operation == kTensorLoad || operation == kTensorStore || operation == kTensorReduction) return true;
  }
  return false;
}

/// The sections of an image that is not trusted.
class Image {
 public:
  Image(const char* bytes, std::size_t size) : bytes_(bytes), size_(size) {
    Elf64_Ehdr header;
    if (size < sizeof header) return;
    std::memcpy(&header, bytes, sizeof header);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof(Elf64_Shdr)) return;
    if (!fits(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr))) return;
    if (header.e_shstrndx >= header.e_shnum) return;
    table_ = bytes + header.e_shoff;
    const Elf64_Shdr names = section(header.e_shstrndx);
    if (!fits(names.sh_offset, names.sh_size) || names.sh_size == 0) return;
    if (bytes[names.sh_offset + names.sh_size - 1] != '\0') return;
    names_ = bytes + names.sh_offset;
    names_size_ = names.sh_size;
    count_ = header.e_shnum;
  }

  /// 0: it is no such image.
  [[nodiscard]] std::size_t count() const { return count_; }
  /// What follows the prefix in the section's name; null: another name.
  const char* name_after(const char* prefix, std::size_t index) const {
    const Elf64_Shdr found = section(index);
    if (found.sh_name >= names_size_) return nullptr;
    const std::size_t length = std::strlen(prefix);
    const char* name = names_ + found.sh_name;
    return std::strncmp(name, prefix, length) == 0 ? name + length : nullptr;
  }
  /// Code that cannot be read may.
  bool moves_tensors(std::size_t index) const {
    const Elf64_Shdr code = section(index);
    return code.sh_type == SHT_PROGBITS &&
           (!fits(code.sh_offset, code.sh_size) || has_tensor_copy(bytes_ + code.sh_offset, code.sh_size));
  }
  bool is_kernel(const char* name) const {
    for (std::size_t i = 0; i < count_; ++i) {
      const char* kernel = name_after(kArgumentsPrefix, i);
      if (kernel && std::strcmp(kernel, name) == 0) return true;
    }
    return false;
  }

 private:
  bool fits(std::uint64_t offset, std::uint64_t length) const { return offset <= size_ && length <= size_ - offset; }
  Elf64_Shdr section(std::size_t index) const {
    Elf64_Shdr out;
    std::memcpy(&out, table_ + index * sizeof out, sizeof out);
    return out;
  }

  const char* bytes_;
  std::size_t size_;
  const char* table_ = nullptr;
  const char* names_ = nullptr;
  std::size_t names_size_ = 0;
  std::size_t count_ = 0;
};

}  // namespace

void note_tensor_code(const char* cubin, std::size_t bytes) {
  const Image image(cubin, bytes);
  if (image.count() == 0) g_unreadable.store(true, std::memory_order_relaxed);
  // Separately compiled functions have code of their own, and any kernel of the image may call them.
  bool any_kernel = false;
  for (std::size_t i = 0; i < image.count(); ++i) {
    const char* name = image.name_after(kCodePrefix, i);
    if (!name || !image.moves_tensors(i)) continue;
    remember(name);
    any_kernel = any_kernel || !image.is_kernel(name);
  }
  for (std::size_t i = 0; any_kernel && i < image.count(); ++i) {
    if (const char* name = image.name_after(kCodePrefix, i)) remember(name);
  }
}

bool uses_tensor_maps(const char* kernel) {
  if (is_full() || g_unreadable.load(std::memory_order_relaxed)) return true;
  const std::uint64_t hash = hash_of(kernel);
  for (std::size_t at = hash % kNames;; at = (at + 1) % kNames) {
    const std::uint64_t found = g_names[at].load(std::memory_order_relaxed);
    if (found == hash) return true;
    if (found == 0) return false;
  }
}

}  // namespace streamsan::footprints
