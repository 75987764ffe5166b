/**
 * The memory that request bodies may take while they come (contract/decisions 64): so much in all, and a part of it for
 * one caller. The two faces of the server have budgets of their own.
 */
import { addressBucket } from '../base/caller-address.js'
import type { FaultKind } from '../base/fault.js'
import type { Principal } from '../base/principal.js'
import type { BodyAccount, BodyMemory, HttpCall } from '../transport/exchange.js'

/** One caller may have a quarter. */
const SHARES = 4

export class BodyBudget implements BodyMemory {
  readonly #total: number
  readonly #share: number
  #taken = 0
  /** Of callers that have any. */
  readonly #byCaller = new Map<string, number>()

  /**
   * @param total bytes of all bodies
   * @param largest bytes of the largest body there is, for which a share always suffices
   */
  constructor(total: number, largest: number) {
    this.#total = Math.max(total, largest)
    this.#share = Math.max(total / SHARES, largest)
  }

  /** Bytes that are taken. */
  get taken(): number {
    return this.#taken
  }

  /** An organization with a key, which may be told to slow down, and otherwise an address, behind which many may be. */
  open({ admission, address }: HttpCall): BodyAccount {
    const { organizationId = '', keyHash = '' } = (admission as Principal | null) ?? {}
    const key = organizationId || keyHash
    const caller = key || addressBucket(address)
    let held = 0
    return {
      caller,
      take: (bytes) => {
        const refusal = this.#take(caller, bytes, key === '' ? 'unavailable' : 'rate-limited')
        if (refusal === null) held += bytes
        return refusal
      },
      close: () => {
        this.#giveBack(caller, held)
        held = 0
      },
    }
  }

  #take(caller: string, bytes: number, tooMuch: FaultKind): FaultKind | null {
    const held = this.#byCaller.get(caller) ?? 0
    if (held + bytes > this.#share) return tooMuch
    if (this.#taken + bytes > this.#total) return 'unavailable'
    this.#byCaller.set(caller, held + bytes)
    this.#taken += bytes
    return null
  }

  #giveBack(caller: string, bytes: number): void {
    const held = (this.#byCaller.get(caller) ?? 0) - bytes
    if (held > 0) this.#byCaller.set(caller, held)
    else this.#byCaller.delete(caller)
    this.#taken -= bytes
  }
}
