/** @file interface.hpp Options, results and descriptions as C++ has them.
 *
 * Written by bindings/generate.py from the C headers; do not edit.
 */
#ifndef TROIKA_INTERFACE_HPP
#define TROIKA_INTERFACE_HPP

#include <troika/interface/context.hpp>
#include <troika/interface/data.hpp>
#include <troika/interface/describe.hpp>
#include <troika/interface/device.hpp>
#include <troika/interface/group.hpp>
#include <troika/interface/layers.hpp>
#include <troika/interface/model.hpp>
#include <troika/interface/pieces.hpp>
#include <troika/interface/plan.hpp>
#include <troika/interface/scores.hpp>
#include <troika/interface/tensor.hpp>
#include <troika/interface/trainer.hpp>
#include <troika/interface/trainer_options.hpp>

#endif
