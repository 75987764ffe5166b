/** A gateway whose calls cost an exact amount, for the trials of accounting. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AdminClient } from '../../performance/federation/trust.js'
import { ADMIN_ENVIRONMENT } from '../../performance/gateway/calls.js'
import { apiRequest } from '../requests.js'
import type { Staging } from '../staging.js'

/** Dollars of one call of the model below, whatever it says. */
export const CALL_PRICE = 0.01
export const CALL_NANOS = 10_000_000
const EXACT_MODEL = 'trial/exact'
export const SLOW_MODEL = 'trial/slow'

/** Settings of a server with models whose price is per call, so that what is set aside is what is spent. */
export function exactEnvironment(staging: Staging): Record<string, string> {
  const model = (more: object) => ({
    endpoints: [
      {
        provider: 'sim',
        prices: { prompt: '0', completion: '0', request: String(CALL_PRICE) },
        simulation: { tokens: { constant: 4 }, ...more },
      },
    ],
  })
  const slow = model({ first_token_ms: { uniform: [20, 120] } })
  const file = join(staging.freshFolder(), 'sluice.json')
  writeFileSync(file, JSON.stringify({ models: { [EXACT_MODEL]: model({}), [SLOW_MODEL]: slow } }))
  return { SLUICE_CONFIG: file, ...ADMIN_ENVIRONMENT }
}

export function chatCall(key: string, model = EXACT_MODEL): Buffer {
  const messages = [{ role: 'user', content: 'one call' }]
  return apiRequest('POST', '/chat/completions', { model, max_tokens: 4, messages }, key)
}

/** An organization with credits of its own, and a key of it. */
export async function createOrganization(origin: string, credits: number) {
  const founder = new AdminClient(origin)
  const { data, key } = await founder.requireSuccess('POST', '/organizations', { name: 'trial', credits })
  const admin = founder.withCredential(key)
  return {
    id: data.id,
    /** Whoever manages it. */
    admin,
    /** Of its calls. */
    key: (await admin.newKey()).key,
  }
}

/** Credits given and used, in dollars. */
export async function readCredits(
  admin: AdminClient,
): Promise<{ total_credits: number; total_usage: number }> {
  return (await admin.requireSuccess('GET', '/credits')).data
}
