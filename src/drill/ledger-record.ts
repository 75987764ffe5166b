/** What the gateway's ledger says about a call. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { GatewayClient, GatewayResponse } from './gateway-client.js'
import { type JsonMembers, objectMember, parseMembers } from './json-members.js'

/** A row may be on its way: a failed call is not kept waiting for it. */
const TRIES = 20
const PAUSE_MS = 150

/** The row of the generation that a call began; null when there is none. */
export async function fetchLedgerRow(
  caller: GatewayClient,
  { headers }: GatewayResponse,
): Promise<JsonMembers | null> {
  const id = headers['x-generation-id']
  if (typeof id !== 'string') return null
  for (let tried = 0; tried < TRIES; tried++) {
    const { status, body } = await caller.get(`/generation?id=${encodeURIComponent(id)}`)
    if (status === 200) return objectMember(parseMembers(body) ?? {}, 'data')
    // Who is not let in will not be let in later.
    if (status !== 404) return null
    await sleep(PAUSE_MS)
  }
  return null
}
