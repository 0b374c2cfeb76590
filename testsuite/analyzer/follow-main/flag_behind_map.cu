// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Sheets of an atlas are uploaded by whoever asks first, and kept in a std::map. Whether a sheet was uploaded is a flag
// behind the map: by the text alone, the second request may find it unset and upload again. The run of main() knows that
// it is set, so the wait for the event orders the two renderers, and nothing is reported. Without the wait they race.
#include <cuda_runtime.h>

#include <map>
#include <memory>
#include <string>

__global__ void render(const float* sheet, float* picture) { picture[threadIdx.x] = sheet[threadIdx.x]; }

class Sheet {
 public:
  Sheet() {
    cudaMallocHost(&host_, 256 * sizeof(float));
    cudaMalloc(&device_, 256 * sizeof(float));
    cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming);
  }
  ~Sheet() {
    cudaDeviceSynchronize();
    cudaEventDestroy(uploaded_);
    cudaFree(device_);
    cudaFreeHost(host_);
  }
  const float* on(cudaStream_t stream) {
    if (!asked_for_) {
      cudaMemcpyAsync(device_, host_, 256 * sizeof(float), cudaMemcpyHostToDevice, stream);
      cudaEventRecord(uploaded_, stream);
      asked_for_ = true;
    } else {
#ifdef FIXED
      cudaStreamWaitEvent(stream, uploaded_, 0);
#endif
    }
    return device_;
  }

 private:
  bool asked_for_ = false;
  float* host_ = nullptr;
  float* device_ = nullptr;
  cudaEvent_t uploaded_ = nullptr;
};

class Renderer {
 public:
  Renderer() {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMalloc(&picture_, 256 * sizeof(float));
  }
  ~Renderer() {
    cudaStreamSynchronize(stream_);
    cudaFree(picture_);
    cudaStreamDestroy(stream_);
  }
  void draw(Sheet& sheet) {
    const float* pixels = sheet.on(stream_);
    render<<<1, 256, 0, stream_>>>(pixels, picture_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'render' on stream 'right.stream_' may read 'pixels' while cudaMemcpyAsync (host to device) on stream 'left.stream_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+23]]:3: note: in the call to 'Renderer::draw' here
// CHECK-NOTES: :[[@LINE-34]]:7: note: 'pixels' is written here, on stream 'left.stream_'
// CHECK-NOTES: :[[@LINE-5]]:27: note: in the call to 'Sheet::on' here
// CHECK-NOTES: :[[@LINE+19]]:3: note: in the call to 'Renderer::draw' here
// CHECK-NOTES: :[[@LINE-16]]:5: note: stream 'left.stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE+16]]:12: note: in the call to 'Renderer::Renderer' here
// CHECK-NOTES: :[[@LINE-18]]:5: note: stream 'right.stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE+14]]:18: note: in the call to 'Renderer::Renderer' here
// CHECK-NOTES: :[[@LINE-52]]:5: note: 'pixels' is allocated here
// CHECK-NOTES: :[[@LINE+11]]:20: note: in the call to 'Sheet::Sheet' here
// CHECK-NOTES: :[[@LINE-12]]:5: note: nothing orders stream 'right.stream_' after stream 'left.stream_': record an event in stream 'left.stream_' after the write and let stream 'right.stream_' wait for it with cudaStreamWaitEvent before kernel 'render'
  }

 private:
  cudaStream_t stream_ = nullptr;
  float* picture_ = nullptr;
};

int main() {
  std::map<std::string, std::unique_ptr<Sheet>> atlas;
  atlas["north"] = std::make_unique<Sheet>();
  Renderer left, right;
  left.draw(*atlas.at("north"));
  right.draw(*atlas.at("north"));
}
