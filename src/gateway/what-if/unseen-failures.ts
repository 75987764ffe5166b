/**
 * How many calls may come to nothing at endpoints of which no failure is known. Drawing from calls that all answered
 * never fails, which would say that the endpoint cannot. Of n known and m drawn calls any order is as likely as any
 * other, so that k failures fall all among the m with a chance of at most (m / (n + m))^k. For many drawn calls that is
 * a share of 3.7 / n, the rule of three with both ends cut off.
 */
const CHANCE = 0.025

/** Of one endpoint, over all replicates. */
interface Draws {
  count: number
  /** Sum of m / n, one draw at a time, because n grows from call to call. */
  share: number
}

export class UnseenFailures {
  readonly #draws = new Map<string, Draws>()

  /** A call was drawn of an endpoint with so many, all answered, and nobody would have been asked after it. */
  add(name: string, known: number): void {
    let draws = this.#draws.get(name)
    if (draws === undefined) {
      draws = { count: 0, share: 0 }
      this.#draws.set(name, draws)
    }
    draws.count++
    draws.share += 1 / known
  }

  /** What the number of failures stays under with 97.5 % certainty. */
  most(replicates: number): number {
    let most = 0
    for (const { count, share } of this.#draws.values()) {
      const [calls, odds] = [count / replicates, share / replicates]
      const beyond = Math.ceil(Math.log(CHANCE) / Math.log(odds / (1 + odds)))
      most += Math.min(Math.ceil(calls), beyond - 1)
    }
    return most
  }
}
