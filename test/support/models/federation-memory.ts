/** The signing keys' part of the store, in memory, for tests that hold the clock. */
import type { SigningRing } from '../../../src/store/federation-store.js'

export class RingInMemory {
  ring: SigningRing | null = null
  changes = 0

  signingRing(): SigningRing | null {
    return this.ring
  }

  async changeSigningRing(change: (current: SigningRing | null) => SigningRing): Promise<SigningRing> {
    this.changes++
    this.ring = change(this.ring)
    return this.ring
  }
}
