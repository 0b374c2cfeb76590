// Products of many small matrix pairs. One cuBLAS handle is switched between two lanes with own workspaces.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace lanes {

inline void check(cudaError_t rc, const char* what)
{
    if (rc != cudaSuccess)
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(rc));
}

inline void check(cublasStatus_t rc, const char* what)
{
    if (rc != CUBLAS_STATUS_SUCCESS)
        throw std::runtime_error(std::string(what) + ": cublas status " + std::to_string(static_cast<int>(rc)));
}

constexpr size_t kWorkspaceBytes = size_t(32) << 20;

struct Lane {
    cudaStream_t stream = nullptr;
    cudaEvent_t reached = nullptr;
    void* workspace = nullptr;
    float* scratch = nullptr;
};

struct Pair {
    const float* left;
    const float* right;
    float* product;
};

__global__ void scale_matrix(const float* in, float* out, int n, float factor)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = factor * in[i];
}

class LaneGemm {
public:
    explicit LaneGemm(int order) : order_(order)
    {
        check(cublasCreate(&handle_), "handle");
        check(cudaEventCreateWithFlags(&inputs_ready_, cudaEventDisableTiming), "event");
        for (Lane& lane : lanes_) {
            check(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking), "stream");
            check(cudaEventCreateWithFlags(&lane.reached, cudaEventDisableTiming), "event");
            check(cudaMalloc(&lane.workspace, kWorkspaceBytes), "workspace");
            check(cudaMalloc(&lane.scratch, sizeof(float) * order * order), "scratch");
        }
    }

    LaneGemm(const LaneGemm&) = delete;
    LaneGemm& operator=(const LaneGemm&) = delete;

    ~LaneGemm()
    {
        for (const Lane& lane : lanes_)
            cudaStreamSynchronize(lane.stream);
        cublasDestroy(handle_);
        for (const Lane& lane : lanes_) {
            cudaFree(lane.workspace);
            cudaFree(lane.scratch);
            cudaEventDestroy(lane.reached);
            cudaStreamDestroy(lane.stream);
        }
        cudaEventDestroy(inputs_ready_);
    }

    // Queues all products between the work before and the work after the call on `stream`.
    // The products are different matrices, and none of them is an input.
    void multiply(const std::vector<Pair>& pairs, float factor, cudaStream_t stream)
    {
        check(cudaEventRecord(inputs_ready_, stream), "inputs");
        for (const Lane& lane : lanes_)
            check(cudaStreamWaitEvent(lane.stream, inputs_ready_, 0), "fork");
        for (size_t i = 0; i < pairs.size(); ++i)
            multiply_on(lanes_[i % lanes_.size()], pairs[i], factor);
        for (const Lane& lane : lanes_) {
            check(cudaEventRecord(lane.reached, lane.stream), "reached");
            check(cudaStreamWaitEvent(stream, lane.reached, 0), "join");
        }
    }

private:
    void multiply_on(const Lane& lane, const Pair& pair, float factor)
    {
        const int elements = order_ * order_;
        scale_matrix<<<(elements + 255) / 256, 256, 0, lane.stream>>>(pair.left, lane.scratch, elements, factor);
        check(cudaGetLastError(), "scale");
        check(cublasSetStream(handle_, lane.stream), "set stream");
        check(cublasSetWorkspace(handle_, lane.workspace, kWorkspaceBytes), "set workspace");
        const float one = 1.f;
        const float zero = 0.f;
        check(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, order_, order_, order_, &one, lane.scratch, order_,
                          pair.right, order_, &zero, pair.product, order_),
              "gemm");
    }

    int order_;
    cublasHandle_t handle_ = nullptr;
    cudaEvent_t inputs_ready_ = nullptr;
    std::array<Lane, 2> lanes_;
};

// Products of the pairs, then the squares of the products into `squares`.
void product_and_squares(LaneGemm& gemm, const std::vector<Pair>& pairs, const std::vector<float*>& squares,
                         cudaStream_t stream)
{
    gemm.multiply(pairs, 0.5f, stream);
    std::vector<Pair> again;
    again.reserve(pairs.size());
    for (size_t i = 0; i < pairs.size(); ++i)
        again.push_back(Pair{pairs[i].product, pairs[i].product, squares[i]});
    gemm.multiply(again, 1.f, stream);
}

}  // namespace lanes
