// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
// RUN: %check dependent-launch-race %s -- -DFIXED
//
// The configuration comes out of a function, a copy or a class; whether it has the attribute is said by the caller.
#include <cuda_runtime.h>

#ifdef FIXED
constexpr bool kOverlap = false;
#else
constexpr bool kOverlap = true;
#endif

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume_by_value(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }
// CHECK-MESSAGES: :[[@LINE-1]]:84: warning: kernel 'consume_by_value' on stream 'config.stream' may read 'data' while kernel 'produce' in front of it still writes it: its launch lets the two overlap, and it never waits [streamsan-dependent-launch-race]
// CHECK-NOTES: :[[@LINE+36]]:3: note: kernel 'consume_by_value' is launched here
// CHECK-NOTES: :[[@LINE+33]]:3: note: 'data' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-4]]:84: note: call cudaGridDependencySynchronize() in the kernel before that, or launch it without the attribute
__global__ void consume_again(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }
// CHECK-MESSAGES: :[[@LINE-1]]:81: warning: kernel 'consume_again' on stream 'config.stream' may read 'data' while kernel 'produce' in front of it still writes it: its launch lets the two overlap, and it never waits [streamsan-dependent-launch-race]
// CHECK-NOTES: :[[@LINE+41]]:3: note: kernel 'consume_again' is launched here
// CHECK-NOTES: :[[@LINE+37]]:3: note: 'data' is written here, on stream 'config.stream'
// CHECK-NOTES: :[[@LINE-4]]:81: note: call cudaGridDependencySynchronize() in the kernel before that, or launch it without the attribute
__global__ void consume_counted(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }
// CHECK-MESSAGES: :[[@LINE-1]]:83: warning: kernel 'consume_counted' on stream 'config.stream' may read 'data' while kernel 'produce' in front of it still writes it: its launch lets the two overlap, and it never waits [streamsan-dependent-launch-race]
// CHECK-NOTES: :[[@LINE+56]]:3: note: kernel 'consume_counted' is launched here
// CHECK-NOTES: :[[@LINE+53]]:3: note: 'data' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-4]]:83: note: call cudaGridDependencySynchronize() in the kernel before that, or launch it without the attribute
__global__ void consume_of_a_class(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }
// CHECK-MESSAGES: :[[@LINE-1]]:86: warning: kernel 'consume_of_a_class' on stream 'stream' may read 'data' while kernel 'produce' in front of it still writes it: its launch lets the two overlap, and it never waits [streamsan-dependent-launch-race]
// CHECK-NOTES: :[[@LINE+79]]:3: note: kernel 'consume_of_a_class' is launched here
// CHECK-NOTES: :[[@LINE+75]]:3: note: 'data' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-4]]:86: note: call cudaGridDependencySynchronize() in the kernel before that, or launch it without the attribute
__global__ void consume_asked(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

// By value, the attribute's place being the caller's; the argument becomes a number and a count.
cudaLaunchConfig_t described(cudaLaunchAttribute* attribute, cudaStream_t stream, bool overlap) {
  cudaLaunchConfig_t config = {};
  config.blockDim = dim3(256);
  config.stream = stream;
  attribute->id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute->val.programmaticStreamSerializationAllowed = overlap ? 1 : 0;
  config.attrs = attribute;
  config.numAttrs = 1;
  return config;
}

void by_value(float* data, float* out, cudaStream_t stream) {
  cudaLaunchAttribute attribute[1];
  produce<<<1, 256, 0, stream>>>(data);
  cudaLaunchConfig_t config = described(attribute, stream, kOverlap);
  cudaLaunchKernelEx(&config, consume_by_value, static_cast<const float*>(data), out);
}

// The variable is used twice, the first time without the attribute.
void again(float* data, float* out, cudaStream_t stream) {
  cudaLaunchAttribute attribute;
  cudaLaunchConfig_t config = described(&attribute, stream, false);
  cudaLaunchKernelEx(&config, produce, data);
  bool overlap = kOverlap;
  config = described(&attribute, stream, overlap);
  cudaLaunchKernelEx(&config, consume_again, static_cast<const float*>(data), out);
}

// A function that returns what another one made, counting the attributes.
cudaLaunchConfig_t plain(cudaStream_t stream) { return {.blockDim = dim3(256), .stream = stream}; }
cudaLaunchConfig_t with_attribute(cudaLaunchConfig_t base, cudaLaunchAttribute* attributes, bool overlap) {
  cudaLaunchConfig_t config = base;
  config.attrs = attributes;
  if (overlap) {
    config.attrs[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    config.attrs[0].val.programmaticStreamSerializationAllowed = 1;
    config.numAttrs++;
  }
  return config;
}

void counted(float* data, float* out, cudaStream_t stream) {
  cudaLaunchAttribute attributes[2];
  produce<<<1, 256, 0, stream>>>(data);
  const auto config = with_attribute(plain(stream), attributes, kOverlap);
  cudaLaunchKernelEx(&config, consume_counted, static_cast<const float*>(data), out);
}

// A class holds both.
class Launch {
 public:
  explicit Launch(cudaStream_t stream) : config_{} {
    config_.blockDim = dim3(256);
    config_.stream = stream;
    config_.attrs = attributes_;
  }
  Launch& allow_overlap(bool on) {
    attributes_[config_.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes_[config_.numAttrs].val.programmaticStreamSerializationAllowed = on;
    ++config_.numAttrs;
    return *this;
  }
  const cudaLaunchConfig_t* get() const { return &config_; }

 private:
  cudaLaunchConfig_t config_;
  cudaLaunchAttribute attributes_[4];
};

void of_a_class(float* data, float* out, cudaStream_t stream) {
  produce<<<1, 256, 0, stream>>>(data);
  Launch launch(stream);
  launch.allow_overlap(kOverlap);
  cudaLaunchKernelEx(launch.get(), consume_of_a_class, static_cast<const float*>(data), out);
}

// Which of the two is only known where it runs.
void asked(float* data, float* out, cudaStream_t stream, bool overlap) {
  cudaLaunchAttribute attribute;
  produce<<<1, 256, 0, stream>>>(data);
  cudaLaunchConfig_t config = described(&attribute, stream, overlap);
  cudaLaunchKernelEx(&config, consume_asked, static_cast<const float*>(data), out);
}
