// Between the protocol of circular buffers and what their pages hold.
#pragma once

#include "machine.h"

namespace vd {

const char* role_name(Role role);
uint32_t page_offset(uint32_t cb, uint32_t page);  // in L1

void note_unwritten(uint32_t cb, uint32_t pages);                    // the pages about to be pushed
void free_pages(uint32_t cb, uint32_t pages);                        // the pages about to be popped
void renew_page(uint32_t cb, uint32_t number);                       // a page that is granted for writing
void grant_reserve(uint32_t cb, uint32_t pages);                     // for which there is room
const uint8_t* published_page(uint32_t cb, uint32_t number);         // its bytes, which somebody has written

}  // namespace vd
