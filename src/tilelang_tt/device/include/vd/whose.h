// Whose a call of compute is, where it matters: MATH(x = mailbox_read(from)) reads what was sent to the math processor.
//
// One fiber goes through the text for all three processors, so UNPACK(...), MATH(...) and PACK(...) are their contents. While
// the preprocessor looks through what has become of such a macro, it leaves that macro's own name alone: there MATH(0) stays
// the call of a function, which gives 2, and UNPACK(0) is 0. But it looks through the contents on their own before that.
// So `vd_whose_1` is looked at when its parenthesis is there, one look later, and asks again at the next looks, since other macros
// may stand around the call, too. What no look found are calls of functions that give 0.
#pragma once

#include "vd/mailbox.h"

constexpr uint32_t UNPACK(uint32_t) { return ckernel::UnpackThreadId; }
constexpr uint32_t MATH(uint32_t) { return ckernel::MathThreadId; }
constexpr uint32_t PACK(uint32_t) { return ckernel::PackThreadId; }
constexpr uint32_t vd_whose_1() { return 0; }
constexpr uint32_t vd_whose_2() { return 0; }
constexpr uint32_t vd_whose_3() { return 0; }
constexpr uint32_t vd_whose_4() { return 0; }

#define UNPACK(...) __VA_ARGS__
#define MATH(...) __VA_ARGS__
#define PACK(...) __VA_ARGS__

#define VD_LATER()
#define VD_WHOSE_NOW UNPACK(0) + MATH(0) + PACK(0)
#define vd_whose_1() (VD_WHOSE_NOW + vd_whose_2 VD_LATER()())
#define vd_whose_2() (VD_WHOSE_NOW + vd_whose_3 VD_LATER()())
#define vd_whose_3() (VD_WHOSE_NOW + vd_whose_4 VD_LATER()())
#define vd_whose_4() (VD_WHOSE_NOW)

#define mailbox_read(...) vd_read_mail(vd_whose_1 VD_LATER()(), __VA_ARGS__)
#define mailbox_not_empty(...) vd_has_mail(vd_whose_1 VD_LATER()(), __VA_ARGS__)
#define mailbox_write(...) vd_write_mail(vd_whose_1 VD_LATER()(), __VA_ARGS__)
