/** @file troika.hpp The whole interface of Troika for C++17 and later. */
#ifndef TROIKA_TROIKA_HPP
#define TROIKA_TROIKA_HPP

#include <troika/context.hpp>
#include <troika/data.hpp>
#include <troika/file.hpp>
#include <troika/gradients.hpp>
#include <troika/group.hpp>
#include <troika/model.hpp>
#include <troika/pending.hpp>
#include <troika/scores.hpp>
#include <troika/tensor.hpp>
#include <troika/trainer.hpp>

#endif
