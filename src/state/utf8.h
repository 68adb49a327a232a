// core/utf8.h, for rooms above that include it from here.
#pragma once

#include "core/utf8.h"
