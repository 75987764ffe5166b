/** The port of the revocation barrier (contract/fleet 3.1): who changes managed records waits there for all machines. */
export interface RevocationBarrier {
  /**
   * Resolves when no machine serves by records older than `version` any more: every machine that lives has confirmed
   * it, and one that cannot be reached has refused by itself. Where machines go on without the store
   * (`SLUICE_FLEET_WHEN_STORE_IS_AWAY`), it resolves although they have not confirmed, with their names; mostly there are
   * none.
   * Rejects with `unavailable` when the store is away: the change stands, and nobody knows yet who has it.
   */
  pass(version: number): Promise<readonly string[]>
}
