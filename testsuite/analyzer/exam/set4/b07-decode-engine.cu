/* Minimal decoder back end: contexts, graphs of ops, and a greedy sampler. */
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define GUARD(call)                                                                   \
    do {                                                                              \
        cudaError_t err = (call);                                                     \
        if (err != cudaSuccess) {                                                     \
            fprintf(stderr, "%s failed: %s\n", #call, cudaGetErrorString(err));       \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

struct tensor {
    float * data;
    size_t  n;
};

struct backend {
    cudaStream_t   stream;
    cublasHandle_t blas;
};

struct llm_params {
    int n_vocab, n_embd, n_layer, n_ubatch;
};

struct llm_context {
    llm_params params;
    backend    be;
    tensor     emb, hidden, next, logits;
    tensor *   w;
    int *      tokens;        /* device */
    float *    out_logits;    /* host, n_outputs_max rows */
    int        n_outputs_max;
};

static __global__ void k_embed(const int * tok, const float * emb, float * h, int n_embd, int n_tok) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n_embd * n_tok) h[i] = emb[(size_t) tok[i / n_embd] * n_embd + i % n_embd];
}

static __global__ void k_silu(float * h, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) h[i] = h[i] / (1.0f + __expf(-h[i]));
}

static tensor tensor_new(size_t n) {
    tensor t;
    t.n = n;
    GUARD(cudaMalloc((void **) &t.data, n * sizeof(float)));
    GUARD(cudaMemset(t.data, 0, n * sizeof(float)));
    return t;
}

static void backend_init(backend * be) {
    GUARD(cudaStreamCreateWithFlags(&be->stream, cudaStreamNonBlocking));
    cublasCreate(&be->blas);
    cublasSetStream(be->blas, be->stream);
}

static void backend_tensor_get_async(backend * be, const tensor * t, void * dst, size_t off, size_t size) {
    GUARD(cudaMemcpyAsync(dst, (const char *) t->data + off, size, cudaMemcpyDeviceToHost, be->stream));
}

static void backend_tokens_set(backend * be, int * dst, const int * src, int n) {
    GUARD(cudaMemcpyAsync(dst, src, n * sizeof(int), cudaMemcpyHostToDevice, be->stream));
}

static void backend_synchronize(backend * be) {
    GUARD(cudaStreamSynchronize(be->stream));
}

static void matmul(backend * be, const tensor * w, const tensor * x, tensor * y, int m, int k, int n) {
    const float a = 1.0f, b = 0.0f;
    cublasSgemm(be->blas, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &a, w->data, k, x->data, k, &b, y->data, m);
}

llm_context * llm_new(llm_params p, int n_outputs_max) {
    llm_context * ctx = (llm_context *) calloc(1, sizeof(*ctx));
    ctx->params = p;
    ctx->n_outputs_max = n_outputs_max;
    backend_init(&ctx->be);
    ctx->emb    = tensor_new((size_t) p.n_vocab * p.n_embd);
    ctx->hidden = tensor_new((size_t) p.n_embd * p.n_ubatch);
    ctx->next   = tensor_new((size_t) p.n_embd * p.n_ubatch);
    ctx->logits = tensor_new((size_t) p.n_vocab * p.n_ubatch);
    ctx->w      = (tensor *) calloc(p.n_layer, sizeof(tensor));
    for (int il = 0; il < p.n_layer; il++) ctx->w[il] = tensor_new((size_t) p.n_embd * p.n_embd);
    GUARD(cudaMalloc((void **) &ctx->tokens, p.n_ubatch * sizeof(int)));
    GUARD(cudaMallocHost((void **) &ctx->out_logits, (size_t) n_outputs_max * p.n_vocab * sizeof(float)));
    GUARD(cudaDeviceSynchronize());
    return ctx;
}

void llm_free(llm_context * ctx) {
    backend_synchronize(&ctx->be);
    cublasDestroy(ctx->be.blas);
    for (int il = 0; il < ctx->params.n_layer; il++) cudaFree(ctx->w[il].data);
    cudaFree(ctx->emb.data);
    cudaFree(ctx->hidden.data);
    cudaFree(ctx->next.data);
    cudaFree(ctx->logits.data);
    cudaFree(ctx->tokens);
    cudaFreeHost(ctx->out_logits);
    cudaStreamDestroy(ctx->be.stream);
    free(ctx->w);
    free(ctx);
}

static void process_ubatch(llm_context * ctx, const int * tok, int n_tok) {
    const llm_params * p = &ctx->params;
    const int n = p->n_embd * n_tok;
    backend_tokens_set(&ctx->be, ctx->tokens, tok, n_tok);
    k_embed<<<(n + 255) / 256, 256, 0, ctx->be.stream>>>(ctx->tokens, ctx->emb.data, ctx->hidden.data, p->n_embd, n_tok);
    for (int il = 0; il < p->n_layer; il++) {
        matmul(&ctx->be, &ctx->w[il], &ctx->hidden, &ctx->next, p->n_embd, p->n_embd, n_tok);
        k_silu<<<(n + 255) / 256, 256, 0, ctx->be.stream>>>(ctx->next.data, n);
        tensor t = ctx->hidden;
        ctx->hidden = ctx->next;
        ctx->next = t;
    }
    matmul(&ctx->be, &ctx->emb, &ctx->hidden, &ctx->logits, p->n_vocab, p->n_embd, n_tok);
}

int llm_decode(llm_context * ctx, const int * tokens, int n_tokens) {
    const size_t row = (size_t) ctx->params.n_vocab * sizeof(float);
    for (int i = 0; i < n_tokens; i += ctx->params.n_ubatch) {
        int n = n_tokens - i < ctx->params.n_ubatch ? n_tokens - i : ctx->params.n_ubatch;
        process_ubatch(ctx, tokens + i, n);
        backend_tensor_get_async(&ctx->be, &ctx->logits, ctx->out_logits + (size_t) i * ctx->params.n_vocab, 0, n * row);
    }
    return 0;
}

const float * llm_get_logits_ith(llm_context * ctx, int i) {
    return ctx->out_logits + (size_t) i * ctx->params.n_vocab;
}

int sample_greedy(llm_context * ctx, int i) {
    const float * l = llm_get_logits_ith(ctx, i);
    int best = 0;
    for (int v = 1; v < ctx->params.n_vocab; v++)
        if (l[v] > l[best]) best = v;
    return best;
}

int main(void) {
    llm_params p = { 32000, 1024, 8, 64 };
    llm_context * ctx = llm_new(p, 256);
    int n = 200;
    int * seq = (int *) malloc(256 * sizeof(int));
    for (int i = 0; i < n; i++) seq[i] = (i * 7919) % p.n_vocab;
    llm_decode(ctx, seq, n);
    seq[n] = sample_greedy(ctx, n - 1);
    for (; n < 255; n++) {
        llm_decode(ctx, seq + n, 1);
        seq[n + 1] = sample_greedy(ctx, 0);
    }
    printf("%d\n", seq[255]);
    llm_free(ctx);
    free(seq);
    return 0;
}
