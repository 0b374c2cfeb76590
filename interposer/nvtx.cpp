// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The listener to NVTX: a program that describes its pools to NVIDIA's tools need not do so again for us.
//
// NVTX is headers only. At the first call each copy of it in the process opens the library that NVTX_INJECTION64_PATH
// names, asks for one of the two functions exported here, and lets it fill a table of function pointers; an entry that
// stays empty costs the program one test. `streamsan run` sets the variable to this very library, unless it is set
// already: then another tool listens, and NVTX serves only one. We take the memory extension (nvToolsExtMem.h) and the
// names of streams, and nothing else.
//
// WHAT A REGION SAYS. A heap with usage SUB_ALLOCATOR is "not to be accessed until regions are registered": its regions
// are the blocks of a pool. But no function here names a stream. Which work may use a region is decided "at the time of
// stream enqueue" (the permissions of work that is bound to no permissions object of its own). So:
//   * nvtxMemRegionsUnregister says that nothing more will be submitted for the region. It does not say that what was
//     submitted is done: a stream-ordered pool unregisters a region whose last kernel has yet to run, and registers it
//     again for work that follows in the same stream, and that is correct;
//   * nvtxMemRegionsRegister says neither that earlier work is done, nor for which stream the region is.
// If these two calls counted as a free and an allocation by the host, every stream-ordered pool would give false
// alarms. And no stream is stated: the first use suggests one, but a second use in another stream may be just as right.
//
// So registering and unregistering order nothing and are checked against nothing (records with kNoStream and no
// stream). A region only says where a block begins and ends, for how long, and what it is called. The accesses of
// earlier lives of its bytes are kept, and each use in the new life is compared with them. An ordered use gives no
// report; an unordered one is the same ReuseWhileInUse that an annotated pool gets, found at the use and not at the
// allocation. What is lost: a block that is handed out again too early and is not used is not reported, and neither is
// a release that is too early.
//
// A region of another heap, or of the whole process (NVTX_MEM_HEAP_HANDLE_PROCESS_WIDE), is a part of a larger object
// and not a block: only its name counts. Permissions are not read.
//
// Handles are addresses, as NVTX defines for virtual memory. Two fixed tables hold the live heaps and regions. A region
// that does not fit is no block, and its memory is judged as without annotation. A fork keeps the tables, because the
// addresses mean the same in the child.
#ifdef STREAMSAN_NVTX

#include <cstring>

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtMem.h>

#include "interposer/annotations.h"
#include "interposer/handle_table.h"

namespace streamsan::recorder {
namespace {

/// By first address; the value is the number of bytes.
// A fork keeps g_heaps, g_regions: what the program said about them is inherited, too.
constinit HandleTable<std::uint64_t, 1u << 10> g_heaps{};
constinit HandleTable<std::uint64_t, 1u << 16> g_regions{};

std::uint64_t word(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

/// Element i of a batch, whose elements may be larger in a newer NVTX; nullptr: they are smaller than we know them.
template <class Element>
const Element* element(const void* elements, std::size_t element_bytes, std::size_t i) {
  if (!elements || element_bytes < sizeof(Element)) return nullptr;
  return reinterpret_cast<const Element*>(static_cast<const char*>(elements) + i * element_bytes);
}

template <class Batch>
bool is_whole(const Batch* batch) {
  return batch && batch->structSize >= sizeof(Batch);
}

// ---- names
// --------------------------------------------------------------------------------------------------------------

/// The name as UTF-8, cut to what is kept anyway; empty for strings that were registered beforehand, which we did not
/// listen to.
class Name {
 public:
  explicit Name(const wchar_t* wide) {
    for (; wide && *wide && length_ + 4 < sizeof text_; ++wide) append(static_cast<std::uint32_t>(*wide));
  }
  Name(std::uint32_t type, nvtxMessageValue_t value)
      : Name(type == NVTX_MESSAGE_TYPE_UNICODE ? value.unicode : nullptr) {
    if (type == NVTX_MESSAGE_TYPE_ASCII) given_ = value.ascii;
  }
  [[nodiscard]] const char* text() const { return given_ ? given_ : text_; }

 private:
  void byte(std::uint32_t value) { text_[length_++] = static_cast<char>(value); }
  void append(std::uint32_t code) {
    if (code < 0x80) return byte(code);
    if (code < 0x800) {
      byte(0xc0 | code >> 6);
    } else if (code < 0x10000) {
      byte(0xe0 | code >> 12);
      byte(0x80 | (code >> 6 & 0x3f));
    } else {
      byte(0xf0 | (code >> 18 & 7));
      byte(0x80 | (code >> 12 & 0x3f));
      byte(0x80 | (code >> 6 & 0x3f));
    }
    byte(0x80 | (code & 0x3f));
  }

  const char* given_ = nullptr;
  char text_[256] = {};
  std::size_t length_ = 0;
};

void name_stream_narrow(void* stream, const char* name) {
  if (name && wants_annotations()) name_stream(word(stream), name);
}

void name_stream_wide(void* stream, const wchar_t* name) {
  if (wants_annotations()) name_stream(word(stream), Name(name).text());
}

// ---- heaps and regions
// --------------------------------------------------------------------------------------------------

void begin_region(const nvtxMemVirtualRangeDesc_t& range, const void* frame) {
  auto* known = g_regions.insert(word(range.ptr));
  if (!known) return;
  known->value.store(range.size, std::memory_order_relaxed);
  block_began(word(range.ptr), range.size, frame);
}

void end_region(std::uint64_t address, const void* frame) {
  if (!g_regions.find(address)) return;
  g_regions.erase(address);
  block_ended(address, frame);
}

/// All regions of the heap.
void end_regions(nvtxMemHeapHandle_t handle, const void* frame) {
  const auto* heap = g_heaps.find(word(handle));
  if (!heap) return;
  const std::uint64_t begin = word(handle);
  const std::uint64_t bytes = heap->value.load(std::memory_order_relaxed);
  g_regions.for_each([&](std::uint64_t address) {
    if (address - begin < bytes) end_region(address, frame);
  });
}

nvtxMemHeapHandle_t heap_register(nvtxDomainHandle_t, const nvtxMemHeapDesc_t* heap) {
  if (!is_whole(heap) || heap->type != NVTX_MEM_TYPE_VIRTUAL_ADDRESS) return nullptr;
  const auto* range =
      element<nvtxMemVirtualRangeDesc_t>(heap->typeSpecificDesc, heap->typeSpecificDescSize, std::size_t{0});
  if (!range || !range->ptr) return nullptr;
  if (heap->usage == NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR) {
    if (auto* known = g_heaps.insert(word(range->ptr))) known->value.store(range->size, std::memory_order_relaxed);
  }
  if (wants_annotations()) name_memory(word(range->ptr), Name(heap->messageType, heap->message).text());
  return static_cast<nvtxMemHeapHandle_t>(const_cast<void*>(range->ptr));
}

void heap_unregister(nvtxDomainHandle_t, nvtxMemHeapHandle_t heap) {
  if (wants_annotations()) end_regions(heap, __builtin_frame_address(0));
  g_heaps.erase(word(heap));
}

void heap_reset(nvtxDomainHandle_t, nvtxMemHeapHandle_t heap) {
  if (wants_annotations()) end_regions(heap, __builtin_frame_address(0));
}

void regions_register(nvtxDomainHandle_t, const nvtxMemRegionsRegisterBatch_t* batch) {
  if (!is_whole(batch) || batch->regionType != NVTX_MEM_TYPE_VIRTUAL_ADDRESS) return;
  const bool blocks = batch->heap && g_heaps.find(word(batch->heap)) && wants_annotations();
  for (std::size_t i = 0; i < batch->regionCount; ++i) {
    const auto* range = element<nvtxMemVirtualRangeDesc_t>(batch->regionDescElements, batch->regionDescElementSize, i);
    if (!range) return;
    if (batch->regionHandleElementsOut) {
      batch->regionHandleElementsOut[i] = static_cast<nvtxMemRegionHandle_t>(const_cast<void*>(range->ptr));
    }
    if (blocks && range->ptr && range->size > 0) begin_region(*range, __builtin_frame_address(0));
  }
}

/// A region that has grown or shrunk in its place is a new block there.
void regions_resize(nvtxDomainHandle_t, const nvtxMemRegionsResizeBatch_t* batch) {
  if (!is_whole(batch) || batch->regionType != NVTX_MEM_TYPE_VIRTUAL_ADDRESS || !wants_annotations()) return;
  for (std::size_t i = 0; i < batch->regionDescCount; ++i) {
    const auto* range = element<nvtxMemVirtualRangeDesc_t>(batch->regionDescElements, batch->regionDescElementSize, i);
    if (!range) return;
    if (!g_regions.find(word(range->ptr))) continue;
    end_region(word(range->ptr), __builtin_frame_address(0));
    if (range->size > 0) begin_region(*range, __builtin_frame_address(0));
  }
}

void regions_unregister(nvtxDomainHandle_t, const nvtxMemRegionsUnregisterBatch_t* batch) {
  if (!is_whole(batch) || !wants_annotations()) return;
  for (std::size_t i = 0; i < batch->refCount; ++i) {
    const auto* region = element<nvtxMemRegionRef_t>(batch->refElements, batch->refElementSize, i);
    if (!region) return;
    end_region(word(region->pointer), __builtin_frame_address(0));
  }
}

void regions_name(nvtxDomainHandle_t, const nvtxMemRegionsNameBatch_t* batch) {
  if (!is_whole(batch) || !wants_annotations()) return;
  for (std::size_t i = 0; i < batch->regionCount; ++i) {
    const auto* region = element<nvtxMemRegionNameDesc_t>(batch->regionElements, batch->regionElementSize, i);
    if (!region) return;
    if (region->region.pointer) name_memory(word(region->region.pointer), Name(region->nameType, region->name).text());
  }
}

// ---- how NVTX takes us in
// -----------------------------------------------------------------------------------------------

/// Puts our functions into a table of pointers to NVTX's own function pointers.
class CoreTable {
 public:
  CoreTable(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) {
    if (!callbacks.GetModuleFunctionTable(module, &table_, &size_)) size_ = 0;
  }
  template <class Function>
  void set(unsigned id, Function function) {
    if (id < size_ && table_[id]) *table_[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  }

 private:
  NvtxFunctionTable table_ = nullptr;
  unsigned size_ = 0;
};

template <class Function>
void set_slot(const nvtxExtModuleSegment_t& segment, std::size_t id, Function function) {
  if (id < segment.slotCount) segment.functionSlots[id] = reinterpret_cast<std::intptr_t>(function);
}

}  // namespace
}  // namespace streamsan::recorder

extern "C" {

/// The core of NVTX. 1: we listen.
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  using namespace streamsan::recorder;
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (!callbacks || callbacks->struct_size < sizeof *callbacks) return 0;
  CoreTable driver(*callbacks, NVTX_CB_MODULE_CUDA);
  driver.set(NVTX_CBID_CUDA_NameCuStreamA, name_stream_narrow);
  driver.set(NVTX_CBID_CUDA_NameCuStreamW, name_stream_wide);
  CoreTable runtime(*callbacks, NVTX_CB_MODULE_CUDART);
  runtime.set(NVTX_CBID_CUDART_NameCudaStreamA, name_stream_narrow);
  runtime.set(NVTX_CBID_CUDART_NameCudaStreamW, name_stream_wide);
  return 1;
}

/// An extension of NVTX. 0: we do not listen to this one, or not to this version of it.
__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
  using namespace streamsan::recorder;
  if (!module || module->structSize < sizeof *module || module->moduleId != NVTX_EXT_MODULEID_MEM ||
      module->compatId != NVTX_EXT_COMPATID_MEM || module->segmentsCount == 0) {
    return 0;
  }
  const nvtxExtModuleSegment_t& functions = module->segments[0];
  set_slot(functions, NVTX3EXT_CBID_nvtxMemHeapRegister, heap_register);
  set_slot(functions, NVTX3EXT_CBID_nvtxMemHeapUnregister, heap_unregister);
  set_slot(functions, NVTX3EXT_CBID_nvtxMemHeapReset, heap_reset);
  set_slot(functions, NVTX3EXT_CBID_nvtxMemRegionsRegister, regions_register);
  set_slot(functions, NVTX3EXT_CBID_nvtxMemRegionsResize, regions_resize);
  set_slot(functions, NVTX3EXT_CBID_nvtxMemRegionsUnregister, regions_unregister);
  set_slot(functions, NVTX3EXT_CBID_nvtxMemRegionsName, regions_name);
  return 1;
}
}

#endif
