// Dense optical flow (simplified Farneback), CUDA module.
#include <cuda_runtime.h>
#include <cassert>
#include <cstddef>

#define cudaSafeCall(expr) do { cudaError_t e = (expr); assert(e == cudaSuccess); (void)e; } while (0)

namespace cv { namespace cuda {

class Stream
{
public:
    Stream()  { cudaSafeCall(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
    ~Stream() { cudaStreamDestroy(s_); }
    void waitForCompletion() { cudaSafeCall(cudaStreamSynchronize(s_)); }
    cudaStream_t handle() const { return s_; }
private:
    Stream(const Stream&);
    cudaStream_t s_;
};

class GpuMat
{
public:
    GpuMat() : rows(0), cols(0), data(0) {}
    ~GpuMat() { if (data) cudaFree(data); }

    void create(int r, int c)
    {
        if (data)
        {
            assert(r == rows && c == cols);  // fixed frame size per object
            return;
        }
        rows = r; cols = c;
        cudaSafeCall(cudaMalloc((void**)&data, sizeof(float) * r * c));
    }
    int total() const { return rows * cols; }

    int rows, cols;
    float* data;

private:
    GpuMat(const GpuMat&);
    GpuMat& operator=(const GpuMat&);
};

namespace device { namespace optflow {

    __global__ void polynomialExpansion(const float* src, float* dst, int n)
    {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i > 0 && i < n - 1)
            dst[i] = 0.25f * src[i - 1] + 0.5f * src[i] + 0.25f * src[i + 1];
    }

    __global__ void updateFlow(const float* r0, const float* r1, float* flow, int n)
    {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n)
            flow[i] = r1[i] - r0[i];
    }

    void polynomialExpansionGpu(const GpuMat& src, GpuMat& dst, cudaStream_t stream)
    {
        polynomialExpansion<<<(src.total() + 255) / 256, 256, 0, stream>>>(src.data, dst.data, src.total());
        cudaSafeCall(cudaGetLastError());
    }

    void updateFlowGpu(const GpuMat& r0, const GpuMat& r1, GpuMat& flow, cudaStream_t stream)
    {
        updateFlow<<<(flow.total() + 255) / 256, 256, 0, stream>>>(r0.data, r1.data, flow.data, flow.total());
        cudaSafeCall(cudaGetLastError());
    }
}}

class DenseOpticalFlow
{
public:
    virtual ~DenseOpticalFlow() {}
    virtual void calc(const GpuMat& I0, const GpuMat& I1, GpuMat& flow, Stream& stream) = 0;
};

class FarnebackImpl : public DenseOpticalFlow
{
public:
    void calc(const GpuMat& I0, const GpuMat& I1, GpuMat& flow, Stream& stream)
    {
        flow.create(I0.rows, I0.cols);
        R_[0].create(I0.rows, I0.cols);
        R_[1].create(I0.rows, I0.cols);
        device::optflow::polynomialExpansionGpu(I0, R_[0], stream.handle());
        device::optflow::polynomialExpansionGpu(I1, R_[1], stream.handle());
        device::optflow::updateFlowGpu(R_[0], R_[1], flow, stream.handle());
    }

private:
    // polynomial coefficients of both frames
    GpuMat R_[2];
};

}}  // namespace cv::cuda

// Left and right camera are processed side by side.
void stereoFlow(const cv::cuda::GpuMat (&left)[2], const cv::cuda::GpuMat (&right)[2],
                cv::cuda::GpuMat& flowL, cv::cuda::GpuMat& flowR)
{
    cv::cuda::Stream streamL, streamR;
    cv::cuda::FarnebackImpl algL, algR;
    algL.calc(left[0], left[1], flowL, streamL);
    algR.calc(right[0], right[1], flowR, streamR);
    streamL.waitForCompletion();
    streamR.waitForCompletion();
}
