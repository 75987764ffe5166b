/** The signing keys' part of the store, in memory, for tests that hold the clock. */
import type { SigningKeyRing } from '../../../src/store/federation-store.js'

export class RingInMemory {
  ring: SigningKeyRing | null = null
  changes = 0

  signingKeyRing(): SigningKeyRing | null {
    return this.ring
  }

  async changeSigningKeyRing(
    change: (current: SigningKeyRing | null) => SigningKeyRing,
  ): Promise<SigningKeyRing> {
    this.changes++
    this.ring = change(this.ring)
    return this.ring
  }
}
