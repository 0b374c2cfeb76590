#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include <cuda_runtime.h>

#include <cassert>
#include <memory>

namespace evo
{

struct ManagedFree
{
    void operator()(void* p) const { cudaFree(p); }
};

template <class T>
using managed_ptr = std::unique_ptr<T[], ManagedFree>;

template <class T>
managed_ptr<T> make_managed(size_t n)
{
    void* p = nullptr;
    [[maybe_unused]] cudaError_t e = cudaMallocManaged(&p, n * sizeof(T));
    assert(e == cudaSuccess);
    return managed_ptr<T>(static_cast<T*>(p));
}

struct Rastrigin
{
    const float* genes;
    int          dim;

    __host__ __device__ float operator()(int individual) const
    {
        const float* g   = genes + static_cast<size_t>(individual) * dim;
        float        sum = 0.f;
        for (int d = 0; d < dim; ++d)
            sum += g[d] * g[d] * (1.f - 0.5f * g[d] * g[d]);
        return sum;
    }
};

struct Ranking
{
    float score;
    int   individual;
};

class Population
{
public:
    Population(int size, int dim)
        : size_(size), dim_(dim),
          genes_(make_managed<float>(static_cast<size_t>(size) * dim)),
          scores_(make_managed<float>(size)),
          order_(make_managed<int>(size))
    {
        [[maybe_unused]] cudaError_t e = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
        assert(e == cudaSuccess);
    }

    ~Population()
    {
        cudaStreamSynchronize(stream_);
        cudaStreamDestroy(stream_);
    }

    Population(const Population&) = delete;

    /// To be filled on the host before rank(), not during best_of().
    float* genes() { return genes_.get(); }

    Ranking best_of()
    {
        rank();
        [[maybe_unused]] cudaError_t e = cudaStreamSynchronize(stream_);
        assert(e == cudaSuccess);
        return Ranking{scores_[0], order_[0]};
    }

private:
    void rank()
    {
        auto policy = thrust::cuda::par_nosync.on(stream_);
        thrust::counting_iterator<int> first(0);
        thrust::transform(policy, first, first + size_, scores_.get(), Rastrigin{genes_.get(), dim_});
        thrust::copy_n(policy, first, size_, order_.get());
        thrust::sort_by_key(policy, scores_.get(), scores_.get() + size_, order_.get());
    }

    int                size_;
    int                dim_;
    managed_ptr<float> genes_;
    managed_ptr<float> scores_;
    managed_ptr<int>   order_;
    cudaStream_t       stream_ = nullptr;
};

} // namespace evo
