// Multi-colour Gauss-Seidel for the circuit simulator. Written for the legacy default stream: sweeps run in ordinary
// (blocking) streams, everything between two sweeps runs in stream 0 and therefore needs no events.
#include <cuda_runtime.h>

#include <cmath>
#include <stdexcept>
#include <vector>

namespace circuit {

inline void ensure(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

// Conductance matrix in CSR form on the host. Nodes of one colour are not connected with each other.
struct Network {
  std::vector<int> row_start;
  std::vector<int> column;
  std::vector<float> value;
  std::vector<float> diagonal;
  std::vector<std::vector<int>> colour_nodes;
  int nodes() const { return static_cast<int>(diagonal.size()); }
};

__global__ void relax_nodes(const int* nodes, int count, const int* row_start, const int* column, const float* value,
                            const float* diagonal, const float* current, float* voltage) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  int i = nodes[k];
  float acc = current[i];
  for (int e = row_start[i]; e < row_start[i + 1]; ++e) acc -= value[e] * voltage[column[e]];
  voltage[i] = acc / diagonal[i];
}

__global__ void residual(int n, const int* row_start, const int* column, const float* value, const float* diagonal,
                         const float* current, const float* voltage, float* sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float r = current[i] - diagonal[i] * voltage[i];
  for (int e = row_start[i]; e < row_start[i + 1]; ++e) r -= value[e] * voltage[column[e]];
  atomicAdd(sum, r * r);
}

__global__ void barrier_mark(int* sweeps) { ++*sweeps; }

template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(const std::vector<T>& host) : count_(host.size()) {
    ensure(cudaMalloc(&data_, count_ * sizeof(T)));
    ensure(cudaMemcpy(data_, host.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  T* data() const { return data_; }
  int size() const { return static_cast<int>(count_); }

 private:
  size_t count_ = 0;
  T* data_ = nullptr;
};

class GaussSeidel {
 public:
  static constexpr int kLanes = 3;

  explicit GaussSeidel(const Network& net)
      : n_(net.nodes()),
        row_start_(net.row_start),
        column_(net.column),
        value_(net.value),
        diagonal_(net.diagonal),
        voltage_(std::vector<float>(net.nodes(), 0.0f)),
        current_(std::vector<float>(net.nodes(), 0.0f)),
        sum_(std::vector<float>(1, 0.0f)),
        sweeps_(std::vector<int>(1, 0)) {
    for (cudaStream_t& s : lanes_) ensure(cudaStreamCreate(&s));
    for (const auto& nodes : net.colour_nodes) colours_.push_back(new DeviceArray<int>(nodes));
  }

  ~GaussSeidel() {
    cudaDeviceSynchronize();
    for (DeviceArray<int>* c : colours_) delete c;
    for (cudaStream_t s : lanes_) cudaStreamDestroy(s);
  }
  GaussSeidel(const GaussSeidel&) = delete;
  GaussSeidel& operator=(const GaussSeidel&) = delete;

  // Solves for the given injected currents and returns the node voltages.
  std::vector<float> solve(const std::vector<float>& injected, float tolerance, int max_sweeps) {
    ensure(cudaMemcpyAsync(current_.data(), injected.data(), n_ * sizeof(float), cudaMemcpyHostToDevice, 0));
    for (int sweep = 0; sweep < max_sweeps; ++sweep) {
      for (const DeviceArray<int>* c : colours_) relax_colour(*c);
      if (sweep % 16 == 15 && std::sqrt(squared_residual()) < tolerance) break;
    }
    std::vector<float> result(n_);
    ensure(cudaMemcpy(result.data(), voltage_.data(), n_ * sizeof(float), cudaMemcpyDeviceToHost));
    return result;
  }

 private:
  // The lanes take a third of the nodes each; the mark in stream 0 separates one colour from the next.
  void relax_colour(const DeviceArray<int>& nodes) {
    int part = (nodes.size() + kLanes - 1) / kLanes;
    for (int l = 0; l < kLanes; ++l) {
      int first = l * part;
      int count = first + part < nodes.size() ? part : nodes.size() - first;
      if (count <= 0) break;
      relax_nodes<<<(count + 127) / 128, 128, 0, lanes_[l]>>>(nodes.data() + first, count, row_start_.data(),
                                                             column_.data(), value_.data(), diagonal_.data(),
                                                             current_.data(), voltage_.data());
      ensure(cudaGetLastError());
    }
    barrier_mark<<<1, 1>>>(sweeps_.data());
    ensure(cudaGetLastError());
  }

  float squared_residual() {
    float host = 0.0f;
    ensure(cudaMemsetAsync(sum_.data(), 0, sizeof(float), lanes_[0]));
    residual<<<(n_ + 127) / 128, 128, 0, lanes_[0]>>>(n_, row_start_.data(), column_.data(), value_.data(),
                                                      diagonal_.data(), current_.data(), voltage_.data(), sum_.data());
    ensure(cudaGetLastError());
    ensure(cudaMemcpy(&host, sum_.data(), sizeof(float), cudaMemcpyDeviceToHost));
    return host;
  }

  int n_;
  DeviceArray<int> row_start_, column_;
  DeviceArray<float> value_, diagonal_, voltage_, current_, sum_;
  DeviceArray<int> sweeps_;
  std::vector<DeviceArray<int>*> colours_;
  cudaStream_t lanes_[kLanes] = {};
};

}  // namespace circuit
