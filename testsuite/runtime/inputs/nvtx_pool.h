// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVTX's memory extension takes batches of self-describing structures. What the tests say with it, in one line each.
#pragma once

#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtMem.h>

#include <cstddef>

inline nvtxMemHeapHandle_t register_heap(void* begin, std::size_t bytes, unsigned usage, const char* name) {
  nvtxMemVirtualRangeDesc_t range = {bytes, begin};
  nvtxMemHeapDesc_t heap = {};
  heap.extCompatID = NVTX_EXT_COMPATID_MEM;
  heap.structSize = sizeof heap;
  heap.usage = usage;
  heap.type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  heap.typeSpecificDescSize = sizeof range;
  heap.typeSpecificDesc = &range;
  heap.messageType = name ? NVTX_MESSAGE_TYPE_ASCII : NVTX_MESSAGE_UNKNOWN;
  heap.message.ascii = name;
  return nvtxMemHeapRegister(nullptr, &heap);
}

inline void register_regions(nvtxMemHeapHandle_t heap, const nvtxMemVirtualRangeDesc_t* ranges, std::size_t count,
                             nvtxMemRegionHandle_t* handles) {
  nvtxMemRegionsRegisterBatch_t batch = {};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.heap = heap;
  batch.regionCount = count;
  batch.regionDescElementSize = sizeof *ranges;
  batch.regionDescElements = ranges;
  batch.regionHandleElementsOut = handles;
  nvtxMemRegionsRegister(nullptr, &batch);
}

inline void register_region(nvtxMemHeapHandle_t heap, const void* begin, std::size_t bytes) {
  const nvtxMemVirtualRangeDesc_t range = {bytes, begin};
  register_regions(heap, &range, 1, nullptr);
}

inline void resize_region(const void* begin, std::size_t bytes) {
  const nvtxMemVirtualRangeDesc_t range = {bytes, begin};
  nvtxMemRegionsResizeBatch_t batch = {};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.regionDescCount = 1;
  batch.regionDescElementSize = sizeof range;
  batch.regionDescElements = &range;
  nvtxMemRegionsResize(nullptr, &batch);
}

inline void unregister_region(const void* begin) {
  nvtxMemRegionRef_t region;
  region.pointer = begin;
  nvtxMemRegionsUnregisterBatch_t batch = {};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.refType = NVTX_MEM_REGION_REF_TYPE_POINTER;
  batch.refCount = 1;
  batch.refElementSize = sizeof region;
  batch.refElements = &region;
  nvtxMemRegionsUnregister(nullptr, &batch);
}

inline void name_region(const void* begin, nvtxMessageType_t type, nvtxMessageValue_t name) {
  nvtxMemRegionNameDesc_t region = {};
  region.regionRefType = NVTX_MEM_REGION_REF_TYPE_POINTER;
  region.nameType = type;
  region.region.pointer = begin;
  region.name = name;
  nvtxMemRegionsNameBatch_t batch = {};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.regionCount = 1;
  batch.regionElementSize = sizeof region;
  batch.regionElements = &region;
  nvtxMemRegionsName(nullptr, &batch);
}
inline void name_region(const void* begin, const char* name) {
  nvtxMessageValue_t value;
  value.ascii = name;
  name_region(begin, NVTX_MESSAGE_TYPE_ASCII, value);
}
inline void name_region(const void* begin, const wchar_t* name) {
  nvtxMessageValue_t value;
  value.unicode = name;
  name_region(begin, NVTX_MESSAGE_TYPE_UNICODE, value);
}
