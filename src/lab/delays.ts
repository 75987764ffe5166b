/** Sequences of delays in every shape that a run or a setting may ask for. */

import { seededRandom } from '../base/random.js'
import type { DelayShape } from './delay-shape.js'

/** Steps of the two irrational rotations whose points fill [0, 1) most evenly. */
const GOLDEN = 0.6180339887498949
const PLASTIC = 0.7548776662466927
const LEAST_MS = 100
const SPREAD_MS = 400
/** Of the standard normal distribution: where its 99th percentile lies. */
const Z99 = 2.3263478740408408

export interface DelaySource {
  /** The next delay, in milliseconds. */
  next(): number
  /** One of them is over. */
  onCallEnded(): void
}

/**
 * @param worker each worker draws a sequence of its own, so that together they are as repeatable as the balance
 * between them
 * @param random the public API's own draws, for the shape that has them
 */
export function createDelaySource(
  shape: DelayShape,
  worker: number,
  random: (seed: number | null) => () => number,
): DelaySource {
  if (shape.shape === 'load') return loadDependentDelays(shape.baseMs, shape.perCallMs)
  return { next: delaySequence(shape, worker, random), onCallEnded: () => {} }
}

function delaySequence(
  shape: Exclude<DelayShape, { shape: 'load' }>,
  worker: number,
  random: (seed: number | null) => () => number,
): () => number {
  switch (shape.shape) {
    case 'random':
      return random(shape.seed === null ? null : shape.seed + worker)
    case 'quasi':
      return quasiRandomDelays(shape.seed, worker)
    case 'constant':
      return () => shape.ms
    case 'uniform': {
      const draw = uniformDraws(shape.seed, worker)
      return () => shape.fromMs + (shape.toMs - shape.fromMs) * draw()
    }
    case 'log-normal': {
      const draw = uniformDraws(shape.seed, worker)
      const sigma = Math.log(shape.p99Ms / shape.medianMs) / Z99
      return () => shape.medianMs * Math.exp(sigma * drawNormal(draw))
    }
    case 'bimodal': {
      const draw = uniformDraws(shape.seed, worker)
      return () => (draw() < shape.slowShare ? shape.slowMs : shape.fastMs)
    }
  }
}

/**
 * Uniform over [100, 500) without the noise of independent draws: after n of them every percentile is right within
 * about 400·log(n)/n ms. Seed 0 in worker 0 begins at 0; every other seed and worker at a point of its own.
 */
function quasiRandomDelays(seed: number, worker: number): () => number {
  const begin = ((seed * PLASTIC) % 1) + ((worker * PLASTIC) % 1)
  let i = 0
  return () => LEAST_MS + SPREAD_MS * ((begin + i++ * GOLDEN) % 1)
}

function uniformDraws(seed: number | null, worker: number): () => number {
  return seed === null ? Math.random : seededRandom(seed + worker * 0x9e3779b9)
}

/** Box and Muller's way; the second value of the pair is not worth keeping. */
function drawNormal(draw: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw())
}

/** What happens behind a backend that slows down as more calls are under way. */
function loadDependentDelays(baseMs: number, perCallMs: number): DelaySource {
  let underWay = 0
  return {
    next: () => baseMs + perCallMs * underWay++,
    onCallEnded: () => {
      // Those that another source began may still be under way when this one takes over.
      underWay = Math.max(0, underWay - 1)
    },
  }
}
