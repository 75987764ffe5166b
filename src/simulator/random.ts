/** Two words that stand for everything an answer depends on. */
export interface RandomSeed {
  readonly low: number
  readonly high: number
}

/**
 * A seeded source of random words (the sfc32 generator): the same seed and lane give the same sequence for ever.
 * A draw costs a few integer operations and allocates nothing, so a token may afford it.
 */
export class SeededRandom {
  private a: number
  private b: number
  private c: number
  private counter = 1

  /** Lanes are independent of each other, so that drawing one more delay changes no word of the text. */
  constructor(seed: RandomSeed, lane: number) {
    this.a = seed.low | 0
    this.b = seed.high | 0
    this.c = Math.imul(lane + 1, 0x9e3779b1)
    for (let round = 0; round < 12; round++) this.nextBits()
  }

  /** 31 random bits: an integer of at least 0. */
  nextBits(): number {
    const sum = (this.a + this.b + this.counter) | 0
    this.counter = (this.counter + 1) | 0
    this.a = this.b ^ (this.b >>> 9)
    this.b = (this.c + (this.c << 3)) | 0
    this.c = (((this.c << 21) | (this.c >>> 11)) + sum) | 0
    return sum >>> 1
  }

  /** Uniform over [0, 1). */
  nextUnit(): number {
    return this.nextBits() / 2 ** 31
  }

  /** Uniform over 0 … count - 1. */
  nextBelow(count: number): number {
    return Math.floor(this.nextUnit() * count)
  }

  /** Standard normal. The second value of each pair is thrown away: keeping it would make draws depend on order. */
  nextNormal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.nextUnit())) * Math.cos(2 * Math.PI * this.nextUnit())
  }
}

/** The lane of each part of an answer. */
export const RANDOM_LANE = {
  plan: 0,
  words: 1,
  reasoning: 2,
  delays: 3,
  logprobs: 4,
  json: 5,
  painting: 6,
} as const
