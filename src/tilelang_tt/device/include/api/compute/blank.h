// A compute kernel that does nothing needs this.
#pragma once
