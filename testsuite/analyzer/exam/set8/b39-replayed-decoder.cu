// Neural vocoder front end. The decoder is captured once into a graph that works on fixed buffers; the frames are then
// taken over by the mixer, which keeps a ring of recent frames on its own stream.
#include <cuda_runtime.h>

#include <stdexcept>
#include <vector>

namespace vocoder {

inline void must(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

constexpr int kHidden = 512;
constexpr int kFrame = 1024;

__global__ void update_state(float* state, const float* latent) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kHidden) state[i] = tanhf(0.9f * state[i] + latent[i]);
}

__global__ void emit_frame(const float* state, const float* basis, float* frame) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kFrame) return;
  float acc = 0.0f;
  for (int k = 0; k < kHidden; ++k) acc += basis[k * kFrame + i] * state[k];
  frame[i] = acc;
}

__global__ void mix_ring(const float* ring, int depth, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kFrame) return;
  float acc = 0.0f;
  for (int d = 0; d < depth; ++d) acc += ring[d * kFrame + i];
  out[i] = acc / depth;
}

class GraphDecoder {
 public:
  // `basis` is device memory and outlives the decoder.
  explicit GraphDecoder(const float* basis) : basis_(basis) {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    must(cudaEventCreateWithFlags(&finished_, cudaEventDisableTiming));
    must(cudaMalloc(&state_, kHidden * sizeof(float)));
    must(cudaMalloc(&latent_, kHidden * sizeof(float)));
    must(cudaMalloc(&frame_, kFrame * sizeof(float)));
    must(cudaMemsetAsync(state_, 0, kHidden * sizeof(float), stream_));
    capture();
  }

  ~GraphDecoder() {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(exec_);
    cudaFree(frame_);
    cudaFree(latent_);
    cudaFree(state_);
    cudaEventDestroy(finished_);
    cudaStreamDestroy(stream_);
  }

  GraphDecoder(const GraphDecoder&) = delete;
  GraphDecoder& operator=(const GraphDecoder&) = delete;

  // Replays the decoder for a latent vector in device memory.
  void step(const float* latent) {
    must(cudaMemcpyAsync(latent_, latent, kHidden * sizeof(float), cudaMemcpyDeviceToDevice, stream_));
    must(cudaGraphLaunch(exec_, stream_));
    must(cudaEventRecord(finished_, stream_));
  }

  const float* frame() const { return frame_; }
  cudaEvent_t finished() const { return finished_; }
  cudaStream_t stream() const { return stream_; }

 private:
  void capture() {
    cudaGraph_t graph = nullptr;
    must(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    update_state<<<kHidden / 128, 128, 0, stream_>>>(state_, latent_);
    emit_frame<<<kFrame / 128, 128, 0, stream_>>>(state_, basis_, frame_);
    must(cudaStreamEndCapture(stream_, &graph));
    must(cudaGraphInstantiate(&exec_, graph, 0));
    must(cudaGraphDestroy(graph));
  }

  const float* basis_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t finished_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  float* state_ = nullptr;
  float* latent_ = nullptr;
  float* frame_ = nullptr;
};

class Mixer {
 public:
  explicit Mixer(int depth) : depth_(depth) {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    must(cudaEventCreateWithFlags(&taken_, cudaEventDisableTiming));
    must(cudaMalloc(&ring_, depth * kFrame * sizeof(float)));
    must(cudaMemsetAsync(ring_, 0, depth * kFrame * sizeof(float), stream_));
  }
  ~Mixer() {
    cudaStreamSynchronize(stream_);
    cudaFree(ring_);
    cudaEventDestroy(taken_);
    cudaStreamDestroy(stream_);
  }
  Mixer(const Mixer&) = delete;
  Mixer& operator=(const Mixer&) = delete;

  // Takes the latest frame over into the ring.
  void take(const GraphDecoder& decoder) {
    must(cudaStreamWaitEvent(stream_, decoder.finished(), 0));
    float* slot = ring_ + (count_++ % depth_) * kFrame;
    must(cudaMemcpyAsync(slot, decoder.frame(), kFrame * sizeof(float), cudaMemcpyDeviceToDevice, stream_));
    must(cudaEventRecord(taken_, stream_));
  }

  void mix(float* out) {
    mix_ring<<<kFrame / 128, 128, 0, stream_>>>(ring_, depth_, out);
    must(cudaGetLastError());
  }

  cudaEvent_t taken() const { return taken_; }
  void finish() { must(cudaStreamSynchronize(stream_)); }

 private:
  int depth_;
  int count_ = 0;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t taken_ = nullptr;
  float* ring_ = nullptr;
};

// Decodes an utterance; `out` holds one mixed frame per latent. The latents must be complete. Blocks.
void synthesise(GraphDecoder& decoder, Mixer& mixer, const std::vector<const float*>& latents, float* out) {
  for (size_t t = 0; t < latents.size(); ++t) {
    decoder.step(latents[t]);
    mixer.take(decoder);
    mixer.mix(out + t * kFrame);
  }
  mixer.finish();
}

}  // namespace vocoder
