import { z } from 'zod'
import type { SeededRandom } from './random.js'

const amount = z.number().min(0).max(1e9)

/** A distribution of times in milliseconds or of token counts, as configured. */
export const distributionSchema = z.union([
  z.strictObject({ constant: amount }),
  z.strictObject({
    uniform: z
      .tuple([amount, amount])
      .refine(([low, high]) => low <= high, 'the second bound is below the first'),
  }),
  z.strictObject({ normal: z.strictObject({ mean: amount, deviation: amount }) }),
  z.strictObject({
    log_normal: z
      .strictObject({ median: amount.positive(), p99: amount.positive() })
      .refine(({ median, p99 }) => median <= p99, 'p99 is below the median'),
  }),
  z.strictObject({ exponential: z.strictObject({ mean: amount }) }),
])

export type Distribution = z.infer<typeof distributionSchema>

/** Draws one value, at least 0. */
type DrawFunction = (random: SeededRandom) => number

/** A distribution made ready for drawing. */
interface DistributionSampler {
  readonly draw: DrawFunction
  /** The only value there is, so that a sum of many needs no draws; null when values differ. */
  readonly constant: number | null
}

/** The 99th percentile of the standard normal distribution. */
const Z99 = 2.3263478740408408

/** Draws of a truncated normal before its mean is taken; the mean is not negative, so each has an even chance. */
const NORMAL_TRIES = 64

export function constantSampler(value: number): DistributionSampler {
  return { draw: () => value, constant: value }
}

export function compileDistribution(distribution: Distribution): DistributionSampler {
  if ('constant' in distribution) return constantSampler(distribution.constant)
  return { draw: drawFunctionOf(distribution), constant: null }
}

function drawFunctionOf(distribution: Exclude<Distribution, { constant: number }>): DrawFunction {
  if ('uniform' in distribution) {
    const [low, high] = distribution.uniform
    return (random) => low + (high - low) * random.nextUnit()
  }
  if ('normal' in distribution)
    return truncatedNormalDraw(distribution.normal.mean, distribution.normal.deviation)
  if ('log_normal' in distribution) {
    const { median, p99 } = distribution.log_normal
    const sigma = Math.log(p99 / median) / Z99
    return (random) => median * Math.exp(sigma * random.nextNormal())
  }
  const { mean } = distribution.exponential
  return (random) => -mean * Math.log(1 - random.nextUnit())
}

/** Truncated, not clamped: negative draws are thrown away, so 0 is no likelier than its neighbours. */
function truncatedNormalDraw(mean: number, deviation: number): DrawFunction {
  return (random) => {
    for (let attempt = 0; attempt < NORMAL_TRIES; attempt++) {
      const value = mean + deviation * random.nextNormal()
      if (value >= 0) return value
    }
    return mean
  }
}
