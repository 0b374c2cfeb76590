// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See code.h.

#include "testsuite/nulldriver/code.h"

#include <elf.h>
#include <string.h>

#include <algorithm>
#include <cstring>

namespace streamsan::null {
namespace {

/// What the CUDA runtime said about an image before loading it.
struct Registration {
  std::set<std::string, std::less<>> kernels;
  std::map<std::string, Global, std::less<>> globals;
};

std::map<const void*, Registration>& registrations() {
  static auto& instance = *new std::map<const void*, Registration>;
  return instance;
}

std::map<std::string, KernelBody, std::less<>>& bodies() {
  static auto& instance = *new std::map<std::string, KernelBody, std::less<>>;
  return instance;
}

/// The wrapper that nvcc puts around a fat binary in a host object, and the fat binary's own header.
struct FatWrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const void* data;
};
constexpr std::uint32_t kFatWrapperMagic = 0x466243b1;
struct FatHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;
};
constexpr std::uint32_t kFatMagic = 0xba55ed50;

const void* unwrap(const void* image) {
  std::uint32_t magic;
  std::memcpy(&magic, image, sizeof(magic));
  return magic == kFatWrapperMagic ? static_cast<const FatWrapper*>(image)->data : image;
}

bool is_ptx(const char* text) {
  while (*text == ' ' || *text == '\n' || *text == '\r' || *text == '\t') ++text;
  return std::strncmp(text, "//", 2) == 0 || std::strncmp(text, ".version", 8) == 0;
}

/// 0 if it is neither a fat binary nor a cubin.
std::size_t binary_bytes(const void* image) {
  FatHeader fat;
  std::memcpy(&fat, image, sizeof(fat));
  if (fat.magic == kFatMagic) return fat.header_bytes + fat.bytes;
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0) return 0;
  const auto* header = static_cast<const Elf64_Ehdr*>(image);
  const std::size_t sections = header->e_shoff + std::size_t{header->e_shnum} * header->e_shentsize;
  const std::size_t segments = header->e_phoff + std::size_t{header->e_phnum} * header->e_phentsize;
  return std::max(sections, segments);
}

/// end() if it has none, or none any more.
Allocations::iterator live_memory(const Place& place) {
  const auto found = allocations().find(place.address);
  return found != allocations().end() && found->second.id == place.allocation_id ? found : allocations().end();
}

}  // namespace

Code* load_code(const void* image) {
  const void* inner = unwrap(image);
  auto* code = new Code;
  code->image = inner;
  if (is_ptx(static_cast<const char*>(inner))) {
    PtxContents contents = read_ptx(static_cast<const char*>(inner));
    for (const auto& [name, layout] : contents.kernels) code->kernels.insert(name);
    for (const auto& [name, bytes] : contents.globals) code->globals[name] = {.bytes = bytes, .places = {}};
    code->layouts = std::move(contents.kernels);
  } else {
    code->image_bytes = binary_bytes(inner);
    if (code->image_bytes == 0) {
      delete code;
      return nullptr;
    }
  }
  if (const auto known = registrations().find(inner); known != registrations().end()) {
    code->kernels.insert(known->second.kernels.begin(), known->second.kernels.end());
    code->globals.insert(known->second.globals.begin(), known->second.globals.end());
  }
  return code;
}

void unload_code(Code* code) {
  for (const auto& [name, global] : code->globals) {
    for (const auto& [context, place] : global.places) {
      if (const auto found = live_memory(place); found != allocations().end()) release(found);
    }
  }
  delete code;
}

bool has_kernel(const Code& code, std::string_view name) {
  if (code.kernels.count(name) != 0) return true;
  if (code.image_bytes == 0) return false;
  const std::string section = ".text." + std::string(name);
  return memmem(code.image, code.image_bytes, section.c_str(), section.size() + 1) != nullptr;
}

std::optional<ParameterLayout> layout_of(const Code& code, const std::string& kernel) {
  if (const auto exact = code.layouts.find(kernel); exact != code.layouts.end()) return exact->second;
  return layout_from_mangled_name(kernel);
}

CUresult address_of_global(Code& code, std::string_view name, CUcontext context, CUdeviceptr* address,
                           std::size_t* bytes) {
  const auto found = code.globals.find(name);
  if (found == code.globals.end()) return CUDA_ERROR_NOT_FOUND;
  Global& global = found->second;
  Place& place = global.places[global.managed ? nullptr : context];
  if (live_memory(place) == allocations().end()) {
    Heap& heap = global.managed ? managed_heap() : device_heap(device_of(context));
    const MemoryKind kind = global.managed ? MemoryKind::Managed : MemoryKind::Global;
    place.address = allocate(heap, global.bytes, kind, 0, context);
    if (place.address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    place.allocation_id = allocations().at(place.address).id;
    std::memset(reinterpret_cast<void*>(place.address), 0, global.bytes);
  }
  if (address != nullptr) *address = place.address;
  if (bytes != nullptr) *bytes = global.bytes;
  return CUDA_SUCCESS;
}

KernelBody body_of(std::string_view kernel) {
  const auto found = bodies().find(kernel);
  return found == bodies().end() ? nullptr : found->second;
}

CUresult find_function(CUfunction function, Code** code, std::string* name) {
  if (state().functions.alive(function)) {
    *code = function->code;
    *name = function->name;
    return CUDA_SUCCESS;
  }
  auto* kernel = reinterpret_cast<CUkernel>(function);
  if (!state().kernels.alive(kernel)) return CUDA_ERROR_INVALID_HANDLE;
  *code = kernel->code;
  *name = kernel->name;
  return CUDA_SUCCESS;
}

CUcontext home_of(CUfunction function) {
  if (!state().functions.alive(function) || !state().contexts.alive(function->context)) return nullptr;
  return function->context;
}

}  // namespace streamsan::null

using namespace streamsan::null;

#define SS_PRIVATE_EXPORT extern "C" __attribute__((visibility("default"))) void

SS_PRIVATE_EXPORT streamsan_null_register_function(const void* image, const char* name) {
  const Lock lock = lock_state();
  registrations()[unwrap(image)].kernels.insert(name);
}

SS_PRIVATE_EXPORT streamsan_null_register_global(const void* image, const char* name, size_t bytes, int managed) {
  const Lock lock = lock_state();
  registrations()[unwrap(image)].globals[name] = {.bytes = bytes, .managed = managed != 0, .places = {}};
}

SS_PRIVATE_EXPORT streamsan_null_register_kernel_body(const char* name, void (*body)(void**)) {
  const Lock lock = lock_state();
  bodies()[name] = body;
}
