// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor is a pointer to a TensorImpl, which has a Storage, which has a DataPtr, whose deleter gives the memory back.
// Inline code of PyTorch's headers counts references, moves and destroys these objects; it is followed as the program's
// own code. The functions that it calls are in libtorch. The text below defines them in terms of the headers, so that
// the layout of classes is that of the program. Definitions are inline, so that code is generated only for functions
// that are used.
//
// The text derives from classes with a virtual table, because that of the base class is in libtorch.
#include "analyzer/interpreter/torch_text.h"

#include <array>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"

namespace streamsan::analyzer {
namespace {

// About: what torch_tensors.h calls Described, as it stands in memory.
constexpr const char* kTensors = R"(
struct streamsan_torch_about {
  void* data; unsigned long bytes; void* storage; long offset;
  unsigned long dimensions; const long* sizes; const long* strides;
  int type; signed char device_type, device_index;
};
extern "C" { void streamsan_torch_free(void*); void* streamsan_torch_take(unsigned long);
             void streamsan_torch_made(void*, void*, streamsan_torch_about*, const void*); }
namespace streamsan_torch {
struct Storage final : c10::StorageImpl { using c10::StorageImpl::StorageImpl; };
inline const void* data_of(const c10::StorageImpl* storage) { return &storage->data_ptr(); }
struct Tensor final : c10::TensorImpl {
  using c10::TensorImpl::TensorImpl;
  void release_resources() override {
    storage_ = {};
    gradient.reset();
  }
  at::Tensor gradient;
  void become(streamsan_torch_about* about, c10::intrusive_ptr<c10::StorageImpl> storage) {
    set_sizes_and_strides(c10::IntArrayRef(about->sizes, about->dimensions),
                          c10::IntArrayRef(about->strides, about->dimensions), about->offset);
    streamsan_torch_made(this, storage.get(), about, streamsan_torch::data_of(storage.get()));
    storage_ = c10::Storage(std::move(storage));
  }
};
inline c10::intrusive_ptr<c10::StorageImpl> storage_of(streamsan_torch_about* about, c10::DataPtr&& data) {
  return c10::make_intrusive<Storage>(c10::StorageImpl::use_byte_size_t(), static_cast<int64_t>(about->bytes),
                                      std::move(data), nullptr, false);
}
inline c10::intrusive_ptr<c10::StorageImpl> storage_of(streamsan_torch_about* about) {
  if (about->storage != nullptr)
    return c10::intrusive_ptr<c10::StorageImpl>::unsafe_reclaim_from_nonowning(
        static_cast<c10::StorageImpl*>(about->storage));
  return storage_of(about,
                    c10::DataPtr(about->data, about->data, &streamsan_torch_free,
                                 c10::Device(static_cast<c10::DeviceType>(about->device_type), about->device_index)));
}
inline at::Tensor make(streamsan_torch_about* about, c10::intrusive_ptr<c10::StorageImpl> storage) {
  c10::StorageImpl* const kept = storage.get();
  auto made = c10::make_intrusive<Tensor>(
      c10::Storage(std::move(storage)),
      c10::DispatchKeySet(about->device_type == 1 ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU),
      caffe2::TypeMeta::fromScalarType(static_cast<c10::ScalarType>(about->type)));
  made->set_sizes_and_strides(c10::IntArrayRef(about->sizes, about->dimensions),
                              c10::IntArrayRef(about->strides, about->dimensions), about->offset);
  streamsan_torch_made(made.get(), kept, about, data_of(kept));
  return at::Tensor(std::move(made));
}
inline at::Tensor make(streamsan_torch_about* about) {
  return make(about, storage_of(about));
}
}
extern "C" void streamsan_torch_put(at::Tensor* where, streamsan_torch_about* about) {
  new (where) at::Tensor(streamsan_torch::make(about));
}
extern "C" void streamsan_torch_replace(at::Tensor* of, streamsan_torch_about* about) {
  static_cast<streamsan_torch::Tensor*>(of->unsafeGetTensorImpl())
      ->become(about, streamsan_torch::storage_of(about));
}
extern "C" void streamsan_torch_put_list(std::vector<at::Tensor>* where, streamsan_torch_about** about,
                                         unsigned long count) {
  new (where) std::vector<at::Tensor>();
  for (unsigned long i = 0; i < count; ++i) where->push_back(streamsan_torch::make(about[i]));
}
at::Tensor streamsan_given_tensor(unsigned long);
extern "C" void streamsan_torch_called();
)";

// Gives the storage another block, or none; copies the contents of the old one.
constexpr const char* kResize = R"(
inline void at::native::resize_bytes_cuda(c10::StorageImpl* storage, size_t bytes) {
  const c10::Device device = storage->device();
  void* const data = bytes == 0 ? nullptr : streamsan_torch_take(bytes);
  const size_t both = bytes < storage->nbytes() ? bytes : storage->nbytes();
  if (both != 0)
    cudaMemcpyAsync(data, storage->data(), both, cudaMemcpyDeviceToDevice,
                    c10::cuda::getCurrentCUDAStream(device.index()).stream());
  storage->set_data_ptr_noswap(bytes == 0 ? c10::DataPtr(nullptr, device)
                                          : c10::DataPtr(data, data, &streamsan_torch_free, device));
  storage->set_nbytes(bytes);
}
)";

// at::tensor({1, 2}, options): the host makes it and copies it to its place.
constexpr const char* kValues = R"(
namespace streamsan_torch {
template <typename T>
at::Tensor of_values(c10::ArrayRef<T> values, const c10::TensorOptions& options) {
  const int64_t sizes[] = {static_cast<int64_t>(values.size())};
  at::Tensor made = at::empty(c10::IntArrayRef(sizes, 1), options.device(c10::Device(c10::DeviceType::CPU)));
  return options.device().is_cuda() ? made.to(options.device()) : made;
}
}
inline at::Tensor at::tensor(c10::ArrayRef<double> values, const c10::TensorOptions& options) {
  return streamsan_torch::of_values(values, options);
}
inline at::Tensor at::tensor(c10::ArrayRef<float> values, const c10::TensorOptions& options) {
  return streamsan_torch::of_values(values, options);
}
inline at::Tensor at::tensor(c10::ArrayRef<int64_t> values, const c10::TensorOptions& options) {
  return streamsan_torch::of_values(values, options);
}
inline at::Tensor at::tensor(c10::ArrayRef<int> values, const c10::TensorOptions& options) {
  return streamsan_torch::of_values(values, options);
}
inline at::Tensor at::tensor(c10::ArrayRef<bool> values, const c10::TensorOptions& options) {
  return streamsan_torch::of_values(values, options);
}
)";

constexpr const char* kImplementation = R"(
inline c10::TensorImpl::TensorImpl(Storage&& storage, DispatchKeySet key_set, const caffe2::TypeMeta data_type,
                                   std::optional<c10::Device> device)
    : storage_(std::move(storage)), data_type_(data_type), device_opt_(device), key_set_(key_set) {}
inline c10::TensorImpl::TensorImpl(Storage&& storage, DispatchKeySet key_set, const caffe2::TypeMeta data_type)
    : TensorImpl(std::move(storage), key_set, data_type, storage.device()) {}
inline c10::TensorImpl::~TensorImpl() {}
inline void c10::TensorImpl::release_resources() { storage_ = {}; }
)";

// Up to version 2.6, symbolic numbers have tags.
constexpr const char* kContiguous = R"(
namespace streamsan_torch {
inline bool is_contiguous(c10::IntArrayRef sizes, c10::IntArrayRef strides) {
  int64_t next = 1;
  for (int64_t i = static_cast<int64_t>(sizes.size()) - 1; i >= 0; --i) {
    if (sizes[i] == 1) continue;
    if (strides[i] != next) return false;
    next *= sizes[i];
  }
  return true;
}
}
)";
constexpr const char* kContiguousNow = R"(
inline bool c10::TensorImpl::compute_contiguous() const { return streamsan_torch::is_contiguous(sizes(), strides()); }
inline bool c10::TensorImpl::compute_channels_last_contiguous_2d() const { return false; }
inline bool c10::TensorImpl::compute_channels_last_contiguous_3d() const { return false; }
inline bool c10::TensorImpl::compute_strides_like_channels_last_2d() const { return false; }
inline bool c10::TensorImpl::compute_strides_like_channels_last_3d() const { return false; }
inline bool c10::TensorImpl::compute_non_overlapping_and_dense() const { return compute_contiguous(); }
)";
constexpr const char* kContiguousBefore = R"(
inline bool c10::TensorImpl::compute_contiguous(identity<bool>) const {
  return streamsan_torch::is_contiguous(sizes(), strides());
}
inline bool c10::TensorImpl::compute_channels_last_contiguous_2d(identity<bool>) const { return false; }
inline bool c10::TensorImpl::compute_channels_last_contiguous_3d(identity<bool>) const { return false; }
inline bool c10::TensorImpl::compute_strides_like_channels_last_2d(identity<bool>) const { return false; }
inline bool c10::TensorImpl::compute_strides_like_channels_last_3d(identity<bool>) const { return false; }
inline bool c10::TensorImpl::compute_non_overlapping_and_dense(identity<bool>) const {
  return streamsan_torch::is_contiguous(sizes(), strides());
}
)";

constexpr const char* kGradients = R"(
inline at::Tensor& c10::TensorImpl::mutable_grad() { return static_cast<streamsan_torch::Tensor*>(this)->gradient; }
inline const at::Tensor& c10::TensorImpl::grad() const {
  return static_cast<const streamsan_torch::Tensor*>(this)->gradient;
}
inline bool c10::TensorImpl::requires_grad() const { return false; }
inline void c10::TensorImpl::set_requires_grad(bool) {}
)";
// Autograd computes nothing here.
constexpr const char* kAutograd = R"(
inline const at::TensorBase& at::TensorBase::requires_grad_(bool) const { return *this; }
)";
constexpr const char* kBackward = R"(
inline void at::Tensor::_backward(TensorList, const std::optional<Tensor>&, std::optional<bool>, bool) const {}
)";
constexpr const char* kDetached = R"(
namespace streamsan_torch {
inline c10::intrusive_ptr<c10::TensorImpl> again(const c10::TensorImpl* of) {
  return at::alias(at::Tensor(c10::intrusive_ptr<c10::TensorImpl>::reclaim_copy(const_cast<c10::TensorImpl*>(of))))
      .getIntrusivePtr();
}
}
inline c10::intrusive_ptr<c10::TensorImpl> c10::TensorImpl::shallow_copy_and_detach(const c10::VariableVersion&,
                                                                                    bool) const {
  return streamsan_torch::again(this);
}
inline c10::intrusive_ptr<c10::TensorImpl> c10::TensorImpl::shallow_copy_and_detach(c10::VariableVersion&&,
                                                                                    bool) const {
  return streamsan_torch::again(this);
}
)";
constexpr const char* kDefaultType = R"(
inline const caffe2::TypeMeta c10::get_default_dtype() {
  return caffe2::TypeMeta::fromScalarType(c10::ScalarType::Float);
}
inline c10::ScalarType c10::get_default_dtype_as_scalartype() { return c10::ScalarType::Float; }
)";
// No number is symbolic.
constexpr const char* kSymbols = R"(
inline bool c10::SymBool::guard_bool(const char*, int64_t) const { return as_bool_unchecked(); }
inline bool c10::SymBool::expect_true(const char*, int64_t) const { return as_bool_unchecked(); }
inline bool c10::SymBool::guard_size_oblivious(const char*, int64_t) const { return as_bool_unchecked(); }
inline bool c10::SymBool::has_hint() const { return true; }
inline int64_t c10::SymInt::guard_int(const char*, int64_t) const { return as_int_unchecked(); }
)";
constexpr const char* kSymbolsNow = R"(
inline bool c10::SymBool::guard_or_false(const char*, int64_t) const { return as_bool_unchecked(); }
inline bool c10::SymBool::guard_or_true(const char*, int64_t) const { return as_bool_unchecked(); }
inline bool c10::SymBool::statically_known_true(const char*, int64_t) const { return as_bool_unchecked(); }
)";

constexpr const char* kBlob = R"(
namespace streamsan_torch {
struct Lent { void* data; std::function<void(void*)> deleter; std::unique_ptr<void, void (*)(void*)> context; };
inline void end(void* lent) {
  Lent* const of = static_cast<Lent*>(lent);
  if (of->deleter) of->deleter(of->data);
  delete of;
}
}
inline at::Tensor at::TensorMaker::make_tensor() {
  const c10::Device device = device_ ? *device_ : opts_.device();
  long strides[16] = {};
  unsigned long count = 1;
  for (unsigned long i = sizes_.size(); i-- > 0;) {
    if (i < 16) strides[i] = static_cast<long>(count);
    count *= static_cast<unsigned long>(sizes_[i]);
  }
  streamsan_torch_about about = {data_, count * opts_.dtype().itemsize(), nullptr, 0, sizes_.size(), sizes_.data(),
                                 strides_ ? strides_->data() : strides,
                                 static_cast<int>(c10::typeMetaToScalarType(opts_.dtype())),
                                 static_cast<signed char>(device.type()), device.index()};
  return streamsan_torch::make(
      &about, streamsan_torch::storage_of(
                  &about, c10::DataPtr(data_, new streamsan_torch::Lent{data_, std::move(deleter_), std::move(ctx_)},
                                       &streamsan_torch::end, device)));
}
)";

// A stream's number is its handle; 0 is the default stream.
constexpr const char* kStreams = R"(
extern "C" { long streamsan_torch_current(int); void streamsan_torch_make_current(int, long);
             long streamsan_torch_stream(int, int); int streamsan_torch_device(); }
namespace streamsan_torch {
inline c10::cuda::CUDAStream stream(int device, long id) {
  return c10::cuda::CUDAStream(
      c10::cuda::CUDAStream::UNCHECKED,
      c10::Stream(c10::Stream::UNSAFE,
                  c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(device)), id));
}
inline int which(int device) { return device < 0 ? streamsan_torch_device() : device; }
}
inline cudaStream_t c10::cuda::CUDAStream::stream() const { return reinterpret_cast<cudaStream_t>(id()); }
inline c10::cuda::CUDAStream c10::cuda::getCurrentCUDAStream(DeviceIndex device) {
  return streamsan_torch::stream(streamsan_torch::which(device),
                                 streamsan_torch_current(streamsan_torch::which(device)));
}
inline c10::cuda::CUDAStream c10::cuda::getDefaultCUDAStream(DeviceIndex device) {
  return streamsan_torch::stream(streamsan_torch::which(device), 0);
}
inline c10::cuda::CUDAStream c10::cuda::getStreamFromExternal(cudaStream_t stream, DeviceIndex device) {
  return streamsan_torch::stream(streamsan_torch::which(device), reinterpret_cast<long>(stream));
}
inline void c10::cuda::setCurrentCUDAStream(CUDAStream stream) {
  streamsan_torch_make_current(stream.device_index(), stream.id());
}
inline c10::cuda::CUDAStream c10::cuda::getStreamFromPool(const bool high, DeviceIndex device) {
  return streamsan_torch::stream(streamsan_torch::which(device),
                                 streamsan_torch_stream(streamsan_torch::which(device), high ? -1 : 0));
}
extern "C" void* streamsan_given_stream(unsigned long);
inline c10::cuda::CUDAStream streamsan_given_torch_stream(unsigned long number) {
  return streamsan_torch::stream(0, reinterpret_cast<long>(streamsan_given_stream(number)));
}
)";
constexpr const char* kStreamOfPriority = R"(
inline c10::cuda::CUDAStream c10::cuda::getStreamFromPool(const int priority, DeviceIndex device) {
  return streamsan_torch::stream(streamsan_torch::which(device),
                                 streamsan_torch_stream(streamsan_torch::which(device), priority));
}
)";
constexpr const char* kStreamQuery = R"(
inline bool c10::cuda::CUDAStream::query() const { return cudaStreamQuery(stream()) == cudaSuccess; }
)";
constexpr const char* kStreamSynchronize = R"(
inline void c10::cuda::CUDAStream::synchronize() const { cudaStreamSynchronize(stream()); }
)";

constexpr const char* kDeviceCalls = R"(
inline c10::DeviceIndex c10::cuda::device_count() noexcept { return 2; }
inline c10::DeviceIndex c10::cuda::current_device() {
  return static_cast<c10::DeviceIndex>(streamsan_torch_device());
}
inline void c10::cuda::device_synchronize() { cudaDeviceSynchronize(); }
inline c10::DeviceIndex c10::cuda::ExchangeDevice(DeviceIndex device) {
  const int before = streamsan_torch_device();
  if (device != before) cudaSetDevice(device);
  return static_cast<c10::DeviceIndex>(before);
}
inline c10::DeviceIndex c10::cuda::MaybeExchangeDevice(DeviceIndex device) { return ExchangeDevice(device); }
inline cudaError_t c10::cuda::GetDevice(DeviceIndex* device) {
  *device = static_cast<c10::DeviceIndex>(streamsan_torch_device());
  return cudaSuccess;
}
inline cudaError_t c10::cuda::MaybeSetDevice(DeviceIndex device) {
  return device == streamsan_torch_device() ? cudaSuccess : cudaSetDevice(device);
}
)";
constexpr const char* kSetDevice = R"(
inline cudaError_t c10::cuda::SetDevice(DeviceIndex device, const bool) { return MaybeSetDevice(device); }
inline void c10::cuda::set_device(DeviceIndex device, const bool) { MaybeSetDevice(device); }
)";
constexpr const char* kSetDeviceBefore = R"(
inline cudaError_t c10::cuda::SetDevice(DeviceIndex device) { return MaybeSetDevice(device); }
inline void c10::cuda::set_device(DeviceIndex device) { MaybeSetDevice(device); }
)";

constexpr const char* kSynchronize = R"(
inline void torch::cuda::synchronize(int64_t device) {
  const int before = streamsan_torch_device();
  if (device >= 0 && device != before) cudaSetDevice(static_cast<int>(device));
  cudaDeviceSynchronize();
  if (device >= 0 && device != before) cudaSetDevice(before);
}
)";

constexpr const char* kProperties = R"(
inline cudaDeviceProp* at::cuda::getDeviceProperties(c10::DeviceIndex device) {
  cudaDeviceProp* const properties = new cudaDeviceProp;
  cudaGetDeviceProperties(properties, device);
  return properties;
}
inline cudaDeviceProp* at::cuda::getCurrentDeviceProperties() { return getDeviceProperties(0); }
inline int at::cuda::warp_size() { return 32; }
)";

// A captured graph, which owns its memory.
constexpr const char* kGraph = R"(
inline at::cuda::CUDAGraph::CUDAGraph(bool keep)
    : capture_stream_(c10::cuda::getCurrentCUDAStream()), keep_graph_(keep) {}
)";
constexpr const char* kGraphBefore = R"(
inline at::cuda::CUDAGraph::CUDAGraph() : capture_stream_(c10::cuda::getCurrentCUDAStream()) {}
)";
constexpr const char* kGraphWork = R"(
inline at::cuda::CUDAGraph::~CUDAGraph() {}
inline void at::cuda::CUDAGraph::capture_begin(MempoolId_t, cudaStreamCaptureMode mode) {
  capture_stream_ = c10::cuda::getCurrentCUDAStream();
  cudaStreamBeginCapture(capture_stream_.stream(), mode);
}
)";
constexpr const char* kGraphEnd = R"(
inline void at::cuda::CUDAGraph::capture_end() {
  cudaStreamEndCapture(capture_stream_.stream(), &graph_);
  cudaGraphInstantiateWithFlags(&graph_exec_, graph_, 0);
}
)";
constexpr const char* kGraphReplay = R"(
inline void at::cuda::CUDAGraph::instantiate() {}
inline void at::cuda::CUDAGraph::replay() {
  cudaGraphLaunch(graph_exec_, c10::cuda::getCurrentCUDAStream().stream());
}
inline void at::cuda::CUDAGraph::reset() {}
)";

}  // namespace

bool has_torch(clang::ASTContext& context) {
  const clang::DeclarationName at(&context.Idents.get("at")), tensor(&context.Idents.get("Tensor"));
  for (const clang::NamedDecl* found : context.getTranslationUnitDecl()->lookup(at))
    if (const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(found);
        space != nullptr && !space->lookup(tensor).empty())
      return true;
  return false;
}

std::span<const char* const> torch_text() {
  static constexpr std::array kText = {
      kTensors,          kImplementation, kValues,          kGradients,        kAutograd,    kBackward,
      kDetached,         kDefaultType,    kSymbols,         kSymbolsNow,       kContiguous,  kContiguousNow,
      kContiguousBefore, kBlob,           kStreams,         kStreamOfPriority, kStreamQuery, kStreamSynchronize,
      kDeviceCalls,      kSetDevice,      kSetDeviceBefore, kSynchronize,      kProperties,  kGraph,
      kGraphBefore,      kGraphWork,      kGraphEnd,        kGraphReplay,      kResize};
  return kText;
}

}  // namespace streamsan::analyzer
