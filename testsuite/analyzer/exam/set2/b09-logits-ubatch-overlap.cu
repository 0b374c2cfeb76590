// Decoder context: evaluates a batch in micro-batches and gathers the logits.
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define LM_CUDA(x) lm_cuda_check((x), #x, __FILE__, __LINE__)
static void lm_cuda_check(cudaError_t e, const char * expr, const char * file, int line) {
    if (e == cudaSuccess) return;
    fprintf(stderr, "%s:%d: %s -> %s\n", file, line, expr, cudaGetErrorString(e));
    abort();
}

__global__ void lm_head_kernel(const int32_t * tok, const float * emb, const float * head, float * logits,
                               int n_tok, int n_embd, int n_vocab) {
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    const int t = blockIdx.y;
    if (v >= n_vocab || t >= n_tok) return;
    const float * e = emb + (size_t) tok[t] * n_embd;
    float s = 0.0f;
    for (int i = 0; i < n_embd; i++) s += e[i] * head[(size_t) v * n_embd + i];
    logits[(size_t) t * n_vocab + v] = s;
}

struct lm_hparams { int n_embd; int n_vocab; int n_ubatch; };

struct lm_context {
    lm_hparams hp;
    const float * emb;
    const float * head;
    cudaStream_t compute = nullptr;
    cudaStream_t copy    = nullptr;
    cudaEvent_t  computed = nullptr;
    cudaEvent_t  copied   = nullptr;
    float * logits_dev = nullptr;

    lm_context(lm_hparams h, const float * e, const float * o) : hp(h), emb(e), head(o) {
        LM_CUDA(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
        LM_CUDA(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
        LM_CUDA(cudaEventCreateWithFlags(&computed, cudaEventDisableTiming));
        LM_CUDA(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
        LM_CUDA(cudaMalloc((void **) &logits_dev, sizeof(float) * hp.n_ubatch * hp.n_vocab));
    }
    ~lm_context() {
        cudaStreamSynchronize(compute);
        cudaStreamSynchronize(copy);
        cudaFree(logits_dev);
        cudaEventDestroy(copied);
        cudaEventDestroy(computed);
        cudaStreamDestroy(copy);
        cudaStreamDestroy(compute);
    }

    void eval_ubatch(const int32_t * tok, int n) {
        dim3 grid((hp.n_vocab + 127) / 128, n);
        lm_head_kernel<<<grid, 128, 0, compute>>>(tok, emb, head, logits_dev, n, hp.n_embd, hp.n_vocab);
        LM_CUDA(cudaGetLastError());
        LM_CUDA(cudaEventRecord(computed, compute));
    }

    void get_logits_async(float * dst, int n) {
        LM_CUDA(cudaStreamWaitEvent(copy, computed, 0));
        LM_CUDA(cudaMemcpyAsync(dst, logits_dev, sizeof(float) * n * hp.n_vocab, cudaMemcpyDeviceToHost, copy));
        LM_CUDA(cudaEventRecord(copied, copy));
    }

    // tok lives on the device, out is pinned and holds n_tokens * n_vocab floats
    void decode(const int32_t * tok, int n_tokens, float * out) {
        for (int i0 = 0; i0 < n_tokens; i0 += hp.n_ubatch) {
            const int n = std::min(hp.n_ubatch, n_tokens - i0);
            eval_ubatch(tok + i0, n);
            get_logits_async(out + (size_t) i0 * hp.n_vocab, n);
        }
        LM_CUDA(cudaEventSynchronize(copied));
    }
};

int lm_argmax(const float * row, int n_vocab) {
    return (int) (std::max_element(row, row + n_vocab) - row);
}

int lm_sample_last(lm_context & ctx, const int32_t * tok, int n_tokens, float * pinned_out) {
    ctx.decode(tok, n_tokens, pinned_out);
    return lm_argmax(pinned_out + (size_t) (n_tokens - 1) * ctx.hp.n_vocab, ctx.hp.n_vocab);
}
