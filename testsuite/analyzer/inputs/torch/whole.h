// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As much of PyTorch's C++ side as following a program needs: tensors that are counted, as the real ones are, guards
// and events with bodies, and operators with their schemas. The other mock headers declare the same classes without
// bodies: include this one or those.
#pragma once

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#include <cstdio>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace c10 {
namespace detail {
[[noreturn]] void torchCheckFail(const char* function, const char* file, uint32_t line, const char* message);
inline const char* torchCheckMsgImpl(const char* message) { return message; }
template <typename... Arguments>
const char* torchCheckMsgImpl(const char* message, const Arguments&...) {
  static char text[64];
  return std::snprintf(text, sizeof text, "%s", message) > 0 ? text : message;
}
}  // namespace detail

using DeviceIndex = int8_t;
using StreamId = int64_t;
enum class DeviceType : int8_t { CPU = 0, CUDA = 1 };
enum class ScalarType : int8_t { Byte, Char, Short, Int, Long, Half, Float, Double };
enum class Layout : int8_t { Strided };
enum class MemoryFormat : int8_t { Contiguous };
constexpr DeviceType kCPU = DeviceType::CPU;
constexpr DeviceType kCUDA = DeviceType::CUDA;
constexpr ScalarType kFloat = ScalarType::Float;
constexpr ScalarType kInt = ScalarType::Int;

struct Device {
  Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
  DeviceIndex index() const noexcept { return index_; }
  DeviceType type() const noexcept { return type_; }

 private:
  DeviceType type_;
  DeviceIndex index_;
};
class Stream final {
  Device device_;
  StreamId id_;

 public:
  enum Unsafe { UNSAFE };
  explicit Stream(Unsafe, Device device, StreamId id) : device_(device), id_(id) {}
  Device device() const noexcept { return device_; }
  StreamId id() const noexcept { return id_; }
};

template <typename T>
class ArrayRef {
 public:
  ArrayRef(const T* data, size_t length) : data_(data), length_(length) {}
  ArrayRef(const std::initializer_list<T>& list) : data_(list.begin()), length_(list.size()) {}
  const T* data() const { return data_; }
  size_t size() const { return length_; }
  const T& operator[](size_t i) const { return data_[i]; }

 private:
  const T* data_;
  size_t length_;
};
using IntArrayRef = ArrayRef<int64_t>;

// ---- counted objects ------------------------------------------------------------------------------------------------

class intrusive_ptr_target {
 public:
  virtual ~intrusive_ptr_target() {}
  virtual void release_resources() {}
  mutable size_t refcount_ = 0;
};
namespace detail {
template <typename T>
struct intrusive_target_default_null_type {
  static constexpr T* singleton() { return nullptr; }
};
}  // namespace detail
template <typename T, typename Null = detail::intrusive_target_default_null_type<T>>
class intrusive_ptr final {
 public:
  intrusive_ptr() : target_(Null::singleton()) {}
  explicit intrusive_ptr(T* target) : target_(target) { retain(); }
  intrusive_ptr(const intrusive_ptr& other) : target_(other.target_) { retain(); }
  intrusive_ptr(intrusive_ptr&& other) noexcept : target_(other.target_) { other.target_ = Null::singleton(); }
  template <typename U, typename N>
  intrusive_ptr(intrusive_ptr<U, N>&& other) : target_(other.get()) {
    retain();
  }
  ~intrusive_ptr() { reset(); }
  intrusive_ptr& operator=(intrusive_ptr other) noexcept {
    std::swap(target_, other.target_);
    return *this;
  }
  T* get() const { return target_; }
  T* operator->() const { return target_; }
  void reset() {
    if (target_ != Null::singleton() && --target_->refcount_ == 0) {
      target_->release_resources();
      delete target_;
    }
    target_ = Null::singleton();
  }
  static intrusive_ptr unsafe_reclaim_from_nonowning(T* target) { return intrusive_ptr(target); }

 private:
  void retain() {
    if (target_ != Null::singleton()) ++target_->refcount_;
  }
  T* target_;
};
template <typename T, typename... Arguments>
intrusive_ptr<T> make_intrusive(Arguments&&... arguments) {
  return intrusive_ptr<T>(new T(std::forward<Arguments>(arguments)...));
}

using DeleterFnPtr = void (*)(void*);
class DataPtr {
 public:
  DataPtr() : ptr_(nullptr), ctx_(nullptr, nullptr), device_(kCPU) {}
  DataPtr(void* data, void* ctx, DeleterFnPtr deleter, Device device)
      : ptr_(data), ctx_(ctx, deleter), device_(device) {}
  DataPtr(void* data, Device device) : ptr_(data), ctx_(nullptr, nullptr), device_(device) {}
  void* get() const { return ptr_; }
  void clear() {
    ctx_.reset();
    ptr_ = nullptr;
  }
  Device device() const { return device_; }

 private:
  void* ptr_;
  std::unique_ptr<void, DeleterFnPtr> ctx_;
  Device device_;
};
struct Allocator;
struct StorageImpl : public intrusive_ptr_target {
  struct use_byte_size_t {};
  StorageImpl(use_byte_size_t, int64_t bytes, DataPtr data, Allocator*, bool)
      : data_ptr_(std::move(data)), size_bytes_(bytes) {}
  void release_resources() override { data_ptr_.clear(); }
  void reset() {
    data_ptr_.clear();
    size_bytes_ = 0;
  }
  const DataPtr& data_ptr() const { return data_ptr_; }
  void set_data_ptr_noswap(DataPtr&& data) { data_ptr_ = std::move(data); }
  void* data() const { return data_ptr_.get(); }
  size_t nbytes() const { return static_cast<size_t>(size_bytes_); }
  void set_nbytes(size_t bytes) { size_bytes_ = static_cast<int64_t>(bytes); }
  Device device() const { return data_ptr_.device(); }
  DataPtr data_ptr_;
  int64_t size_bytes_;
};
struct Storage {
  Storage() = default;
  Storage(intrusive_ptr<StorageImpl> implementation) : storage_impl_(std::move(implementation)) {}
  Device device() const { return storage_impl_->data_ptr_.device(); }
  StorageImpl* unsafeGetStorageImpl() const { return storage_impl_.get(); }
  intrusive_ptr<StorageImpl> storage_impl_;
};

enum class DispatchKey : uint16_t { CPU, CUDA };
class DispatchKeySet {
 public:
  DispatchKeySet(DispatchKey key) : key_(key) {}

 private:
  DispatchKey key_;
};
}  // namespace c10
namespace caffe2 {
class TypeMeta final {
 public:
  static TypeMeta fromScalarType(c10::ScalarType type) { return TypeMeta(static_cast<uint16_t>(type)); }

 private:
  explicit TypeMeta(uint16_t index) : index_(index) {}
  uint16_t index_;
};
}  // namespace caffe2
namespace c10 {
struct TensorImpl : public intrusive_ptr_target {
  TensorImpl(Storage&& storage, DispatchKeySet key_set, const caffe2::TypeMeta data_type);
  TensorImpl(Storage&& storage, DispatchKeySet key_set, const caffe2::TypeMeta data_type, std::optional<Device> device);
  ~TensorImpl() override;
  void release_resources() override;
  const Storage& storage() const { return storage_; }
  void set_sizes_and_strides(IntArrayRef sizes, IntArrayRef, int64_t offset) {
    dimensions_ = sizes.size();
    storage_offset_ = offset;
  }

 protected:
  Storage storage_;
  size_t dimensions_ = 0;
  int64_t storage_offset_ = 0;
  caffe2::TypeMeta data_type_;
  std::optional<Device> device_opt_;
  DispatchKeySet key_set_;
};

struct TensorOptions {
  TensorOptions() = default;
  TensorOptions(DeviceType type) : device_(Device(type)) {}
  TensorOptions(Device device) : device_(device) {}
  TensorOptions(ScalarType type) : dtype_(type) {}
  TensorOptions dtype(ScalarType type) const {
    TensorOptions result = *this;
    result.dtype_ = type;
    return result;
  }
  TensorOptions pinned_memory(bool pinned) const {
    TensorOptions result = *this;
    result.pinned_ = pinned;
    return result;
  }
  std::optional<Device> device_;
  std::optional<ScalarType> dtype_;
  std::optional<bool> pinned_;
};
}  // namespace c10

// ---- streams --------------------------------------------------------------------------------------------------------

namespace c10::cuda {
class CUDAStream {
 public:
  enum Unchecked { UNCHECKED };
  explicit CUDAStream(Unchecked, Stream stream) : stream_(stream) {}
  operator cudaStream_t() const { return stream(); }
  operator Stream() const { return unwrap(); }
  DeviceIndex device_index() const { return stream_.device().index(); }
  StreamId id() const { return stream_.id(); }
  bool query() const;
  void synchronize() const;
  cudaStream_t stream() const;
  Stream unwrap() const { return stream_; }

 private:
  Stream stream_;
};
CUDAStream getStreamFromPool(const bool isHighPriority = false, DeviceIndex device = -1);
CUDAStream getStreamFromPool(const int priority, DeviceIndex device = -1);
CUDAStream getStreamFromExternal(cudaStream_t ext_stream, DeviceIndex device_index);
CUDAStream getDefaultCUDAStream(DeviceIndex device_index = -1);
CUDAStream getCurrentCUDAStream(DeviceIndex device_index = -1);
void setCurrentCUDAStream(CUDAStream stream);

struct CUDAStreamGuard {
  explicit CUDAStreamGuard(Stream stream) : before_(getCurrentCUDAStream(stream.device().index())) {
    setCurrentCUDAStream(CUDAStream(CUDAStream::UNCHECKED, stream));
  }
  ~CUDAStreamGuard() { setCurrentCUDAStream(before_); }
  CUDAStreamGuard(const CUDAStreamGuard&) = delete;
  CUDAStreamGuard& operator=(const CUDAStreamGuard&) = delete;

 private:
  CUDAStream before_;
};

struct CUDAEvent {
  CUDAEvent() noexcept = default;
  CUDAEvent(const CUDAEvent&) = delete;
  CUDAEvent& operator=(const CUDAEvent&) = delete;
  ~CUDAEvent() {
    if (is_created_) cudaEventDestroy(event_);
  }
  void record() { record(getCurrentCUDAStream()); }
  void record(const CUDAStream& stream) {
    if (!is_created_) cudaEventCreateWithFlags(&event_, cudaEventDisableTiming);
    is_created_ = true;
    cudaEventRecord(event_, stream);
  }
  void block(const CUDAStream& stream) {
    if (is_created_) cudaStreamWaitEvent(stream, event_, 0);
  }
  void synchronize() const {
    if (is_created_) cudaEventSynchronize(event_);
  }

 private:
  bool is_created_ = false;
  cudaEvent_t event_{};
};
}  // namespace c10::cuda

// ---- tensors --------------------------------------------------------------------------------------------------------

namespace at {
using c10::Device;
using c10::DeviceType;
using c10::IntArrayRef;
using c10::kCPU;
using c10::kCUDA;
using c10::kFloat;
using c10::kInt;
using c10::ScalarType;
using c10::TensorOptions;

class Tensor;
class TensorBase {
 public:
  TensorBase() = default;
  explicit TensorBase(c10::intrusive_ptr<c10::TensorImpl> implementation) : impl_(std::move(implementation)) {}
  int64_t dim() const;
  int64_t size(int64_t dim) const;
  int64_t numel() const;
  bool is_cuda() const;
  Device device() const;
  ScalarType scalar_type() const;
  template <typename T>
  T* data_ptr() const;
  bool defined() const { return impl_.get() != nullptr; }
  void set_data(const TensorBase& data) const;
  const c10::Storage& storage() const { return impl_.get()->storage(); }
  void reset() { impl_.reset(); }
  c10::TensorImpl* unsafeGetTensorImpl() const { return impl_.get(); }

 protected:
  c10::intrusive_ptr<c10::TensorImpl> impl_;
};
class Tensor : public TensorBase {
 public:
  Tensor() = default;
  explicit Tensor(c10::intrusive_ptr<c10::TensorImpl> implementation) : TensorBase(std::move(implementation)) {}
  TensorOptions options() const { return TensorOptions(device()).dtype(scalar_type()); }
  void record_stream(c10::Stream stream) const;
  Tensor clone() const;
  Tensor& copy_(const Tensor& source, bool non_blocking = false) const;
  Tensor& add_(const Tensor& other) const;
  Tensor mul(const Tensor& other) const;
  Tensor select(int64_t dim, int64_t index) const;
  Tensor to(Device device, bool non_blocking = false) const;
  const Tensor& resize_(IntArrayRef size) const;
};

// (The real operators of arithmetic have one more argument, a Scalar.)
#define SS_OPERATOR(name_, schema_, result_, ...)      \
  struct name_ {                                       \
    static constexpr const char* schema_str = schema_; \
    static result_ call(__VA_ARGS__);                  \
  };
namespace _ops {
SS_OPERATOR(empty_memory_format,
            "empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
            Tensor, IntArrayRef size, std::optional<ScalarType> dtype, std::optional<c10::Layout> layout,
            std::optional<Device> device, std::optional<bool> pin_memory, std::optional<c10::MemoryFormat> format)
SS_OPERATOR(zeros,
            "zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
            "pin_memory=None) -> Tensor",
            Tensor, IntArrayRef size, std::optional<ScalarType> dtype, std::optional<c10::Layout> layout,
            std::optional<Device> device, std::optional<bool> pin_memory)
SS_OPERATOR(record_stream, "record_stream(Tensor(a!) self, Stream s) -> ()", void, Tensor& self, c10::Stream s)
SS_OPERATOR(copy_, "copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", Tensor&, Tensor& self,
            const Tensor& src, bool non_blocking)
SS_OPERATOR(add__Tensor, "add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", Tensor&, Tensor& self,
            const Tensor& other)
SS_OPERATOR(clone, "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", Tensor, const Tensor& self,
            std::optional<int> memory_format)
SS_OPERATOR(mul_Tensor, "mul.Tensor(Tensor self, Tensor other) -> Tensor", Tensor, const Tensor& self,
            const Tensor& other)
SS_OPERATOR(select_int, "select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", Tensor, const Tensor& self,
            int64_t dim, int64_t index)
SS_OPERATOR(to_device,
            "to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False) -> "
            "Tensor(a)",
            Tensor, const Tensor& self, Device device, ScalarType dtype, bool non_blocking, bool copy)
SS_OPERATOR(resize_, "resize_(Tensor(a!) self, SymInt[] size) -> Tensor(a!)", const Tensor&, const Tensor& self,
            IntArrayRef size)
}  // namespace _ops
#undef SS_OPERATOR

inline void Tensor::record_stream(c10::Stream stream) const {
  _ops::record_stream::call(const_cast<Tensor&>(*this), stream);
}
inline Tensor& Tensor::copy_(const Tensor& source, bool non_blocking) const {
  return _ops::copy_::call(const_cast<Tensor&>(*this), source, non_blocking);
}
inline Tensor& Tensor::add_(const Tensor& other) const {
  return _ops::add__Tensor::call(const_cast<Tensor&>(*this), other);
}
inline Tensor Tensor::clone() const { return _ops::clone::call(*this, std::nullopt); }
inline Tensor Tensor::mul(const Tensor& other) const { return _ops::mul_Tensor::call(*this, other); }
inline Tensor Tensor::select(int64_t dim, int64_t index) const { return _ops::select_int::call(*this, dim, index); }
inline Tensor Tensor::to(Device device, bool non_blocking) const {
  return _ops::to_device::call(*this, device, scalar_type(), non_blocking, false);
}
inline const Tensor& Tensor::resize_(IntArrayRef size) const { return _ops::resize_::call(*this, size); }
inline Tensor empty(IntArrayRef size, TensorOptions options = {}) {
  return _ops::empty_memory_format::call(size, options.dtype_, std::nullopt, options.device_, options.pinned_,
                                         std::nullopt);
}
inline Tensor zeros(IntArrayRef size, TensorOptions options = {}) {
  return _ops::zeros::call(size, options.dtype_, std::nullopt, options.device_, options.pinned_);
}
}  // namespace at
namespace at::cuda {
using c10::cuda::CUDAEvent;
using c10::cuda::CUDAStream;
using c10::cuda::getCurrentCUDAStream;
using c10::cuda::getDefaultCUDAStream;
using c10::cuda::getStreamFromPool;

struct CUDAGraph {
  using MempoolId_t = std::pair<uint64_t, uint64_t>;
  CUDAGraph(bool keep_graph = false);
  ~CUDAGraph();
  void capture_begin(MempoolId_t pool = {0, 0}, cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal);
  void capture_end();
  void instantiate();
  void replay();
  void reset();

 protected:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t graph_exec_ = nullptr;
  CUDAStream capture_stream_;
  bool keep_graph_;
};
}  // namespace at::cuda

namespace at::native {
void resize_bytes_cuda(c10::StorageImpl* storage, size_t size_bytes);
}

// ---- modules --------------------------------------------------------------------------------------------------------

extern "C" int PyGILState_Check();
namespace pybind11 {
class gil_scoped_release {
 public:
  gil_scoped_release() {
    if (PyGILState_Check() == 0) ::c10::detail::torchCheckFail(__func__, __FILE__, 0, "the lock is not held");
  }
  ~gil_scoped_release() {}
};
struct module_ {
  template <typename Function>
  module_& def(const char*, Function) {
    return *this;
  }
};
template <typename T>
class class_ {
 public:
  class_(module_& scope, const char* name);
  template <typename Function>
  class_& def(const char* name, Function function);
};
}  // namespace pybind11
#define PYBIND11_MODULE(name, variable) void pybind11_init_##name(::pybind11::module_& variable)

#define TORCH_CHECK(cond, ...)                                                       \
  if (!(cond))                                                                       \
  ::c10::detail::torchCheckFail(__func__, __FILE__, static_cast<uint32_t>(__LINE__), \
                                ::c10::detail::torchCheckMsgImpl(#cond, ##__VA_ARGS__))
