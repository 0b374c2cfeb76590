// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the lowering learns: by name, one assertion for each kind of answer, and the silent twin of each rule.
#include "analyzer/models/model.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace streamsan::analyzer {
namespace {

using api::CallForm;
using api::Direction;
using api::EffectKind;
using ordering::MemoryKind;
using ordering::StreamKind;

const Models& models() {
  static const Models all;
  return all;
}

Callee callee(const std::string& qualified, unsigned arguments = 99) {
  Callee out;
  out.qualified = qualified;
  const std::size_t split = qualified.rfind("::");
  out.name = split == std::string::npos ? qualified : qualified.substr(split + 2);
  out.arguments = arguments;
  // In these tests as in the libraries: classes have capital letters, or are these.
  if (split != std::string::npos) {
    const std::string scope = qualified.substr(0, split);
    const std::string last = scope.substr(scope.rfind(':') == std::string::npos ? 0 : scope.rfind(':') + 1);
    if (!last.empty() && std::isupper(static_cast<unsigned char>(last.front())) != 0) out.class_name = scope;
  }
  return out;
}

const Model* find(const std::string& qualified, unsigned arguments = 99) {
  return models().find(callee(qualified, arguments));
}

/// The model, or one that fails the test.
const Model& get(const std::string& qualified, unsigned arguments = 99) {
  static const Model none;
  const Model* const found = find(qualified, arguments);
  EXPECT_NE(found, nullptr) << qualified;
  return found == nullptr ? none : *found;
}

TEST(Models, EventsOfOtherProcesses) {
  for (const char* name : {"cudaIpcOpenEventHandle", "hipIpcOpenEventHandle", "cuIpcOpenEventHandle"})
    EXPECT_TRUE(get(name).effect.imported) << name;
  for (const char* name : {"cudaIpcGetEventHandle", "hipIpcGetEventHandle", "cuIpcGetEventHandle"})
    EXPECT_TRUE(get(name).effect.exports_event) << name;
  EXPECT_FALSE(get("cudaEventCreate").effect.imported);
  EXPECT_FALSE(get("cuIpcGetMemHandle").effect.exports_event);
}

TEST(Models, ASideOfACopyIsAVariableOfTheDevice) {
  EXPECT_EQ(get("cudaMemcpyToSymbolAsync").symbol_argument, get("cudaMemcpyToSymbolAsync").effect.dst);
  EXPECT_EQ(get("hipMemcpyFromSymbol").symbol_argument, get("hipMemcpyFromSymbol").effect.src);
  EXPECT_EQ(get("cudaMemcpyFromSymbol").offset_argument, 3);
  EXPECT_EQ(get("cudaMemcpyAsync").symbol_argument, -1);
}

TEST(Models, ContextsAndCaptureModesOfTheDriver) {
  for (const char* name : {"cuCtxCreate", "cuCtxCreate_v2", "cuCtxSetCurrent", "cuCtxPushCurrent", "cuCtxPopCurrent"})
    EXPECT_EQ(get(name).action, ActionKind::SetDevice) << name;
  EXPECT_EQ(get("cuCtxGetCurrent").action, ActionKind::Nothing);
  EXPECT_EQ(get("cuThreadExchangeStreamCaptureMode").action, ActionKind::SwapCaptureMode);
  EXPECT_EQ(get("cuEventElapsedTime").action, ActionKind::Elapsed);
}

TEST(Models, AsynchronousCopyOfTheRuntime) {
  const Model& copy = get("cudaMemcpyAsync");
  EXPECT_EQ(copy.name, "cudaMemcpyAsync");
  EXPECT_EQ(copy.action, ActionKind::Effect);
  EXPECT_EQ(copy.effect.kind, EffectKind::Copy);
  EXPECT_EQ(copy.effect.form, CallForm::Asynchronous);
  EXPECT_EQ(copy.stream_from, StreamFrom::Argument);
  EXPECT_EQ(copy.stream_argument, 4);
  EXPECT_EQ(copy.kind_argument, 3);
  EXPECT_TRUE(copy.may_block_pageable);
  EXPECT_FALSE(copy.unsafe_in_capture);
  EXPECT_EQ(copy.driver, "cuMemcpyAsync");
  ASSERT_EQ(copy.roles.size(), 2u);
  EXPECT_EQ(copy.roles[0].argument, 0);
  EXPECT_EQ(copy.roles[0].mode, ir::Mode::Write);
  EXPECT_EQ(copy.roles[0].bytes_argument, 2);
  EXPECT_EQ(copy.roles[1].argument, 1);
  EXPECT_EQ(copy.roles[1].mode, ir::Mode::Read);
}

TEST(Models, SynchronousCopyUsesTheDefaultStream) {
  const Model& copy = get("cudaMemcpy");
  EXPECT_EQ(copy.stream_from, StreamFrom::Default);
  EXPECT_EQ(copy.effect.form, CallForm::Synchronous);
  EXPECT_TRUE(copy.unsafe_in_capture);
  EXPECT_FALSE(copy.may_block_pageable);
}

TEST(Models, PerThreadSpellingsSayWhatTheyMean) {
  const Model& copy = get("cudaMemcpyAsync_ptsz");
  EXPECT_TRUE(copy.per_thread);
  EXPECT_EQ(copy.name, "cudaMemcpyAsync");
  EXPECT_FALSE(get("cudaMemcpyAsync").per_thread);
  EXPECT_TRUE(get("cudaMemcpy_ptds").per_thread);
  EXPECT_TRUE(get("cuMemcpyHtoDAsync_v2_ptsz").per_thread);
}

TEST(Models, TwoDimensionalCopyNamesItsSidesAndADescriptorDoesNot) {
  EXPECT_EQ(get("cudaMemcpy2DAsync").roles.size(), 2u);
  EXPECT_EQ(get("cudaMemcpy2DAsync").roles[1].argument, 2);
  EXPECT_EQ(get("cudaMemcpy2DToArrayAsync").roles.size(), 1u);
  EXPECT_TRUE(get("cuMemcpy2DAsync_v2").roles.empty());
  EXPECT_TRUE(get("cudaMemcpy3DAsync").roles.empty());
}

TEST(Models, DriverCopiesSayWhichSideIsTheHost) {
  const Model& copy = get("cuMemcpyHtoDAsync");
  EXPECT_EQ(copy.effect.direction, Direction::HostToDevice);
  ASSERT_EQ(copy.roles.size(), 2u);
  EXPECT_FALSE(copy.roles[0].host);
  EXPECT_TRUE(copy.roles[1].host);
  EXPECT_TRUE(get("cuMemcpyDtoH_v2").roles[0].host);
  EXPECT_FALSE(get("cuMemcpyDtoDAsync_v2").roles[0].host);
}

TEST(Models, DriverNameMeansTheNewestVersion) {
  EXPECT_EQ(get("cuMemPrefetchAsync").stream_argument, 4);
  EXPECT_EQ(get("cuMemPrefetchAsync_v2").stream_argument, 4);
  EXPECT_EQ(get("cuMemPrefetchAsync_v2").name, "cuMemPrefetchAsync");
}

TEST(Models, AllocationsSayWhichMemory) {
  EXPECT_EQ(get("cudaMalloc").memory, MemoryKind::Device);
  EXPECT_EQ(get("cudaMallocHost").memory, MemoryKind::Pinned);
  EXPECT_EQ(get("cudaHostAlloc").memory, MemoryKind::Pinned);
  EXPECT_EQ(get("cudaMallocManaged").memory, MemoryKind::Managed);
  EXPECT_EQ(get("cudaMallocAsync", 3).memory, MemoryKind::DeviceAsync);
  EXPECT_EQ(get("cudaHostRegister").memory, MemoryKind::Registered);
  EXPECT_EQ(get("cudaFree").memory, MemoryKind::Device);
  EXPECT_EQ(get("cudaFreeHost").memory, MemoryKind::Pinned);
  EXPECT_EQ(get("cudaFreeAsync").memory, MemoryKind::DeviceAsync);
  EXPECT_EQ(get("cuMemAlloc_v2").memory, MemoryKind::Device);
  EXPECT_EQ(get("malloc").memory, MemoryKind::Pageable);
  EXPECT_EQ(get("cudaStreamSynchronize").memory, std::nullopt);
}

TEST(Models, CreatedHandlesSayTheirKind) {
  EXPECT_EQ(get("cudaStreamCreate").stream_kind, StreamKind::Blocking);
  EXPECT_EQ(get("cudaStreamCreateWithFlags").stream_kind, std::nullopt);
  EXPECT_EQ(get("cudaStreamCreateWithFlags").effect.flags, 1);
  EXPECT_EQ(get("cudaEventCreate", 1).timing, true);
  EXPECT_EQ(get("cudaEventCreate", 2).timing, std::nullopt);
  EXPECT_EQ(get("cudaEventCreate", 2).effect.flags, 1);
}

TEST(Models, OverloadsAreToldApartByTheirNumberOfArguments) {
  EXPECT_EQ(get("cudaMallocAsync", 3).stream_argument, 2);
  EXPECT_EQ(get("cudaMallocAsync", 4).stream_argument, 3);
  EXPECT_EQ(get("cudaMemPrefetchAsync", 4).stream_argument, 3);
  EXPECT_EQ(get("cudaMemPrefetchAsync", 5).stream_argument, 4);
}

TEST(Models, LaunchesSayWhereTheirStreamIs) {
  EXPECT_EQ(get("cudaLaunchKernel").stream_argument, 5);
  EXPECT_EQ(get("cudaLaunchKernelEx").stream_from, StreamFrom::Config);
  EXPECT_EQ(get("cudaLaunchKernelEx").config_argument, 0);
  EXPECT_EQ(get("cudaLaunchKernelEx").first_kernel_argument, 2);
  EXPECT_EQ(get("cuLaunchKernelEx").config_argument, 0);
  EXPECT_EQ(get("cuLaunchKernel").stream_argument, 8);
}

TEST(Models, CapturesRefuseWhatWasMeasured) {
  for (const char* refused :
       {"cudaMalloc", "cudaFree", "cudaHostAlloc", "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaStreamQuery",
        "cudaEventQuery", "cudaEventSynchronize", "cudaMemcpy", "cudaMemset", "cuMemAlloc_v2"})
    EXPECT_TRUE(get(refused).unsafe_in_capture) << refused;
  for (const char* allowed : {"cudaMemcpyAsync", "cudaEventCreate", "cudaStreamCreate", "cudaStreamDestroy",
                              "cudaMemGetInfo", "cudaEventRecord", "cudaLaunchKernel", "cudaStreamWaitEvent"})
    EXPECT_FALSE(get(allowed, 1).unsafe_in_capture) << allowed;
}

TEST(Models, FunctionsWithoutOrderAreNothingAndUnknownOnesAreUnknown) {
  EXPECT_EQ(get("cudaGetLastError").action, ActionKind::Nothing);
  EXPECT_EQ(get("cuCtxGetDevice").action, ActionKind::Nothing);
  EXPECT_EQ(get("cudaSetDevice").action, ActionKind::SetDevice);
  EXPECT_EQ(get("hipSetDevice").action, ActionKind::SetDevice);
  EXPECT_EQ(get("cuCtxPushCurrent").action, ActionKind::SetDevice);
  EXPECT_EQ(get("cudaThreadExchangeStreamCaptureMode").action, ActionKind::SwapCaptureMode);
  EXPECT_EQ(get("cuThreadExchangeStreamCaptureMode").action, ActionKind::SwapCaptureMode);
  EXPECT_EQ(find("cudaSomethingNew"), nullptr);
  EXPECT_EQ(find("my_function"), nullptr);
  EXPECT_EQ(find(""), nullptr);
}

TEST(Models, ElapsedTimeNamesItsEvents) {
  EXPECT_EQ(get("cudaEventElapsedTime").action, ActionKind::Elapsed);
  EXPECT_EQ(get("cudaEventElapsedTime").effect.event, 1);
  EXPECT_EQ(get("cudaEventElapsedTime").effect.object, 2);
  EXPECT_EQ(get("cuEventElapsedTime").action, ActionKind::Elapsed);
  EXPECT_EQ(get("cuEventElapsedTime").effect.object, 2);
}

TEST(Models, HipIsCudaUnderItsOwnName) {
  EXPECT_EQ(get("hipMemcpyAsync").name, "hipMemcpyAsync");
  EXPECT_EQ(get("hipMemcpyAsync").stream_argument, 4);
  EXPECT_EQ(get("hipHostMalloc").memory, MemoryKind::Pinned);
  EXPECT_EQ(get("hipHostFree").effect.kind, EffectKind::FreeHost);
  EXPECT_EQ(get("hipMemcpyHtoDAsync").effect.direction, Direction::HostToDevice);
  EXPECT_EQ(get("hipMemcpyHtoDAsync").name, "hipMemcpyHtoDAsync");
  EXPECT_EQ(get("hipMemcpyWithStream").effect.form, CallForm::Synchronous);
  EXPECT_EQ(get("hipMemcpyWithStream").stream_argument, 4);
  EXPECT_EQ(get("hipExtLaunchKernel").stream_argument, 5);
  EXPECT_EQ(get("hipModuleLaunchKernel").stream_argument, 8);
  EXPECT_EQ(get("hipLaunchKernelGGL").first_kernel_argument, 5);
  EXPECT_EQ(get("hipStreamCreateWithFlags").effect.kind, EffectKind::StreamCreate);
  EXPECT_TRUE(get("hipMemcpyAsync_spt").per_thread);
  EXPECT_EQ(models().type("hipStream_t"), ir::TypeKind::Stream);
  EXPECT_EQ(models().type("hipEvent_t"), ir::TypeKind::Event);
  EXPECT_EQ(find("hipSomethingNew"), nullptr);
}

TEST(Models, LibraryHandles) {
  const Model& set = get("cublasSetStream_v2");
  EXPECT_EQ(set.action, ActionKind::SetHandleStream);
  EXPECT_EQ(set.handle_argument, 0);
  EXPECT_EQ(set.stream_argument, 1);
  for (const char* name :
       {"cudnnSetStream", "cufftSetStream", "cusparseSetStream", "cusolverDnSetStream", "curandSetStream"})
    EXPECT_EQ(get(name).action, ActionKind::SetHandleStream) << name;
  const Model& gemm = get("cublasSgemm_v2");
  EXPECT_EQ(gemm.action, ActionKind::LibraryWork);
  EXPECT_EQ(gemm.stream_from, StreamFrom::Handle);
  EXPECT_EQ(gemm.handle_argument, 0);
  ASSERT_EQ(gemm.roles.size(), 3u);
  EXPECT_EQ(gemm.roles[2].argument, 12);
  EXPECT_EQ(gemm.effect.form, CallForm::Asynchronous);
  EXPECT_EQ(get("cublasSdot_v2").effect.form, CallForm::Synchronous);
  EXPECT_EQ(get("cublasGetMatrixAsync").effect.kind, EffectKind::Copy);
  EXPECT_EQ(get("cublasGetMatrixAsync").stream_argument, 7);
  EXPECT_TRUE(get("cublasGetMatrixAsync").roles[0].host);
  EXPECT_EQ(get("cublasDestroy_v2").effect.kind, EffectKind::SyncContext);
}

TEST(Models, LibraryFunctionsWithoutARowFollowTheirPrefix) {
  const Model& rule = get("cublasStrmm_v2");
  EXPECT_EQ(rule.name, "cublasStrmm_v2");
  EXPECT_EQ(rule.action, ActionKind::LibraryWork);
  EXPECT_EQ(rule.stream_from, StreamFrom::Handle);
  ASSERT_EQ(rule.roles.size(), 1u);
  EXPECT_TRUE(rule.roles[0].by_type);
  EXPECT_EQ(&rule, find("cublasStrmm_v2")) << "made once";
  EXPECT_NE(&rule, find("cublasDtrmm_v2"));
  EXPECT_EQ(get("cudnnBatchNormalizationForwardTraining").action, ActionKind::LibraryWork);
  EXPECT_EQ(get("cudnnCreateTensorDescriptor").action, ActionKind::Nothing);
  EXPECT_EQ(get("cudnnSetTensor4dDescriptor").action, ActionKind::Nothing);
  EXPECT_EQ(find("cublasXtSgemm"), nullptr) << "has streams of its own";
  EXPECT_EQ(find("cudnnDestroy"), nullptr);
  EXPECT_EQ(find("cublas_helper::run"), find("nothing_at_all")) << "a name that only begins like the library";
}

TEST(Models, Nccl) {
  const Model& reduce = get("ncclAllReduce");
  EXPECT_EQ(reduce.action, ActionKind::Communication);
  EXPECT_EQ(reduce.stream_from, StreamFrom::Typed);
  EXPECT_EQ(reduce.roles[0].mode, ir::Mode::Read);
  EXPECT_EQ(reduce.roles[1].mode, ir::Mode::Write);
  EXPECT_EQ(get("ncclRecv").roles[0].mode, ir::Mode::Write);
  EXPECT_EQ(get("ncclGroupStart").action, ActionKind::GroupBegin);
  EXPECT_EQ(get("ncclGroupEnd").action, ActionKind::GroupEnd);
  EXPECT_EQ(find("ncclCommDestroy"), nullptr);
}

TEST(Models, ThrustAndCub) {
  const Model& sort = get("thrust::sort");
  EXPECT_TRUE(sort.after_policy);
  EXPECT_EQ(sort.effect.form, CallForm::Synchronous);
  EXPECT_EQ(get("thrust::cuda_cub::par_t::on").action, ActionKind::Wrapper);
  EXPECT_EQ(get("thrust::some_algorithm").action, ActionKind::LibraryWork);
  EXPECT_EQ(get("thrust::raw_pointer_cast").action, ActionKind::Wrapper);
  EXPECT_EQ(models().policy("thrust::cuda_cub::par_t"), Policy::Waits);
  EXPECT_EQ(models().policy("thrust::cuda_cub::execute_on_stream_nosync"), Policy::NoWait);
  EXPECT_EQ(models().policy("thrust::detail::host_t"), Policy::Host);
  EXPECT_EQ(models().policy("int"), Policy::None);
  const Model& sum = get("cub::DeviceReduce::Sum");
  EXPECT_EQ(sum.stream_from, StreamFrom::Typed);
  EXPECT_EQ(sum.null_argument, 0);
  EXPECT_EQ(sum.effect.form, CallForm::Asynchronous);
  EXPECT_EQ(get("cub::DeviceAdjacentDifference::SubtractLeft").null_argument, 0);
  EXPECT_EQ(find("cub::BlockReduce::Sum"), nullptr);
}

TEST(Models, MpiTouchesItsBuffers) {
  EXPECT_EQ(get("MPI_Send").action, ActionKind::HostTouch);
  EXPECT_EQ(get("MPI_Send").roles[0].mode, ir::Mode::Read);
  EXPECT_EQ(get("MPI_Irecv").roles[0].mode, ir::Mode::Write);
  EXPECT_EQ(get("MPI_Sendrecv").roles[1].argument, 5);
  EXPECT_EQ(get("MPI_Comm_rank").action, ActionKind::Nothing);
}

TEST(Models, PyTorchStreams) {
  EXPECT_EQ(get("c10::cuda::getCurrentCUDAStream").action, ActionKind::GetCurrent);
  EXPECT_EQ(get("c10::cuda::getStreamFromPool").effect.kind, EffectKind::StreamCreate);
  EXPECT_EQ(get("c10::cuda::getStreamFromPool").effect.object, kResult);
  EXPECT_EQ(get("c10::cuda::getStreamFromPool").stream_kind, StreamKind::NonBlocking);
  EXPECT_EQ(get("c10::cuda::getDefaultCUDAStream").stream_from, StreamFrom::Default);
  EXPECT_EQ(get("c10::cuda::CUDAStream::stream").action, ActionKind::Wrapper);
  EXPECT_EQ(get("c10::cuda::CUDAStream::synchronize").action, ActionKind::SyncObject);
  EXPECT_EQ(get("c10::cuda::CUDAStreamGuard::CUDAStreamGuard").member, Member::Make);
  EXPECT_EQ(get("c10::cuda::CUDAStreamGuard::~CUDAStreamGuard").member, Member::End);
  EXPECT_EQ(get("c10::cuda::setCurrentCUDAStream").member, Member::None);
  EXPECT_EQ(get("c10::cuda::CUDAGuard::CUDAGuard").action, ActionKind::SetDevice);
  EXPECT_EQ(get("c10::cuda::CUDAStreamCaptureModeGuard::~CUDAStreamCaptureModeGuard").action,
            ActionKind::SwapCaptureMode);
  EXPECT_EQ(models().type("c10::cuda::CUDAStream"), ir::TypeKind::Stream);
  EXPECT_EQ(models().type("at::cuda::CUDAEvent"), ir::TypeKind::Event);
}

TEST(Models, PyTorchEvents) {
  EXPECT_EQ(get("at::cuda::CUDAEvent::record", 1).stream_argument, 0);
  EXPECT_EQ(get("at::cuda::CUDAEvent::record", 1).effect.event, kObject);
  EXPECT_EQ(get("at::cuda::CUDAEvent::record", 0).stream_from, StreamFrom::Current);
  EXPECT_EQ(get("at::cuda::CUDAEvent::block").effect.kind, EffectKind::EventWait);
  EXPECT_EQ(get("at::cuda::CUDAEvent::CUDAEvent", 0).timing, false);
  EXPECT_EQ(get("at::cuda::CUDAEvent::elapsed_time").action, ActionKind::Elapsed);
}

TEST(Models, PyTorchTensors) {
  EXPECT_EQ(get("at::empty").action, ActionKind::TensorMake);
  EXPECT_EQ(get("torch::zeros_like").action, ActionKind::TensorMake);
  EXPECT_EQ(get("at::Tensor::record_stream").action, ActionKind::KeepAlive);
  EXPECT_EQ(get("at::Tensor::record_stream").roles[0].argument, kObject);
  EXPECT_EQ(get("c10::cuda::CUDACachingAllocator::recordStream").stream_argument, 1);
  EXPECT_EQ(get("at::Tensor::add_").roles[0].mode, ir::Mode::ReadWrite);
  EXPECT_EQ(get("at::Tensor::add").roles[0].mode, ir::Mode::Read);
  EXPECT_FALSE(get("at::Tensor::add").may_alias);
  EXPECT_TRUE(get("at::Tensor::contiguous").may_alias);
  EXPECT_EQ(get("at::Tensor::view").action, ActionKind::Wrapper);
  EXPECT_EQ(get("at::narrow").action, ActionKind::Wrapper);
  EXPECT_EQ(get("at::narrow").value_argument, 0);
  EXPECT_EQ(get("at::narrow").offset_argument, 2);
  EXPECT_TRUE(get("at::reshape").may_alias);
  EXPECT_EQ(get("at::Tensor::set_").action, ActionKind::KeepAlive);
  EXPECT_EQ(get("at::Tensor::sizes").action, ActionKind::Nothing);
  EXPECT_EQ(get("at::Tensor::item").effect.form, CallForm::Synchronous);
  EXPECT_EQ(get("at::Tensor::copy_").non_blocking_argument, kFirstBool);
  EXPECT_EQ(get("at::Tensor::to").non_blocking_argument, kFirstBool);
  EXPECT_EQ(get("at::Tensor::cpu").non_blocking_argument, -1);
  EXPECT_EQ(get("torch::dtype").action, ActionKind::Nothing) << "makes options, no tensor";
  EXPECT_EQ(get("at::matmul").action, ActionKind::TensorWork);
  EXPECT_EQ(get("at::add_out").roles[0].mode, ir::Mode::ReadWrite);
  EXPECT_EQ(get("at::Tensor::data_ptr").member, Member::Data);
  EXPECT_EQ(find("at::parallel_for"), nullptr) << "runs code that was not seen";
  EXPECT_EQ(find("at::cuda::something"), nullptr);
  EXPECT_TRUE(get("c10::cuda::CUDACachingAllocator::raw_alloc").caching);
  ASSERT_TRUE(models().owner("at::Tensor").has_value());
  EXPECT_TRUE(models().owner("at::Tensor")->tensor);
}

TEST(Models, RmmAndLibcuxx) {
  EXPECT_EQ(models().type("rmm::cuda_stream_view"), ir::TypeKind::Stream);
  EXPECT_EQ(get("rmm::cuda_stream_view::value").action, ActionKind::Wrapper);
  EXPECT_EQ(get("rmm::cuda_stream_view::synchronize").action, ActionKind::SyncObject);
  EXPECT_EQ(get("rmm::device_scalar::value").effect.form, CallForm::Synchronous);
  EXPECT_EQ(get("rmm::device_scalar::set_value_async").effect.form, CallForm::Asynchronous);
  EXPECT_TRUE(get("rmm::device_scalar::set_value_async").roles[1].host);
  EXPECT_EQ(get("rmm::device_uvector::resize").member, Member::Grow);
  EXPECT_EQ(get("rmm::device_uvector<int>::data").member, Member::Data);
  EXPECT_TRUE(models().owner("rmm::device_uvector<float>")->stream_ordered);
  EXPECT_EQ(models().stream_constant("rmm::cuda_stream_default"), ir::Operand::Kind::DefaultStream);
  EXPECT_EQ(models().stream_constant("rmm::cuda_stream_per_thread"), ir::Operand::Kind::PerThreadStream);
  EXPECT_EQ(models().stream_constant("my::stream"), std::nullopt);
  EXPECT_EQ(get("cuda::stream_ref::sync").action, ActionKind::SyncObject);
  EXPECT_EQ(models().type("cuda::stream_ref"), ir::TypeKind::Stream);
}

TEST(Models, HostTouches) {
  const Model& copy = get("memcpy");
  EXPECT_EQ(copy.action, ActionKind::HostTouch);
  EXPECT_EQ(copy.roles[0].mode, ir::Mode::Write);
  EXPECT_EQ(copy.roles[1].bytes_argument, 2);
  EXPECT_TRUE(get("printf").roles[0].to_end);
  EXPECT_EQ(get("std::accumulate").roles[0].mode, ir::Mode::Read);
  EXPECT_EQ(get("std::transform", 5).roles.size(), 3u);
  EXPECT_EQ(get("std::transform", 4).roles.size(), 2u);
  EXPECT_EQ(get("free").action, ActionKind::MayThrowAway);
}

TEST(Models, Containers) {
  EXPECT_EQ(get("std::vector::push_back").member, Member::Grow);
  EXPECT_EQ(get("std::vector<float, std::allocator<float>>::push_back").member, Member::Grow);
  EXPECT_EQ(get("std::vector::operator[]").member, Member::At);
  EXPECT_EQ(get("std::vector<int>::operator[]").member, Member::At);
  EXPECT_EQ(get("std::unique_ptr<int[], std::default_delete<int[]>>::operator->").member, Member::Data);
  EXPECT_EQ(get("std::vector::data").member, Member::Data);
  EXPECT_EQ(get("std::vector::~vector").member, Member::End);
  EXPECT_EQ(get("std::vector::clear").action, ActionKind::Nothing) << "the block stays";
  EXPECT_EQ(get("std::unique_ptr::reset").member, Member::Reset);
  EXPECT_EQ(get("std::__shared_ptr::get").member, Member::Data);
  EXPECT_EQ(get("thrust::detail::vector_base::resize").member, Member::Grow);
  EXPECT_EQ(models().owner("std::vector<float>")->memory, MemoryKind::Pageable);
  EXPECT_EQ(models().owner("thrust::device_vector<float>")->memory, MemoryKind::Device);
  EXPECT_FALSE(models().owner("std::shared_ptr<float>").has_value()) << "who ends it is not known";
  EXPECT_FALSE(models().owner("std::span<float>").has_value());
  EXPECT_EQ(models().type("my::Thing"), ir::TypeKind::Other);
}

TEST(Models, HarmlessFunctions) {
  for (const char* name :
       {"std::move", "std::chrono::steady_clock::now", "std::mutex::lock", "sqrtf", "sqrt", "exit", "fopen",
        "omp_get_wtime", "testing::internal::EqFailure", "make_float4", "std::vector::max_size", "isblank", "strtok_r",
        "localtime_r", "exp10f", "vsscanf", "pthread_mutex_trylock"})
    EXPECT_TRUE(models().harmless(callee(name))) << name;
  for (const char* name : {"std::thread::thread", "std::thread::join", "std::async", "std::function::operator()",
                           "std::future::get", "std::condition_variable::wait", "my_sync", "sqrtx", "cudaSomethingNew",
                           "boost::asio::post", "std::atomic::wait", "pthread_join", "sem_wait", "bsearch", "dlopen"})
    EXPECT_FALSE(models().harmless(callee(name))) << name;
}

}  // namespace
}  // namespace streamsan::analyzer
