// XXH3-64 compiled for AVX2, whatever the rest is compiled for. Only to be
// called where the processor has it.
#ifndef REPRISE_FORMAT_DIGEST_XXH3_AVX2_H_
#define REPRISE_FORMAT_DIGEST_XXH3_AVX2_H_

#include <cstddef>
#include <cstdint>

// Clang does not let one file choose its instruction set this way.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define REPRISE_HAS_XXH3_AVX2 1
#endif

namespace reprise {

#ifdef REPRISE_HAS_XXH3_AVX2
uint64_t Xxh3Avx2(const void* data, size_t size);
#endif

}  // namespace reprise

#endif  // REPRISE_FORMAT_DIGEST_XXH3_AVX2_H_
