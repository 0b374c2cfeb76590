#include <cuda_runtime.h>

#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

// Scoring service: requests are queued, workers with a stream each run them,
// the answer comes through a future.

namespace scoring {

inline void rt(cudaError_t e)
{
    if (e != cudaSuccess)
        throw std::runtime_error(cudaGetErrorString(e));
}

__global__ void dot_rows(const float* m, const float* v, float* out, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float acc = 0.f;
    for (int c = 0; c < cols; ++c) acc += m[size_t(r) * cols + c] * v[c];
    out[r] = acc;
}

struct Model {
    const float* matrix;  // device, complete before the service starts
    int rows;
    int cols;
};

class Service {
    struct Job {
        std::vector<float> query;
        std::promise<std::vector<float>> answer;
    };

    // Per-thread device state.
    struct Context {
        explicit Context(const Model& m) : model(m)
        {
            rt(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
            rt(cudaMalloc(&query, m.cols * sizeof(float)));
            rt(cudaMalloc(&scores, m.rows * sizeof(float)));
            rt(cudaMallocHost(&host, size_t(m.rows + m.cols) * sizeof(float)));
        }
        ~Context()
        {
            cudaStreamSynchronize(stream);
            cudaFree(query);
            cudaFree(scores);
            cudaFreeHost(host);
            cudaStreamDestroy(stream);
        }
        std::vector<float> score(const std::vector<float>& q)
        {
            float* in = host;
            float* out = host + model.cols;
            for (int c = 0; c < model.cols; ++c) in[c] = q.at(c);
            rt(cudaMemcpyAsync(query, in, model.cols * sizeof(float), cudaMemcpyHostToDevice, stream));
            dot_rows<<<(model.rows + 127) / 128, 128, 0, stream>>>(model.matrix, query, scores, model.rows,
                                                                   model.cols);
            rt(cudaGetLastError());
            rt(cudaMemcpyAsync(out, scores, model.rows * sizeof(float), cudaMemcpyDeviceToHost, stream));
            rt(cudaStreamSynchronize(stream));
            return std::vector<float>(out, out + model.rows);
        }
        Model model;
        cudaStream_t stream = nullptr;
        float *query = nullptr, *scores = nullptr, *host = nullptr;
    };

public:
    Service(const Model& model, int threads)
    {
        for (int i = 0; i < threads; ++i) threads_.emplace_back([this, model] { serve(model); });
    }
    ~Service()
    {
        {
            std::lock_guard<std::mutex> l(m_);
            stop_ = true;
        }
        cv_.notify_all();
        for (auto& t : threads_) t.join();
    }
    std::future<std::vector<float>> submit(std::vector<float> query)
    {
        Job job{std::move(query), {}};
        auto f = job.answer.get_future();
        {
            std::lock_guard<std::mutex> l(m_);
            jobs_.push_back(std::move(job));
        }
        cv_.notify_one();
        return f;
    }

private:
    void serve(const Model& model)
    {
        Context ctx(model);
        for (;;) {
            std::unique_lock<std::mutex> l(m_);
            cv_.wait(l, [this] { return stop_ || !jobs_.empty(); });
            if (jobs_.empty()) return;
            Job job = std::move(jobs_.front());
            jobs_.pop_front();
            l.unlock();
            try {
                job.answer.set_value(ctx.score(job.query));
            } catch (...) {
                (void)cudaStreamSynchronize(ctx.stream);  // ctx is used again
                job.answer.set_exception(std::current_exception());
            }
        }
    }

    std::mutex m_;
    std::condition_variable cv_;
    std::deque<Job> jobs_;
    bool stop_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace scoring
