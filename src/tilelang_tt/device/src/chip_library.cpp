#include "chip_library.h"

namespace vd {
namespace chip {

extern "C" {
extern const Library vd_chip_library;
const Library vd_chip_library = {
    multiply_tile, add_elements, multiply_elements, reduce_sum, reduce_max, accumulate_page, vector_function, variant_of,
};
}

}  // namespace chip
}  // namespace vd
