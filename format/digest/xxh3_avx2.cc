// Nothing but xxHash may be included after the pragma: an inline function that
// other files share would be compiled for AVX2 and could be the one that is
// linked.
#include "format/digest/xxh3_avx2.h"

#ifdef REPRISE_HAS_XXH3_AVX2

#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC push_options
#pragma GCC target("avx2")
// 2 is XXH_AVX2; g++ 12 does not define __AVX2__ after the pragma.
#define XXH_VECTOR 2
#include <xxhash.h>

static_assert(XXH_VECTOR == XXH_AVX2, "not compiled for AVX2");

namespace reprise {

uint64_t Xxh3Avx2(const void* data, size_t size) {
  return XXH3_64bits(data, size);
}

}  // namespace reprise
#pragma GCC pop_options

#endif  // REPRISE_HAS_XXH3_AVX2
