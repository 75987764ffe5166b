/**
 * Calls of server tools and their results travel with the caller between two requests (contract/tools 1.3). What comes
 * back counts only where it bears the mark of this gateway, made for the same workspace.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { Principal } from '../../base/principal.js'

const MARK_BYTES = 16

export class ReplaySeal {
  readonly #key: Buffer

  /** @param sealingKey of the data folder: what was marked stays valid over restarts and on every worker */
  constructor(sealingKey: Uint8Array) {
    this.#key = Buffer.from(hkdfSync('sha256', sealingKey, '', 'replay of server tools', 32))
  }

  /** The mark of a call and its result, base64url. `parts`: all that it vouches for, in a fixed order. */
  mark(caller: Principal, parts: readonly string[]): string {
    return this.#mac(caller, parts).toString('base64url')
  }

  isMarked(caller: Principal, parts: readonly string[], mark: string): boolean {
    const told = Buffer.from(mark, 'base64url')
    return told.length === MARK_BYTES && timingSafeEqual(told, this.#mac(caller, parts))
  }

  #mac({ organizationId, workspaceId }: Principal, parts: readonly string[]): Buffer {
    const hmac = createHmac('sha256', this.#key)
    // As JSON no two lists read the same.
    hmac.update(JSON.stringify([organizationId, workspaceId, ...parts]))
    return hmac.digest().subarray(0, MARK_BYTES)
  }
}
