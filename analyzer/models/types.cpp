// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What types are, by name.
//
// A wrapper class whose value is all that counts (c10::cuda::CUDAStream, rmm::cuda_stream_view, cuda::stream_ref) is a
// Stream itself. So are Thrust's execution policies: par.on(s) has the value s. A class that owns memory is an Object;
// its Owner says which memory ends with it. Shared owners (std::shared_ptr) are not owners here: who ends the memory is
// not known, and saying nothing hides a race where saying "now" would invent one.
#include "analyzer/models/types.h"

namespace streamsan::analyzer {

namespace {

using ir::TypeKind;
using ordering::MemoryKind;

constexpr std::string_view kStreams[] = {
    "cudaStream_t",
    "CUstream",
    "hipStream_t",
    "CUstream_st *",
    "struct CUstream_st *",
    "ihipStream_t *",
    "struct ihipStream_t *",
    "c10::cuda::CUDAStream",
    "at::cuda::CUDAStream",
    "c10::hip::HIPStream",
    "c10::Stream",
    "rmm::cuda_stream_view",
    "rmm::cuda_stream",
    "cuda::stream_ref",
    "cuda::stream",
    "cuda::experimental::stream_ref",
    "cuda::experimental::stream",
    "cudaStreamPtr",
};
constexpr std::string_view kEvents[] = {
    "cudaEvent_t",
    "CUevent",
    "hipEvent_t",
    "CUevent_st *",
    "struct CUevent_st *",
    "ihipEvent_t *",
    "struct ihipEvent_t *",
    "c10::cuda::CUDAEvent",
    "at::cuda::CUDAEvent",
    "c10::Event",
    "cuda::event",
    "cuda::event_ref",
    "cuda::timed_event",
    "cuda::experimental::event",
    "cuda::experimental::event_ref",
    "cuda::experimental::timed_event",
};
constexpr std::string_view kGraphs[] = {
    "cudaGraph_t",      "cudaGraphExec_t",         "CUgraph",      "CUgraphExec",
    "hipGraph_t",       "hipGraphExec_t",          "CUgraph_st *", "struct CUgraph_st *",
    "CUgraphExec_st *", "struct CUgraphExec_st *", "ihipGraph *",  "struct ihipGraph *",
    "hipGraphExec *",   "struct hipGraphExec *",
};
constexpr std::string_view kPointers[] = {"CUdeviceptr", "CUdeviceptr_v1", "CUdeviceptr_v2", "hipDeviceptr_t"};
/// A pointer and the shape of what it points to. Since PyTorch 2.10 the names of at:: are aliases of the others.
constexpr std::string_view kAccessors[] = {
    "at::TensorAccessor",
    "at::TensorAccessorBase",
    "at::PackedTensorAccessor",
    "at::GenericPackedTensorAccessor",
    "at::GenericPackedTensorAccessorBase",
    "torch::headeronly::detail::TensorAccessor",
    "torch::headeronly::detail::TensorAccessorBase",
    "torch::headeronly::detail::GenericPackedTensorAccessor",
    "torch::headeronly::detail::GenericPackedTensorAccessorBase",
};

constexpr std::string_view kHostOwners[] = {
    "std::vector", "std::array", "std::unique_ptr", "std::basic_string", "std::string",         "std::deque",
    "std::list",   "std::queue", "std::stack",      "std::valarray",     "thrust::host_vector", "std::wstring",
};
constexpr std::string_view kDeviceOwners[] = {"thrust::device_vector", "thrust::device_ptr_memory"};
constexpr std::string_view kTensors[] = {"at::Tensor", "torch::Tensor", "at::TensorBase"};
/// Their memory is stream-ordered: the destructor frees on the stream they were made with.
constexpr std::string_view kStreamOrdered[] = {
    "rmm::device_buffer",
    "rmm::device_uvector",
    "rmm::device_scalar",
    "cuda::device_buffer",
    "cuda::experimental::device_buffer",
    "cuda::experimental::uninitialized_async_buffer",
};

struct NamedPolicy {
  std::string_view name;
  Policy policy;
};
constexpr NamedPolicy kPolicies[] = {
    {"thrust::detail::host_t", Policy::Host},
    {"thrust::detail::seq_t", Policy::Host},
    {"thrust::system::cpp::detail::par_t", Policy::Host},
    {"thrust::system::omp::detail::par_t", Policy::Host},
    {"thrust::system::tbb::detail::par_t", Policy::Host},
    {"thrust::detail::device_t", Policy::Waits},
    {"thrust::cuda_cub::par_t", Policy::Waits},
    {"thrust::cuda_cub::tag", Policy::Waits},
    {"thrust::cuda_cub::execute_on_stream", Policy::Waits},
    {"thrust::cuda_cub::execute_on_stream_base", Policy::Waits},
    {"thrust::cuda_cub::execute_with_allocator", Policy::Waits},
    {"thrust::system::cuda::detail::par_t", Policy::Waits},
    {"thrust::system::cuda::detail::execute_on_stream", Policy::Waits},
    {"thrust::cuda_cub::par_nosync_t", Policy::NoWait},
    {"thrust::cuda_cub::execute_on_stream_nosync", Policy::NoWait},
    {"thrust::cuda_cub::execute_on_stream_nosync_base", Policy::NoWait},
    {"thrust::system::cuda::detail::par_nosync_t", Policy::NoWait},
    // rmm::exec_policy(stream) and its sibling are policies that allocate from RMM.
    {"rmm::exec_policy", Policy::Waits},
    {"rmm::exec_policy_nosync", Policy::NoWait},
};

struct Constant {
  std::string_view name;
  ir::Operand::Kind kind;
};
constexpr Constant kConstants[] = {
    {"rmm::cuda_stream_default", ir::Operand::Kind::DefaultStream},
    {"rmm::cuda_stream_legacy", ir::Operand::Kind::LegacyStream},
    {"rmm::cuda_stream_per_thread", ir::Operand::Kind::PerThreadStream},
};

}  // namespace

Types Types::built_in() {
  Types types;
  for (const std::string_view name : kStreams) types.put(name, {.kind = TypeKind::Stream});
  for (const std::string_view name : kEvents) types.put(name, {.kind = TypeKind::Event});
  for (const std::string_view name : kGraphs) types.put(name, {.kind = TypeKind::Graph});
  for (const std::string_view name : kPointers) types.put(name, {.kind = TypeKind::Pointer});
  for (const std::string_view name : kAccessors) types.put(name, {.kind = TypeKind::Pointer});
  for (const std::string_view name : kHostOwners)
    types.put(name, {.kind = TypeKind::Object, .owner = Models::Owner{.memory = MemoryKind::Pageable}});
  for (const std::string_view name : kDeviceOwners)
    types.put(name, {.kind = TypeKind::Object, .owner = Models::Owner{.memory = MemoryKind::Device}});
  for (const std::string_view name : kTensors)
    types.put(name, {.kind = TypeKind::Object, .owner = Models::Owner{.memory = MemoryKind::Device, .tensor = true}});
  for (const std::string_view name : kStreamOrdered)
    types.put(name, {.kind = TypeKind::Object,
                     .owner = Models::Owner{.memory = MemoryKind::DeviceAsync, .stream_ordered = true}});
  for (const auto& [name, policy] : kPolicies) types.put(name, {.kind = TypeKind::Stream, .policy = policy});
  return types;
}

void Types::put(std::string_view name, const TypeFacts& facts) { types_.insert_or_assign(std::string(name), facts); }

const TypeFacts& Types::find(std::string_view name) const {
  static const TypeFacts nothing;
  const std::size_t arguments = name.find('<');
  if (const auto found = types_.find(name.substr(0, arguments)); found != types_.end()) return found->second;
  return nothing;
}

std::optional<ir::Operand::Kind> Types::stream_constant(std::string_view variable) const {
  for (const auto& [name, kind] : kConstants)
    if (name == variable) return kind;
  return std::nullopt;
}

bool is_gpu_name(std::string_view identifier) {
  const bool of_driver =
      identifier.starts_with("cu") && identifier.size() > 2 && identifier[2] >= 'A' && identifier[2] <= 'Z';
  return of_driver || identifier.starts_with("CU") || identifier.starts_with("hip") ||
         identifier.find("cuda") != std::string_view::npos;
}

bool is_graph_node(std::string_view class_name) {
  return class_name == "CUgraphNode_st" || class_name == "hipGraphNode";
}

bool is_launch_attribute(std::string_view qualified_class) {
  // cudaLaunchAttributeValue, CUlaunchAttributeValue_union
  return qualified_class.find("aunchAttributeValue") != std::string_view::npos;
}

}  // namespace streamsan::analyzer
