/** @file troika.h Includes every public header of Troika: multi-device training in C. */
#ifndef TROIKA_TROIKA_H
#define TROIKA_TROIKA_H

#include <troika/context.h>
#include <troika/data.h>
#include <troika/describe.h>
#include <troika/device.h>
#include <troika/export.h>
#include <troika/file.h>
#include <troika/gradients.h>
#include <troika/group.h>
#include <troika/layers.h>
#include <troika/model.h>
#include <troika/operations.h>
#include <troika/pending.h>
#include <troika/pieces.h>
#include <troika/plan.h>
#include <troika/scores.h>
#include <troika/status.h>
#include <troika/tensor.h>
#include <troika/trainer.h>
#include <troika/trainer_options.h>

#endif
